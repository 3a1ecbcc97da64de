"""Pages made from results; knows nothing of engines."""
