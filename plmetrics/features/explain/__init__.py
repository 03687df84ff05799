"""Explain: what a run would read, group and hold, without an aggregation."""
