import itertools
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from plmetrics.core.errors import ConfigError
from plmetrics.gates.rules import Rule, rule_of

LIMITS = {
    "at_least": Rule(low=0.7, high=None),
    "at_most": Rule(low=None, high=0.7),
    "between": Rule(low=0.6, high=0.8),
    "zero": Rule(low=None, high=0.0),
}


def holds(limits: str, x: float) -> bool:
    return {"at_least": x >= 0.7, "at_most": x <= 0.7, "between": 0.6 <= x <= 0.8, "zero": x <= 0.0}[limits]


def verdict(
    rule: Rule, observed: float | None, lower: float | None = None, upper: float | None = None
) -> str:
    row = {"observed": observed, "lower": lower, "upper": upper}
    return pl.DataFrame(row, schema=dict.fromkeys(row, pl.Float64)).select(rule.verdict()).item()


def using(rule: Rule, *, by_interval: bool, on_undefined: Any = "inconclusive") -> Rule:
    return Rule(rule.low, rule.high, None, by_interval, on_undefined)


GRID = [0.0, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9]


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("value", GRID)
@pytest.mark.parametrize("interval", [(None, None), (0.0, 1.0)])
def test_by_value_the_interval_does_not_matter(limits: str, value: float, interval: tuple[Any, Any]) -> None:
    rule = using(LIMITS[limits], by_interval=False)
    assert verdict(rule, value, *interval) == ("pass" if holds(limits, value) else "fail")


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize(("lower", "upper"), list(itertools.combinations_with_replacement(GRID, 2)))
def test_by_interval_all_of_it_or_none_of_it(limits: str, lower: float, upper: float) -> None:
    steps = 200
    held = [holds(limits, round(lower + (upper - lower) * i / steps, 12)) for i in range(steps + 1)]
    expected = "pass" if all(held) else "inconclusive" if any(held) else "fail"
    rule = using(LIMITS[limits], by_interval=True)
    assert verdict(rule, (lower + upper) / 2, lower, upper) == expected


@pytest.mark.exhaustive
@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("by_interval", [False, True])
@pytest.mark.parametrize(
    ("on_undefined", "expected"), [("inconclusive", "inconclusive"), ("fail", "fail"), ("skip", "skipped")]
)
@pytest.mark.parametrize("missing", ["observed", "lower", "upper"])
@pytest.mark.parametrize("value", GRID)
def test_what_is_missing_never_passes(
    limits: str, by_interval: bool, on_undefined: str, expected: str, missing: str, value: float
) -> None:
    rule = using(LIMITS[limits], by_interval=by_interval, on_undefined=on_undefined)
    row = {"observed": value, "lower": value, "upper": value} | {missing: None}
    if missing == "observed" or by_interval:
        assert verdict(rule, **row) == expected
    else:
        assert verdict(rule, **row) == ("pass" if holds(limits, value) else "fail")


@pytest.mark.parametrize("by_interval", [False, True])
def test_a_limit_missed_by_rounding_is_reached(by_interval: bool) -> None:
    below = 0.745 - 0.75
    assert below < -0.005
    rule = Rule(low=-0.005, high=None, by_interval=by_interval)
    assert verdict(rule, below, below, below) == "pass"
    assert verdict(rule, -0.00500001, -0.00500001, -0.00500001) == "fail"
    above = 0.1 + 0.2
    assert verdict(Rule(low=None, high=0.3, by_interval=by_interval), above, above, above) == "pass"


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (Rule(0.75, None), ">= 0.75"),
        (Rule(None, 1.0), "<= 1"),
        (Rule(0.1, 0.2), ">= 0.1 and <= 0.2"),
        (Rule(-0.005, None, "champion"), "difference to champion >= -0.005"),
        (Rule(0.75, None, by_interval=True), ">= 0.75 by interval"),
        (Rule(0.0, None, "champion", strict=True), "difference to champion > 0"),
        (Rule(None, 1.02, "champion", scale="ratio"), "ratio to champion <= 1.02"),
        (Rule(None, 0.02, "b", scale="relative_change"), "relative change from b <= 0.02"),
        (Rule(0.7, None, by_interval=True, correction="holm"), ">= 0.7 by interval (holm)"),
        (Rule(0.7, None, consecutive=3), ">= 0.7, 3 runs in a row"),
    ],
)
def test_rules_in_words(rule: Rule, text: str) -> None:
    assert rule.text == text


def gate(direction: str = "higher", **keywords: Any) -> Any:
    usual = {"at_least": None, "at_most": None, "no_worse_than": None, "against": None}
    rest = {"using": "value", "on_undefined": "inconclusive", "ratio_at_least": None, "better_than": None}
    rest |= {"scale": "difference", "correction": "none", "consecutive": 1, "within": None}
    subject = SimpleNamespace(text="m", direction=direction)
    given = usual | rest | keywords
    return SimpleNamespace(subject=subject, rival=given["against"], opponent=None, **given)


