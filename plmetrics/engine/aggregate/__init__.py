"""The scan that aggregates every cube, and the rows that come with it."""
