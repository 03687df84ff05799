"""Metrics of treatment effects, and of scores that predict them."""
