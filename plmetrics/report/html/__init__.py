"""The report of a run as one static HTML file: no script, no request, readable in print and aloud."""
