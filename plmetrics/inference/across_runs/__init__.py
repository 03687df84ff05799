"""Comparisons of a run with an earlier one."""
