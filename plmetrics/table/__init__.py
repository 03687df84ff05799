"""Sources, roles, canonical columns, checks, slices and units: plans, and interpreters of their results."""
