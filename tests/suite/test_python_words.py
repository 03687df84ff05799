"""Problems name keys in the words of the door that a suite came in by: YAML or keyword arguments."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

import plmetrics as plm
from plmetrics.core.errors import ConfigError, DataError, PlmetricsError
from plmetrics.suite.python_words import python_text

FRAME = pl.DataFrame(
    {"y": [0, 1, 1, None], "p": [0.1, 0.9, 0.4, 0.3], "q": [0.3, 0.2, 0.4, 0.3], "g": list("abab")}
)
ROLES = ("label", "weight", "query", "unit", "treatment", "fold", "document")
DATA = ("where", "missing")

DOORS: list[tuple[dict[str, Any], str, str]] = [
    (
        {"task": "ranking", "label": "y", "where": "y >= 0"},
        "columns: task 'ranking' needs columns.query\n    name its column: columns: {query: ...}",
        "task 'ranking' needs query\n    name its column: query=...",
    ),
    (
        {"models": {"m": {"mean": "p"}}, "task": "quantile"},
        "models.m: mean and sd stand together\n    write {mean: column, sd: column}",
        'models.m: mean and sd stand together\n    write {"mean": "column", "sd": "column"}',
    ),
    (
        {"calibrate": {"method": "platt", "fit_on": "fold"}},
        "calibrate.fit_on: fit_on: fold needs columns.fold\n    name its column: columns: {fold: ...}",
        "calibrate.fit_on: fit_on: fold needs fold\n    name its column: fold=...",
    ),
    (
        {"gates": [{"metric": "f1", "at_least": 0.1, "using": "interval"}], "metrics": ["f1"]},
        "gates.0.using: using: interval needs uncertainty\n    add uncertainty: {replicates: 1000}",
        'gates.0.using: "using": "interval" needs uncertainty\n    add uncertainty={"replicates": 1000}',
    ),
    (
        {"compare": {"correction": "holm"}},
        "compare: compare does not say what is compared\n"
        "    name a baseline, or pairs: all, slices: {region: rest}, run: FOLDER",
        "compare: compare does not say what is compared\n"
        '    name a baseline, or "pairs": "all", "slices": {"region": "rest"}, "run": "FOLDER"',
    ),
    (
        {"slices": [{"column": "p"}]},
        "slices.0: a list of slices holds columns, not {'column': 'p'}\n"
        "    write slices: {name: {...}} for anything else",
        "slices.0: a list of slices holds columns, not {'column': 'p'}\n"
        '    write slices={"name": {...}} for anything else',
    ),
    (
        {"leakage": {"duplicates": True}},
        "leakage.duplicates: duplicates: true needs keys\n    add keys: [id], or list columns here",
        'leakage.duplicates: "duplicates": True needs keys\n    add "keys": ["id"], or list columns here',
    ),
    (
        {"cross_validation": {"repeat": "g"}},
        "cross_validation.repeat: repeat needs columns.fold\n    name its column: columns: {fold: ...}",
        "cross_validation.repeat: repeat needs fold\n    name its column: fold=...",
    ),
    (
        {"slices": {"s": {"bins": 3, "column": "p"}}},
        "slices.s.bins: bins must be a list of edges, not 3\n    write bins: [25, 40, 65], or quantiles: 3",
        'slices.s.bins: bins must be a list of edges, not 3\n    write "bins": [25, 40, 65], or "quantiles": 3',
    ),
    (
        {"metrics": ["disparity(recall, by=g)"]},
        "metrics.0: 'g' is not one of the slice sets\n    add it: slices: {g: g}",
        'metrics.0: \'g\' is not one of the slice sets\n    add it: slices={"g": "g"}',
    ),
    (
        {},
        "data.path: columns.label: column 'y' (label): 1 of 4 values is null, the first in row 3 (counted from 0)\n"
        "    clean the column, or leave such rows out with data.missing: drop",
        "label: column 'y' (label): 1 of 4 values is null, the first in row 3 (counted from 0)\n"
        '    clean the column, or leave such rows out with missing="drop"',
    ),
]


def written(arguments: dict[str, Any], file: Path) -> Path:
    """The suite that says the same."""
    given = {"label": "y", "models": {"m": "p"}, **arguments}
    FRAME.write_parquet(file.parent / "rows.parquet")
    columns = {key: given.pop(key) for key in ROLES if key in given}
    data = {"path": "rows.parquet", **{key: given.pop(key) for key in DATA if key in given}}
    file.write_text(yaml.safe_dump({"columns": columns, "data": data, **given}))
    return file


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("arguments", "in_yaml", "in_python"), DOORS, ids=[text[:30] for _, text, _ in DOORS]
)
def test_each_door_has_its_words(
    arguments: dict[str, Any], in_yaml: str, in_python: str, tmp_path: Path
) -> None:
    with pytest.raises(PlmetricsError) as of_file:
        plm.run(written(arguments, tmp_path / "suite.yaml"))
    with pytest.raises(PlmetricsError) as of_call:
        plm.evaluate(FRAME, **{"label": "y", "models": {"m": "p"}, **arguments})
    (problem,) = of_file.value.problems
    assert problem.where is not None
    words = in_yaml.removeprefix("data.path: ").partition(": ")[2]
    assert str(problem) == f"{problem.where}: {words}"
    assert str(of_call.value) == in_python
    assert type(of_call.value) in {ConfigError, DataError}


@pytest.mark.parametrize(
    "text",
    [
        "a model has {'scor': 'p'}, not [1, 2]",
        "the column [a holds: nothing",
        "against: the model to compare with",
    ],
)
def test_other_texts_stay(text: str) -> None:
    assert python_text(text) == text


def test_python_words_are_translated_once() -> None:
    for _, in_yaml, _ in DOORS:
        once = python_text(in_yaml)
        assert python_text(once) == once
