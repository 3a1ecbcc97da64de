"""Comparisons and verdicts as a terminal, a job summary, a test report or a program reads them."""
