"""Reads rows of files and of the hub and makes prompts of them; which rows, and of what, is the loaders' to say."""
