import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

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
    "diagnostics",
    "runs",
    "report",
    "exports",
    "runners",
    "features",
    "api",
    "cli",
]
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.name == "api.py")


ANYWHERE = ("plmetrics.features.registry", "plmetrics.features.protocol")
"""What knows features by their keys alone, and imports them when asked."""

COMMANDS = {
    "plmetrics.cli.explain": "explain",
    "plmetrics.api.merging": "nights shards stored",
    "plmetrics.api.shards.distribution": "shards",
    "plmetrics.api.shards.plans": "shards",
    "plmetrics.api.shards.spark_tables": "shards",
    "plmetrics.api.nights.acceptance": "nights",
    "plmetrics.api.nights.backfill": "nights",
    "plmetrics.api.nights.checks": "nights",
    "plmetrics.api.nights.collection": "nights",
    "plmetrics.api.nights.data_stamps": "nights",
    "plmetrics.api.nights.history": "nights",
    "plmetrics.api.nights.night": "nights",
    "plmetrics.api.states": "stored",
    "plmetrics.cli.init": "advice",
    "plmetrics.cli.nights.history": "nights",
    "plmetrics.cli.power": "experiment",
    "plmetrics.cli.readout": "experiment",
    "plmetrics.cli.split": "splits",
    "plmetrics.cli.suggest": "advice",
}
"""The commands and functions of features by module: each imports its feature when it runs."""


def layer_of(module: str) -> str:
    return module.split(".")[1]


IMPORT = re.compile(
    r"^ *from (plmetrics[\w.]*) import (?:\(([^)]*)\)|([^#\n]*))|^ *import (plmetrics[\w.]*)", re.MULTILINE
)


@cache
def imported(path: Path) -> set[str]:
    found = set()
    for source, lines, line, module in IMPORT.findall(path.read_text()):
        names = re.findall(r"(\w+)(?: as \w+)?", lines or line)
        found |= {module or source} | {f"{source}.{name}" for name in names}
    ours = {name for name in found if name.startswith("plmetrics.") and layer_of(name) in LAYERS}
    return {name for name in ours if not name.startswith(ANYWHERE)}


def name_of(path: Path) -> str:
    return ".".join(["plmetrics", *path.relative_to(PACKAGE).with_suffix("").parts])


def test_imports_go_down_the_layers_only() -> None:
    height = {layer: number for number, layer in enumerate(LAYERS)}
    upward = {
        (name_of(path), name)
        for path in MODULES
        for name in imported(path)
        if height[layer_of(name)] > height[layer_of(name_of(path))]
    }
    assert not upward


def test_no_module_but_those_of_features_and_its_command_imports_one() -> None:
    for path in MODULES:
        if layer_of(name_of(path)) != "features":
            named = {".".join(name.split(".")[:3]) for name in imported(path) if layer_of(name) == "features"}
            assert named <= {f"plmetrics.features.{name}" for name in COMMANDS.get(name_of(path), "").split()}


def test_a_feature_is_not_loaded_before_it_is_asked_for() -> None:
    code = "import sys, plmetrics, plmetrics.cli.app; print(*(name for name in sys.modules if 'features.' in name))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert not set(loaded.split()) - set(ANYWHERE)


CALLS_OF_LAYERS = re.compile(r"(\.collect|\.sink_|print)\w*\s*\(")
"""What calls of one layer alone look like; only modules with such text are parsed."""


def calls(path: Path) -> set[str]:
    """Names of the functions that a module calls, a method's after a point."""
    text = path.read_text()
    tree = ast.parse(text if CALLS_OF_LAYERS.search(text) else "")
    functions = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    methods = {f".{function.attr}" for function in functions if isinstance(function, ast.Attribute)}
    return methods | {function.id for function in functions if isinstance(function, ast.Name)}


def test_only_engine_collects_and_only_cli_prints() -> None:
    named = {(layer_of(name_of(path)), name_of(path), call) for path in MODULES for call in calls(path)}
    collecting = re.compile(r"\.(collect|collect_all|collect_batches|sink_\w+)")
    assert not {one for one in named if collecting.fullmatch(one[2]) and one[0] != "engine"}
    assert not {one for one in named if one[2] == "print" and one[0] != "cli"}


BY_VALUE = {
    "plmetrics.table.joins": "what joins by values",
    "plmetrics.table.formats.iceberg_deletes": "a semi-join, which finds NaN",
    "plmetrics.features.cross_validation.fold_summaries": "a semi-join, which finds NaN",
    "plmetrics.features.splits.hash_parts": "a semi-join, which finds NaN",
    "plmetrics.inference.across_runs.sides": "names and texts of slices",
    "plmetrics.inference.comparisons.tests.samples": "texts of values",
    "plmetrics.features.nights.interval_history": "names and texts of slices",
    "plmetrics.features.nights.change_points.history_levels": "names and texts of slices",
}
"""Modules that join by keys where null is one, and why they may: `table.joins` is for keys that may be NaN."""


def test_keys_that_may_be_nan_are_joined_by_table_joins() -> None:
    joining = {
        name_of(path)
        for path in MODULES
        if layer_of(name_of(path)) in {"table", "states", "engine", "inference", "features"}
        and ".charts." not in name_of(path)
        and "nulls_equal" in path.read_text()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.keyword) and node.arg == "nulls_equal"
    }
    assert joining == set(BY_VALUE)


def test_no_module_bears_the_name_of_a_public_function() -> None:
    top = {path.stem for path in PACKAGE.glob("*.py")} | {
        path.name for path in PACKAGE.iterdir() if path.is_dir()
    }
    assert not top & {"evaluate", "run", "metric", "metrics"}


def test_every_public_name_is_there() -> None:
    for name in plmetrics.__all__:
        assert getattr(plmetrics, name) is not None
