"""Draftmark: benchmarks of speculative decoding that can be trusted, and say how they were got."""

from __future__ import annotations

from importlib.metadata import version

__version__ = version("draftmark")
__all__ = ["__version__"]
