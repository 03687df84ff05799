"""Grids: values within their bound of exact ones, counts that hold every row, work cut up in any way."""

import tracemalloc

import numpy as np
import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from references.samples import FAST, KEYS, assert_same, sample
from sklearn.metrics import precision_recall_curve

import plmetrics as plm
from plmetrics.core.segments import Segments
from plmetrics.inference.metric_values import score_view
from plmetrics.inference.ordered.metrics import ordered_values
from plmetrics.states.scores.bin_lookup import FixedBins, Keys, balanced_edges, locator_at
from plmetrics.states.scores.exact.sorted_rows import SortedRows
from plmetrics.states.scores.grid.grid_tally import BinnedTally, CoarseTally, GridTally, shape
from plmetrics.states.scores.grid.placed_rows import Members, PlacedRows
from plmetrics.states.scores.grid.roll_up import rolled_up
from plmetrics.states.scores.grid.sliced_grid import SlicedGrid
from plmetrics.states.scores.sliced_scores import Binning

few = settings(phases=(Phase.explicit, Phase.generate))
METRICS = [plm.metric(name) for name in ("roc_auc", "gini", "average_precision", "ks")]
SLICES = 3


def rows(size, seed, ties, weighted, positives=0.4):
    rng = np.random.default_rng(seed)
    positive = rng.random(size) < positives
    score = rng.normal(size=size) + positive
    score = np.round(score * 3) / 3 if ties else score
    weight = rng.integers(1, 9, size) / 4 if weighted else None
    return score, positive, weight, rng.integers(-1, SLICES, size)


def exact(score, positive, weight, code):
    order = np.argsort(score, kind="stable")
    mass = None if weight is None else weight[order]
    return SortedRows(score[order], positive[order], mass, None).regroup(code[order], SLICES)


def near(cuts, score):
    keys = Keys.of(score)
    return locator_at(keys.ends(cuts), keys)


def located(score, positive, bins):
    return near(balanced_edges(score, score[positive], bins), score)


def placed(locator, score, positive, weight, block=None):
    place = np.empty(len(score), dtype=np.uint16)
    locator.locate(score, locator.keys(score), place)
    return PlacedRows(2 * place + positive, weight, block, score)


def on_grid(locator, score, positive, weight, code, pieces=1):
    edges = locator.edges
    tally = GridTally(0, np.zeros((SLICES, 1, *shape("fine", edges, SLICES))))
    for part in np.array_split(np.arange(len(score)), pieces):
        mass = None if weight is None else weight[part]
        tally.add(placed(locator, score[part], positive[part], mass), Members.of(code[part]))
    return SlicedGrid(
        edges,
        SLICES,
        tally.counts[:, 0],
        lambda _: iter(()),
        weight is not None,
        lambda: np.zeros((SLICES, len(edges) + 1), np.uint16),
    )


tables = st.builds(
    rows,
    size=st.integers(1, 200),
    seed=st.integers(0, 2**20),
    ties=st.booleans(),
    weighted=st.booleans(),
    positives=st.sampled_from([0.02, 0.4, 0.95]),
)


@few
@given(tables, st.sampled_from([2, 8, 24, 512]), st.integers(1, 4))
def test_bounds_hold(table, bins, pieces):
    score, positive, _, _ = table
    near, true = (
        ordered_values(METRICS, on_grid(located(score, positive, bins), *table, pieces), None),
        ordered_values(METRICS, exact(*table), None),
    )
    for metric in METRICS:
        found, wanted = near[metric.text], true[metric.text]
        for (status, where), (name, there) in zip(found.reasons, wanted.reasons, strict=True):
            assert status == name
            np.testing.assert_array_equal(where, there)
        off = np.abs(found.value - wanted.value)
        assert not (off > found.bound + 1e-12).any(), (metric.text, off, found.bound)
        if bins == 512:
            np.testing.assert_allclose(found.value, wanted.value, rtol=1e-12, atol=1e-12)
            assert (
                np.nanmax(found.bound, initial=0.0)
                <= np.nanmax(_tie_bound(metric, *table), initial=0.0) + 1e-12
            )


def _tie_bound(metric, *table):
    """The bound where each point is a distinct score: what tied rows of both classes leave open."""
    return np.asarray(metric.bound(score_view(exact(*table).point_state())))


@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_a_bound_is_reached_by_the_worst_order_inside_bins(metric):
    """One bin for all rows: separated classes are as far from the tied value as can be."""
    wanted = {"roc_auc": 0.5, "gini": 1.0, "average_precision": 0.5, "ks": 1.0}
    state = {"negative": np.array([4.0]), "positive": np.array([4.0]), "score": np.array([1.0])}
    points = {name: Segments(mass, np.array([0, 1])) for name, mass in state.items()}
    assert np.asarray(metric.bound(score_view(points))).item() == pytest.approx(wanted[metric.name])


