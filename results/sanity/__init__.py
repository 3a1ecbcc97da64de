"""The lamps: what makes a run's numbers trustworthy, doubtful or void, each as a sentence that a newcomer understands.

Levels: `ok` was checked and found in order; `note` is worth knowing and spoils no number; `warning` makes numbers
doubtful; `fault` makes them void. A name without a lamp was not checked.
"""

from draftmark.results.sanity.checked import CheckedCell, check_group, check_run

__all__ = ["CheckedCell", "check_group", "check_run"]
