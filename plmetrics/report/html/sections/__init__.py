"""Sections of the HTML report, each from the tables of a result."""
