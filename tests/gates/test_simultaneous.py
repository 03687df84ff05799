"""Corrected gates against the definitions of the corrections and Student's t, row by row."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

import plmetrics as plm
from plmetrics.catalogue.needs import ValueKind
from plmetrics.gates.simultaneous import share_left_out, widen_intervals

CORRECTIONS = {"holm": "holm", "bonferroni": "bonferroni", "benjamini_hochberg": "fdr_bh"}
LEVEL = 0.9
SHARE = 0.05


def judged(rows: list[dict[str, Any]], limit: float, correction: str, **keywords: Any) -> pl.DataFrame:
    schema = dict.fromkeys(("observed", "lower", "upper", "std_error"), pl.Float64)
    frame = pl.DataFrame(rows, schema=schema | {"blocks": pl.Int64, "method": pl.String})
    given = {"kind": ValueKind("other", (0.0, 1.0)), "scale": "", "level": LEVEL} | keywords
    return widen_intervals(frame, limit, correction, **given)


def difference(value: float, error: float, blocks: int = 40) -> dict[str, Any]:
    half = stats.t.ppf(1 - SHARE, blocks - 1) * error
    return {"observed": value, "lower": value - half, "upper": value + half, "blocks": blocks, "method": "t"}


def verdicts(frame: pl.DataFrame, limit: float) -> list[str]:
    return [
        "pass" if row["lower"] >= limit else "fail" if row["upper"] < limit else "inconclusive"
        for row in frame.iter_rows(named=True)
    ]


@pytest.mark.slow
@given(
    values=st.lists(st.floats(-0.1, 0.1), min_size=1, max_size=25),
    correction=st.sampled_from(sorted(CORRECTIONS)),
    blocks=st.integers(2, 100),
)
def test_verdicts_are_those_of_adjusted_one_sided_p_values(
    values: list[float], correction: str, blocks: int
) -> None:
    limit, error = -0.02, 0.015
    frame = judged([difference(v, error, blocks) for v in values], limit, correction, scale="difference")
    statistic = (np.array(values) - limit) / error
    adjusted = {
        side: multipletests(stats.t.sf(sign * statistic, blocks - 1), method=CORRECTIONS[correction])[1]
        for side, sign in (("pass", 1), ("fail", -1))
    }
    expected = [
        next((side for side, p in adjusted.items() if p[row] <= SHARE), "inconclusive")
        for row in range(len(values))
    ]
    sure = [min(abs(p[row] - SHARE) for p in adjusted.values()) > 1e-9 for row in range(len(values))]
    found = verdicts(frame, limit)
    assert [one for one, clear in zip(found, sure, strict=True) if clear] == [
        one for one, clear in zip(expected, sure, strict=True) if clear
    ]
    assert frame["family_size"].to_list() == [len(values)] * len(values)


@pytest.mark.parametrize("correction", sorted(CORRECTIONS))
@pytest.mark.parametrize("number", [1, 3, 20])
def test_one_row_is_as_before_and_bonferroni_has_the_simultaneous_level(correction: str, number: int) -> None:
    rows = [difference(0.01, 0.02, 12)] * number
    frame = judged(rows, 0.0, correction, scale="difference")
    half = stats.t.ppf(1 - SHARE / number, 11) * 0.02
    if correction == "bonferroni" or number == 1:
        assert frame["lower"].to_list() == pytest.approx([0.01 - half] * number)
        assert frame["upper"].to_list() == pytest.approx([0.01 + half] * number)
    else:
        assert frame["lower"].min() >= 0.01 - half - 1e-12


def test_each_side_of_a_difference_is_widened_by_its_own_length() -> None:
    """Noise that stays in a norm makes the interval longer on one side: of one row it is as it was."""
    row = {"observed": 0.1, "lower": 0.02, "upper": 0.13, "blocks": 12, "method": "t"}
    one = judged([row], 0.0, "holm", scale="difference")
    assert one.select("lower", "upper").row(0) == pytest.approx((0.02, 0.13))
    three = judged([row] * 3, 0.0, "bonferroni", scale="difference")
    wider = stats.t.ppf(1 - SHARE / 3, 11) / stats.t.ppf(1 - SHARE, 11)
    assert three.select("lower", "upper").row(0) == pytest.approx((0.1 - 0.08 * wider, 0.1 + 0.03 * wider))


def test_runs_of_few_units_are_held_to_students_t() -> None:
    def rows(seed: int) -> pl.DataFrame:
        random, unit = np.random.default_rng(seed), np.repeat(np.arange(6), 200)
        label = random.normal(size=1200) + random.normal(size=6)[unit]
        return pl.DataFrame({"u": unit + 10 * seed, "g": np.tile(np.arange(10), 120), "y": label, "p": 0.0})

    asked: dict[str, Any] = {"task": "regression", "label": "y", "models": "p", "metrics": ["rmse"]}
    asked |= {"slices": {"g": "g"}, "unit": "u", "uncertainty": {"replicates": 50}}
    limits = np.linspace(0.0, 4.0, 41)
    gate = {"metric": "rmse", "slices": "g", "against": {"run": True}, "using": "interval"}
    gates = [{**gate, "correction": "bonferroni", "at_most": float(limit)} for limit in limits]
    compare = {"run": plm.evaluate(rows(1), **asked)}
    found = plm.evaluate(rows(2), **asked, compare=compare, gates=gates)
    for row in found.comparisons.filter(slice_set="g").rows(named=True):
        error = row["difference"] / row["statistic"]
        half = row["upper"] - row["difference"]
        freedom = optimize.brentq(lambda df, q=half / error: stats.t.ppf(0.975, df) - q, 1, 1e6)
        least, most = (
            row["difference"] + half / stats.t.ppf(0.975, df) * stats.t.ppf(1 - 0.025 / 10, df)
            for df in (freedom, math.floor(freedom))
        )
        passed = found.gates.filter(slice=row["slice"], verdict="pass")["at_most"].min()
        assert least <= passed <= most + limits[1]


@pytest.mark.parametrize(
    ("correction", "expected"),
    [
        ("bonferroni", [0.0125] * 4),
        ("holm", [0.05 / 4, 0.05 / 2, 0.05 / 3, 0.05 / 2]),
        ("benjamini_hochberg", [0.0375, 0.05, 0.0375, 0.0375]),
    ],
)
def test_what_p_values_are_held_to(correction: str, expected: list[float]) -> None:
    p = np.array([0.001, 0.2, 0.016, 0.03])
    assert share_left_out(p, correction, 0.05).tolist() == pytest.approx(expected)


def naive_logit_t(value: float, error: float, blocks: int, share: float) -> tuple[float, float]:
    centre = math.log(value / (1 - value))
    half = (
        stats.t.ppf(1 - share, blocks - 1) * error * math.sqrt(blocks / (blocks - 1)) / (value * (1 - value))
    )
    return tuple(1 / (1 + math.exp(-end)) for end in (centre - half, centre + half))  # type: ignore[return-value]


def test_values_get_students_t_on_the_scale_of_the_metric() -> None:
    rows = [
        {"observed": v, "lower": 0.0, "upper": 1.0, "std_error": e, "blocks": b, "method": "percentile"}
        for v, e, b in ((0.7, 0.05, 30), (0.9, 0.01, 1000), (0.02, 0.01, 2))
    ]
    frame = judged(rows, 0.6, "bonferroni")
    for row, found in zip(rows, frame.iter_rows(named=True), strict=True):
        ends = naive_logit_t(row["observed"], row["std_error"], row["blocks"], SHARE / 3)
        assert (found["lower"], found["upper"]) == pytest.approx(ends)


@pytest.mark.parametrize("low", [0.0, -1.0])
@pytest.mark.parametrize("hits", [0, 17])
def test_a_share_at_an_end_keeps_the_wilson_form(hits: int, low: float) -> None:
    """Also on the scale of Gini, from -1 to 1."""
    rows, width = 17, 1 - low
    ends = proportion_confint(hits, rows, alpha=1 - LEVEL, method="wilson")
    row = {"observed": low + width * hits / rows, "std_error": 0.0, "blocks": 17, "method": "wilson"}
    row |= {name: low + width * end for name, end in zip(("lower", "upper"), ends, strict=True)}
    frame = judged([row] * 5, low + width / 2, "bonferroni", kind=ValueKind("other", (low, 1.0)))
    expected = proportion_confint(hits, rows, alpha=(1 - LEVEL) / 5, method="wilson")
    found = frame.select("lower", "upper").row(0)
    assert found == pytest.approx([low + width * end for end in expected], abs=1e-12)


def test_a_ratio_of_0_has_a_distance_that_goes_with_the_square_of_the_quantile() -> None:
    """As a likelihood ratio without a miss."""
    row = {"observed": 0.0, "lower": 0.0, "upper": 0.08, "std_error": 0.01, "blocks": 50, "method": "wilson"}
    frame = judged([row] * 5, 0.5, "bonferroni", kind=ValueKind("other", (0.0, math.inf)))
    stretch = (stats.norm.isf(SHARE / 5) / stats.norm.isf(SHARE)) ** 2
    assert frame.select("lower", "upper").row(0) == pytest.approx((0.0, 0.08 * stretch))
    assert set(frame["family_size"]) == {5}


def quantile_form(value: float, error: float, blocks: int) -> tuple[dict[str, Any], Any, Any]:
    """A row with Student's t on the logit, its ends at a share left out, and its p values at a limit."""

    def p_values(limit: float) -> tuple[float, float]:
        slope = error * math.sqrt(blocks / (blocks - 1)) / (value * (1 - value))
        t = (math.log(value / (1 - value)) - math.log(limit / (1 - limit))) / slope
        return stats.t.sf(t, blocks - 1), stats.t.cdf(t, blocks - 1)

    row = {"observed": value, "lower": 0.0, "upper": 1.0, "std_error": error, "blocks": blocks}
    return row | {"method": "percentile"}, lambda q: naive_logit_t(value, error, blocks, q), p_values


