"""Workloads: prompts, the registry of suites, the reading of rows, loaders, and what Draftmark ships."""
