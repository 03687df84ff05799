"""Merged states as runs: each number stands by the slice whose rows it is of."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sklearn.metrics import roc_auc_score

import plmetrics as plm
from plmetrics.states.scores.exact.row_counts import RowCounts
from plmetrics.states.scores.grid.sliced_grid import SlicedGrid

COMBINATIONS = [["x"], ["y"], ["z"], ["y", "x"], ["w", "z"], []]


def days(task: str, number: int = 3) -> list[pl.DataFrame]:
    """Days on which other tags stand together: what overlaps is seen of all of them alone."""
    rng = np.random.default_rng(5)
    size = 40 * len(COMBINATIONS)
    score = rng.random(size).round(2)
    label = rng.random(size) < score if task == "binary" else score + rng.normal(size=size)
    kind = np.arange(size) % len(COMBINATIONS)
    tags = pl.Series([COMBINATIONS[place] for place in kind], dtype=pl.List(pl.String))
    rows = pl.DataFrame({"y": label.astype(float), "p": score, "tags": tags, "day": kind % number})
    return rows.partition_by("day", maintain_order=True)


def by_tag(rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    for tag in "wxyz":
        yield f"tags={tag}", rows.filter(pl.col("tags").list.contains(tag))


def merged(task: str, parts: list[pl.DataFrame], **asked: Any) -> plm.Result:
    suite = {"task": task, "label": "y", "models": "p", "slices": {"tags": "tags"}, **asked}
    constants = plm.state(pl.concat(parts), **suite)
    return plm.merge(*(plm.state(part, constants=constants, **suite) for part in parts))


@pytest.mark.slow
def test_tags_that_overlap_in_some_states_keep_their_quantiles() -> None:
    parts = days("regression")
    found = merged("regression", parts, metrics=["median_absolute_error", "max_error", "mae"]).metrics
    for name, rows in by_tag(pl.concat(parts)):
        errors = (rows["y"] - rows["p"]).abs().to_numpy()
        values = found.filter(slice=name)["value"].to_list()
        assert values == pytest.approx([np.median(errors), errors.max(), errors.mean()]), name


def test_tags_that_overlap_in_some_states_keep_their_areas() -> None:
    parts = days("binary")
    found = merged("binary", parts, metrics=["roc_auc"]).metrics
    for name, rows in by_tag(pl.concat(parts)):
        assert found.filter(slice=name)["value"].item() == pytest.approx(
            roc_auc_score(rows["y"], rows["p"])
        ), name


@pytest.mark.exhaustive
@pytest.mark.parametrize("metric", ["roc_auc", "average_precision", "ks"])
def test_tags_in_groups_of_one_and_of_several_keep_their_intervals(metric: str) -> None:
    """Of w, x and y, which overlap with one of them each, one group is of one tag."""
    rows = pl.concat(days("binary")).with_row_index("unit")
    rows = rows.with_columns(tags=pl.col("tags").list.set_difference(["z"]))
    asked: dict[str, Any] = {"metrics": [metric], "unit": "unit", "uncertainty": {"replicates": 100}}
    found = merged("binary", rows.partition_by("day"), **asked).metrics
    run = plm.evaluate(rows, label="y", models="p", slices={"tags": "tags"}, exact=False, **asked).metrics
    names = ["slice", "value", "lower", "upper", "std_error", "bound"]
    assert_frame_equal(found.select(names), run.select(names))


def test_tags_that_overlap_in_some_states_keep_their_curves() -> None:
    parts = days("regression")
    curves = merged(
        "regression", parts, metrics=["mae"], curves=[{"curve": "residual_histogram", "slices": ["tags"]}]
    )
    counts = curves.curves.group_by("slice").agg(pl.col("n").sum())
    rows = pl.concat(parts)
    expected = {"all": rows.height, **{name: part.height for name, part in by_tag(rows)}}
    assert dict(counts.iter_rows()) == expected


def test_a_condition_that_no_row_of_the_first_day_meets_has_the_intervals_of_the_later_days() -> None:
    rng = np.random.default_rng(0)
    score, size = rng.random(800), np.where(np.arange(800) < 400, 0, rng.choice([0, 5], 800))
    label, unit = (rng.random(800) < score).astype(int), rng.integers(0, 300, 800)
    rows = pl.DataFrame({"y": label, "p": score.round(3), "size": size, "u": unit})
    asked: dict[str, Any] = {
        "label": "y",
        "models": "p",
        "unit": "u",
        "metrics": ["roc_auc", "ks", "recall_at_precision(precision=0.7)"],
        "slices": {"large": {"where": "size > 3"}},
        "uncertainty": {"replicates": 50},
    }
    first = plm.state(rows.head(400), **asked)
    second = plm.state(rows.tail(400), constants=first, **asked)
    assert plm.merge(first).metrics.filter(slice_set="large")["status"].unique().item() == "no_rows"
    found = plm.merge(first, second).metrics
    assert_frame_equal(found, plm.merge(second, first).metrics)
    exact = plm.evaluate(rows, exact=True, **asked).metrics
    for end in ("lower", "upper"):
        assert found[end].to_list() == pytest.approx(exact[end].to_list(), abs=0.03)


def test_quantiles_beside_a_treatment_where_a_condition_holds_for_no_row() -> None:
    rng = np.random.default_rng(3)
    columns = {"y": rng.random(60), "p": rng.random(60), "t": np.arange(60) % 2, "v": rng.random(60)}
    asked: dict[str, Any] = {
        "task": "uplift",
        "label": "y",
        "treatment": "t",
        "models": "p",
        "metrics": [{"name": "middle", "quantile": "v", "q": 0.5}],
        "slices": {"none": {"where": "v > 1"}},
    }
    found = plm.merge(plm.state(pl.DataFrame(columns), **asked)).metrics
    assert found["value"].to_list() == [pytest.approx(np.median(columns["v"])), None]


def test_a_group_of_reference_may_be_absent_from_some_states() -> None:
    rng = np.random.default_rng(4)
    score, group = rng.random(200), np.repeat(["north", "south"], 100)
    rows = pl.DataFrame({"y": rng.random(200) < score, "p": score, "g": group})
    asked: dict[str, Any] = {
        "label": "y",
        "models": "p",
        "metrics": ["average_odds_difference(by=g, reference=north)"],
        "slices": "g",
    }
    found = plm.merge(*(plm.state(day, **asked) for day in rows.partition_by("g")))
    assert_frame_equal(found.metrics, plm.evaluate(rows, **asked).metrics)
    with pytest.raises(plm.ConfigError, match="'north' is not a slice of 'g'"):
        plm.merge(plm.state(rows.tail(100), **asked))


def stores(seed: int, rows: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    score = rng.random(rows).round(2)
    columns = {
        "y": (rng.random(rows) < score).astype(float),
        "p": score,
        "treated": rng.integers(2, size=rows),
    }
    return pl.DataFrame(columns | {name: rng.integers(60, size=rows) for name in ("store", "customer")})


def test_few_rows_of_many_slices_are_replicated_as_their_dense_counts_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    suite: dict[str, Any] = {"label": "y", "models": "p", "metrics": ["roc_auc", "ks"], "unit": "customer"}
    suite |= {"slices": {"store": "store"}, "uncertainty": {"replicates": 50}}
    parts = [stores(seed) for seed in range(3)]
    constants = plm.state(parts[0], **suite)
    states = [plm.state(part, constants=constants, **suite) for part in parts]
    given: list[tuple[RowCounts | None, np.ndarray]] = []

    def row_counts(grid: SlicedGrid) -> RowCounts | None:
        given.append((grid.sparse(), np.concatenate([part for *_, part in grid.parts("coarse")])))
        return given[-1][0]

    monkeypatch.setattr(SlicedGrid, "row_counts", row_counts)
    sparse = plm.merge(*states).metrics
    assert len(given) == 2, "overall and stores"
    for rows, dense in given:
        assert rows is not None
        assert (rows.dense(dense.shape[1]) == dense).all()
    monkeypatch.setattr(SlicedGrid, "row_counts", lambda _: None)
    assert_frame_equal(sparse, plm.merge(*states).metrics)


UPLIFT = {"task": "uplift", "treatment": "treated", "metrics": ["qini"]}


@pytest.mark.parametrize("further", [{"weight": "p"}, {"reproducible": True}, UPLIFT])
def test_rows_of_fractional_weights_or_arms_and_reproducible_ones_stay_dense(
    further: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    suite: dict[str, Any] = {
        "label": "y",
        "models": "p",
        "metrics": ["roc_auc"],
        "unit": "customer",
        **further,
    }
    given: list[RowCounts | None] = []
    monkeypatch.setattr(SlicedGrid, "row_counts", lambda grid: given.append(grid.sparse()) or given[-1])
    plm.merge(plm.state(stores(0), slices={"store": "store"}, uncertainty={"replicates": 50}, **suite))
    assert given == [None, None]
