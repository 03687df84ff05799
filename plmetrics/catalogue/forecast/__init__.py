"""Metrics of forecasts that are distributions: quantiles, a mean with its standard deviation, or an ensemble."""