def score_form(hits: int, number: int) -> tuple[dict[str, Any], Any, Any]:
    """The same of a share of 0 or 1, with Wilson's interval and the score test."""

    def p_values(limit: float) -> tuple[float, float]:
        z = (hits / number - limit) / math.sqrt(limit * (1 - limit) / number)
        return stats.norm.sf(z), stats.norm.cdf(z)

    def ends(left_out: float) -> tuple[float, float]:
        return proportion_confint(hits, number, alpha=2 * left_out, method="wilson")

    lower, upper = ends(SHARE)
    row = {"observed": hits / number, "lower": lower, "upper": upper, "std_error": 0.0, "blocks": number}
    return row | {"method": "wilson"}, ends, p_values


def stretched_form(value: float, below: float, above: float) -> tuple[dict[str, Any], Any, Any]:
    """The same of a norm, whose halves are so many standard normal errors."""

    def p_values(limit: float) -> tuple[float, float]:
        z = (value - limit) / (below if value >= limit else above)
        return stats.norm.sf(z), stats.norm.cdf(z)

    def ends(left_out: float) -> tuple[float, float]:
        z = stats.norm.isf(left_out)
        return value - z * below, value + z * above

    lower, upper = ends(SHARE)
    row = {"observed": value, "lower": lower, "upper": upper, "std_error": below, "blocks": 50}
    return row | {"method": "centred"}, ends, p_values


