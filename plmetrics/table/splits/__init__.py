"""Splits: which rows go to which fold, by hashes of keys and by small tables of counts."""
