"""Charts of fairness between groups."""
