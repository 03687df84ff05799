"""Delayed labels: rows without one, and their difference to the others."""
