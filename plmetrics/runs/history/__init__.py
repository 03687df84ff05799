"""Earlier runs: references and members of histories, and comparisons with them."""
