"""The charts of the page: what each one draws, and the pieces that all of them share."""
