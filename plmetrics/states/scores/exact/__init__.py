"""Rows of a slice set in the order of their scores, and the exact points of these."""
