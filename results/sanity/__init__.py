"""The lamps: what makes a run's numbers trustworthy, doubtful or void, each as a sentence that a newcomer understands.

Levels: `ok` was checked and found in order; `unjudged` is in order as far as this run could tell, which was not all the
way; `note` is worth knowing and spoils no number; `warning` makes numbers doubtful; `fault` makes them void. A name
without a lamp was not checked.
"""

from draftmark.results.sanity.checked import CheckedCell, check_group, check_run

__all__ = ["CheckedCell", "check_group", "check_run"]
