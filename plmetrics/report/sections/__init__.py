"""One section of a report a file: a summary in, lines out, none where there is nothing to say."""
