"""States of scores: they add, and what metrics make of them equals row-level formulas."""

import numpy as np
import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from references.formulas import average_precision, ks, roc_auc
from sklearn.metrics import roc_auc_score

import plmetrics as plm
from plmetrics.inference.metric_values import score_view, value_or_nan
from plmetrics.inference.ordered.metrics import ordered_values
from plmetrics.inference.weights import draw_weights
from plmetrics.states.scores.coarse import coarse_bins, coarse_edges, coarse_number, coarse_of_fine
from plmetrics.states.scores.exact.packed_rows import PackedRows
from plmetrics.states.scores.exact.sorted_rows import SortedRows
from plmetrics.states.scores.sliced_scores import Binning

few = settings(phases=(Phase.explicit, Phase.generate))
SLICES, BLOCKS = 4, 6
FORMULAS = {"roc_auc": roc_auc, "average_precision": average_precision, "ks": ks}
METRICS = [plm.metric(name) for name in FORMULAS]


class Table:
    """Rows ascending by score, with dyadic weights, of which sums are exact in any order."""

    def __init__(self, rows, seed, ties=True, weighted=True, slices=SLICES):
        rng = np.random.default_rng(seed)
        self.positive = rng.random(rows) < 0.4
        score = rng.random(rows) + 0.3 * self.positive
        self.score = np.round(score * 6) / 6 if ties else score
        self.weight = rng.integers(1, 5, rows) / 2 if weighted else None
        self.block = rng.integers(0, BLOCKS, rows).astype(np.int32)
        self.code = rng.integers(-1, slices, rows)
        self.slices = slices

    @property
    def mass(self):
        return np.ones(len(self.score)) if self.weight is None else self.weight

    def sliced(self):
        order = np.argsort(self.score, kind="stable")
        weight = None if self.weight is None else self.weight[order]
        rows = SortedRows(self.score[order], self.positive[order], weight, self.block[order])
        return rows.regroup(self.code[order], self.slices)

    def packed(self):
        return PackedRows(self.score, self.positive, self.block).regroup(self.code, self.slices)


tables = st.builds(Table, st.integers(0, 50), st.integers(0, 2**20), st.booleans(), st.booleans())


def points(state):
    """Per slice the points as (score, negative, positive)."""
    names = ("score", "negative", "positive")
    return [
        list(zip(*(state[name].values[low:high].tolist() for name in names), strict=True))
        for low, high in zip(state["score"].offsets[:-1], state["score"].offsets[1:], strict=True)
    ]


def naive_points(table):
    out = []
    for code in range(SLICES):
        held = {}
        for row in np.flatnonzero(table.code == code):
            place = held.setdefault(float(table.score[row]), [0.0, 0.0])
            place[int(table.positive[row])] += float(table.mass[row])
        out.append([(score, *held[score]) for score in sorted(held)])
    return out


@few
@given(tables)
def test_points_are_the_weights_of_equal_scores(table):
    assert points(table.sliced().point_state()) == naive_points(table)


@few
@given(tables)
def test_packed_rows_equal_ordered_rows(table):
    table.weight = None
    packed, ordered = table.packed(), table.sliced()
    assert points(packed.point_state()) == points(ordered.point_state())
    for ours, theirs in zip(packed.block_counts(BLOCKS), ordered.block_counts(BLOCKS), strict=True):
        assert ours[:2] == theirs[:2]
        np.testing.assert_array_equal(ours[2], theirs[2])
    kinds = (
        (Binning(3), BLOCKS),
        (Binning(3, distances=True), BLOCKS),
        (Binning(3), 1),
        (Binning(4, "quantile"), 1),
    )
    for binning, blocks in kinds:
        for ours, theirs in zip(
            packed.bin_counts(binning, blocks), ordered.bin_counts(binning, blocks), strict=True
        ):
            np.testing.assert_allclose(ours[2], theirs[2], rtol=1e-12)


