"""Advice: a first suite for a table, and suitable metrics."""
