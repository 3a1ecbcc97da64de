"""The folder of a run on disk: how it is named, written so that it survives, read back checked, and resumed."""
