"""Advice on metrics for a table: rules, and the facts that they read."""
