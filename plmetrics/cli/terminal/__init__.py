"""The terminal of the command line: streams, progress, completion, and every way a command can fail."""
