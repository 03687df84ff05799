"""The metrics of the task ranking."""
