"""Shards of a table: units of work, their common plan, and states of units."""
