"""The command line: one module per verb, each with a typer `app`, imported only when its verb is called."""

from draftmark.bench.cli.app import main

__all__ = ["main"]
