"""Advice: a first suite for a table, and the metrics that suit it."""
