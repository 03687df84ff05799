"""Explanation of a run: its reads, groups and memory, without an aggregation."""
