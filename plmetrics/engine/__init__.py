"""The only layer with collects: prepare, cubes, passes, order."""
