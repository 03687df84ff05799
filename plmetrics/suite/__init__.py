"""YAML or keyword arguments, turned into one typed and checked suite."""
