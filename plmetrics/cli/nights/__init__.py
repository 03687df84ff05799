"""Commands about intervals."""
