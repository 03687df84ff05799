"""A suite bound to a source: its columns, expressions and types, resolved on zero rows."""
