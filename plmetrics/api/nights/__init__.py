"""Evaluations of intervals: of one, of missing ones, and their files."""
