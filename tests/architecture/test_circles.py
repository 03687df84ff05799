"""No module needs, by whatever chain of imports, one that needs it: also not for a type, nor inside a function."""

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import plmetrics

PACKAGE = Path(plmetrics.__file__).parent
STATEMENT = re.compile(
    r"^ *(?:from (plmetrics[\w.]*) import (\([^)]*\)|[^\n]+)|import (plmetrics[\w.]*))", re.MULTILINE
)
"""An import of the package, one a line as ruff has them: trees of all modules take 30 times as long."""
LISTED = re.compile(r"(\w+)(?: as \w+)?\s*(?:,|\)|$|#)")


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports() -> dict[str, set[str]]:
    """By module those that it imports anywhere."""
    paths = {name_of(path): path for path in PACKAGE.rglob("*.py")}
    every = set(paths)
    found: dict[str, set[str]] = {name: set() for name in paths}
    for name, path in paths.items():
        for module, listed, plain in STATEMENT.findall(path.read_text()):
            named = {f"{module}.{part}" for part in LISTED.findall(listed)}
            found[name] |= {plain} & every if plain else (named & every) or ({module} & every)
    return found


@pytest.mark.slow
def test_imports_make_no_circle() -> None:
    try:
        TopologicalSorter(imports()).prepare()
    except CycleError as error:
        raise AssertionError(" imports ".join(error.args[1][::-1])) from None
