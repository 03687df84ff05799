"""Leakage: rows and attributes of the table that give the label away."""
