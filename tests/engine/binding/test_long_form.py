from pathlib import Path
from typing import Any

import polars as pl
import pytest

import plmetrics as plm

LEVELS = (0.25, 0.5, 0.75)
LABELS = {"a": 10.0, "b": 20.0, "c": 50.0}
TABLE = pl.DataFrame(
    [
        {
            "place": place,
            "level": level,
            "value": label + shift,
            "y": label,
            "kind": "x",
            "row": f"{place}{level}",
        }
        for place, label in LABELS.items()
        for level, shift in zip(LEVELS, (-1.0, 2.0, 3.0), strict=True)
    ]
)
PATTERN = "^.*$"
WRONG = (pl.col("place") == "b") & (pl.col("level") == 0.75)


def errors(table: pl.DataFrame, folder: Path, where: str | None = None, further: str = "") -> Any:
    """The mean absolute errors of the medians by slice."""
    table.write_parquet(folder / "table.parquet")
    condition = "" if where is None else f'where: "{where}", '
    suite = folder / "suite.yaml"
    suite.write_text(
        f"""task: quantile
data: {{path: table.parquet, {condition}long: {{by: [place], level: level, value: value}}}}
columns: {{label: y}}
models: {{m: {{quantiles: value_}}}}
metrics: [mae]
slices: {{kind: kind}}
{further}"""
    )
    result = plm.run(suite, output=folder)
    return dict(result.metrics.select("slice", "value").iter_rows())


@pytest.mark.parametrize(
    ("column", "other", "shown"),
    [("y", 99.0, "20 and 99"), ("y", None, "20 and null"), ("kind", "z", "x and z")],
)
def test_a_column_that_differs_within_a_forecast_is_an_error(
    tmp_path: Path, column: str, other: Any, shown: str
) -> None:
    bad = TABLE.with_columns(pl.when(WRONG).then(pl.lit(other)).otherwise(column).alias(column))
    told = f"column '{column}' differs within a forecast: {shown} where place=b"
    for table in (bad, bad.reverse()):
        with pytest.raises(plm.DataError, match=told):
            errors(table, tmp_path)


def test_columns_that_nothing_reads_may_differ(tmp_path: Path) -> None:
    assert errors(TABLE, tmp_path) == {"all": 2.0, "kind=x": 2.0}


def test_where_chooses_rows_of_the_long_table(tmp_path: Path) -> None:
    extra = TABLE.filter(place="c").with_columns(place=pl.lit("b"), y=pl.lit(0.0), row=pl.lit("no"))
    for table in (pl.concat([TABLE, extra]), pl.concat([extra, TABLE])):
        assert errors(table, tmp_path, "row <> 'no'") == {"all": 2.0, "kind=x": 2.0}
    with pytest.raises(plm.DataError, match="no row satisfies where"):
        errors(TABLE, tmp_path, "place = 'nowhere'")


def test_the_reference_of_drift_is_chosen_before_it_is_widened(tmp_path: Path) -> None:
    doubled = pl.concat([TABLE.with_columns(day=pl.lit(1)), TABLE.with_columns(day=pl.lit(2), y=pl.lit(7.0))])
    drift = 'drift: {where: "day = 1", columns: [day]}\n'
    with pytest.raises(plm.DataError, match="stands in 2 rows"):
        errors(doubled, tmp_path, None, drift)
    doubled.filter(day=1).write_parquet(tmp_path / "before.parquet")
    found = errors(
        doubled, tmp_path, "day = 2", f'drift: {{reference: {tmp_path}/before.parquet, where: "day = 1"}}\n'
    )
    assert found["all"] == pytest.approx((5 + 15 + 45) / 3)


def test_a_column_whose_name_is_a_pattern_of_names_is_left_out(tmp_path: Path) -> None:
    odd = TABLE.with_columns(pl.lit(1).alias(PATTERN), pl.lit(2).alias("*"))
    assert errors(odd, tmp_path) == errors(TABLE, tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("noise", [5.6e-17, -5.6e-17, 1e-12])
def test_levels_that_rounding_tells_apart_are_one(tmp_path: Path, noise: float) -> None:
    """Those of `numpy.arange(0.05, 1, 0.05)`, such as 0.7500000000000001, among others that are written by hand."""
    moved = pl.when(pl.col("place") == "b").then(pl.col("level") + noise * 2).otherwise("level")
    noisy = TABLE.with_columns(moved.alias("level"))
    assert errors(noisy, tmp_path) == errors(TABLE, tmp_path)
    twice = pl.concat([noisy, TABLE.filter(pl.col("place") == "b")])
    with pytest.raises(plm.DataError, match="a quantile of a forecast stands in 2 rows: place=b"):
        errors(twice, tmp_path)


def test_levels_that_are_decimals(tmp_path: Path) -> None:
    decimals = TABLE.with_columns(pl.col("level").cast(pl.Decimal(5, 3)))
    assert errors(decimals, tmp_path) == errors(TABLE, tmp_path)


def test_a_column_that_is_called_like_a_quantile_is_told(tmp_path: Path) -> None:
    twice = TABLE.with_columns(pl.lit(1.0).alias("value_0.5"))
    with pytest.raises(plm.DataError, match=r"column 'value_0\.5' is in the data already"):
        errors(twice, tmp_path)


@pytest.mark.parametrize("narrow", [pl.Float32, pl.Float16])
def test_levels_of_fewer_bits_are_the_decimals_they_stand_for(
    tmp_path: Path, narrow: type[pl.DataType]
) -> None:
    """0.1 in 32 bits is 0.10000000149: still the lower end of the interval of level 0.8."""
    rows = pl.DataFrame(
        {
            "id": [1, 1, 2, 2],
            "level": [0.1, 0.9] * 2,
            "value": [0.0, 2.0, 3.0, 4.0],
            "y": [1.0, 1.0, 2.0, 2.0],
        }
    )
    rows.with_columns(pl.col("level").cast(narrow)).write_ipc(tmp_path / "table.arrow")
    suite = tmp_path / "suite.yaml"
    suite.write_text(
        """task: quantile
data: {path: table.arrow, long: {by: [id], level: level, value: value}}
columns: {label: y}
models: {m: {quantiles: value_}}
metrics: [interval_coverage(level=0.8), quantile_loss(tau=0.1)]
"""
    )
    values = plm.run(suite, output=tmp_path).metrics["value"].to_list()
    assert values == pytest.approx([0.5, (0.1 * 1 + 0.9 * 1) / 2])


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["@where", "@level", "@rows", "@differs"])
def test_columns_called_like_those_of_a_plan(tmp_path: Path, name: str) -> None:
    (tmp_path / "plain").mkdir()
    where, further = "level > 0", "leakage: {duplicates: [place]}\n"
    renamed = errors(TABLE.with_columns(pl.lit(value=False).alias(name)), tmp_path, where, further)
    assert renamed == errors(TABLE, tmp_path / "plain", where, further)
