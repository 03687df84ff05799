"""The state family scores: weight per class along the score."""
