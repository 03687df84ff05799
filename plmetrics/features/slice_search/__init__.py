"""Search for slices worse than the rest: selection on one part of the units, tests on the other."""
