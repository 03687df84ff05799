"""Which metrics suit a table: rules, and the facts that they read."""
