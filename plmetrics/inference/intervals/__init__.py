"""Interval forms, one module each, and the ladder that chooses among them."""
