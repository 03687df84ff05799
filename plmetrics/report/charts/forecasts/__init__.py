"""Charts of forecast distributions."""
