"""Fairness: differences between groups."""
