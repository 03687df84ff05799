"""Tables that are odd and real: values against Python's own arithmetic, slice by slice, and files that must be refused.

Constant expressions, products of large whole numbers, levels that differ by slice, and slice values that read like the
text of another slice: each row of the result is looked up by the values of its slice, and computed again from the rows.
"""

import math
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import plmetrics as plm
from plmetrics.core.errors import DataError

TEXTS = [
    "a",
    "",
    "null",
    "other",
    "a, b=p",
    "p, b=q",
    "q",
    "b=p",
    "'null'",
    '"null"',
    "[1, 2)",
    "true",
    "nan",
    None,
]
NUMBERS = [0.0, -1.5, math.nan, None]
METRICS: list[Any] = [
    {"name": "rows", "sum": "1"},
    {"name": "ten", "mean": "10"},
    {"name": "thirds", "sum": "1 / 3", "where": "TRUE"},
    {"name": "large", "mean": "micro * micro"},
    {"name": "total", "sum": "micro * 1000"},
    {"name": "spread", "std": "y"},
    {"name": "per_row", "formula": "mae / ten"},
    "mae",
    "r2",
    "explained_variance",
    "default_rmse",
]


@st.composite
def odd_tables(draw: Any) -> pl.DataFrame:
    rows = draw(st.integers(2, 40))

    def column(values: Any) -> list[Any]:
        drawn: list[Any] = draw(st.lists(values, min_size=rows, max_size=rows))
        return drawn

    offsets = draw(st.lists(st.sampled_from([0.0, 1.0, 1e3, 1e6, -1e8, 1e12]), min_size=3, max_size=3))
    group = column(st.integers(0, 2))
    noise = column(st.integers(-(2**10), 2**10))
    label = [offsets[g] + k / 256 for g, k in zip(group, noise, strict=True)]
    error = [k / 64 for k in column(st.integers(-(2**8), 2**8))]
    return pl.DataFrame(
        {
            "y": label,
            "p": [y + e for y, e in zip(label, error, strict=True)],
            "group": group,
            "a": column(st.sampled_from(TEXTS)),
            "b": column(st.sampled_from(TEXTS)),
            "x": column(st.sampled_from(NUMBERS)),
            "micro": column(st.integers(10**9, 9 * 10**9)),
        },
        schema_overrides={"a": pl.String, "b": pl.String, "x": pl.Float64, "micro": pl.Int64},
    )


def expected(rows: list[dict[str, Any]]) -> dict[str, float | None]:
    """The metrics of some rows in exact fractions; None where there is no value."""
    n = len(rows)
    label = [Fraction(row["y"]) for row in rows]
    error = [Fraction(row["p"]) - Fraction(row["y"]) for row in rows]
    mean_label, mean_error = sum(label) / n, sum(error) / n
    around = sum((y - mean_label) ** 2 for y in label)
    off = sum(e * e for e in error)
    mae = sum(map(abs, error)) / n
    return {
        "rows": n,
        "ten": 10.0,
        "thirds": n / 3,
        "large": float(Fraction(sum(row["micro"] ** 2 for row in rows), n)),
        "total": float(sum(row["micro"] * 1000 for row in rows)),
        "spread": math.sqrt(around / n),
        "per_row": float(mae / 10),
        "mae": float(mae),
        "r2": float(1 - off / around) if around else None,
        "explained_variance": float(1 - sum((e - mean_error) ** 2 for e in error) / around)
        if around
        else None,
        "default_rmse": math.sqrt(around / n),
    }


SETS: dict[str, list[str]] = {"overall": [], "group": ["group"], "a": ["a"], "ab": ["a", "b"], "x": ["x"]}


@pytest.mark.slow
@settings(phases=(Phase.explicit, Phase.generate))
@given(table=odd_tables(), reproducible=st.booleans())
def test_every_slice_has_the_values_of_its_rows(table: pl.DataFrame, reproducible: bool) -> None:
    result = plm.evaluate(
        table,
        task="regression",
        label="y",
        models={"m": "p"},
        metrics=METRICS,
        slices={name: columns for name, columns in SETS.items() if columns},
        reproducible=reproducible,
    )
    rows = table.to_dicts()
    for name, columns in SETS.items():
        slices: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for row in rows:
            slices.setdefault(tuple(shown(row[column]) for column in columns), []).append(row)
        values: dict[tuple[Any, ...], dict[str, float | None]] = {}
        table_of_set = result.metrics.filter(slice_set=name)
        for row in table_of_set.to_dicts():
            place = tuple(part["value"] for part in row["slice_values"])
            assert row["metric"] not in values.setdefault(place, {}), (name, place)
            values[place][row["metric"]] = row["value"]
        assert values.keys() == slices.keys()
        assert table_of_set["slice"].n_unique() == len(slices), "two slices share a text"
        for place, members in slices.items():
            compare(values[place], expected(members), members)


