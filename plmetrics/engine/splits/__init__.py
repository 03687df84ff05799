"""Splits of a table: small plans that find where to cut, and the lazy columns that follow from them."""
