"""Second moments of slices whatever the offsets between them, against NumPy's in extended precision."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm

LEVELS = (0.0, 1e0, 1e3, 1e6, 1e9, 1e12)
METRICS = [
    "r2",
    "adjusted_r2(predictors=2)",
    "rmse_skill",
    "default_rmse",
    "pearson",
    "concordance_ccc",
    "explained_variance",
    "error_variance",
    {"name": "deviation", "std": "y"},
]
SLICES = {"g": "g", "crossed": ["g", "h"], "far": {"where": "g > 3"}}
REGRESSION: dict[str, Any] = {
    "task": "regression",
    "label": "y",
    "models": {"m": "p"},
    "metrics": METRICS,
    "slices": SLICES,
}


def table(rows: int = 3_000, seed: int = 0, levels: int = len(LEVELS), shift: float = 0.0) -> pl.DataFrame:
    """Labels and predictions at other levels in each slice; their errors are at other levels, too."""
    rng = np.random.default_rng(seed)
    g = rng.integers(0, levels, rows)
    noise = rng.normal(size=rows)
    label = np.array(LEVELS)[g] + noise + shift
    guess = np.array(LEVELS)[g] * 1.5 + 0.7 * noise + 0.5 * rng.normal(size=rows)
    return pl.DataFrame(
        {
            "y": label,
            "p": guess,
            "g": g,
            "h": rng.integers(0, 2, rows),
            "w": rng.exponential(size=rows),
            "u": rng.integers(0, 500, rows),
            "t": rng.integers(0, 2, rows),
        }
    )


def wanted(rows: pl.DataFrame, weight: str | None) -> dict[str, float]:
    """The metrics of some rows, in extended precision."""
    y, p = (rows[name].to_numpy().astype(np.longdouble) for name in ("y", "p"))
    w = np.ones(len(y), np.longdouble) if weight is None else rows[weight].to_numpy().astype(np.longdouble)

    def mean(x: Any) -> Any:
        return (w * x).sum() / w.sum()

    def cov(a: Any, b: Any) -> Any:
        return mean((a - mean(a)) * (b - mean(b)))

    e, vy = p - y, cov(y, y)
    r2 = 1 - mean(e * e) / vy
    found = {
        "r2": r2,
        "adjusted_r2(predictors=2)": 1 - (1 - r2) * (w.sum() - 1) / (w.sum() - 3),
        "rmse_skill": 1 - np.sqrt(mean(e * e) / vy),
        "default_rmse": np.sqrt(vy),
        "pearson": cov(y, p) / np.sqrt(vy * cov(p, p)),
        "concordance_ccc": 2 * cov(y, p) / (vy + cov(p, p) + mean(e) ** 2),
        "explained_variance": 1 - cov(e, e) / vy,
        "error_variance": cov(e, e),
        "deviation": np.sqrt(vy),
    }
    return {name: float(value) for name, value in found.items()}


def assert_right(found: pl.DataFrame, rows: pl.DataFrame, weight: str | None = None) -> None:
    parts = {"all": rows, "far=true": rows.filter(pl.col("g") > 3)}
    parts |= {f"g={g}": part for (g,), part in rows.group_by("g")}
    parts |= {f"g={g}, h={h}": part for (g, h), part in rows.group_by("g", "h")}
    for (slice_,), own in found.group_by("slice"):
        right = wanted(parts[str(slice_)], weight)
        for metric, value, status in own.select("metric", "value", "status").iter_rows():
            assert status == "ok", (slice_, metric, status)
            assert value == pytest.approx(right[metric], rel=1e-9), (slice_, metric)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"weight": "w"},
        {"reproducible": True},
        {"weight": "w", "unit": "u", "uncertainty": {"replicates": 20, "blocks": 50}},
    ],
    ids=["plain", "weighted", "reproducible", "blocks"],
)
def test_every_slice_keeps_its_digits_whatever_the_offsets(arguments: dict[str, Any]) -> None:
    rows = table()
    assert_right(plm.evaluate(rows, **REGRESSION, **arguments).metrics, rows, arguments.get("weight"))


def test_models_with_rows_of_their_own_and_slices_without_a_value_keep_their_digits() -> None:
    gone = pl.int_range(pl.len()) % 7 == 0
    rows = table().with_columns(p=pl.when(gone).then(None).otherwise("p"), k=pl.col("g").cast(pl.Float64))
    rows = rows.with_columns(k=pl.when(g=0).then(None).otherwise("k"))
    arguments = {**REGRESSION, "missing": "drop_per_model", "slices": {"g": "g", "k": "k"}}
    found = plm.evaluate(rows, **arguments).metrics.filter(pl.col("metric") != "deviation")
    assert_right(found.filter(pl.col("slice_set") != "k"), rows.drop_nulls("p"))
    apart = [found.filter(slice_set=name).sort("slice", "metric")["value"] for name in ("g", "k")]
    assert sorted(apart[0]) == pytest.approx(sorted(apart[1]), rel=1e-9)


@pytest.mark.slow
def test_reproducible_moments_are_the_same_in_any_order() -> None:
    rows = table(1_000)
    arguments = {
        **REGRESSION,
        "weight": "w",
        "reproducible": True,
        "unit": "u",
        "uncertainty": {"replicates": 9},
    }
    one, other = (plm.evaluate(part, **arguments).metrics for part in (rows, rows.reverse()))
    assert one.equals(other)


def test_a_corrupt_label_counts_in_its_own_slice_only() -> None:
    rows = table(levels=2).with_columns(y=pl.when(pl.int_range(pl.len()) == 0).then(1e12).otherwise("y"))
    rows = rows.with_columns(g=pl.when(pl.int_range(pl.len()) == 0).then(9).otherwise("g"))
    found = plm.evaluate(rows, **REGRESSION).metrics.filter(pl.col("slice").is_in(["g=0", "g=1"]))
    assert_right(found, rows)


@pytest.mark.parametrize("weight", [None, "w"])
def test_slices_and_complements_have_intervals_of_their_own_digits(weight: str | None) -> None:
    near, far = ({**REGRESSION, "metrics": ["r2", "error_variance"], "slices": {"g": "g"}} for _ in range(2))
    asked = {"weight": weight, "unit": "u", "uncertainty": {"replicates": 30, "blocks": 40}}
    rows = table(levels=1).with_columns(g=pl.col("h"))
    shifted = rows.with_columns(pl.col("y", "p") + pl.col("g") * 2.0**36)
    asked["compare"] = {"slices": {"g": "rest"}}
    one, other = plm.evaluate(rows, **near, **asked), plm.evaluate(shifted, **far, **asked)
    exact = shifted.with_columns(pl.col("y", "p") - pl.col("g") * 2.0**36)
    one = plm.evaluate(exact, **near, **asked)
    for name, keys in (
        ("metrics", ["lower", "upper", "std_error"]),
        ("comparisons", ["difference", "lower", "upper"]),
    ):
        ours, theirs = (getattr(part, name).filter(slice_set="g")[keys] for part in (other, one))
        assert ours.to_numpy() == pytest.approx(theirs.to_numpy(), rel=1e-7)


def test_effects_of_slices_at_other_levels_are_held_together() -> None:
    rows = table(levels=1).with_columns(g=pl.col("h"))
    rows = rows.with_columns(y=pl.col("y") + pl.col("t"))
    far = rows.with_columns(y=pl.col("y") + pl.col("g") * 2.0**30)
    near = far.with_columns(y=pl.col("y") - pl.col("g") * 2.0**30)
    asked = {"task": "uplift", "label": "y", "treatment": "t", "models": "p", "metrics": "cochran_q(by=g)"}
    one, other = (
        plm.evaluate(part, **asked, slices={"g": "g"}).metrics["value"].item() for part in (near, far)
    )
    assert other == pytest.approx(one, rel=1e-9)


def test_what_the_arithmetic_cannot_say_has_a_status() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(size=60) * 1e-3
    noise[0] = 1e12
    unit = np.repeat([0, 1], 30)
    rows = pl.DataFrame({"y": noise, "p": noise * 0.5, "u": unit, "c": np.full(60, 1e9 / 3)})
    metrics = [{"name": "spread", "std": "y"}, {"name": "flat", "std": "c"}, "default_rmse", "r2"]
    asked = {**REGRESSION, "slices": {"u": "u"}, "metrics": metrics}
    found = plm.evaluate(rows, **asked).metrics
    value = {(row["slice"], row["metric"]): row["value"] for row in found.iter_rows(named=True)}
    assert value["u=1", "spread"] == pytest.approx(float(np.std(noise[30:].astype(np.longdouble))), rel=1e-9)
    assert value["u=0", "flat"] == value["all", "flat"] == 0.0
    flat = plm.evaluate(
        rows.with_columns(y=pl.col("c")), **{**asked, "metrics": ["r2", "default_rmse"]}
    ).metrics
    assert set(flat.filter(metric="r2")["status"]) == {"zero_denominator"}
    assert set(flat.filter(metric="default_rmse")["value"]) == {0.0}


@pytest.mark.alike
@pytest.mark.slow
@pytest.mark.parametrize("room", [None, 0], ids=["columns", "grouped"])
@pytest.mark.parametrize("weight", [None, "w"])
def test_states_of_days_at_other_levels_add(
    room: int | None, weight: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = [table(900, seed=day, levels=3 + day, shift=1e4 * day) for day in range(3)]
    states = []
    for day, rows in enumerate(days):
        rows.write_parquet(tmp_path / f"{day}.parquet")
        arguments = {
            **REGRESSION,
            "weight": weight,
            "unit": "u",
            "uncertainty": {"replicates": 9, "blocks": 20},
        }
        states.append(plm.state(tmp_path / f"{day}.parquet", **arguments))
    if room is not None:
        monkeypatch.setattr("plmetrics.engine.memory.budget.merging_room", lambda suite: room)
    found = plm.merge(*states)
    assert_right(found.metrics, pl.concat(days), weight)
    once = plm.evaluate(pl.concat(days), **arguments)
    ours, theirs = (part.metrics.filter(metric="error_variance")["std_error"] for part in (found, once))
    assert ours.to_list() == pytest.approx(theirs.to_list(), rel=1e-6)
    pair = plm.merge(*states[1:], state=tmp_path / "pair.state")
    assert pair.metrics.height
    assert_right(plm.merge(tmp_path / "pair.state", states[0]).metrics, pl.concat(days), weight)


@dataclass(frozen=True)
class FarDays:
    """States of days at other levels, of their rows in order and backwards, and the result of all rows."""

    every: pl.DataFrame
    whole: Any
    states: list[Any]
    backwards: list[Any]
    run: pl.DataFrame


@pytest.fixture(scope="module")
def far_days(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str | None, int | None], FarDays]:
    """Far days by weight and blocks, each counted once."""

    @cache
    def counted(weight: str | None, blocks: int | None) -> FarDays:
        folder = tmp_path_factory.mktemp("far")
        days = [table(600, seed=day, levels=3 + day, shift=1e4 * day) for day in range(4)]
        uncertainty = (
            {} if blocks is None else {"unit": "u", "uncertainty": {"replicates": 9, "blocks": blocks}}
        )
        arguments = {**REGRESSION, "weight": weight, "reproducible": True, **uncertainty}
        every = pl.concat(days)
        every.write_parquet(folder / "all.parquet")
        whole = plm.state(folder / "all.parquet", folder / "all.state", **arguments)
        states: list[Any] = []
        backwards: list[Any] = []
        for day, rows in enumerate(days):
            for made, order in ((states, rows), (backwards, rows.reverse())):
                order.write_parquet(folder / f"{day}.parquet")
                made.append(plm.state(folder / f"{day}.parquet", constants=whole, **arguments))
        run = plm.evaluate(folder / "all.parquet", **arguments).metrics
        return FarDays(every, whole, states, backwards, run)

    return counted


@pytest.mark.slow
@pytest.mark.parametrize(
    ("room", "weight", "blocks"), [(None, "w", 20), (0, None, 20), (None, None, None), (0, "w", None)]
)
def test_reproducible_states_of_far_slices_are_the_same_in_any_order(
    room: int | None,
    weight: str | None,
    blocks: int | None,
    far_days: Callable[[str | None, int | None], FarDays],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    days = far_days(weight, blocks)
    states = days.states
    if room is not None:
        monkeypatch.setattr("plmetrics.engine.memory.budget.merging_room", lambda suite: room)
    found = plm.merge(*states)
    assert_right(found.metrics, days.every, weight)
    plm.merge(states[3], states[1], state=tmp_path / "one.state")
    plm.merge(states[0], states[2], state=tmp_path / "other.state")
    again = [
        plm.merge(*states[::-1]),
        plm.merge(tmp_path / "other.state", tmp_path / "one.state"),
        plm.merge(states[2], tmp_path / "one.state", states[0]),
    ]
    assert all(one.metrics.equals(found.metrics) for one in again)
    of_squares = pl.col("metric").is_in(["r2", "adjusted_r2(predictors=2)", "rmse_skill"])
    ours, theirs = (one.metrics.filter(~of_squares) for one in (found, plm.merge(*days.backwards)))
    assert ours.equals(theirs)  # squared errors of slices near 0 vanish beside those of others, about 1e24
    assert plm.merge(days.whole).metrics.equals(days.run)
