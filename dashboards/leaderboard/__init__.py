"""Leaderboards: who is fastest on one target, one machine and one suite, as far as the measurements can tell."""
