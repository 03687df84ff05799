"""The program `plmetrics`, also as `python -m plmetrics`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; whoever interrupts it, be it while its modules load, sees a word and no traceback."""
    try:
        from plmetrics.cli.app import main as run

        run()
    except KeyboardInterrupt:
        from plmetrics.core.process import interruption

        if sys.stderr is not None:
            sys.stderr.write(f"{interruption.title}\n")
        sys.exit(interruption.exit_code)


if __name__ == "__main__":
    main()
