"""Suites as YAML text."""
