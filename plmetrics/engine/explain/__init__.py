"""What a run would do, without an aggregation."""
