"""Charts of one task each: of numbers, of effects of a treatment, of forecasts, and of the fairness of decisions."""
