import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from plmetrics.catalogue.needs import ValueKind
from plmetrics.inference.estimate import Estimate, Intervals
from plmetrics.inference.intervals.closed_forms import hanley_mcneil_score, wilson
from plmetrics.inference.intervals.ladder import interval

INFINITY = float("inf")
KINDS = ("proportion", "roc_area", "pr_area", "norm", "other")
FORMS = ("auto", "percentile", "t", "centred")
SPREAD = np.linspace(-0.1, 0.1, 1000)


def one(
    value: float = 0.7,
    *,
    blocks: int = 200,
    replicates: Any = "spread",
    undefined: int = 0,
    sizes: tuple[float, ...] = (80.0, 120.0),
    deviations: np.ndarray | None = None,
    status: str = "ok",
) -> Estimate:
    drawn = value + SPREAD if isinstance(replicates, str) else np.array(replicates, dtype=np.float64)
    drawn[:undefined] = np.nan
    return Estimate(
        np.array([value]),
        np.array([status], dtype=object),
        np.array([blocks]),
        drawn[:, None],
        tuple(np.array([size]) for size in sizes),
        None if deviations is None else deviations[:, None],
    )


def found(
    estimate: Estimate, kind: Any = "other", bounds: tuple[float, float] = (0, 1), form: Any = "auto"
) -> Intervals:
    return interval(estimate, kind=ValueKind(kind, bounds), level=0.95, form=form)


def said(made: Intervals) -> tuple[str | None, str]:
    assert (
        np.isnan(made.lower[0])
        == np.isnan(made.upper[0])
        == (made.status[0] != "ok")
        == (made.method[0] is None)
    )
    return made.method[0], made.status[0]


@pytest.mark.parametrize(
    ("kind", "blocks", "method"),
    [
        ("proportion", 400, "percentile"),
        ("proportion", 399, "t"),
        ("other", 400, "percentile"),
        ("other", 399, "t"),
        ("other", 2, "t"),
        ("roc_area", 1000, "t"),
        ("pr_area", 1000, "t"),
        ("roc_area", 10, "t"),
        ("norm", 1000, "centred"),
        ("norm", 10, "centred"),
    ],
)
def test_the_last_rungs(kind: str, blocks: int, method: str) -> None:
    assert said(found(one(blocks=blocks), kind)) == (method, "ok")


@pytest.mark.parametrize(("blocks", "method"), [(50, "percentile"), (49, "t")])
def test_metrics_that_jump_have_percentiles_earlier(blocks: int, method: str) -> None:
    asked = {"kind": ValueKind("other", (0.0, 1.0)), "level": 0.95, "form": "auto"}
    assert said(interval(one(blocks=blocks), smooth=False, **asked)) == (method, "ok")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["percentile", "t", "centred"])
def test_a_form_that_is_asked_for(kind: str, form: str) -> None:
    assert said(found(one(blocks=10), kind, form=form)) == (form, "ok")