FORMS = [
    quantile_form(0.7, 0.05, 30),
    quantile_form(0.93, 0.01, 1000),
    score_form(12, 12),
    score_form(0, 3),
    stretched_form(0.62, 0.02, 0.05),
]


def left_out_by_hand(p: list[float], correction: str) -> list[float]:
    """The share that each end leaves out, as the module's first lines say."""
    number = len(p)
    significant = int((multipletests(p, method=CORRECTIONS[correction])[1] <= SHARE).sum())
    ranks = [sorted(p).index(one) for one in p]
    if correction == "holm":
        return [SHARE / (number - min(rank, significant)) for rank in ranks]
    return [SHARE * (significant + (rank >= significant)) / number for rank in ranks]


@pytest.mark.alike
@pytest.mark.slow
@pytest.mark.parametrize("correction", ["holm", "benjamini_hochberg"])
@pytest.mark.parametrize("limit", [0.3, 0.58, 0.63, 0.66, 0.78, 0.91, 0.97])
def test_rows_of_all_forms_are_corrected_together(correction: str, limit: float) -> None:
    frame = judged([row for row, _, _ in FORMS], limit, correction)
    p_values = [p(limit) for _, _, p in FORMS]
    sides = [left_out_by_hand([pair[side] for pair in p_values], correction) for side in (0, 1)]
    for place, (_, ends, _) in enumerate(FORMS):
        expected = ends(sides[0][place])[0], ends(sides[1][place])[1]
        assert frame.select("lower", "upper").row(place) == pytest.approx(expected, abs=1e-9)
    assert set(frame["family_size"]) == {len(FORMS)}


