"""Typed records, the store, metrics and statistics; imports nothing above it."""
