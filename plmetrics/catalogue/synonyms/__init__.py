"""Names of metrics in other libraries."""
