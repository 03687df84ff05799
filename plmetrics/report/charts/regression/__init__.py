"""Charts of errors of numbers."""
