"""Charts of groups that should fare alike."""
