"""Arguments and options of commands."""
