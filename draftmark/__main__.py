"""`python -m draftmark` is the command `draftmark`."""

from draftmark.bench.cli import main

main()
