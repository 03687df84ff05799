"""The state families: mergeable aggregates of rows, one per slice cell, model and block."""
