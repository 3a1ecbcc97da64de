"""The typed records of a run: what was planned, what was asked, and everything observed of each model call.

Records hold raw stamps and counts only; every number shown to a user is a pure function of them. Stamps are seconds on
one monotonic clock per session, zero at the start of the session (the process) that wrote them; stamps of different
sessions are never subtracted from each other. Written files are strict JSON: no NaN and no Infinity.
"""

from draftmark.results.records.base import SCHEMA_VERSION
from draftmark.results.records.divergences import Divergence
from draftmark.results.records.keys import Arm, CellKey, Sampling
from draftmark.results.records.manifest import (
    CellRecord,
    Environment,
    ModelIdentity,
    RunManifest,
    Session,
    SuiteCaution,
    SuiteIdentity,
)
from draftmark.results.records.prompts import PromptRecord
from draftmark.results.records.turns import Observation, ReportedCounts, StepColumns, TurnFailure, TurnRecord

__all__ = [
    "SCHEMA_VERSION",
    "Arm",
    "CellKey",
    "CellRecord",
    "Divergence",
    "Environment",
    "ModelIdentity",
    "Observation",
    "PromptRecord",
    "ReportedCounts",
    "RunManifest",
    "Sampling",
    "Session",
    "StepColumns",
    "SuiteCaution",
    "SuiteIdentity",
    "TurnFailure",
    "TurnRecord",
]
