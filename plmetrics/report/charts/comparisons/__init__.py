"""Charts of models against each other."""