CONSTANT = [0.7] * 1000
LOWEST = {"proportion": "wilson", "roc_area": "hanley_mcneil_score"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS)
class TestFirstRungsHoldForEveryForm:
    @pytest.mark.parametrize("value", [0.0, 1.0, 1 - 1e-15])
    def test_at_an_end_of_the_range(self, kind: str, form: str, value: float) -> None:
        gap_of_nothing = kind == "norm" and value == 0 and form in {"auto", "centred"}
        method = "centred" if gap_of_nothing else LOWEST.get(kind)
        assert said(found(one(value), kind, form=form)) == (method, "ok" if method else "degenerate")

    def test_all_replicates_equal(self, kind: str, form: str) -> None:
        method = LOWEST.get(kind)
        made = found(one(replicates=CONSTANT), kind, form=form)
        assert said(made) == (method, "ok" if method else "degenerate")
        assert made.std_error.tolist() == [0.0]

    @pytest.mark.parametrize("value", [0.7, 1.0])
    def test_undefined_replicates_go_before_the_ends(self, kind: str, form: str, value: float) -> None:
        made = found(one(value, undefined=51), kind, form=form)
        assert said(made) == (None, "undefined_replicates")
        assert made.undefined_replicates.tolist() == [51]

    def test_a_twentieth_may_be_undefined(self, kind: str, form: str) -> None:
        made = found(one(undefined=50), kind, form=form)
        assert made.status.tolist() == ["ok"]
        assert made.undefined_replicates.tolist() == [50]

    @pytest.mark.parametrize("blocks", [0, 1])
    @pytest.mark.parametrize("undefined", [0, 1000])
    def test_too_few_units_go_before_undefined_replicates(
        self, kind: str, form: str, blocks: int, undefined: int
    ) -> None:
        made = found(one(blocks=blocks, undefined=undefined), kind, form=form)
        assert said(made) == (None, "too_few_units")
        assert np.isnan(made.std_error).all()

    @pytest.mark.parametrize("blocks", [1, 200])
    def test_an_undefined_value_goes_before_everything(self, kind: str, form: str, blocks: int) -> None:
        estimate = one(math.nan, blocks=blocks, replicates=[0.5] * 10, status="no_positives")
        assert said(found(estimate, kind, form=form)) == (None, "undefined_value")

    def test_without_replicates_nothing_was_requested(self, kind: str, form: str) -> None:
        whole = one()
        made = found(Estimate(whole.value, whole.status, whole.blocks, None, whole.sizes), kind, form=form)
        assert said(made) == (None, "not_requested")
        assert np.isnan(made.std_error).all()
        assert made.undefined_replicates.tolist() == [0]


@pytest.mark.parametrize(
    ("bounds", "value", "at_end"),
    [
        ((0, INFINITY), 0.0, True),
        ((0, INFINITY), 1e-15, False),
        ((0, 1), 1e-15, False),
        ((-INFINITY, 1), 1 - 1e-15, True),
        ((-INFINITY, INFINITY), 0.0, False),
        ((-1, 1), -1.0, True),
    ],
)
def test_rounding_is_forgiven_at_one_and_not_at_zero(
    bounds: tuple[float, float], value: float, at_end: bool
) -> None:
    made = found(one(value, replicates=value + 1e-16 * np.arange(1000.0)), "other", bounds)
    assert (made.status[0] == "degenerate") == at_end


@pytest.mark.parametrize(("value", "n"), [(1.0, 30.0), (0.0, 400.0), (0.7, 55.0)])
def test_wilson_counts_the_smallest_denominator(value: float, n: float) -> None:
    made = found(one(value, replicates=[value] * 100, sizes=(n, n + 20)), "proportion")
    expected = wilson(np.array([value]), np.array([n]), 0.95)
    assert (made.lower[0], made.upper[0]) == (expected[0][0], expected[1][0])


@pytest.mark.parametrize("area", [0.0, 1.0, 1 - 1e-14])
def test_gini_goes_through_the_area(area: float) -> None:
    auc = found(one(area, replicates=[area] * 100), "roc_area")
    gini = found(one(2 * area - 1, replicates=[2 * area - 1] * 100), "roc_area", (-1, 1))
    expected = hanley_mcneil_score(np.array([round(area)]), np.array([80.0]), np.array([120.0]), 0.95)
    assert (auc.lower[0], auc.upper[0]) == (expected[0][0], expected[1][0])
    assert gini.lower[0] == pytest.approx(2 * auc.lower[0] - 1, abs=1e-12)
    assert gini.upper[0] == pytest.approx(2 * auc.upper[0] - 1, abs=1e-12)
    assert auc.upper[0] - auc.lower[0] > 0.01


def test_an_area_of_another_range_has_no_score_interval() -> None:
    assert said(found(one(1.0), "roc_area", (0.5, 1))) == (None, "degenerate")


def test_a_size_of_nothing_gives_no_interval() -> None:
    assert said(found(one(1.0, sizes=(0.0,)), "proportion")) == (None, "degenerate")


def test_an_end_beyond_all_numbers_gives_no_interval() -> None:
    wide = np.exp(np.linspace(-300, 300, 1000))
    assert said(found(one(1.0, blocks=2, replicates=wide), "other", (0, INFINITY))) == (None, "degenerate")


