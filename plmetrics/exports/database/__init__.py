"""The tables of results in a database."""
