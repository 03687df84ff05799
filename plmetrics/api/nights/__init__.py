"""Evaluations of intervals: one, those that are missing, and what is written of them."""
