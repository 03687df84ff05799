"""Metrics of binary classification."""
