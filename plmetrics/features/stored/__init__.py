"""Stored states: captured from a run, merged, and restored as one."""
