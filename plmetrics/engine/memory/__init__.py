"""The memory budget of a run."""
