"""Rules on estimates and contrasts, turned into verdicts."""
