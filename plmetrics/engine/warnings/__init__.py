"""Warnings of what is no error but probably not meant."""
