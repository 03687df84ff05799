"""Where the command line meets the terminal: streams, progress, completion, and every way a command can fail."""
