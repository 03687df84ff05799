"""Charts of drift."""
