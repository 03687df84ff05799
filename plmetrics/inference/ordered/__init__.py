"""Values and replicates of metrics of the order of rows."""
