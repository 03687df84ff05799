"""Splits: columns of folds by hashes of keys, by groups and in time."""
