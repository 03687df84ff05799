"""Databases as sources: a query's rows, read once."""
