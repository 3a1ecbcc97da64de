"""The program: plans, running, and the command line."""
