"""Charts of decisions by a threshold, and of called classes."""
