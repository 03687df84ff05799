"""The scan for the sums of every cube, and the rows for ordered metrics."""
