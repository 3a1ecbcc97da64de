"""Names of counters that mean more than the engine's own, in the windows of a cell's `engine.json`."""

from __future__ import annotations

RESETS = "counter_resets"
"""How often some counter was seen to begin at zero again, or to have forgotten something."""
VERIFIED = "verified_steps"
"""Runs of the target over drafts, by engines that count these and no drafts."""
CACHED = "cached_prompt_tokens"
"""Prompt tokens that a cache answered for; in the details of single answers too."""
DRAFTING_S = "drafting_s"
"""Seconds that the drafter worked while turns were decoded."""
