"""Advice on metrics for a table: rules, and their facts."""
