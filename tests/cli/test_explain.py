import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

SUITE = """\
name: nightly
data: {path: scores.csv}
columns: {label: y}
models: {m: p}
metrics: [roc_auc, recall]
slices: {g: g}
uncertainty: {replicates: 50}
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    pl.DataFrame({"y": [0, 1] * 50, "p": [0.25, 0.75] * 50, "g": list("abcdefghij") * 10}).write_csv(
        tmp_path / "scores.csv"
    )
    file = tmp_path / "nightly.yaml"
    file.write_text(SUITE)
    return file


def test_it_writes_and_evaluates_nothing(invoke: Any, suite: Path) -> None:
    outcome = invoke("explain", str(suite))
    assert (outcome.code, outcome.err) == (0, "")
    for words in ("nightly: binary", "22 values", "1 csv file", "every plan streams", "min_rows is not set"):
        assert words in outcome.out
    assert sorted(path.name for path in suite.parent.iterdir()) == ["nightly.yaml", "scores.csv"]


def test_without_data(invoke: Any, suite: Path) -> None:
    outcome = invoke("explain", str(suite), "--no-data", "--format", "json")
    content = json.loads(outcome.out)
    assert content["estimates"] is None
    assert {part["name"]: part["slices"] for part in content["sets"]} == {"overall": 1, "g": None}


def test_set(invoke: Any, suite: Path) -> None:
    out = invoke("explain", str(suite), "--set", "slices=null", "--format", "json").out
    assert json.loads(out)["estimates"] == 2


@pytest.mark.parametrize(
    ("old", "new", "code", "words"),
    [
        ("recall", "recal", 2, "did you mean 'recall'?"),
        ("scores.csv", "absent.csv", 5, "absent.csv"),
        ("label: y", "label: z", 4, "nightly.yaml:3:"),
        ("slices: {g: g}", "slices: {g: g}\nmax_slices: 5", 2, "max_slices"),
    ],
)
def test_errors(invoke: Any, suite: Path, old: str, new: str, code: int, words: str) -> None:
    suite.write_text(SUITE.replace(old, new))
    outcome = invoke("explain", str(suite))
    assert (outcome.code, outcome.out) == (code, "")
    assert words in outcome.err
    assert "Traceback" not in outcome.err
