"""Interval forms, one module each, and the ladder of choices among them."""
