"""Metrics of several classes a row."""
