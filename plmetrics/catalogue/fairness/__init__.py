"""Fairness: how far groups differ."""
