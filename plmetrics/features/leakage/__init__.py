"""Leakage: rows and attributes of the table that reveal the label."""