@few
@given(tables)
def test_counts_by_block_hold_every_row_once(table):
    dense = np.zeros((SLICES, BLOCKS, 2))
    held = table.code >= 0
    place = (table.code[held], table.block[held], table.positive[held].astype(int))
    np.add.at(dense, place, table.mass[held])
    for first, last, counts in table.sliced().block_counts(BLOCKS):
        assert counts.shape == (last - first, BLOCKS, coarse_number(SLICES), 2)
        np.testing.assert_array_equal(counts.sum(axis=2), dense[first:last])


@few
@given(tables, st.integers(1, 5))
def test_fixed_bins_hold_the_rows_of_their_scores(table, bins):
    table.score = np.clip(table.score, 0, 1)
    naive = np.zeros((SLICES, BLOCKS, bins, 4))
    edges = [i / bins for i in range(1, bins)]
    for row in np.flatnonzero(table.code >= 0):
        index = next((i for i, edge in enumerate(edges) if table.score[row] <= edge), bins - 1)
        distance = (table.score[row] - table.positive[row]) ** 2
        own = table.mass[row] * np.array([1, table.positive[row], table.score[row], distance])
        naive[table.code[row], table.block[row], index] += own
    for binning in (Binning(bins), Binning(bins, distances=True)):
        for first, last, counts in table.sliced().bin_counts(binning, BLOCKS):
            np.testing.assert_allclose(counts, naive[first:last, ..., : binning.channels], rtol=1e-12)


def weighted_quantile(values, weights, share):
    """Averaged inverted CDF, by its definition: smallest x with cum > share, averaged with its predecessor at =."""
    order = np.argsort(values)
    running = np.cumsum(weights[order]) / weights.sum()
    above = (
        values[order][np.argmax(running > share + 1e-12)] if (running > share + 1e-12).any() else values.max()
    )
    at = np.flatnonzero(np.abs(running - share) <= 1e-12)
    return (values[order][at[0]] + above) / 2 if len(at) else above


@few
@given(tables, st.integers(2, 6))
def test_quantile_edges_are_averaged_inverted_cdfs(table, bins):
    edges = table.sliced().quantile_edges(bins)
    for code in range(SLICES):
        own = table.code == code
        if own.any():
            wanted = [weighted_quantile(table.score[own], table.mass[own], i / bins) for i in range(1, bins)]
            np.testing.assert_allclose(edges[code], wanted, rtol=1e-12)


def test_edges_of_a_small_slice_are_those_of_its_rows_alone():
    """Half of the weight, 0.9 of 1.8, is reached at the third row: at the fourth, with the rounding of other slices."""
    others, score = 600_000, np.linspace(0.05, 0.95, 12)
    rows = SortedRows(
        np.append(np.linspace(0, 1, others), score),
        np.zeros(others + 12, dtype=bool),
        np.append(np.full(others, 0.3), [0.3] * 3 + [0.1] * 9),
        None,
    )
    edges = rows.regroup(np.repeat([0, 1], [others, 12]), 2).quantile_edges(2)
    assert edges[1] == pytest.approx([(score[2] + score[3]) / 2])


@pytest.mark.parametrize("weight", [None, 0.1, 0.3])
def test_equal_weights_of_many_rows_leave_the_edges_where_they_are(weight):
    score = np.repeat(np.arange(10) / 10, 20_000)
    weights = None if weight is None else np.full(len(score), weight)
    rows = SortedRows(score, np.zeros(len(score), dtype=bool), weights, None)
    assert rows.regroup(None, 1).quantile_edges(5) == pytest.approx(np.array([[0.15, 0.35, 0.55, 0.75]]))


