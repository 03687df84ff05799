"""Charts of cross-validation."""
