"""Metrics of the outcomes of an experiment, for any arm."""
