"""The metrics of the task regression."""
