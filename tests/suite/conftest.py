"""Fixtures of suites as texts."""

from suites.loading import load, refuse

__all__ = ["load", "refuse"]
