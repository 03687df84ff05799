"""Metrics of distributions as forecasts: quantiles, a mean with its standard deviation, or an ensemble."""
