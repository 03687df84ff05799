"""Change points: intervals with the start of another level of a value."""
