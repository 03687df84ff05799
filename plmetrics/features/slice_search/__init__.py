"""The search for slices that are worse than the rest: selection on one part of the units, tests on the other."""
