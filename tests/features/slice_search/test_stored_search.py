"""A search for slices in stored states finds what one over all rows does."""

import warnings
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import plmetrics as plm

SEARCH = {
    "columns": ["region", "day", "size", "flag", "kind"],
    "metric": "log_loss",
    "min_rows": 20,
    "depth": 2,
}


def table(rows: int, seed: int = 0) -> pl.DataFrame:
    """Predictions that are worse in the north, with columns of every kind."""
    rng = np.random.default_rng(seed)
    score, region = rng.uniform(0.05, 0.95, rows), rng.choice(["north", "south", "west", "east"], rows)
    truth = np.where(region == "north", 1 - score, score)
    size = np.where(rng.uniform(size=rows) < 0.1, np.nan, rng.normal(size=rows))
    return pl.DataFrame(
        {
            "y": (rng.uniform(size=rows) < truth).astype(np.int8),
            "p": score,
            "id": rng.integers(0, rows // 3, rows),
            "region": region,
            "day": [date(2026, 1, 1) + timedelta(days=int(day)) for day in rng.integers(0, 90, rows)],
            "size": size,
            "flag": pl.Series(rng.choice([True, False, None], rows).tolist(), dtype=pl.Boolean),
            "kind": pl.Series(rng.choice(["a", "b"], rows), dtype=pl.Enum(["b", "a"])),
            "w": rng.choice([0.0, 1.0, 2.5], rows),
        }
    )


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    rows = table(3000)
    bounds = [0, 900, 910, 2000, 3000]
    paths = [tmp_path / f"part-{number}.parquet" for number in range(len(bounds) - 1)]
    for path, first, last in zip(paths, bounds, bounds[1:], strict=False):
        rows[first:last].write_parquet(path)
    return [str(path) for path in paths]


def arguments(**more: Any) -> dict[str, Any]:
    asked = {"label": "y", "models": "p", "metrics": ["brier"], "find_slices": SEARCH, "reproducible": True}
    return asked | more


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"unit": "id", "weight": "w"},
        {"find_slices": SEARCH | {"metric": "f1(threshold=max(f1))", "top": 2}},
        {"find_slices": SEARCH | {"metric": "r2"}, "task": "regression", "metrics": ["mae"]},
    ],
)
def test_units_give_what_the_rows_give(files: list[str], more: dict[str, Any]) -> None:
    whole = plm.evaluate(files, **arguments(**more))
    units = plm.evaluate(files, **arguments(**more), on="inline")
    assert whole.found_slices.height
    assert_frame_equal(units.found_slices, whole.found_slices, check_exact=True)
    assert units.record["find_slices"] == whole.record["find_slices"]


@pytest.mark.slow
def test_processes_give_the_same(files: list[str]) -> None:
    inline, processes = (plm.evaluate(files, **arguments(), on=on) for on in ("inline", "processes:2"))
    assert_frame_equal(processes.found_slices, inline.found_slices, check_exact=True)


@pytest.mark.slow
def test_months_add_in_any_order(files: list[str], tmp_path: Path) -> None:
    """States with the constants of one over all rows, merged by two, and these merged."""
    constants = plm.state(files, **arguments())
    days = [plm.state(file, **arguments(), constants=constants) for file in files]
    whole = plm.evaluate(files, **arguments())
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        months = [tmp_path / f"{order[0]}-{number}.state" for number in (0, 1)]
        plm.merge(days[order[0]], days[order[1]], state=months[0])
        plm.merge(days[order[2]], days[order[3]], state=months[1])
        assert_frame_equal(plm.merge(*months).found_slices, whole.found_slices, check_exact=True)


def test_later_rows_may_hold_other_values(tmp_path: Path) -> None:
    """A value, a null and a NaN that the first rows lack have codes."""
    search = {"columns": ["region", "size"], "metric": "log_loss", "min_rows": 20, "level": 0.9}
    first = table(800, 1).with_columns(pl.col("size").fill_nan(0.1))
    second = table(800, 2).with_columns(
        region=pl.when(pl.col("region") == "north").then(pl.lit("new")).otherwise("region"),
        size=pl.when(pl.col("flag")).then(None).otherwise("size"),
    )
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for rows, path in zip((first, second), paths, strict=True):
        rows.write_parquet(path)
    one = plm.state(str(paths[0]), **arguments(find_slices=search))
    other = plm.state(str(paths[1]), **arguments(find_slices=search), constants=one)
    found = plm.merge(one, other)
    values = found.record["find_slices"]["values"]
    assert values["region"] == ["east", "north", "south", "west", "other"]
    assert values["size"][-2:] == ["nan", "null"]
    rows = {row["slice"]: row for row in found.found_slices.rows(named=True)}
    assert "region=other" in rows
    alone = plm.state(str(paths[1]), **arguments(find_slices=search))
    with pytest.raises(plm.ConfigError, match="what find_slices has looked up in the rows"):
        plm.merge(one, alone)


def test_the_rest_is_not_confused_with_a_value_of_its_name(tmp_path: Path) -> None:
    search = {"columns": ["region"], "metric": "log_loss", "min_rows": 20}
    rows = table(800).with_columns(pl.col("region").replace("north", "other"))
    rows.write_parquet(tmp_path / "a.parquet")
    rows.with_columns(pl.col("region").replace("west", "new")).write_parquet(tmp_path / "b.parquet")
    one = plm.state(str(tmp_path / "a.parquet"), **arguments(find_slices=search))
    assert "region=other" in plm.merge(one).found_slices["slice"].to_list()
    other = plm.state(str(tmp_path / "b.parquet"), **arguments(find_slices=search), constants=one)
    with pytest.raises(plm.DataError, match="a value 'other' among its top"):
        plm.merge(one, other)


def test_rows_without_names_are_refused() -> None:
    asked = arguments(reproducible=False, uncertainty=None)
    with pytest.raises(plm.ConfigError, match="rows without a file have no names"):
        plm.state(table(50), **asked)


def test_states_in_files_add_to_those_in_memory(tmp_path: Path) -> None:
    parts = [table(600, seed) for seed in (0, 1)]
    asked = arguments(unit="id")
    first = plm.state(parts[0], tmp_path / "first.state", **asked)
    second = plm.state(parts[1], constants=first, **asked)
    together = plm.merge(first, second)
    mixed = plm.merge(tmp_path / "first.state", second)
    assert_frame_equal(mixed.tables["found_slices"], together.tables["found_slices"])


@pytest.mark.parametrize(("level", "warned"), [(1e2, False), (1e6, True)])
def test_squares_of_slices_far_apart_are_told_to_have_lost_their_digits(level: float, warned: bool) -> None:
    rows = table(600).with_columns(y=pl.col("y") + pl.when(pl.col("kind") == "a").then(level).otherwise(0.0))
    rows = rows.with_columns(p=pl.col("y") + pl.col("p"))
    search = {"columns": ["kind"], "metric": "r2", "min_rows": 20}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", plm.PlmetricsWarning)
        asked = arguments(task="regression", metrics=["mae"], unit="id", find_slices=search)
        found = plm.merge(plm.state(rows, **asked))
    assert any("r2 has few right digits" in text for text in found.warnings) == warned
