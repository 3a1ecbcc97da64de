"""The gate as commands use it: rules from a file, a baseline looked at before the run, runs judged after it."""
