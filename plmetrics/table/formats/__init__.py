"""File formats a prediction table may come in, one module each."""
