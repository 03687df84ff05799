"""Cross-validated estimates: from the values of folds to summaries, choices, curves and gaps."""
