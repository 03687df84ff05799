"""Shards of a table: units of work, the plan that they share, and states of units."""
