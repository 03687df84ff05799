"""Cross-validation: estimates fold by fold, choices of nested folds, curves, gaps, bias and variance."""
