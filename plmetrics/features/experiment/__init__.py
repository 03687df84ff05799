"""Readout of experiments: each arm against the control, by outcome and slice."""
