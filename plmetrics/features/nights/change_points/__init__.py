"""Change points: intervals from which on a value of a history has another level."""
