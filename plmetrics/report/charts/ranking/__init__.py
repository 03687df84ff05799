"""Charts of how a score orders rows."""
