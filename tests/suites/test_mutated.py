"""Every key and every value of a suite, spoilt one at a time: always exit code 2 and the line that is wrong."""

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

SUITE = """\
name: mutated
task: binary
data:
  path: scores.parquet
  where: "age > 0"
  missing: error
columns:
  label: label
  weight: weight
  unit: customer
models:
  champion:
    score: p
  challenger:
    score: q
metrics:
  - roc_auc
  - precision(threshold=0.3)
  - recall_at_precision:
      precision: 0.9
  - metric: ece
    slices:
      - region
  - name: approval
    mean: "score < 0.2"
    where: "age >= 18"
    direction: lower
  - name: cost
    formula: "50*fp + 2000*fn"
  - name: worst_brier
    over:
      slice_set: region
      metric: brier
      agg: worst
slices:
  region: region
  ages:
    column: age
    bins:
      - 30
      - 50
  crossed:
    columns:
      - region
      - device
  old:
    where: "age > 60"
min_rows: 5
max_slices: 100
uncertainty:
  method: bootstrap
  replicates: 20
  level: 0.9
  interval: auto
  seed: 3
  blocks: 100
compare:
  baseline: champion
  correction: holm
  family: metric
gates:
  - name: good
    metric: roc_auc
    model: challenger
    slices:
      - region
    level: warn
    at_least: 0.4
    using: interval
    on_undefined: skip
  - metric: approval
    model: challenger
    against: champion
    no_worse_than: 0.5
curves:
  - roc
  - curve: pr
    slices:
      - region
exact: true
memory: 1GB
output:
  directory: runs
"""
NAMED = {("models",), ("slices",)}
"""Mappings whose keys are the user's own names."""

REQUIRED = {
    ("columns",): "columns",
    ("columns", "label"): "columns",
    ("data", "path"): "data",
    ("models",): "models",
    ("compare", "baseline"): "compare",
    ("gates", 0, "metric"): "gates",
}
REFERENCES = [
    ("task",),
    ("metrics", 0),
    ("metrics", 1),
    ("metrics", 3, "metric"),
    ("metrics", 3, "slices", 0),
    ("metrics", 5, "formula"),
    ("metrics", 6, "over", "slice_set"),
    ("metrics", 6, "over", "metric"),
    ("metrics", 6, "over", "agg"),
    ("uncertainty", "method"),
    ("uncertainty", "interval"),
    ("compare", "baseline"),
    ("compare", "correction"),
    ("compare", "family"),
    ("gates", 0, "metric"),
    ("gates", 0, "model"),
    ("gates", 0, "slices", 0),
    ("gates", 0, "level"),
    ("gates", 0, "using"),
    ("gates", 0, "on_undefined"),
    ("gates", 1, "against"),
    ("curves", 0),
    ("curves", 1, "curve"),
    ("curves", 1, "slices", 0),
    ("data", "missing"),
]


@cache
def places() -> dict[tuple[Any, ...], tuple[Any, Any]]:
    """Path in the suite -> the node of its key (None for items of a list) and of its value."""
    found: dict[tuple[Any, ...], tuple[Any, Any]] = {}

    def walk(node: Any, path: tuple[Any, ...]) -> None:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                found[*path, key.value] = (key, value)
                walk(value, (*path, key.value))
        elif isinstance(node, yaml.SequenceNode):
            for index, value in enumerate(node.value):
                found[*path, index] = (None, value)
                walk(value, (*path, index))

    walk(yaml.compose(SUITE), ())
    return found


def name(path: tuple[Any, ...]) -> str:
    return ".".join(map(str, path))


