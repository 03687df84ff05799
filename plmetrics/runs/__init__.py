"""The run folder: write, publish, read."""
