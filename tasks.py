"""What a contributor runs."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

PYTEST = ["pytest", "--numprocesses=2", "--dist=loadfile"]
TASKS = {
    "test": ("every test", [PYTEST]),
    "quick": ("the tests that catch everyday mistakes", [[*PYTEST, "-m", "not slow"]]),
    "style": ("ruff's rules and format", [["ruff", "check", "."], ["ruff", "format", "--check", "."]]),
    "types": ("mypy --strict", [["mypy", "--strict"]]),
    "pages": ("write the generated parts of the pages; --check only looks", [["docs.generate"]]),
    "gallery": ("draw the gallery of charts anew", [["docs.gallery"]]),
    "site": (
        "build the site into build/; needs the extra docs",
        [["mkdocs", "build", "--strict", "--quiet"]],
    ),
    "bench": ("measure against peers; needs the extra bench", [["benchmarks"]]),
}


def main() -> None:
    """Run the modules of a task in turn; the first that fails ends it."""
    lines = "\n".join(f"  {name:<7} {meaning}" for name, (meaning, _) in TASKS.items())
    parser = argparse.ArgumentParser(
        prog="python -m tasks",
        description=f"{__doc__}\n\n{lines}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("task", choices=TASKS, metavar="TASK")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="go on to the last command of the task")
    chosen = parser.parse_args(sys.argv[1:] or ["--help"])
    *first, last = TASKS[chosen.task][1]
    for command in (*first, [*last, *chosen.arguments]):
        environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
        run = subprocess.run(
            [sys.executable, "-m", *command], cwd=Path(__file__).parent, env=environment, check=False
        )
        if run.returncode:
            sys.exit(run.returncode)


if __name__ == "__main__":
    main()
