"""The command line: arguments, exit codes; the only layer that prints."""
