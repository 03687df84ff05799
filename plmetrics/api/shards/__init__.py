"""Units of a table: planned, counted one by one or on a runner, and put together as one result."""
