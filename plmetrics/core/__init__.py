"""What every layer may use: errors, names, metric text, operators, hashing, row expressions, result schemas."""
