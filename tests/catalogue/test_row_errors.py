"""The standard errors of sums of rows are those of all rows, however many blocks the bootstrap would draw."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from scipy import stats
from sklearn import metrics as sklearn_metrics

import plmetrics as plm
from plmetrics.catalogue.metric import Facts
from plmetrics.catalogue.row_errors import MOST_SUMS, row_error
from plmetrics.suite.reader import suite_from_mapping

ROWS = 20_000
FAR = 1e9


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    random = np.random.default_rng(0)
    y = random.random(ROWS) < 0.3
    level = random.gamma(2, 3, ROWS) + 1
    columns = {
        "y": y,
        "p": 1 / (1 + np.exp(1 - 1.5 * y - random.normal(size=ROWS))),
        "p2": 1 / (1 + np.exp(1 - y - random.normal(size=ROWS))),
        "t": level,
        "q": level + random.normal(0, 1 + level / 5, ROWS),
        "w": random.choice([0.0, 0.5, 1, 4], ROWS),
        "far": FAR + random.normal(size=ROWS),
        "g": random.choice(list("abc"), ROWS, p=[0.7, 0.2, 0.1]),
    }
    return pl.DataFrame(columns)


def numbers(frame: pl.DataFrame, weight: str | None) -> dict[str, np.ndarray]:
    rows = frame if weight is None else frame.filter(pl.col("w") > 0)
    held = {name: rows[name].to_numpy() for name in rows.columns}
    return held | {"w": np.ones(rows.height) if weight is None else held["w"]}


def ratio(a: Any, b: Any, w: np.ndarray) -> np.ndarray:
    """What each row adds to sum of w a / sum of w b, to first order."""
    below = np.sum(w * b)
    influence: np.ndarray = w * (a - np.sum(w * a) / below * b) / below
    return influence


def binary(name: str, of: dict[str, np.ndarray]) -> np.ndarray:
    y, p, w = of["y"], of["p"], of["w"]
    called, one = p >= 0.5, np.ones(len(y))
    square = (p - y) ** 2
    match name:
        case "brier":
            return ratio(square, one, w)
        case "log_loss":
            return ratio(-np.log(np.where(y, p, 1 - p)), one, w)
        case "f1":
            return ratio(2.0 * (called & y), 1.0 * called + y, w)
        case "precision":
            return ratio(1.0 * (called & y), 1.0 * called, w)
        case "balanced_accuracy":
            return (ratio(1.0 * (called & y), 1.0 * y, w) + ratio(1.0 * (~called & ~y), 1.0 * ~y, w)) / 2
        case "calibration_ratio":
            return ratio(p, 1.0 * y, w)
        case _:
            share, loss = np.average(y, weights=w), np.average(square, weights=w)
            unsure = share * (1 - share)
            own = ratio(square, one, w) / unsure
            return loss * (1 - 2 * share) / unsure**2 * ratio(1.0 * y, one, w) - own


def regression(name: str, of: dict[str, np.ndarray]) -> np.ndarray:
    t, q, w = of["t"], of["q"], of["w"]
    error, one = q - t, np.ones(len(t))
    match name:
        case "mae":
            return ratio(abs(error), one, w)
        case "mse":
            return ratio(error**2, one, w)
        case "rmse":
            return ratio(error**2, one, w) / (2 * np.sqrt(np.average(error**2, weights=w)))
        case "mean_error":
            return ratio(error, one, w)
        case "wmape":
            return 100 * ratio(abs(error), t, w)
        case "distance":
            return ratio(of["far"], one, w)
        case "some":
            return ratio(np.where(t > 8, of["far"] - FAR, 0.0), 1.0 * (t > 8), w)
        case _:
            return ratio(q, t, w)


OF_BINARY = ["brier", "log_loss", "f1", "balanced_accuracy", "calibration_ratio", "brier_skill"]
OF_REGRESSION: list[Any] = [
    *("mae", "mse", "rmse", "mean_error", "wmape"),
    {"name": "distance", "mean": "far"},
    {"name": "some", "mean": "far", "where": "label > 8"},
    {"name": "level", "ratio": {"numerator": "score", "denominator": "label"}},
]


def evaluate(frame: pl.DataFrame, task: str, **settings: Any) -> pl.DataFrame:
    given: dict[str, Any] = {"label": "y", "models": "p", "metrics": [*OF_BINARY, "precision"]}
    if task == "regression":
        given = {"label": "t", "models": "q", "metrics": OF_REGRESSION}
    given |= {"task": task, "uncertainty": {"methods": ["delta"]}}
    return plm.evaluate(frame, **(given | settings)).metrics


@pytest.mark.exhaustive
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize(("task", "influence"), [("binary", binary), ("regression", regression)])
def test_the_standard_error_is_that_of_all_rows(
    frame: pl.DataFrame, task: str, influence: Any, weight: str | None
) -> None:
    found = evaluate(frame, task, weight=weight, slices="g")
    assert found["slice"].n_unique() == 4
    for row in found.iter_rows(named=True):
        rows = frame if row["slice"] == "all" else frame.filter(g=row["slice"][-1])
        moved = influence(row["metric"], numbers(rows, weight))
        error = np.sqrt(len(moved) / (len(moved) - 1) * np.sum(moved**2))
        assert row["std_error"] == pytest.approx(error, rel=1e-7), (row["metric"], row["slice"])
        assert row["lower"] < row["value"] < row["upper"]


@pytest.mark.parametrize("method", ["analytic", "t", "auto"])
def test_a_mean_has_the_interval_of_its_sample(frame: pl.DataFrame, method: str) -> None:
    row = evaluate(frame, "regression", metrics="mae", uncertainty={"methods": [method]}).row(0, named=True)
    away = (frame["q"] - frame["t"]).abs().to_numpy()
    ends = stats.t.interval(0.95, ROWS - 1, away.mean(), stats.sem(away))
    assert [row["lower"], row["upper"]] == pytest.approx(list(ends), rel=1e-10)
    assert row["method"] == "t"


def test_degrees_of_freedom_are_those_of_rows_of_equal_mass(frame: pl.DataFrame) -> None:
    """Rows that are called rightly count twice in the denominator of F1, and others by their weight."""
    row = evaluate(frame, "binary", metrics="f1", weight="w").row(0, named=True)
    y, p, w = frame["y"].to_numpy(), frame["p"].to_numpy(), frame["w"].to_numpy()
    mass = w * (y.astype(float) + (p >= 0.5))
    degrees = np.floor(mass.sum() ** 2 / np.sum(mass**2)) - 1
    middle = np.log(row["value"] / (1 - row["value"]))
    half = stats.t.ppf(0.975, degrees) * row["std_error"] / (row["value"] * (1 - row["value"]))
    ends = [1 / (1 + np.exp(-middle - side * half)) for side in (-1, 1)]
    assert [row["lower"], row["upper"]] == pytest.approx(ends, rel=1e-9)


def test_classes_have_theirs(frame: pl.DataFrame) -> None:
    random = np.random.default_rng(2)
    actual = random.integers(0, 3, ROWS)
    proba = random.dirichlet(np.ones(3), ROWS) + 0.6 * np.eye(3)[actual]
    proba /= proba.sum(axis=1, keepdims=True)
    rows = pl.DataFrame({"y": [f"c{n}" for n in actual]} | {f"p{n}": proba[:, n] for n in range(3)})
    models = {"m": {"proba": {f"c{n}": f"p{n}" for n in range(3)}}}
    given: dict[str, Any] = {"label": "y", "models": models, "metrics": ["f1", "f1(average=none)"]}
    found = evaluate(rows, "multiclass", **given)
    called, one = proba.argmax(axis=1), np.ones(ROWS)
    assert found["value"][0] == pytest.approx(sklearn_metrics.f1_score(actual, called, average="macro"))
    moved = [
        ratio(2.0 * ((actual == n) & (called == n)), (actual == n) + 1.0 * (called == n), one)
        for n in range(3)
    ]
    errors = [np.sqrt(ROWS / (ROWS - 1) * np.sum(part**2)) for part in (np.mean(moved, axis=0), *moved)]
    assert found["std_error"].to_list() == pytest.approx(errors, rel=1e-7)


def test_a_slice_of_one_number_is_degenerate_as_ever(frame: pl.DataFrame) -> None:
    same = frame.with_columns(q=pl.when(pl.col("g") == "c").then(pl.col("t") + 0.1).otherwise("q"))
    same = same.with_columns(t=pl.when(pl.col("g") == "c").then(1.0).otherwise("t"))
    same = same.with_columns(q=pl.when(pl.col("g") == "c").then(1.1).otherwise("q"))
    found = evaluate(same, "regression", metrics="mae", slices="g").filter(pl.col("slice") == "g=c")
    assert found["interval_status"].to_list() == ["degenerate"]
    assert found["std_error"].to_list() == [0.0]


def test_rows_that_models_lack_do_not_count(frame: pl.DataFrame) -> None:
    gaps = frame.with_columns(p=pl.when(pl.int_range(pl.len()) % 7 > 0).then("p"))
    data = {"models": {"one": "p", "two": "p2"}, "missing": "drop_per_model", "metrics": ["brier", "f1"]}
    found = evaluate(gaps, "binary", **data)
    for model, column in (("one", "p"), ("two", "p2")):
        rows = numbers(gaps.with_columns(p=column).drop_nulls("p"), None)
        for row in found.filter(model=model).iter_rows(named=True):
            moved = binary(row["metric"], rows)
            error = np.sqrt(len(moved) / (len(moved) - 1) * np.sum(moved**2))
            assert row["std_error"] == pytest.approx(error, rel=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("weight", [None, "w"])
def test_states_of_parts_say_the_same(tmp_path: Path, frame: pl.DataFrame, weight: str | None) -> None:
    columns = {"label": "t"} | ({} if weight is None else {"weight": weight})
    suite: dict[str, Any] = {"task": "regression", "data": {"path": "parts/*.parquet"}, "columns": columns}
    suite |= {"models": {"m": "q"}, "metrics": OF_REGRESSION, "slices": {"g": "g"}}
    file = tmp_path / "suite.yaml"
    file.write_text(yaml.safe_dump(suite | {"name": "s", "uncertainty": {"method": "analytic"}}))
    (tmp_path / "parts").mkdir()
    paths = [tmp_path / "parts" / f"{n}.parquet" for n in range(3)]
    for n, path in enumerate(paths):
        frame.filter(pl.col("far").rank("ordinal") % 3 == n).write_parquet(path)
    whole = plm.state(file, tmp_path / "whole.state")
    states = [
        plm.state(file, tmp_path / f"{path.stem}.state", set={"data.path": str(path)}, constants=whole)
        for path in paths
    ]
    merged, one = (made.metrics for made in (plm.merge(*states), plm.run(file, output=tmp_path / "runs")))
    assert merged["std_error"].to_list() == pytest.approx(one["std_error"].to_list(), rel=1e-9)


def test_comparisons_read_the_blocks_as_they_did(frame: pl.DataFrame) -> None:
    given: dict[str, Any] = {"label": "y", "models": {"a": "p", "b": "p2"}, "metrics": ["brier", "f1"]}
    found = plm.evaluate(frame, **given, uncertainty={"methods": ["delta"]}, compare="a", reproducible=True)
    other = plm.evaluate(frame, **given, uncertainty={"method": "jackknife"}, compare="a", reproducible=True)
    for column in ("difference", "std_error"):
        ours, theirs = (made.comparisons[column].to_list() for made in (found, other))
        assert ours == pytest.approx(theirs, rel=1e-2)
    assert found.metrics["value"].to_list() == other.metrics["value"].to_list()


@pytest.mark.parametrize(
    ("method", "columns", "asked"),
    [
        (None, {}, []),
        ("bootstrap", {}, []),
        ("jackknife", {}, []),
        ("analytic", {"unit": "g"}, []),
        ("auto", {}, ["brier", "f1"]),
        ("analytic", {}, ["brier", "f1", "balanced_accuracy"]),
        ("auto", {"weight": "w"}, ["brier", "f1", "precision"]),
        ("delta", {}, ["brier", "f1", "precision", "balanced_accuracy"]),
    ],
)
def test_squares_are_summed_only_where_something_reads_them(
    method: str | None, columns: dict[str, str], asked: list[str]
) -> None:
    listed = ["brier", "f1", "precision", "balanced_accuracy", "tp", "roc_auc"]
    uncertainty = None if method is None else {"methods": [method]}
    raw = {"data": {"path": "t.csv"}, "columns": {"label": "y", **columns}, "models": {"p": "p"}}
    suite = suite_from_mapping(raw | {"metrics": listed, "uncertainty": uncertainty})
    extra = [metric.text for metric in suite.state_metrics("overall")][len(listed) :]
    kind = "weighted row error" if "weight" in columns else "row error"
    assert extra == [f"{name} {kind}" for name in asked]


@pytest.mark.parametrize("name", ["tp", "ks", "roc_auc", "ece", "recall_at_precision(precision=0.5)"])
def test_others_have_none(name: str) -> None:
    assert row_error(plm.metric(name), weighted=False) is None


def test_queries_are_the_rows_of_a_ranking() -> None:
    random = np.random.default_rng(5)
    queries, size = 6000, 5
    relevant = random.random((queries, size)) < 0.3
    scores = relevant * 0.7 + random.normal(size=(queries, size))
    columns = {"y": relevant.ravel().astype(int), "s": scores.ravel()}
    rows = pl.DataFrame({"q": np.repeat(np.arange(queries), size)} | columns)
    found = evaluate(rows, "ranking", query="q", models="s", metrics="mrr")
    ranked = np.take_along_axis(relevant, np.argsort(-scores, axis=1), axis=1)
    best = np.where(ranked.any(axis=1), 1 / (ranked.argmax(axis=1) + 1), 0.0)
    assert found["std_error"].item() == pytest.approx(stats.sem(best), rel=1e-7)


def test_too_many_classes_have_none() -> None:
    metric = plm.metric("f1", task="multiclass")
    for classes, some in ((MOST_SUMS // 3, True), (MOST_SUMS // 3 + 1, False)):
        known = metric.with_facts(Facts(tuple(f"c{n}" for n in range(classes))))
        assert (row_error(known, weighted=True) is not None) is some