def test_norm_type_metrics_use_their_deviations() -> None:
    made = found(one(0.3, blocks=10, deviations=np.linspace(0, 0.1, 1000)), "norm")
    wider = stats.t.ppf(0.975, 9) * (10 / 9) ** 0.5 / stats.norm.ppf(0.975)
    assert made.lower[0] == pytest.approx(0.3 - wider * 0.1 * (0.975 * 1001 - 1) / 999)
    assert made.upper[0] == pytest.approx(0.3 + wider * (0.2 + 0.2 * (0.975 * 1001 - 1) / 999 - 0.3))


def test_a_gap_of_0_that_replicates_move_reaches_as_far_as_they_do() -> None:
    """As by shrinkage to a common rate, or less the noise; rounding is no move."""
    drawn = np.maximum(np.linspace(-0.2, 0.2, 1001), 0.0)
    made = found(one(0.0, blocks=10**6, replicates=drawn), "norm", (0, INFINITY))
    assert said(made) == ("centred", "ok")
    assert (made.lower[0], made.upper[0]) == (0.0, pytest.approx(np.quantile(drawn, 0.975), rel=0.005))
    assert said(found(one(0.0, replicates=drawn * 1e-12), "norm", (0, INFINITY))) == (None, "degenerate")


def test_slices_are_judged_one_by_one() -> None:
    value = np.array([0.6, 1.0, 0.6, math.nan, 0.6, 0.6])
    drawn = value + SPREAD[:, None]
    drawn[:, 2] = 0.6
    drawn[:60, 4] = np.nan
    status = np.array(["ok", "ok", "ok", "no_rows", "ok", "ok"], dtype=object)
    blocks = np.array([500, 500, 500, 500, 500, 200])
    made = found(Estimate(value, status, blocks, drawn, (np.full(6, 90.0),)), "proportion")
    assert made.method.tolist() == ["percentile", "wilson", "wilson", None, None, "t"]
    assert made.status.tolist() == ["ok", "ok", "ok", "undefined_value", "undefined_replicates", "ok"]
    for index in range(6):
        alone = found(
            Estimate(value, status, blocks, drawn, (np.full(6, 90.0),)).take(np.array([index])), "proportion"
        )
        assert np.array_equal(
            [alone.lower[0], alone.upper[0]], [made.lower[index], made.upper[index]], equal_nan=True
        )


def test_no_slices() -> None:
    nothing = np.zeros(0)
    made = found(
        Estimate(nothing, nothing.astype(object), nothing.astype(int), np.zeros((10, 0)), (nothing,))
    )
    assert made.lower.shape == made.status.shape == (0,)


ranges = st.sampled_from([(0.0, 1.0), (-1.0, 1.0), (0.0, INFINITY), (-INFINITY, INFINITY), (-INFINITY, 1.0)])


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.sampled_from(FORMS),
    ranges,
    st.lists(st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0, -1.0, math.nan]), min_size=3, max_size=30),
    st.integers(0, 100),
    st.floats(0.5, 0.999),
)
def test_ends_stay_in_the_range_and_nulls_have_reasons(
    kind: str, form: str, bounds: tuple[float, float], numbers: list[float], blocks: int, level: float
) -> None:
    numbers = np.clip(numbers, *bounds).tolist()
    estimate = one(numbers[0], blocks=blocks, replicates=numbers[1:], sizes=(float(blocks), 7.0))
    made = interval(estimate, kind=ValueKind(kind, bounds), level=level, form=form)  # type: ignore[arg-type]
    said(made)
    if made.status[0] == "ok":
        assert bounds[0] <= made.lower[0] <= made.upper[0] <= bounds[1]


@pytest.mark.parametrize("undefined", [0, 3])
def test_the_basic_form_mirrors_the_percentiles(undefined: int) -> None:
    drawn = np.random.default_rng(3).gamma(2.0, 0.05, 400)
    drawn[:undefined] = np.nan
    made = found(one(0.1, replicates=drawn), form="basic", bounds=(-9, 9))
    low, high = np.nanquantile(drawn, [0.025, 0.975], method="weibull")
    assert said(made) == ("basic", "ok")
    assert (made.lower[0], made.upper[0]) == pytest.approx((0.2 - high, 0.2 - low))
