"""Curves: points to draw, a module for each kind of state they are read from."""
