"""Scores counted on a grid, where sorted rows do not fit into memory."""
