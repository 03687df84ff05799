"""Features: optional parts of a run, a folder each, from the key of the suite to the report."""
