"""Charts of effects of a treatment."""
