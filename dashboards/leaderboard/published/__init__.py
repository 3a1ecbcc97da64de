"""Numbers that others published, each with its source; nothing here was measured by Draftmark."""
