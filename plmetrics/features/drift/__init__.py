"""Drift: how scores, labels and attributes moved from a reference window."""