def test_rows_that_wait_hold_no_batches():
    """A slice with ten rows in a batch waits for long; the other rows of its batches must not wait with it."""
    size, batches = 100_000, 20
    score, positive, _, _ = rows(size, 5, ties=False, weighted=False)
    locator = located(score, positive, 2000)
    batch = placed(locator, score, positive, None)
    members = Members.of(np.repeat([0, 1], [size - 10, 10]))
    fixed = Binning(4, distances=True)
    fine = GridTally(0, np.zeros((2, 1, *shape("fine", locator.edges, 2))))
    bins = FixedBins.of_places(fixed.uniform_edges(), locator.edges)
    binned = BinnedTally(0, np.zeros((2, 300, *shape(fixed, locator.edges, 2))), fixed, bins)
    for tally, channels in ((fine, 2), (binned, 1)):
        tracemalloc.start()
        for _ in range(batches):
            tally.add(batch, members)
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        tally.finish()
        assert held < 4 * size
        assert tally.counts[1, ..., :channels].sum() == 10 * batches


def test_tallies_add_up_over_batches_and_slices():
    score, positive, weight, code = rows(300, 3, ties=True, weighted=True)
    block = np.random.default_rng(0).integers(0, 5, 300).astype(np.int32)
    locator = located(score, positive, 16)

    def tally(bins, first, slices):
        counts = np.zeros((slices, 5, *shape(bins, locator.edges, SLICES)))
        if bins == "fine":
            return GridTally(first, counts)
        return BinnedTally(first, counts, bins, FixedBins.of_places(bins.uniform_edges(), locator.edges))

    for bins in ("fine", Binning(4), Binning(4, distances=True)):
        whole = tally(bins, 0, SLICES)
        whole.add(placed(locator, score, positive, weight, block), Members.of(code))
        whole.finish()
        held = code >= 0
        assert whole.counts[..., 0].sum() == weight[held if bins != "fine" else held & ~positive].sum()
        parts = [tally(bins, first, 1) for first in range(SLICES)]
        for part in np.array_split(np.arange(300), 7):
            batch = placed(locator, score[part], positive[part], weight[part], block[part])
            for each in parts:
                each.add(batch, Members.of(code[part]))
        for each in parts:
            each.finish()
        np.testing.assert_allclose(np.concatenate([each.counts for each in parts]), whole.counts, rtol=1e-12)


