"""Comparison tests, one module each."""
