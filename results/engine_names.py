"""Names by which a cell's record says what kind of engine it was and where that ran; backends write them, pages ask."""

from __future__ import annotations

REFERENCE = "reference"
"""Kind of Draftmark's own engine, made to be read and to serve nobody."""
PROCESS = "process"
"""Resolved setting of an engine that is not in the run's own process: which one it is in."""
OWN_SERVER = "a server of its own"
"""That process: a server that the run started itself, on the machine on record."""
ELSEWHERE = "a server"
"""That process: a server that was there before, on whatever machine."""
