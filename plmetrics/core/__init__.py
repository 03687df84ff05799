"""Foundations of every layer: errors, names, metric text, operators, hashing, row expressions, result schemas."""
