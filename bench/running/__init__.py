"""Running a plan: who is asked what and when, what is recorded, and how a run is broken off and resumed."""
