"""Metrics of labels with several classes."""
