"""Charts of slices: their values, differences and gaps."""
