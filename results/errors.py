"""The one root of Draftmark's own errors: a sentence for the user and the exit code that goes with it."""

from __future__ import annotations


class DraftmarkError(Exception):
    """A fault that a user can act on; its text says what happened, where, and what to do.

    Each layer raises one subclass of its own. The command line prints the text without a traceback and exits with
    `exit_code`.
    """

    exit_code = 2


class ResultsError(DraftmarkError):
    """A run folder or a record that cannot be read: foreign, damaged, or written by a newer Draftmark (exit 2)."""


class StoreWriteError(ResultsError):
    """A run folder that cannot be written: disk full, read-only, or taken by another process (exit 3)."""

    exit_code = 3
