"""States of an earlier version of the hash: they are read, and add where both versions agree on their units."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import plmetrics as plm
from tests.features.stored.test_state_files import write


def rows_of(seed: int, unit: Any) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    units = pl.Series("t", rng.integers(0, 40, 300) + 40 * seed, dtype=pl.Int64)
    return pl.DataFrame({"y": rng.integers(0, 2, 300), "p": rng.random(300), "t": units.cast(unit)})


def state_of(folder: Path, seed: int, unit: Any, version: int) -> Path:
    """A state whose head tells of a version of the hash."""
    asked: dict[str, Any] = {"metrics": ["brier"], "uncertainty": {"replicates": 50}, "name": f"day{seed}"}
    made = plm.state(rows_of(seed, unit), label="y", models={"m": "p"}, unit="t", **asked)
    head = json.loads(made.head.text())
    head["versions"]["hash"] = version
    return write(folder / f"{seed}.state", head, made.table)


@pytest.mark.exhaustive
@pytest.mark.parametrize("unit", [pl.Int64(), pl.Datetime("us"), pl.Datetime("ms"), pl.Duration("ns")])
def test_states_of_an_earlier_hash_are_read_and_add(tmp_path: Path, unit: Any) -> None:
    earlier = [state_of(tmp_path, seed, unit, 1) for seed in (1, 2)]
    (tmp_path / "now").mkdir()
    now = [state_of(tmp_path / "now", seed, unit, 2) for seed in (1, 2)]
    assert_frame_equal(plm.merge(*earlier).metrics, plm.merge(*now).metrics)
    assert_frame_equal(plm.merge(earlier[0]).metrics, plm.merge(now[0]).metrics)


@pytest.mark.parametrize("unit", [pl.Int64(), pl.Datetime("us")])
def test_states_of_two_hashes_add_where_these_agree(tmp_path: Path, unit: Any) -> None:
    states = [state_of(tmp_path, seed, unit, version) for seed, version in ((1, 1), (2, 2))]
    (tmp_path / "now").mkdir()
    now = [state_of(tmp_path / "now", seed, unit, 2) for seed in (1, 2)]
    assert_frame_equal(plm.merge(*states).metrics, plm.merge(*now).metrics)


@pytest.mark.parametrize("unit", [pl.Datetime("ms"), pl.Duration("ns")])
def test_states_of_two_hashes_do_not_add_where_these_differ(tmp_path: Path, unit: Any) -> None:
    states = [state_of(tmp_path, seed, unit, version) for seed, version in ((1, 1), (2, 2))]
    with pytest.raises(plm.ConfigError, match="name units by other hashes"):
        plm.merge(*states)


def test_codes_of_several_csv_files_add_as_texts(tmp_path: Path) -> None:
    """One file has codes that begin with a zero, the other none: what makes them texts is said."""
    codes = {"a": [7, 8, 90210], "b": ["007", "7", "02138"]}
    for name, values in codes.items():
        lines = [f"{place % 2},0.5,{value}" for place, value in enumerate(values)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["y,p,code", *lines, ""]))
    asked: dict[str, Any] = {"label": "y", "models": "p", "metrics": ["n"]}
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    apart = [plm.state(file, slices="code", **asked) for file in files]
    with pytest.raises(plm.PlmetricsError, match="or derive one, as CAST"):
        plm.merge(*apart)
    derive = {"text": "CAST(code AS VARCHAR)"}
    together = plm.merge(*(plm.state(file, slices="text", derive=derive, **asked) for file in files))
    rows = together.metrics.filter(slice_set="text")
    assert dict(rows.select("slice", "n").iter_rows()) == {
        f"text={code}": 2 if code == "7" else 1 for code in ("007", "02138", "7", "8", "90210")
    }
