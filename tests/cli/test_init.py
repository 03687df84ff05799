"""`plmetrics init`: what it guesses, and that what it writes runs."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

ROOT = Path(__file__).parents[2]
ADULT = ROOT / "configs" / "data" / "adult_test_with_predictions.parquet"
ABALONE = ROOT / "configs" / "data" / "abalone_with_predictions.csv"
ROWS = 3000


def table(rows: int = ROWS, **columns: Any) -> pl.DataFrame:
    """A binary table; columns of the same name replace its own, None takes one away."""
    draw = np.random.default_rng(0)
    y = draw.integers(0, 2, rows)
    own = {
        "row_id": np.arange(rows),
        "customer_id": draw.integers(0, 200, rows),
        "age": draw.integers(18, 80, rows),
        "region": draw.choice(["north", "south", "null"], rows),
        "city": draw.choice([f"city {i}" for i in range(100)], rows),
        "sample_weight": draw.random(rows) + 0.5,
        "score_a": np.clip(0.3 * y + 0.7 * draw.random(rows), 0, 1),
        "score_b": draw.random(rows),
        "label": y,
    }
    return pl.DataFrame({name: held for name, held in (own | columns).items() if held is not None})


def regression(rows: int = ROWS) -> pl.DataFrame:
    draw = np.random.default_rng(1)
    size, kind = draw.random(rows), draw.choice(["M", "F", "I"], rows)
    rings = 1 + draw.poisson(9, rows)
    return pl.DataFrame(
        {"Type": kind, "Size": size, "Rings": rings, "pred_gbdt": rings + draw.normal(size=rows)}
    )


def write(frame: pl.DataFrame, folder: Path, kind: str) -> Path:
    """The table as a file or folder of a kind."""
    if kind == "hive":
        for day in (1, 2):
            place = folder / "scores" / f"day={day}"
            place.mkdir(parents=True)
            frame.slice((day - 1) * ROWS // 2, ROWS // 2).write_parquet(place / "part.parquet")
        return folder / "scores"
    path = folder / f"scores.{kind}"
    frame.write_csv(path) if kind == "csv" else frame.write_parquet(path)
    return path


def started(invoke: Any, data: Path, *options: str) -> dict[str, Any]:
    outcome = invoke("init", str(data), *options)
    assert (outcome.code, outcome.err) == (0, "")
    content: dict[str, Any] = yaml.safe_load(outcome.out)
    return content


def assert_it_runs(invoke: Any, suite: Path) -> dict[str, Any]:
    assert invoke("validate", str(suite)).code == 0
    outcome = invoke("run", str(suite), "--set", "uncertainty.replicates=20", "--format", "json")
    assert outcome.code == 0
    result: dict[str, Any] = json.loads(outcome.out)
    assert any(row["value"] is not None for row in result["metrics"])
    return result


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["csv", "parquet", "hive"])
@pytest.mark.parametrize("make", [table, regression], ids=["binary", "regression"])
def test_what_it_writes_runs(invoke: Any, tmp_path: Path, kind: str, make: Any) -> None:
    data = write(make(), tmp_path, kind)
    suite = tmp_path / "suites" / "first.yaml"
    suite.parent.mkdir()
    outcome = invoke("init", str(data), "--output", str(suite))
    assert (outcome.code, outcome.out) == (0, "")
    content = yaml.safe_load(suite.read_text())
    assert content["data"]["path"] == f"../{data.name}"
    assert "day" in content.get("slices", {}) or kind != "hive"
    assert_it_runs(invoke, suite)


@pytest.mark.slow
def test_adult(invoke: Any, tmp_path: Path) -> None:
    shutil.copy(ADULT, tmp_path)
    suite = tmp_path / "adult.yaml"
    assert invoke("init", str(tmp_path / ADULT.name), "-o", str(suite)).code == 0
    content = yaml.safe_load(suite.read_text())
    assert (content["task"], content["columns"]) == ("binary", {"label": "label"})
    assert list(content["models"]) == ["p_gbdt", "p_rf", "p_oblique_rf"]
    assert content["slices"]["age"] == {"column": "age", "bins": [25, 40, 65]}
    # `income` says the same as the label: its slices would have one class each.
    assert "income" not in content["slices"]
    assert {"sex", "race"} < set(content["slices"])
    assert {"ece", "log_loss"} < set(content["metrics"])
    assert_it_runs(invoke, suite)


def test_abalone(invoke: Any, tmp_path: Path) -> None:
    shutil.copy(ABALONE, tmp_path)
    suite = tmp_path / "abalone.yaml"
    assert invoke("init", str(tmp_path / ABALONE.name), "-o", str(suite)).code == 0
    content = yaml.safe_load(suite.read_text())
    # No column is named like a label: Rings is the one whose values the predictions are near to.
    assert (content["task"], content["columns"]) == ("regression", {"label": "Rings"})
    assert all(column.startswith("pred_") for column in content["models"])
    assert content["slices"] == {"Type": "Type"}
    assert_it_runs(invoke, suite)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("file", "task"),
    [
        ("synthetic_ranking.csv", "ranking"),
        ("synthetic_topics.csv", "multilabel"),
        ("hpc_cv.parquet", "multiclass"),
        ("covid_forecasts.parquet", "quantile"),
    ],
)
def test_every_task_is_started(invoke: Any, tmp_path: Path, file: str, task: str) -> None:
    suite = tmp_path / "s.yaml"
    assert invoke("init", str(ADULT.parent / file), "-o", str(suite)).code == 0
    assert yaml.safe_load(suite.read_text())["task"] == task
    assert_it_runs(invoke, suite)


def test_guesses_for_a_binary_table(invoke: Any, tmp_path: Path) -> None:
    content = started(invoke, write(table(), tmp_path, "parquet"))
    assert content["columns"] == {"label": "label", "weight": "sample_weight", "unit": "customer_id"}
    assert content["models"] == {"score_a": "score_a", "score_b": "score_b"}
    assert content["slices"] == {"region": "region", "age": {"column": "age", "bins": [25, 40, 65]}}
    assert content["compare"] == {"baseline": "score_a"}
    assert "missing" not in content["data"]
    assert "positive" not in content


def test_guesses_for_a_regression_table(invoke: Any, tmp_path: Path) -> None:
    content = started(invoke, write(regression(), tmp_path, "csv"))
    assert (content["task"], content["columns"]["label"]) == ("regression", "Rings")
    assert content["models"] == {"pred_gbdt": "pred_gbdt"}
    assert content["slices"] == {"Type": "Type"}
    assert "compare" not in content
    assert "curves" not in content


LABELS = np.random.default_rng(0).integers(0, 2, ROWS)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("label", "positive"),
    [
        (LABELS.astype(bool), None),
        (np.where(LABELS > 0, "yes", "no"), "yes"),
        (np.where(LABELS > 0, "good", "bad"), "bad"),
        (np.where(LABELS > 0, 1, -1), 1),
        (np.where(LABELS > 0, 2.0, 1.0), 2.0),
        (np.where(LABELS > 0, "a: #1", "b, {2}"), "b, {2}"),
    ],
)
def test_positive(invoke: Any, tmp_path: Path, label: Any, positive: Any) -> None:
    write(table(label=label), tmp_path, "parquet")
    suite = tmp_path / "s.yaml"
    assert invoke("init", str(tmp_path / "scores.parquet"), "-o", str(suite)).code == 0
    content = yaml.safe_load(suite.read_text())
    assert (content["task"], content.get("positive")) == ("binary", positive)
    assert_it_runs(invoke, suite)


def test_scores_outside_0_1_get_no_probability_metrics(invoke: Any, tmp_path: Path) -> None:
    frame = table().with_columns(pl.col("score_a") * 10 - 5)
    content = started(invoke, write(frame, tmp_path, "parquet"))
    assert content["metrics"] == ["prevalence", "roc_auc", "average_precision", "ks"]
    assert content["curves"] == ["roc", "pr"]


def test_the_whole_table_is_looked_at_before_ranges_are_believed(invoke: Any, tmp_path: Path) -> None:
    frame = table(150_000).with_columns(
        score_a=pl.when(pl.int_range(pl.len()) == 21_000).then(1.5).otherwise("score_a"),
        score_b=pl.when(pl.int_range(pl.len()) == 22_000).then(None).otherwise("score_b"),
    )
    content = started(invoke, write(frame, tmp_path, "parquet"))
    assert "ece" not in content["metrics"]
    assert content["data"]["missing"] == "drop"


@pytest.mark.slow
def test_bad_values_are_dropped(invoke: Any, tmp_path: Path) -> None:
    frame = table().with_columns(
        label=pl.when(pl.int_range(pl.len()) > 2).then("label"),
        score_a=pl.when(pl.int_range(pl.len()) == 7).then(float("nan")).otherwise("score_a"),
    )
    write(frame, tmp_path, "parquet")
    suite = tmp_path / "s.yaml"
    assert invoke("init", str(tmp_path / "scores.parquet"), "-o", str(suite)).code == 0
    assert "missing: drop" in suite.read_text()
    assert "3 in label, 1 in score_a" in suite.read_text()
    assert_it_runs(invoke, suite)


NAMES = {
    "a: b": "x",
    "*": "x",
    "y,{z}": "x",
    "overall": "x",
    "50%": "x",
    "# no": "x",
    "a/b\n|c": "x",
    "ä 'ö\" \\": "x",
}


@pytest.mark.slow
def test_odd_names_are_quoted(invoke: Any, tmp_path: Path) -> None:
    columns = {name: np.where(LABELS > 0, "p", "q") for name in NAMES if name != "*"}
    draw = np.random.default_rng(3)
    columns = {name: draw.permutation(values) for name, values in columns.items()}
    frame = table(region=None, score_b=None, **columns).rename({"score_a": "score: 'a', #1"})
    write(frame, tmp_path, "parquet")
    suite = tmp_path / "s.yaml"
    assert invoke("init", str(tmp_path / "scores.parquet"), "-o", str(suite)).code == 0
    content = yaml.safe_load(suite.read_text())
    assert list(content["models"].values()) == ["score: 'a', #1"]
    assert {name for name in content["slices"].values() if isinstance(name, str)} <= set(columns)
    assert_it_runs(invoke, suite)


def test_scores_unlike_by_a_slash_are_two_models_and_line_ends_of_unicode_are_escaped(
    invoke: Any, tmp_path: Path
) -> None:
    odd = {"score_a": "score/a", "score_b": "score|a", "region": "re\u2028gion\x85"}
    data = write(table().rename(odd), tmp_path, "parquet")
    suite = tmp_path / "s.yaml"
    assert invoke("init", str(data), "-o", str(suite)).code == 0
    content = yaml.safe_load(suite.read_text())
    assert content["models"] == {"score_a": "score/a", "score_a_": "score|a"}
    assert odd["region"] in content["slices"].values()
    assert invoke("validate", str(suite)).code == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("changes", "options", "words"),
    [
        ({"label": None}, (), ("the label for certain", "--label")),
        ({"target": LABELS}, (), ("several columns may be the label: label, target", "--label label")),
        (
            {"score_a": None, "score_b": None, "first": LABELS * 0.5, "second": LABELS + 0.25},
            (),
            ("--score age or --score first, or both for two models",),
        ),
        (
            {
                "score_a": None,
                "score_b": None,
                "score": [f"{place / 7:.1f}%" for place in range(len(LABELS))],
            },
            (),
            ("column 'score' is called like a score, but holds texts: 0.0% to", "store it as numbers"),
        ),
        (
            {"label": None, "state of loan": ["good", "bad"] * (len(LABELS) // 2)},
            (),
            ("the label for certain: state of loan", "--label 'state of loan'"),
        ),
        ({}, ("--label", "lable"), ("column 'lable' is not in the data", "did you mean 'label'?")),
        ({}, ("--score", "score_c"), ("column 'score_c' is not in the data", "did you mean 'score_")),
        ({}, ("--score", "region"), ("column 'region' is of type String, but scores are numbers",)),
        ({}, ("--label", "city"), ("column 'city' holds more than two labels", "--label")),
    ],
)
def test_what_is_open_is_asked(
    invoke: Any, tmp_path: Path, changes: Any, options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    outcome = invoke("init", str(write(table(**changes), tmp_path, "parquet")), *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error: the table leaves open what to evaluate")
    assert all(word in outcome.err for word in words)


def test_options_settle_it(invoke: Any, tmp_path: Path) -> None:
    data = write(table(target=LABELS), tmp_path, "parquet")
    content = started(invoke, data, "--label", "target", "--score", "score_b")
    assert content["columns"]["label"] == "target"
    assert content["models"] == {"score_b": "score_b"}


def test_a_file_is_not_replaced_without_force(invoke: Any, tmp_path: Path) -> None:
    data = write(table(), tmp_path, "parquet")
    suite = tmp_path / "s.yaml"
    suite.write_text("mine")
    outcome = invoke("init", str(data), "-o", str(suite))
    assert (outcome.code, outcome.out) == (2, "")
    assert "--force" in outcome.err
    assert suite.read_text() == "mine"
    assert invoke("init", str(data), "-o", str(suite), "--force").code == 0
    assert yaml.safe_load(suite.read_text())["task"] == "binary"


@pytest.mark.parametrize(
    ("data", "output", "code", "words"),
    [
        ("absent.parquet", None, 5, "no such file"),
        ("empty.csv", None, 4, "empty.csv"),
        ("no_rows.parquet", None, 5, "no rows"),
        ("ftp://host/x.parquet", None, 2, "is not an address that can be read"),
        ("scores.parquet", "no/such/folder/s.yaml", 6, "cannot be written"),
    ],
)
def test_errors(
    invoke: Any,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    data: str,
    output: str | None,
    code: int,
    words: str,
) -> None:
    write(table(), root, "parquet")
    table().clear().write_parquet(root / "no_rows.parquet")
    (root / "empty.csv").touch()
    outcome = invoke("init", data, *(["-o", output] if output else []))
    assert (outcome.code, outcome.out) == (code, "")
    assert words in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.slow
def test_a_printed_suite_names_the_data_as_seen_from_here(
    invoke: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    write(table(), tmp_path / "data", "parquet")
    monkeypatch.chdir(tmp_path)
    out = invoke("init", "data/*.parquet").out
    assert yaml.safe_load(out)["data"]["path"] == "data/*.parquet"
    (tmp_path / "s.yaml").write_text(out)
    assert_it_runs(invoke, tmp_path / "s.yaml")
