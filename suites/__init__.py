"""Workloads: prompts, the registry of suites, loaders and what Draftmark ships."""