@pytest.mark.parametrize("kind", ["fine", "coarse", "fixed"])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_one_slice_in_a_row_count_as_mixed_ones_do(kind, weighted):
    random = np.random.default_rng(8)
    score, positive = random.integers(0, 40, 6000) / 40.0, random.random(6000) < 0.3
    code, block = random.integers(-1, SLICES, 6000), random.integers(0, 5, 6000).astype(np.uint16)
    weight = random.random(6000) if weighted else None
    locator = located(score, positive, 64)
    binning = Binning(7, distances=True)

    def counted(order):
        bins = binning if kind == "fixed" else "fine"
        made = np.zeros((SLICES, 5, *shape(bins, locator.edges, SLICES)))
        tally = GridTally(0, made)
        if kind == "fixed":
            tally = BinnedTally(0, made, binning, FixedBins.of_places(binning.uniform_edges(), locator.edges))
        if kind == "coarse":
            coarse = (np.arange(len(locator.edges) + 1) // np.array([[1], [2], [3]])).astype(np.uint16)
            tally = CoarseTally(0, made, coarse)
        mass = None if weight is None else weight[order]
        chosen = placed(locator, score[order], positive[order], mass, block[order])
        tally.add(chosen, Members.of(code[order]))
        tally.finish()
        return tally.counts

    assert len(Members.of(np.sort(code)).code) == SLICES + 1
    ordered = counted(np.argsort(code, kind="stable"))
    np.testing.assert_allclose(ordered, counted(np.arange(6000)), rtol=1e-12, atol=1e-12)
    assert ordered.sum() > 0


def test_slices_are_sums_of_cells():
    counts = np.arange(24.0).reshape(6, 2, 2)
    code = np.array([2, -1, 0, 2, 0, 0])
    wanted = [counts[code == number].sum(axis=0) for number in range(4)]
    np.testing.assert_array_equal(rolled_up(counts, code, 4), wanted)
    np.testing.assert_array_equal(rolled_up(counts, np.arange(6), 6), counts)


ORDERED = ["roc_auc", "gini", "average_precision", "ks", "ece", "brier_within_bin", "accuracy"]


def evaluated(table, **arguments):
    given = {
        "label": "y",
        "models": {"m": "p", "b": "q"},
        "metrics": ORDERED,
        "slices": {"g": "g", "high": {"where": "h > 0"}},
    }
    return plm.evaluate(table, **{**given, "weight": "w", **arguments})


@pytest.mark.slow
@settings(few, max_examples=8)
@given(
    st.builds(sample, rows=st.integers(1, 60), seed=st.integers(0, 2**20), ties=st.booleans()),
    st.sampled_from([2, 6, 4096]),
)
def test_exact_false_is_within_the_bounds_it_reports(table, bins):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("plmetrics.engine.order.encoding.FINE_BINS", bins)
        patch.setattr("plmetrics.engine.order.encoding._LEAST_BINS", bins)
        near = evaluated(table, exact=False).metrics
    true = evaluated(table).metrics
    assert_same(near, true, [*KEYS, "status", "n", "weight"])
    off = (near["value"] - true["value"]).abs()
    assert (off <= near["bound"].fill_null(0.0) + 1e-12).fill_null(value=True).all()
    assert true["bound"].is_null().all()
    binned = pl.col("metric").is_in(["ece", "brier_within_bin", "accuracy"])
    assert near.filter(binned)["bound"].is_null().all()
    assert near.filter(~binned, status="ok")["bound"].is_not_null().all()


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["error", "drop_per_model"])
@pytest.mark.parametrize("room", [1, 30_000, 10**9])
def test_counts_made_in_many_passes_are_those_of_one(monkeypatch, room, missing):
    """Standard errors of the grid equal those of sorted rows where every score has a bin of its own."""
    table = sample(400, 5)
    if missing == "drop_per_model":
        table = table.with_columns(pl.when(pl.int_range(pl.len()) % 9 > 0).then("q").alias("q"))
    settings = {"unit": "u", "uncertainty": FAST, "missing": missing, "compare": "b", "weight": None}
    monkeypatch.setattr("plmetrics.states.scores.coarse.EXACT_REPLICATES", 0)
    monkeypatch.setattr("plmetrics.states.scores.coarse._OF_A_SLICE", 0)
    wanted = evaluated(table, **settings)
    monkeypatch.setattr("plmetrics.engine.order.on_grid.counting_room", lambda *_, **__: room)
    monkeypatch.setattr("plmetrics.engine.order.encoding.BATCH_ROWS", 64)
    found = evaluated(table, exact=False, **settings)
    assert_same(found.metrics, wanted.metrics)
    assert_same(found.comparisons, wanted.comparisons, wanted.comparisons.columns)


def test_grids_do_not_grow_with_the_product_of_slice_columns():
    """Three columns of 60 values make 216,000 cells, which on a grid of 4,096 bins would be 14 GB."""
    rng = np.random.default_rng(1)
    columns = {name: rng.integers(0, 60, 5_000) for name in "abc"}
    table = pl.DataFrame({"y": rng.random(5_000) < 0.3, "p": rng.random(5_000), **columns})
    found = plm.evaluate(
        table, label="y", models="p", metrics=["roc_auc"], slices=["a", "b", "c"], exact=False
    )
    assert found.metrics.height == 181
    assert found.metrics["bound"].max() < 0.01


@pytest.mark.parametrize("rows", [1, 2])
def test_a_grid_of_one_block_has_no_intervals(rows):
    table = pl.DataFrame({"y": [True, False][:rows], "p": [0.8, 0.3][:rows], "u": [1] * rows})
    found = plm.evaluate(
        table, label="y", models="p", metrics=["roc_auc", "ece"], unit="u", exact=False, uncertainty=FAST
    )
    assert set(found.metrics["interval_status"]) <= {"too_few_units", "undefined_value"}


def test_a_bound_is_finite_where_one_weight_is_nothing_beside_another():
    state = {
        "negative": np.array([1.0, 1e-310]),
        "positive": np.array([1.0, 1e10]),
        "score": np.array([0.1, 0.9]),
    }
    points = {name: Segments(mass, np.array([0, 2])) for name, mass in state.items()}
    found = [np.asarray(metric.bound(score_view(points))).item() for metric in METRICS]
    assert np.isfinite(found).all()


def test_a_precision_that_bins_hide_is_unreachable_on_the_grid_alone():
    """By hand, in bins of two: the best row is a positive, but a negative shares its bin."""
    metric = plm.metric("recall_at_precision(precision=0.9)")
    score, positive = np.array([0.9, 0.8, 0.4, 0.3]), np.array([True, False, True, False])
    table = score, positive, None, np.zeros(4, dtype=np.int64)
    true = ordered_values([metric], exact(*table), None)[metric.text]
    hidden = ordered_values([metric], on_grid(near(np.array([0.5]), score), *table), None)[metric.text]
    statuses = [{name for name, where in found.reasons if where[0]} for found in (true, hidden)]
    assert statuses[0] == set()
    assert true.value[0] == 0.5
    assert "unreachable_on_grid" in statuses[1]
    assert hidden.bound[0] == 0.5
    worst = score, ~positive, None, table[3]
    lost = ordered_values([metric], on_grid(near(np.array([0.85]), score), *worst), None)[metric.text]
    assert {name for name, where in lost.reasons if where[0]} == {"unreachable"}


