"""What the page says first: which arm pays, why, how sure that is, and whether the run can be trusted."""
