"""Charts of scores as probabilities."""
