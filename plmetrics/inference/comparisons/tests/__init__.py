"""Statistical tests of two models, arms or samples, one module each."""
