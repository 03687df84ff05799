"""Leakage in states: what is found in all rows together, by plain Python, however they are cut into states."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from polars.testing import assert_frame_equal

import plmetrics as plm
from plmetrics.features.leakage import leakage_counting

LEAKAGE = {"train": "train.parquet", "keys": ["id", "kind"], "time": "at", "duplicates": ["id", "at"]}
ROWS = 600


def rows_of(seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    ids = pl.Series("id", rng.integers(0, 900, ROWS))
    return pl.DataFrame(
        {
            "y": rng.integers(0, 2, ROWS),
            "p": rng.random(ROWS),
            "id": ids.scatter(np.flatnonzero(rng.random(ROWS) < 0.1), None),
            "kind": pl.Series(["new", "old"]).gather(rng.integers(0, 2, ROWS)).cast(pl.Categorical),
            "at": rng.integers(0, 50, ROWS),
        }
    )


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    rows = rows_of(1)
    (tmp_path / "scores").mkdir()
    for number in range(5):
        rows[number * 120 : (number + 1) * 120].write_parquet(tmp_path / "scores" / f"{number}.parquet")
    rows_of(2)[:90].with_columns(at=pl.Series(np.arange(90) % 20)).write_parquet(tmp_path / "train.parquet")
    content: dict[str, Any] = {
        "data": {"path": "scores"},
        "columns": {"label": "y"},
        "models": {"m": "p"},
        "metrics": ["brier"],
        "leakage": LEAKAGE,
        "reproducible": True,
        "exact": False,
    }
    file = tmp_path / "nightly.yaml"
    file.write_text(yaml.safe_dump(content))
    return file


def test_units_find_what_loops_over_all_rows_find(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, train = rows_of(1), rows_of(2)[:90]
    known = {key for key in train.select("id", "kind").iter_rows() if None not in key}
    twice = Counter(rows.select("id", "at").iter_rows())
    expected = {
        "keys": sum(row in known for row in rows.select("id", "kind").iter_rows()),
        "duplicates": sum(number for number in twice.values() if number > 1),
        "time": rows.filter(pl.col("at") <= 19).height,
    }
    monkeypatch.chdir("/")
    plain, units = plm.run(suite), plm.run(suite, on="inline")
    assert dict(units.leakage.select("check", "rows").iter_rows()) == expected
    assert_frame_equal(units.leakage, plain.leakage, check_exact=True)
    for name in ("metrics", "gates"):
        assert_frame_equal(getattr(units, name), getattr(plain, name), check_exact=True)
    assert set(plain.record["warnings"]) <= set(units.record["warnings"])
    assert units.verdict == plain.verdict == "fail"


@pytest.mark.slow
def test_units_are_counted_again_beside_another_training_table(suite: Path, tmp_path: Path) -> None:
    first = plm.run(suite, on="inline")
    rows_of(1)[:90].write_parquet(tmp_path / "train.parquet")
    found = [plm.run(suite, on="inline").leakage, plm.run(suite).leakage]
    assert_frame_equal(*found, check_exact=True)
    assert not found[0].equals(first.leakage)


@pytest.mark.slow
def test_times_of_another_unit_have_the_same_example_everywhere(suite: Path, tmp_path: Path) -> None:
    for number in range(5):
        file = tmp_path / "scores" / f"{number}.parquet"
        pl.read_parquet(file).with_columns(pl.col("at").cast(pl.Datetime("us"))).write_parquet(file)
    train = pl.read_parquet(tmp_path / "train.parquet").with_columns(
        at=(pl.col("at") * 1000).cast(pl.Datetime("ns"))
    )
    train.write_parquet(tmp_path / "train.parquet")
    content = yaml.safe_load(suite.read_text())
    leakage = {"train": "train.parquet", "keys": ["at"], "time": "at", "duplicates": True}
    suite.write_text(yaml.safe_dump(content | {"leakage": leakage}))
    plain, units = plm.run(suite).leakage, plm.run(suite, on="inline").leakage
    assert (
        plain.filter(pl.col("check") != "attributes")["example"].to_list() == ["at=1970-01-01 00:00:00"] * 3
    )
    assert_frame_equal(units, plain, check_exact=True)
    assert_frame_equal(plm.merge(plm.state(suite, tmp_path / "all.state")).leakage, plain, check_exact=True)


def test_states_of_days_add_in_any_order(suite: Path, tmp_path: Path) -> None:
    paths = [{"data.path": str(tmp_path / "scores" / f"{number}.parquet")} for number in range(5)]
    first = plm.state(suite, tmp_path / "all.state")
    days = [
        plm.state(suite, tmp_path / f"{n}.state", set=path, constants=first) for n, path in enumerate(paths)
    ]
    plm.merge(*days[:3], state=tmp_path / "some.state")
    merged = plm.merge(days[4], tmp_path / "some.state", days[3])
    assert_frame_equal(merged.leakage, plm.merge(first).leakage, check_exact=True)


def test_more_keys_than_a_state_holds_are_refused(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leakage_counting, "MOST_KEYS", 100)
    with pytest.raises(
        plm.DataError, match=r"among \d+ different keys, and 100 are the most that a state holds"
    ):
        plm.state(suite)


def test_other_training_tables_are_refused(suite: Path, tmp_path: Path) -> None:
    first = plm.state(suite, tmp_path / "1.state", set={"data.path": str(tmp_path / "scores" / "1.parquet")})
    rows_of(3)[:80].write_parquet(tmp_path / "train.parquet")
    path = {"data.path": str(tmp_path / "scores" / "2.parquet")}
    other = plm.state(suite, tmp_path / "2.state", set=path, constants=first)
    with pytest.raises(plm.DataError, match="other training tables"):
        plm.merge(first, other)


def test_attributes_and_frames_are_refused() -> None:
    asked = {"label": "y", "models": "p", "metrics": ["brier"], "unit": "id"}
    with pytest.raises(plm.ConfigError, match="attributes are judged by each of their values"):
        plm.state(rows_of(1), **asked, leakage={"attributes": True})
    with pytest.raises(plm.ConfigError, match="train is a frame"):
        plm.state(rows_of(1), **asked, leakage={"train": rows_of(2), "keys": ["id"]})


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["n", "low", "rows", "@key|id", "@label", "@score|m", "@bad|label|y|null"])
def test_columns_called_like_those_of_a_plan(name: str) -> None:
    rows = rows_of(1).drop("kind")
    arguments: dict[str, Any] = {"label": "y", "models": {"m": "p"}, "metrics": ["brier"]}
    plain, other = (
        plm.evaluate(table, **arguments, leakage={"duplicates": ["id", at], "attributes": [at]})
        for table, at in ((rows, "at"), (rows.rename({"at": name}), name))
    )
    counted = ["check", "rows", "observed"]
    assert_frame_equal(other.leakage.select(counted), plain.leakage.select(counted))
    halves = {"a": rows[:300], "b": rows[300:]}
    states = [
        plm.state(half.rename({"at": name}), name=day, **arguments, leakage={"duplicates": [name]})
        for day, half in halves.items()
    ]
    twice = sum(n for n in Counter(rows["at"].to_list()).values() if n > 1)
    assert plm.merge(*states).leakage["rows"].to_list() == [twice]
