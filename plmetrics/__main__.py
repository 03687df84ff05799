"""`python -m plmetrics` is the command line."""

from __future__ import annotations

from plmetrics.cli.app import main

if __name__ == "__main__":
    main()