@pytest.mark.parametrize(("direction", "low", "high"), [("higher", -0.01, None), ("lower", None, 0.01)])
def test_no_worse_than_follows_the_direction(direction: str, low: float | None, high: float | None) -> None:
    rule = rule_of(gate(direction, against="b", no_worse_than=0.01))
    assert (rule.low, rule.high) == (low, high)


@pytest.mark.parametrize(("direction", "low", "high"), [("higher", 0.01, None), ("lower", None, -0.01)])
def test_better_than_follows_the_direction(direction: str, low: float | None, high: float | None) -> None:
    rule = rule_of(gate(direction, against="b", better_than=0.01))
    assert (rule.low, rule.high, rule.strict) == (low, high, True)


@pytest.mark.parametrize(("scale", "start"), [("difference", 0), ("ratio", 1), ("relative_change", 0)])
@pytest.mark.parametrize(("direction", "sign"), [("higher", 1), ("lower", -1)])
def test_margins_start_where_nothing_changes(scale: str, start: int, direction: str, sign: int) -> None:
    for key, gain in (("no_worse_than", -0.02), ("better_than", 0.02)):
        rule = rule_of(gate(direction, against="b", scale=scale, **{key: 0.02}))
        limit = rule.low if direction == "higher" else rule.high
        assert limit == pytest.approx(start + sign * gain)


@pytest.mark.parametrize("key", ["no_worse_than", "better_than"])
@pytest.mark.parametrize("direction", ["zero", "none"])
def test_margins_need_a_better_side(direction: str, key: str) -> None:
    with pytest.raises(ConfigError, match=key):
        rule_of(gate(direction, against="b", **{key: 0.01}))


@pytest.mark.parametrize(
    ("observed", "lower", "upper", "by_value", "by_interval"),
    [
        (0.0, 0.0, 0.0, "fail", "fail"),
        (0.01, 0.0, 0.02, "pass", "inconclusive"),
        (0.01, 0.001, 0.02, "pass", "pass"),
        (-0.01, -0.02, 0.0, "fail", "fail"),
        (-0.01, -0.02, 0.001, "fail", "inconclusive"),
    ],
)
@pytest.mark.parametrize("way", [1, -1])
def test_a_strict_limit_must_be_surpassed(
    observed: float, lower: float, upper: float, by_value: str, by_interval: str, way: int
) -> None:
    ends = sorted((way * lower, way * upper))
    for judged_by_interval, expected in ((False, by_value), (True, by_interval)):
        limits = (0.0, None) if way == 1 else (None, 0.0)
        rule = Rule(*limits, "b", judged_by_interval, strict=True)
        assert verdict(rule, way * observed, *ends) == expected


def test_rounding_does_not_surpass_a_limit() -> None:
    rule = Rule(low=0.3, high=None, strict=True)
    assert 0.1 + 0.2 > 0.3
    assert verdict(rule, 0.1 + 0.2) == "fail"
    assert verdict(rule, 0.30000001) == "pass"


@pytest.mark.parametrize(
    ("low", "high", "verdicts"),
    [
        (None, 0.0, {-0.1: "pass", 0.0: "pass", 0.1: "fail"}),
        (0.0, None, {-0.1: "fail", 0.0: "pass", 0.1: "pass"}),
        (0.0, 0.0, {-0.1: "fail", 0.0: "pass", 0.1: "fail"}),
    ],
)
@pytest.mark.parametrize("strict", [False, True])
def test_a_limit_of_zero_has_no_rounding(
    low: float | None, high: float | None, verdicts: dict[float, str], *, strict: bool
) -> None:
    """Zero itself is on the limit, with nothing around it."""
    rule = Rule(low, high, strict=strict)
    expected = verdicts | {0.0: "fail" if strict else "pass"}
    assert {value: verdict(rule, value) for value in verdicts} == expected


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"low": 0.44}, "pass"),
        ({"low": 0.46}, "inconclusive"),
        ({"low": 0.54}, "inconclusive"),
        ({"low": 0.56}, "fail"),
        ({"high": 0.44}, "fail"),
        ({"high": 0.46}, "inconclusive"),
        ({"high": 0.54}, "inconclusive"),
        ({"high": 0.56}, "pass"),
        ({"low": 0.44, "high": 0.56}, "pass"),
    ],
)
def test_a_value_may_be_off_by_its_bound_either_way(limits: dict[str, float], expected: str) -> None:
    rule = Rule(limits.get("low"), limits.get("high"))
    frame = pl.DataFrame({"observed": 0.5, "lower": None, "upper": None, "bound": 0.05})
    assert frame.select(rule.verdict(pl.col("bound"))).item() == expected


def test_a_gate_needs_a_limit() -> None:
    with pytest.raises(ConfigError, match="no limit"):
        rule_of(gate())
