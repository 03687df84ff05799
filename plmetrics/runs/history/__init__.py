"""Earlier runs: those that serve as references or count in histories, and comparisons with them."""
