"""States that outlive a run: taken from one, merged, and brought back as what estimates are made from."""
