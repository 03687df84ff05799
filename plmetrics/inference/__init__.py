"""Resampling weights, intervals, contrasts and corrections: arrays in, arrays out."""
