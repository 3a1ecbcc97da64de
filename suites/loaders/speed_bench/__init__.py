"""SPEED-Bench: finding, checking and resolving its splits, and the plan entry that asks them."""

from draftmark.suites.loaders.speed_bench.spec import SpeedBenchSpec

__all__ = ["SpeedBenchSpec"]
