"""Suites read from elsewhere: one module per source."""
