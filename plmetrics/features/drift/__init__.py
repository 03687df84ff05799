"""Drift: change of scores, labels and attributes since a reference window."""