@pytest.mark.slow
@pytest.mark.parametrize("scores", [False, True])
@few
@given(tables, st.integers(0, 99))
def test_exact_replicates_are_row_level_reweightings(scores, table, seed):
    drawn = np.random.default_rng(seed).multinomial(BLOCKS, np.full(BLOCKS, 1 / BLOCKS), 5).astype(float)
    views = [score_view(state) for state in table.sliced().replicate_points(drawn, scores=scores)]
    for metric in METRICS:
        found = np.concatenate([value_or_nan(metric, view) for view in views])
        for replicate, code in np.ndindex(found.shape):
            own = table.code == code
            mass = table.mass[own] * drawn[replicate][table.block[own]]
            kept = mass > 0
            rows = table.positive[own][kept], table.score[own][kept], mass[kept]
            wanted = FORMULAS[metric.name](*rows) if kept.any() else np.nan
            np.testing.assert_allclose(found[replicate, code], wanted, rtol=1e-12, atol=1e-12)


def test_the_reference_for_replicates_weighs_pairs():
    """The formulas that replicates are held against, on a case worked out by hand: (2*1*1 + 2*3*0.5) / (2*4)."""
    labels, scores, weights = [1, 0, 0], [0.5, 0.5, 0.1], [2, 3, 1]
    assert roc_auc_score(labels, scores, sample_weight=weights) == pytest.approx(5 / 8)


@few
@given(tables)
def test_coarse_bins_are_small_by_rows_and_by_positives(table):
    sliced = table.sliced()
    rows = sliced.ordered
    bins = coarse_bins(rows.score, sliced.offsets, coarse_edges(rows.score, rows.positive, sliced.offsets))
    for low, high in zip(sliced.offsets[:-1], sliced.offsets[1:], strict=True):
        own, score, member = bins[low:high], rows.score[low:high], rows.positive[low:high]
        assert (np.diff(own.astype(int)) >= 0).all()
        for number in np.unique(own):
            here = own == number
            if len(np.unique(score[here])) > 1:
                assert here.sum() <= np.ceil((high - low) / 48)
                assert member[here].sum() <= np.ceil(member.sum() / 48)


@few
@given(st.integers(1, 300), st.integers(0, 2**20), st.booleans())
def test_coarse_bins_of_a_grid_of_single_scores_are_those_of_rows(rows, seed, ties):
    table = Table(rows, seed, ties=ties, weighted=False, slices=1)
    table.code[:] = 0
    sliced = table.sliced()
    ordered = sliced.ordered
    bins = coarse_bins(
        ordered.score, sliced.offsets, coarse_edges(ordered.score, ordered.positive, sliced.offsets)
    )
    point = np.unique(ordered.score, return_inverse=True)[1]
    fine = np.zeros((1, point[-1] + 1, 2))
    np.add.at(fine, (0, point, ordered.positive.astype(int)), 1.0)
    np.testing.assert_array_equal(coarse_of_fine(fine, 1)[0][point], bins)


@few
@given(st.integers(0, 2**20), st.lists(st.floats(0.03, 0.3), min_size=1, max_size=3), st.integers(1, 2))
def test_a_score_of_many_rows_has_a_coarse_bin_of_its_own(seed, shares, slices):
    """Among scores that are all different otherwise, of rows and of a grid; `coarse_ties` names its bin."""
    rng = np.random.default_rng(seed)
    table = Table(2000, seed, ties=False, weighted=False, slices=slices)
    table.code[:] = rng.integers(0, slices, 2000)
    heavy = rng.random(len(shares))
    chosen = rng.choice(len(shares) + 1, 2000, p=[*shares, 1 - sum(shares)])
    table.score = np.where(chosen < len(shares), heavy[np.minimum(chosen, len(shares) - 1)], table.score)
    sliced = table.sliced()
    score, member = sliced.ordered.score, sliced.ordered.positive
    bins = coarse_bins(score, sliced.offsets, coarse_edges(score, member, sliced.offsets))
    ties = sliced.coarse_ties()
    for number, (low, high) in enumerate(zip(sliced.offsets[:-1], sliced.offsets[1:], strict=True)):
        own, here = bins[low:high], score[low:high]
        point = np.unique(here, return_inverse=True)[1]
        fine = np.zeros((1, point[-1] + 1, 2))
        np.add.at(fine, (0, point, member[low:high].astype(int)), 1.0)
        for of_rows in (own, coarse_of_fine(fine, slices)[0][point]):
            for value in heavy:
                assert set(here[np.isin(of_rows, of_rows[here == value])]) <= {value}
        single = [len(set(here[own == place])) <= 1 for place in range(coarse_number(slices))]
        assert ties[number].tolist() == single


