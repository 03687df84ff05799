"""Names that other libraries give to metrics."""
