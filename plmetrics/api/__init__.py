"""The Python entry points, each imported from its module on use."""