class OutOfReach:
    """Sliced rows that are too many to be resampled one by one."""

    def __init__(self, sliced):
        self._sliced = sliced
        self.rows = None

    def __getattr__(self, name):
        return getattr(self._sliced, name)


def slices_by_score(rows, seed):
    """Slices that are hard for bins: narrow ranges of scores, few positives, and an ordinary one."""
    rng = np.random.default_rng(seed)
    risk = rng.normal(size=rows)
    table = Table(rows, seed, weighted=False)
    table.positive = rng.random(rows) < 1 / (1 + np.exp(3 - 1.5 * risk))
    table.score = 1 / (1 + np.exp(-risk - 0.3 * rng.normal(size=rows)))
    rank = np.argsort(np.argsort(table.score)) / rows
    table.code = np.select([rank < 0.3, (rank > 0.5) & (rank < 0.6), rank > 0.98], [0, 1, 2], 3)
    table.block = rng.integers(0, 200, rows).astype(np.int32)
    return table


@pytest.mark.exhaustive
@pytest.mark.parametrize("way", ["ordered", "packed", "weighted"])
def test_coarse_standard_errors_are_those_of_exact_replicates(way):
    """Over a few tables, since one table's KS jumps between places; exact replicates of the same weights."""
    ratios = {name: [] for name in FORMULAS}
    for seed in range(4):
        table = slices_by_score(8_000, seed)
        drawn = draw_weights(np.ones(200, dtype=np.int64), 200, seed)
        table.weight = np.full(8_000, 0.5) if way == "weighted" else None
        exact = ordered_values(METRICS, table.sliced(), drawn)
        coarse = ordered_values(
            METRICS, table.packed() if way == "packed" else OutOfReach(table.sliced()), drawn
        )
        for name, found in ratios.items():
            found.append(coarse[name].replicates.std(axis=0) / exact[name].replicates.std(axis=0))
            np.testing.assert_array_equal(coarse[name].value, exact[name].value)
            assert np.abs((coarse[name].replicates - exact[name].replicates).mean(axis=0)).max() < 0.02
    for name, found in ratios.items():
        np.testing.assert_allclose(np.mean(found, axis=0), 1, atol=0.05, err_msg=name)


@pytest.mark.slow
def test_sets_of_many_small_slices_are_resampled_row_by_row(monkeypatch):
    """The rule is one of a set: all rows together keep their coarse bins, whose noise is their own."""
    draw = np.random.default_rng(3)
    label = draw.integers(0, 2, 2000)
    frame = pl.DataFrame({"y": label, "p": 0.3 * label + draw.random(2000), "g": draw.integers(0, 200, 2000)})

    def errors():
        asked = {"metrics": ["roc_auc"], "slices": ["g"], "uncertainty": {"replicates": 50}}
        return plm.evaluate(frame, label="y", models="p", **asked).metrics["std_error"]

    exact = errors()
    monkeypatch.setattr("plmetrics.states.scores.coarse.EXACT_REPLICATES", 1000)
    monkeypatch.setattr("plmetrics.states.scores.coarse._OF_A_SLICE", 1000)
    by_slice = errors()
    monkeypatch.setattr("plmetrics.states.scores.coarse._OF_A_SLICE", 0)
    coarse = errors()
    assert by_slice[1:].equals(exact[1:])
    assert by_slice[0] == pytest.approx(coarse[0], rel=1e-6)
    assert coarse[0] != pytest.approx(exact[0], rel=1e-6)
    assert not coarse[1:].equals(exact[1:])