def test_the_row_of_a_value_that_the_grid_hides_has_its_bound():
    """Weights over many orders: most of them is in one bin, whose best row alone is precise enough."""
    draw = np.random.default_rng(2)
    label = draw.random(60_000) < 0.02
    score = draw.random(60_000) * 0.9
    score[0], label[0], label[1] = 1.0, True, False
    score[1] = 1.0 - 1e-9
    frame = pl.DataFrame({"y": label, "p": score, "w": np.where(np.arange(60_000) < 2, 1e6, 1.0)})
    asked = {"label": "y", "models": "p", "metrics": ["recall_at_precision(precision=0.9)"], "weight": "w"}
    true, near = (
        plm.evaluate(frame, exact=exact, **asked).metrics.row(0, named=True) for exact in (True, False)
    )
    assert (true["status"], true["bound"]) == ("ok", None)
    assert (near["value"], near["status"]) == (None, "unreachable_on_grid")
    assert near["bound"] == pytest.approx(true["value"])


def hidden_classes(seed):
    """Rows of three classes in two parts, of which the first has few scores, and the second many between these."""
    draw = np.random.default_rng(seed)
    number = draw.choice(3, 400, p=[0.6, 0.3, 0.1])
    logits = np.round(draw.normal(size=(400, 3)), 1)
    logits[np.arange(400), number] += 1.0
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    frame = pl.DataFrame({"y": np.array(["a", "b", "c"])[number], "g": draw.choice(["u", "v"], 400)})
    return frame.with_columns(**dict(zip(["pa", "pb", "pc"], p.T, strict=True)))


def merged_days(frame, first, **asked):
    """Value of two parts as states, of which the second has the grid of the first."""
    constants = plm.state(frame[:first], exact=False, **asked)
    return plm.merge(constants, plm.state(frame[first:], exact=False, constants=constants, **asked)).metrics


@pytest.mark.slow
@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_the_bound_of_an_average_covers_classes_that_the_grid_hides(average):
    asked = {"task": "multiclass", "label": "y", "models": {"m": {"proba": "p"}}}
    asked["metrics"] = [f"recall_at_precision(average={average}, precision=0.6)"]
    beyond = 0
    for seed in range(6):
        frame = hidden_classes(seed)
        near = merged_days(frame, 30, **asked).row(0, named=True)
        best, sizes = {}, {}
        for name in "abc":
            label = frame["y"].to_numpy() == name
            precision, recall, _ = precision_recall_curve(label, frame[f"p{name}"].to_numpy())
            reached = recall[:-1][precision[:-1] >= 0.6]
            if len(reached):
                best[name], sizes[name] = reached.max(), label.sum() if average == "weighted" else 1.0
        true = np.average(list(best.values()), weights=list(sizes.values()))
        assert abs(near["value"] - true) <= near["bound"] + 1e-12
        beyond += near["note"] is not None and len(best) == 3
    assert beyond > 0  # some class was hidden


@pytest.mark.exhaustive
@pytest.mark.parametrize("agg", ["mean", "min", "max"])
def test_a_metric_over_slices_does_not_leave_out_one_that_the_grid_hides(agg):
    score = np.r_[np.linspace(0.1, 0.9, 30), 0.895, 0.899, np.linspace(0.1, 0.4, 28)]
    slices = np.where(np.arange(60) < 30, "u", "v")
    label = np.r_[np.linspace(0.1, 0.9, 30) > 0.5, False, True, np.zeros(28, dtype=np.bool_)]
    frame = pl.DataFrame({"y": label, "p": score, "g": slices})
    asked = {"label": "y", "models": "p", "slices": {"g": "g"}, "min_rows": 1}
    asked["metrics"] = [
        "recall_at_precision(precision=0.9)",
        {
            "over": {"slice_set": "g", "metric": "recall_at_precision(precision=0.9)", "agg": agg},
            "name": "all_of",
        },
    ]
    true = plm.evaluate(frame, **asked).metrics.filter(metric="all_of").row(0, named=True)
    assert true["value"] == 1.0
    near = merged_days(frame, 30, **asked)
    assert near.filter(slice="g=v")["status"].to_list() == ["unreachable_on_grid"]
    assert near.filter(metric="all_of").select("value", "status").rows() == [(None, "unreachable_on_grid")]
