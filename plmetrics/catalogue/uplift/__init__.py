"""Metrics of treatment effects, and of scores for them."""
