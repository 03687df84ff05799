"""Runners: where tasks on units of work run, on this machine or on those of a cluster."""
