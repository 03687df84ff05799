"""Days whose files store a column of slices, or the unit, in another type."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from suites.nights import Nights, day, nights, rows

import plmetrics as plm

__all__ = ["nights"]
ASKED: dict[str, Any] = {
    "label": "y",
    "models": {"m": "p"},
    "metrics": ["brier", "roc_auc"],
    "slices": {"g": "g"},
    "unit": "u",
    "uncertainty": {"replicates": 50},
    "exact": False,
    "reproducible": True,
}


@pytest.fixture
def table() -> pl.DataFrame:
    rng = np.random.default_rng(8)
    shares = {"y": rng.integers(0, 2, 400), "p": rng.random(400), "u": rng.integers(0, 90, 400)}
    return pl.DataFrame(shares).with_columns(g=pl.col("u") % 3)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("first", "later"),
    [
        (pl.Int64(), pl.Int8()),
        (pl.Int64(), pl.UInt16()),
        (pl.String(), pl.Categorical()),
        (pl.String(), pl.Null()),
        (pl.Float64(), pl.Int32()),
        (pl.Null(), pl.Int16()),
        (pl.Null(), pl.String()),
    ],
)
def test_days_add_as_their_files_would_in_one_table(
    tmp_path: Path, table: pl.DataFrame, first: pl.DataType, later: pl.DataType
) -> None:
    if pl.String() in (first, later):
        table = table.with_columns(pl.col("g").cast(pl.String))
    days = [
        day.with_columns(g=pl.lit(None) if dtype == pl.Null() else pl.col("g").cast(dtype))
        for day, dtype in zip((table[:200], table[200:]), (first, later), strict=True)
    ]
    if later.is_integer():
        days[1] = days[1].with_columns(pl.col("u").cast(pl.Int16))
    for number, rows_of_day in enumerate(days):
        rows_of_day.write_parquet(tmp_path / f"{number}.parquet")
    start = plm.state(tmp_path / "0.parquet", **ASKED)
    merged = plm.merge(start, plm.state(tmp_path / "1.parquet", constants=start, **ASKED))
    files = [str(tmp_path / f"{number}.parquet") for number in range(2)]
    one = plm.evaluate(files, **{**ASKED, "metrics": ["brier"]})
    for name in ("metrics", "gates"):
        found = getattr(merged, name)
        assert_frame_equal(found.filter(pl.col("metric") == "brier"), getattr(one, name), check_exact=True)


@pytest.mark.exhaustive
@pytest.mark.parametrize("cast", [{"g": pl.String()}, {"g": pl.Float64()}, {"u": pl.String()}])
def test_other_types_are_refused_before_rows_are_counted(
    table: pl.DataFrame, cast: dict[str, pl.DataType]
) -> None:
    start = plm.state(table, **ASKED)
    (name,) = cast
    with pytest.raises(
        plm.ConfigError, match=f"column '{name}' is of type Int64 in .* and {cast[name]} in these rows"
    ):
        plm.state(table.cast(cast), constants=start, **ASKED)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_night_of_another_type_has_a_result_that_windows_pass_over(nights: Nights) -> None:
    nights.write_suite(
        gates=None, compare={"run": {"window": "7d"}}, keep={"states": "99d"}, uncertainty=True
    )
    regions: list[pl.Expr] = [
        pl.col("region"),
        pl.lit(None),
        pl.lit(7),
        pl.col("region").cast(pl.Categorical),
    ]
    results = []
    for number, region in enumerate(regions):
        nights.write(number, rows(number).with_columns(region=region))
        results.append(nights.run(number))
    assert [any("does not add to others" in text for text in result.warnings) for result in results] == [
        *(False, False, True),
        True,
    ]
    assert results[2].metrics["slice"].unique().sort().to_list() == ["all", "region=7"]
    assert results[3].record["references"]["compare.run"]["intervals"] == [day(0), day(1)]


@pytest.mark.slow
def test_a_first_night_of_nulls_adds_to_nights_of_any_one_type(nights: Nights) -> None:
    decompose = {"region": ["roc_auc"]}
    nights.write_suite(
        metrics=["roc_auc"],
        gates=None,
        compare={"run": {"window": "7d"}, "decompose": decompose},
        keep={"states": "99d"},
    )
    results = []
    for number, region in enumerate([pl.lit(None), pl.col("region"), pl.lit(7), pl.lit(None)]):
        nights.write(number, rows(number).with_columns(region=region))
        results.append(nights.run(number))
    assert not any("does not add" in text for result in results[:3] for text in result.warnings)
    assert results[3].record["references"]["compare.run"]["intervals"] == [day(0), day(2)]
    slices = [{"region=n", "region=s", "region=null"}, {"region=7", "region=null"}]
    for result, named in zip((results[1], results[3]), slices, strict=True):
        assert set(result.decomposition["status"]) <= {"ok", "no_rows"}
        assert named <= set(result.decomposition["slice"])


def test_files_without_a_positive_are_units_and_states(tmp_path: Path) -> None:
    """Rare positives with a name: some files have none, and two other labels."""
    table = pl.DataFrame({"y": ["ok", "late", "ok"] * 30, "p": np.linspace(0.1, 0.4, 90), "u": range(90)})
    table[:60].write_parquet(tmp_path / "0.parquet")
    table[60:].with_columns(y=pl.Series(["fraud", "ok", "late"] * 10)).write_parquet(tmp_path / "1.parquet")
    asked: dict[str, Any] = {
        "label": "y",
        "positive": "fraud",
        "models": {"m": "p"},
        "metrics": ["brier", "recall"],
    }
    one = plm.evaluate(str(tmp_path), **asked)
    assert_frame_equal(plm.evaluate(str(tmp_path), on="inline", **asked).metrics, one.metrics)
    start = plm.state(tmp_path / "1.parquet", **asked)
    later = plm.state(tmp_path / "0.parquet", constants=start, **asked)
    assert_frame_equal(plm.merge(start, later).metrics, one.metrics)
    assert "no row is positive: column 'y' nowhere holds 'fraud'" in plm.merge(later).warnings
    with pytest.raises(plm.DataError, match="it holds 'fraud', 'late', 'ok'") as caught:
        plm.evaluate(str(tmp_path), on="inline", **asked | {"positive": "fruad"})
    assert caught.value.problems[0].path == ("positive",)