def test_a_corrected_p_value_of_the_share_is_significant() -> None:
    """Twice 0.025 is 0.05, so that the other p value is held to all of the share."""
    assert share_left_out(np.array([0.025, 0.9]), "holm", 0.05).tolist() == [0.025, 0.05]


def test_norms_are_stretched_and_stay_in_their_range() -> None:
    row = {"observed": 0.05, "lower": 0.04, "upper": 0.08, "std_error": 0.01, "blocks": 99}
    near = row | {"lower": 0.001}
    frame = judged([row | {"method": "centred"}, near | {"method": "centred"}], 0.06, "bonferroni")
    stretch = stats.norm.ppf(1 - SHARE / 2) / stats.norm.ppf(1 - SHARE)
    assert frame["lower"].to_list() == pytest.approx([0.05 - 0.01 * stretch, 0.0])
    assert frame["upper"].to_list() == pytest.approx([0.05 + 0.03 * stretch] * 2)


@pytest.mark.parametrize(
    ("scale", "forward", "backward"),
    [("ratio", math.log, math.exp), ("relative_change", math.log1p, math.expm1)],
)
def test_ratios_are_widened_on_their_logarithm(scale: str, forward: Any, backward: Any) -> None:
    value = 1.1 if scale == "ratio" else 0.1
    half = 0.05 * stats.t.ppf(1 - SHARE, 24)
    ends = [backward(forward(value) + sign * half) for sign in (-1, 1)]
    row = {"observed": value, "lower": ends[0], "upper": ends[1], "blocks": 25, "method": "t"}
    frame = judged([row] * 4, value - 0.2, "bonferroni", scale=scale)
    wide = 0.05 * stats.t.ppf(1 - SHARE / 4, 24)
    assert frame["lower"][0] == pytest.approx(backward(forward(value) - wide))
    assert frame["upper"][0] == pytest.approx(backward(forward(value) + wide))


@pytest.mark.parametrize(
    ("scale", "limit"), [("relative_change", -1.0), ("relative_change", -9.0), ("ratio", 0.0)]
)
def test_ratios_that_could_be_anything_have_no_interval(scale: str, limit: float) -> None:
    row = {"observed": 1.0, "lower": 1e-300, "upper": 1e300, "blocks": 3, "method": "t"}
    frame = judged([row] * 9, limit, "bonferroni", scale=scale)
    assert frame.select("lower", "upper").null_count().row(0) == (9, 9)


@pytest.mark.parametrize("correction", sorted(CORRECTIONS))
def test_what_has_no_interval_is_no_part_of_the_family(correction: str) -> None:
    none = {"observed": 0.0, "lower": None, "upper": None, "std_error": None, "blocks": 1, "method": None}
    undefined = none | {"observed": None}
    frame = judged([none, difference(0.01, 0.02), undefined], 0.0, correction, scale="difference")
    alone = judged([difference(0.01, 0.02)], 0.0, correction, scale="difference")
    assert frame["lower"].to_list() == [None, alone["lower"].item(), None]
    assert set(frame["family_size"]) == {1}
    assert judged([none], 0.0, correction)["family_size"].item() == 0
    assert judged([], 0.0, correction, scale="difference").height == 0


@pytest.mark.parametrize("correction", sorted(CORRECTIONS))
@pytest.mark.parametrize("limit", [-0.01, 0.0, 0.01])
def test_equal_models_keep_their_interval_of_0(correction: str, limit: float) -> None:
    equal = {"observed": 0.0, "lower": 0.0, "upper": 0.0, "std_error": 0.0, "blocks": 1, "method": "t"}
    frame = judged([equal, difference(0.3, 0.01), equal], limit, correction, scale="difference")
    assert frame.select("lower", "upper").rows()[::2] == [(0.0, 0.0)] * 2


@pytest.mark.parametrize("limit", [-5.0, 0.0, 1.0, 7.0])
def test_limits_at_or_beyond_the_range_are_no_accident(limit: float) -> None:
    row = {"observed": 0.7, "lower": 0.6, "upper": 0.8, "std_error": 0.05, "blocks": 50, "method": "t"}
    end = {"observed": 1.0, "lower": 0.9, "upper": 1.0, "std_error": 0.0, "blocks": 50, "method": "wilson"}
    frame = judged([row, end, row], limit, "holm")
    assert frame.select(pl.all_horizontal(pl.col("lower", "upper").is_between(0, 1)))["lower"].all()
    assert (frame["lower"] <= frame["observed"]).all()
    assert (frame["observed"] <= frame["upper"]).all()
