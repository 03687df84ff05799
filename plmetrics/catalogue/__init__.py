"""The metrics: one file a task family, one small class a metric."""
