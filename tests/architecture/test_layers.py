import ast
import re
from pathlib import Path

import pytest

import plmetrics

PACKAGE = Path(plmetrics.__file__).parent

LAYERS = [
    "core",
    "table",
    "states",
    "catalogue",
    "suite",
    "engine",
    "inference",
    "gates",
    "runs",
    "report",
    "api",
    "jobs",
    "cli",
]
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.name == "api.py")


def layer_of(module: str) -> str:
    return module.split(".")[1]


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.startswith("plmetrics.") and layer_of(name) in LAYERS}


def name_of(path: Path) -> str:
    return ".".join(["plmetrics", *path.relative_to(PACKAGE).with_suffix("").parts])


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_go_down_the_layers_only(path: Path) -> None:
    own = LAYERS.index(layer_of(name_of(path)))
    upward = {name for name in imported(path) if LAYERS.index(layer_of(name)) > own}
    assert not upward


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_engine_collects_and_only_cli_prints(path: Path) -> None:
    layer = layer_of(name_of(path))
    functions = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    methods = {function.attr for function in functions if isinstance(function, ast.Attribute)}
    if layer != "engine":
        assert not {
            name for name in methods if re.fullmatch(r"collect|collect_all|collect_batches|sink_\w+", name)
        }
    if layer != "cli":
        assert "print" not in {function.id for function in functions if isinstance(function, ast.Name)}


def test_no_module_bears_the_name_of_a_public_function() -> None:
    top = {path.stem for path in PACKAGE.glob("*.py")} | {
        path.name for path in PACKAGE.iterdir() if path.is_dir()
    }
    assert not top & {"evaluate", "run", "metric", "metrics"}


def test_every_public_name_is_there() -> None:
    for name in plmetrics.__all__:
        assert getattr(plmetrics, name) is not None
