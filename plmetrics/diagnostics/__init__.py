"""Warnings of probable mistakes: of gates, values, thresholds, queries and treatments."""
