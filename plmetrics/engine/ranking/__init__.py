"""Rows of a ranking task as queries."""
