"""What the page holds for those who read on: the table of arms, settings, lists of faults, machine and definitions."""
