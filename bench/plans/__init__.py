"""What to run: the plan file, its checks, and everything made ready before an engine starts."""
