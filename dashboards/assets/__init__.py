"""The style sheet and the scripts that pages hold."""
