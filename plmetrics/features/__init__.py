"""Features: parts of a run that only some suites ask for, a folder each, from the key of the suite to the report."""
