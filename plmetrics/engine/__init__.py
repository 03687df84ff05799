"""The only layer that collects: prepare, cubes, passes, order."""
