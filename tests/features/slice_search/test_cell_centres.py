"""Second moments of slices that a search looks at, however far they lie from each other, in extended precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from plmetrics.core.hashing import BLOCK_SALT, SEARCH_SALT, mix_int
from plmetrics.features.slice_search.slice_selection import searched_slices
from plmetrics.suite.arguments import suite_from_arguments
from plmetrics.table.opening import open_source

BLOCKS = 10
WORSE = {"error_variance": 1.0, "explained_variance": -1.0, "r2": -1.0, "pearson": -1.0, "rmse_skill": -1.0}


def table(levels: tuple[float, ...], rows: int = 2_000, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    g, h = rng.integers(0, len(levels), rows), rng.integers(0, 2, rows)
    noise, level = rng.normal(size=rows), np.array(levels)[g]
    error = np.where(h == 1, 1.5, 0.5) * rng.normal(size=rows)
    return pl.DataFrame(
        {
            "y": level + noise,
            "p": level * 1.5 + 0.7 * noise + error,
            "g": np.char.mod("%d", g),
            "h": np.char.mod("%d", h),
            "w": rng.exponential(size=rows),
            "u": rng.integers(0, 300, rows),
        }
    )


def search(rows: pl.DataFrame, metric: str, **arguments: Any) -> pl.DataFrame:
    spec = {"columns": ["g", "h"], "metric": metric, "min_rows": 20, "level": 0.999, "blocks": BLOCKS}
    spec |= {"correction": "none", "largest": 50}
    given = {"task": "regression", "label": "y", "models": {"m": "p"}, "unit": "u", "find_slices": spec}
    return searched_slices(suite_from_arguments(**(given | arguments)), open_source(rows))[0]


def value(metric: str, rows: pl.DataFrame, weight: str | None) -> float:
    y, p = (rows[name].to_numpy().astype(np.longdouble) for name in ("y", "p"))
    w = np.ones(len(y), np.longdouble) if weight is None else rows[weight].to_numpy().astype(np.longdouble)

    def mean(x: Any) -> Any:
        return (w * x).sum() / w.sum()

    def cov(a: Any, b: Any) -> Any:
        return mean((a - mean(a)) * (b - mean(b)))

    e, vy = p - y, cov(y, y)
    return float(
        {
            "error_variance": lambda: cov(e, e),
            "explained_variance": lambda: 1 - cov(e, e) / vy,
            "r2": lambda: 1 - mean(e * e) / vy,
            "rmse_skill": lambda: 1 - np.sqrt(mean(e * e) / vy),
            "pearson": lambda: cov(y, p) / np.sqrt(vy * cov(p, p)),
        }[metric]()
    )


def assert_right(found: pl.DataFrame, rows: pl.DataFrame, metric: str, weight: str | None = None) -> None:
    unit = [mix_int(one ^ BLOCK_SALT) for one in rows["u"]]
    half = [mix_int(one ^ SEARCH_SALT ^ mix_int(0)) < 1 << 63 for one in unit]
    rows = rows.with_columns(block=pl.Series([one % BLOCKS for one in unit]), searched=pl.Series(half))
    assert found.height
    for one in found.iter_rows(named=True):
        inside = pl.all_horizontal(pl.col(k["column"]) == k["value"] for k in one["slice_values"])
        for name, part in (
            ("searched", rows.filter("searched")),
            ("difference", rows.filter(~pl.col("searched"))),
        ):
            here, there = (value(metric, part.filter(mask), weight) for mask in (inside, ~inside))
            assert one[name] == pytest.approx(here - there, rel=1e-8, abs=1e-9 * max(abs(here), abs(there)))
        assert (one["value"], one["rest"]) == (pytest.approx(here, rel=1e-9), pytest.approx(there, rel=1e-9))
        blocks = [part.filter(pl.col("block") != b) for b in range(BLOCKS)]
        without = [
            np.subtract(*(value(metric, left.filter(mask), weight) for mask in (inside, ~inside)))
            for left in blocks
        ]
        error = np.sqrt((BLOCKS - 1) / BLOCKS * np.sum((np.array(without) - (here - there)) ** 2))
        assert one["std_error"] == pytest.approx(error, rel=1e-6)


@pytest.mark.exhaustive
@pytest.mark.parametrize("metric", WORSE)
@pytest.mark.parametrize(
    "levels",
    [(0.0, 1e8), (0.0, 1e12, 1e4), (1e9, 0.0, 0.0, 0.0), (1e9, 1e9)],
    ids=["two", "three", "one", "all"],
)
def test_slices_and_rests_keep_their_digits(metric: str, levels: tuple[float, ...]) -> None:
    rows = table(levels)
    found = search(rows, metric)
    assert_right(found, rows, metric)
    if (metric, len(levels)) != (
        "error_variance",
        3,
    ):  # where no slice is worse than the levels of all others
        assert any("g=" in slice_ for slice_ in found["slice"])


@pytest.mark.parametrize(
    "arguments",
    [{"weight": "w"}, {"reproducible": True}, {"missing": "drop_per_model"}],
    ids=["weighted", "reproducible", "apart"],
)
def test_weights_exact_sums_and_rows_of_their_own(arguments: dict[str, Any]) -> None:
    rows = table((0.0, 1e8, 3e8))
    given = rows
    if "missing" in arguments:
        gone = pl.int_range(pl.len()) % 7 == 0
        given = rows.with_columns(p=pl.when(gone).then(None).otherwise("p"), q="y")
        rows = rows.filter(~gone)
        arguments = {**arguments, "models": {"m": "p", "all": "q"}}
    found = search(given, "pearson", **arguments).filter(model="m")
    assert_right(found, rows, "pearson", arguments.get("weight"))
    assert any("g=" in slice_ for slice_ in found["slice"])


def test_a_reproducible_search_of_far_slices_is_the_same_in_any_order() -> None:
    rows = table((0.0, 1e8, 3e8))
    orders = [rows, *(rows.sample(fraction=1.0, shuffle=True, seed=seed) for seed in range(3))]
    found = [search(order, "pearson", weight="w", reproducible=True) for order in orders]
    assert all(one.equals(found[0]) for one in found)


def test_near_slices_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        pytest.fail("nothing lies far")

    monkeypatch.setattr("plmetrics.features.slice_search.cell_centres._about_means", refuse)
    rows = table((0.0, 5.0))
    assert_right(search(rows, "error_variance"), rows, "error_variance")
