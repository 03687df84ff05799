"""Charts of the order of rows by a score."""
