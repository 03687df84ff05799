"""Metrics of the outcomes of an experiment, whatever the arm."""
