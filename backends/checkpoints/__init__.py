"""What a folder of model files is: which drafter or target it holds, and whether the two fit. Nothing is loaded."""

from draftmark.backends.checkpoints.checkpoint import DraftCheckpoint, plan_entry, plan_line, target_line
from draftmark.backends.checkpoints.fit import problems_with
from draftmark.backends.checkpoints.reading import find_checkpoint, read_checkpoint

__all__ = [
    "DraftCheckpoint",
    "find_checkpoint",
    "plan_entry",
    "plan_line",
    "problems_with",
    "read_checkpoint",
    "target_line",
]
