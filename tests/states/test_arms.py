"""States of two arms: what they hold at every point and in every bin is what the rows say."""

import numpy as np
import pytest

from plmetrics.inference.metric_values import score_view
from plmetrics.inference.ordered.metrics import ordered_values
from plmetrics.inference.weights import ResamplingWeights
from plmetrics.states.arms import ARMS, EffectRows, SlicedEffects
from plmetrics.states.scores.exact.sorted_rows import SortedRows
from plmetrics.states.scores.sliced_scores import Binning
from plmetrics.suite.arguments import suite_from_arguments

SLICES, BLOCKS = 3, 5


class Table:
    """Rows ascending by score with ties, in slices of which some rows are in none, with and without weights."""

    def __init__(self, seed: int, *, weighted: bool, rows: int = 80) -> None:
        rng = np.random.default_rng(seed)
        self.score = np.sort(rng.integers(0, 12, rows) / 4)
        self.treated = rng.random(rows) < 0.4
        self.outcome = rng.integers(-8, 9, rows) / 4
        self.weight = rng.integers(1, 5, rows) / 2 if weighted else None
        self.block = rng.integers(0, BLOCKS, rows).astype(np.int32)
        self.code = rng.integers(-1, SLICES, rows)

    @property
    def mass(self) -> np.ndarray:
        return np.ones(len(self.score)) if self.weight is None else self.weight

    def sliced(self) -> SlicedEffects:
        arms = SortedRows(self.score, self.treated, self.weight, self.block)
        return EffectRows(arms, self.outcome).regroup(self.code, SLICES)

    def channels(self, rows: np.ndarray, drawn: np.ndarray | None = None) -> list[float]:
        """Weight and outcome of each arm among some rows, in the order of the channels."""
        mass = self.mass if drawn is None else self.mass * drawn[self.block]
        arms = [rows & ~self.treated, rows & self.treated]
        return [mass[arm].sum() for arm in arms] + [(mass * self.outcome)[arm].sum() for arm in arms]


@pytest.fixture(params=[False, True], ids=["plain", "weighted"])
def table(request: pytest.FixtureRequest) -> Table:
    return Table(3, weighted=request.param)


def held(table: Table, state: dict, code: int) -> dict[float, list[float]]:
    """The channels of a slice by score."""
    low, high = state["score"].offsets[code : code + 2]
    columns = np.stack([state[name].values[..., low:high] for name in ARMS], axis=-1)
    return dict(zip(state["score"].values[low:high].tolist(), columns.tolist(), strict=True))


def test_points_are_distinct_scores(table: Table) -> None:
    state = table.sliced().point_state()
    for code in range(SLICES):
        own = table.code == code
        expected = {
            score: table.channels(own & (table.score == score)) for score in np.unique(table.score[own])
        }
        assert held(table, state, code) == expected


def test_replicates_have_the_points_of_the_rows(table: Table) -> None:
    drawn = np.random.default_rng(0).multinomial(BLOCKS, np.full(BLOCKS, 1 / BLOCKS), 4).astype(float)
    (state,) = table.sliced().replicate_points(drawn)
    for replicate, code in np.ndindex(len(drawn), SLICES):
        own = table.code == code
        one = {name: state[name] for name in ("score",)} | {
            name: type(state[name])(state[name].values[replicate], state[name].offsets) for name in ARMS
        }
        for score, channels in held(table, one, code).items():
            wanted = table.channels(own & (table.score == score), drawn[replicate])
            assert channels == pytest.approx(wanted)


def test_blocks_add_up_to_the_slice(table: Table) -> None:
    sliced = table.sliced()
    counts = np.concatenate([part for _, _, part in sliced.block_counts(BLOCKS)])
    assert sliced.channels == ARMS
    assert counts.shape[-1] == len(ARMS)
    for code, block in np.ndindex(SLICES, BLOCKS):
        rows = (table.code == code) & (table.block == block)
        np.testing.assert_allclose(counts[code, block].sum(axis=0), table.channels(rows))


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_fixed_bins_hold_the_channels_and_the_scores(table: Table, strategy: str) -> None:
    sliced = table.sliced()
    counts = np.concatenate([part for _, _, part in sliced.bin_counts(Binning(4, strategy), BLOCKS)])
    edges = (
        sliced.arms.quantile_edges(4) if strategy == "quantile" else np.tile([0.25, 0.5, 0.75], (SLICES, 1))
    )
    for code, block, number in np.ndindex(SLICES, BLOCKS, 4):
        low, high = np.concatenate([[-np.inf], edges[code], [np.inf]])[number : number + 2]
        rows = (table.code == code) & (table.block == block) & (table.score > low) & (table.score <= high)
        wanted = [*table.channels(rows), (table.mass * table.score)[rows].sum()]
        np.testing.assert_allclose(counts[code, block, number], wanted)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("text", "offset"),
    [("qini", 0.0), ("qini(method=guelman)", 0.0), ("auuc", 0.0), ("uplift_at_k(k=0.2)", 1e6)],
)
def test_coarse_replicates_follow_exact_ones(
    text: str, offset: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their standard errors agree; of a difference of means also for outcomes far from 0."""
    rng = np.random.default_rng(1)
    score, treated = np.sort(rng.normal(size=3000)), rng.random(3000) < 0.5
    outcome = offset + score * treated + rng.normal(size=3000)
    block = rng.integers(0, 500, 3000).astype(np.int32)
    sliced = EffectRows(SortedRows(score, treated, None, block), outcome).regroup(None, 1)
    (metric,) = suite_from_arguments(
        task="uplift", label="y", models="p", treatment="t", metrics=text
    ).metrics
    drawn = rng.multinomial(500, np.full(500, 1 / 500), 200).astype(np.int32)
    weights = ResamplingWeights(drawn, np.ones(200))
    one = ordered_values([metric], sliced, weights)[text].replicates
    monkeypatch.setattr("plmetrics.states.scores.coarse.EXACT_REPLICATES", 0)
    monkeypatch.setattr("plmetrics.states.scores.coarse._OF_A_SLICE", 0)
    other = ordered_values([metric], sliced, weights)[text].replicates
    assert one is not None
    assert other is not None
    assert other.std() == pytest.approx(one.std(), rel=0.05)
    assert np.corrcoef(one[:, 0], other[:, 0])[0, 1] > 0.98


def test_views_have_totals_of_arms(table: Table) -> None:
    view = score_view(table.sliced().point_state())
    for code in range(SLICES):
        control, treated, *_ = table.channels(table.code == code)
        assert (view.treated_weight[code], view.control_weight[code]) == (treated, control)
        assert view.weight[code] == treated + control