def compare(
    values: dict[str, float | None], wanted: dict[str, float | None], rows: list[dict[str, Any]]
) -> None:
    assert values.keys() == wanted.keys()
    for name, value in values.items():
        want = wanted[name]
        assert (value is None) == (want is None), (name, value, want, rows)
        if value is not None and want is not None:
            assert value == pytest.approx(want, rel=1e-9, abs=1e-12), (name, rows)


def shown(value: Any) -> str | None:
    """A value as it stands in `slice_values`."""
    if value is None or isinstance(value, str):
        return value
    return "nan" if math.isnan(value) else f"{value:g}"


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    """A folder of two files with rows, each file of its own."""
    for number in (1, 2):
        frame = pl.DataFrame({"y": [0, 1] * 50, "p": [0.25 * number, 0.5 + 0.2 * number] * 50})
        frame.write_parquet(tmp_path / f"{number}.parquet")
    return tmp_path


@pytest.mark.parametrize("kind", ["soft", "hard", "folder"])
def test_rows_that_are_reached_twice_are_refused(scores: Path, kind: str) -> None:
    paths = "*.parquet"
    if kind == "hard":
        os.link(scores / "1.parquet", scores / "latest.parquet")
    elif kind == "soft":
        (scores / "latest.parquet").symlink_to("1.parquet")
    else:
        (scores / "below").mkdir()
        (scores / "below" / "up").symlink_to(scores, target_is_directory=True)
        paths = "**/*.parquet"
        result = plm.evaluate(str(scores / paths), label="y", models="p", metrics=["accuracy"])
        assert result.metrics["n"].to_list() == [200]
        return
    with pytest.raises(DataError) as caught:
        plm.evaluate(str(scores / paths), label="y", models="p", metrics=["accuracy"])
    assert "1.parquet" in str(caught.value)
    assert "latest.parquet" in str(caught.value)


@pytest.mark.parametrize("rows", [40, 100, 4000])
def test_a_file_that_is_replaced_between_two_scans(
    scores: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    from plmetrics.engine.aggregate import aggregation as passes

    collected = passes.sum_cubes

    def replaced(*arguments: Any, **keywords: Any) -> Any:
        frame = pl.DataFrame({"y": [1, 0] * (rows // 2), "p": [0.5, 0.75] * (rows // 2)})
        frame.write_parquet(scores / "new")
        (scores / "new").replace(scores / "1.parquet")
        return collected(*arguments, **keywords)

    monkeypatch.setattr(passes, "sum_cubes", replaced)
    with pytest.raises(DataError, match=r"1\.parquet.*changed while it was read"):
        plm.evaluate(
            str(scores / "*.parquet"),
            label="y",
            models="p",
            metrics=["recall(threshold=max(f1))", "log_loss"],
        )


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("power", [-1000, -400, 60, 400, 512, 1000])
def test_weights_of_any_size_give_the_same_values_or_none(task: str, power: int) -> None:
    """Metrics of shares do not depend on the unit of the weights: products of those may be beyond all numbers."""
    metrics = {
        "binary": ["roc_auc", "gini", "average_precision", "ks", "mcc", "cohen_kappa", "brier", "f1"],
        "multiclass": ["mcc", "cohen_kappa", "roc_auc", "roc_auc(scheme=ovo)", "roc_auc(average=weighted)"],
        "regression": ["kendall", "spearman", "pearson", "r2", "mae", "median_absolute_error"],
    }[task]
    frame = pl.DataFrame(
        {"y": [0, 1, 1, 0, 1, 0, 2, 2] * 5, "p": [0.1, 0.7, 0.3, 0.4, 0.9, 0.6, 0.2, 0.5] * 5}
    )
    frame = frame.with_columns(q=1 - pl.col("p"), r=pl.col("p") / 2, w=pl.Series([1.0, 3.0, 2.0, 0.5] * 10))
    models: Any = {"m": {"proba": {"0": "p", "1": "q", "2": "r"}, "normalise": True}}
    if task == "binary":
        frame = frame.with_columns(pl.col("y").clip(0, 1))
    given: dict[str, Any] = {"task": task, "label": "y", "models": models if task == "multiclass" else "p"}
    given |= {"weight": "w", "metrics": metrics}
    values = plm.evaluate(frame, **given).metrics["value"].to_list()
    assert None not in values
    scaled = plm.evaluate(frame.with_columns(pl.col("w") * 2.0**power), **given).metrics
    for value, name, found, status in zip(values, *scaled["metric", "value", "status"], strict=True):
        assert (found is None) == (status != "ok"), name
        assert found is None or found == pytest.approx(value, rel=1e-9), name
        assert found is not None or abs(power) >= 400, name
