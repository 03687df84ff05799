"""Labels that come later: rows without one, and how they differ from the others."""
