"""The constants of a run: slices, units, thresholds, calibrators, baselines and exponents."""