def replaced(node: Any, text: str) -> str:
    return SUITE[: node.start_mark.index] + text + SUITE[node.end_mark.index :]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("mutated")
    rows = 40
    pl.DataFrame(
        {
            "label": [index % 2 for index in range(rows)],
            "p": [index / rows for index in range(rows)],
            "q": [1 - index / rows for index in range(rows)],
            "weight": [1.0] * rows,
            "customer": list(range(rows)),
            "age": [20 + index for index in range(rows)],
            "region": ["north", "south"] * (rows // 2),
            "device": ["web", "app"] * (rows // 2),
        }
    ).write_parquet(place / "scores.parquet")
    return place


def validate(
    folder: Path, text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    from plmetrics.cli.app import main

    (folder / "suite.yaml").write_text(text)
    monkeypatch.setattr(sys, "argv", ["plmetrics", "validate", str(folder / "suite.yaml")])
    with pytest.raises(SystemExit) as stopped:
        main()
    return int(stopped.value.code or 0), capsys.readouterr().err


def near(path: tuple[Any, ...]) -> set[int]:
    """The lines that say where a value is: its own, and for an item of a list that of the list's key."""
    found = {places()[path][1].start_mark.line + 1}
    if isinstance(path[-1], int):
        key = places()[path[:-1]][0]
        found |= {key.start_mark.line + 1} if key is not None else set()
    return found


def lines(errors: str) -> set[int]:
    return {int(line) for line in re.findall(r"suite\.yaml:(\d+):\d+", errors)}


def test_the_suite_is_valid_before(folder: Path, monkeypatch: Any, capsys: Any) -> None:
    code, errors = validate(folder, SUITE, monkeypatch, capsys)
    # A table of 40 rows is too small for ece, and the suite is told so.
    assert (code, errors.count("\n")) == (0, 1)
    assert errors.startswith("warning: ece may mislead")


def keys() -> Iterator[tuple[Any, ...]]:
    for path, (key, _) in places().items():
        if key is not None and path[:-1] not in NAMED:
            yield path


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", list(keys()), ids=name)
def test_a_misspelt_key(path: tuple[Any, ...], folder: Path, monkeypatch: Any, capsys: Any) -> None:
    key, _ = places()[path]
    code, errors = validate(folder, replaced(key, f"{key.value}x"), monkeypatch, capsys)
    assert code == 2
    assert key.start_mark.line + 1 in lines(errors), errors
    assert f"{key.value}x" in errors
    assert "Traceback" not in errors


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", REFERENCES, ids=name)
def test_a_misspelt_name(path: tuple[Any, ...], folder: Path, monkeypatch: Any, capsys: Any) -> None:
    _, value = places()[path]
    text = value.value.replace("fp", "fpq") if path[-1] == "formula" else f"x{value.value}"
    code, errors = validate(folder, replaced(value, f'"{text}"'), monkeypatch, capsys)
    assert code == 2
    assert near(path) & lines(errors), errors
    assert "Traceback" not in errors


def values() -> Iterator[tuple[Any, ...]]:
    for path, (_, value) in places().items():
        if isinstance(value, yaml.ScalarNode):
            yield path


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("wrong", ["{a: [1]}", "[[1], {a: 2}]"])
@pytest.mark.parametrize("path", list(values()), ids=name)
def test_a_value_of_another_type(
    path: tuple[Any, ...], wrong: str, folder: Path, monkeypatch: Any, capsys: Any
) -> None:
    _, value = places()[path]
    code, errors = validate(folder, replaced(value, wrong), monkeypatch, capsys)
    assert code == 2
    assert near(path) & lines(errors), errors
    assert "Traceback" not in errors


@pytest.mark.parametrize(("path", "section"), REQUIRED.items(), ids=str)
def test_a_key_that_is_dropped(
    path: tuple[Any, ...], section: str, folder: Path, monkeypatch: Any, capsys: Any
) -> None:
    key, value = places()[path]
    start = SUITE.rindex("\n", 0, key.start_mark.index) + 1 if key.start_mark.index else 0
    end = SUITE.index("\n", value.end_mark.index - 1) + 1
    if path[-1] == "metric":
        text = SUITE.replace("  - name: good\n    metric: roc_auc\n", "  - name: good\n")
    else:
        text = SUITE[:start] + SUITE[end:] if isinstance(value, yaml.ScalarNode) else _without(path[0])
    code, errors = validate(folder, text, monkeypatch, capsys)
    assert code == 2
    assert f"'{path[-1]}' is missing" in errors or f"{path[-1]}" in errors
    assert "Traceback" not in errors
    if len(path) > 1:
        wanted = next(number for number, line in enumerate(text.split("\n"), 1) if line.startswith(section))
        assert any(wanted <= line <= wanted + 3 for line in lines(errors)), errors


def _without(section: str) -> str:
    return re.sub(rf"(?m)^{section}:\n(?:  .*\n)+", "", SUITE)
