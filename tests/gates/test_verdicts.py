from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import plmetrics as plm
from plmetrics.core.results import GATES_SCHEMA
from plmetrics.gates.verdicts import Evidence, evaluate_gates, verdict
from plmetrics.suite.sections.gates import Opponent
from plmetrics.suite.sections.uncertainty import Uncertainty

if TYPE_CHECKING:
    from tests.gates.conftest import Table

RULES: dict[str, dict[str, Any]] = {
    "at_least": {"at_least": 0.7},
    "at_most": {"at_most": 0.7},
    "no_worse_than": {"against": "b", "no_worse_than": 0.05},
    "difference at_least": {"against": "b", "at_least": 0.01},
    "difference at_most": {"against": "b", "at_most": 0.01},
}
NUMBERS = {
    "clearly below": (-0.5, (-0.6, -0.4)),
    "just below 0": (-0.02, (-0.04, -0.001)),
    "around all limits": (0.3, (-0.5, 0.9)),
    "between the limits": (0.4, (0.3, 0.5)),
    "clearly above": (0.9, (0.8, 0.95)),
    "no interval": (0.4, (None, None)),
    "undefined": (None, (None, None)),
}
UNDEFINED = {"inconclusive": "inconclusive", "fail": "fail", "skip": "skipped"}


def by_hand(rule: dict[str, Any], number: str, using: str, on_undefined: str) -> str:
    value, (lower, upper) = NUMBERS[number]
    low = rule.get("at_least", -rule["no_worse_than"] if "no_worse_than" in rule else -math.inf)
    high = rule.get("at_most", math.inf)
    if value is None or (using == "interval" and lower is None):
        return UNDEFINED[on_undefined]
    ends = (value, value) if using == "value" or lower is None or upper is None else (lower, upper)
    good = [low <= end <= high for end in ends]
    return "pass" if all(good) else "inconclusive" if any(good) else "fail"


@pytest.mark.exhaustive
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("using", ["value", "interval"])
@pytest.mark.parametrize("on_undefined", UNDEFINED)
def test_truth_table(table: Table, rule: str, number: str, using: str, on_undefined: str) -> None:
    value, interval = NUMBERS[number]
    status = "ok" if value is not None else "no_positives"
    add = table.difference if "against" in RULES[rule] else table.value
    add(value, interval=interval, status=status)
    for level in ("fail", "warn"):
        table.gate(model="a", level=level, using=using, on_undefined=on_undefined, **RULES[rule])
    judged = table.judged()
    assert judged["level"].to_list() == ["fail", "warn"]
    assert set(judged["verdict"]) == {by_hand(RULES[rule], number, using, on_undefined)}
    assert judged.schema == GATES_SCHEMA
    first = judged.row(0, named=True)
    assert (first["observed"], first["lower"], first["upper"]) == (value, *interval)
    assert first["status"] == status
    assert (first["note"] is not None) == (using == "interval" and number == "no interval")


def test_no_worse_than_of_a_loss(table: Table) -> None:
    table.gate("loss", against="b", no_worse_than=0.05, model="a")
    assert table.difference(0.04, metric="loss").row()["verdict"] == "pass"


def test_what_a_row_says(table: Table) -> None:
    table.gate(name="good enough", at_least=0.5, model="a", level="warn", using="interval")
    table.value(0.6, interval=(0.4, 0.8), note="12 units")
    assert table.row() == {
        "gate": "good enough",
        "level": "warn",
        "metric": "score",
        "model": "a",
        "slice_set": "overall",
        "slice": "all",
        "observed": 0.6,
        "lower": 0.4,
        "upper": 0.8,
        "rule": ">= 0.5 by interval",
        "verdict": "inconclusive",
        "status": "ok",
        "class": None,
        "bound": None,
        "at_least": 0.5,
        "at_most": None,
        "band_lower": None,
        "band_upper": None,
        "baseline": None,
        "scale": None,
        "key": "good enough: score",
        "note": "12 units",
    }


def test_a_row_has_the_limits_of_its_rule_as_numbers(table: Table) -> None:
    """As written, without the room for rounding; a margin is a limit on the scale of the comparison."""
    table.gate(against="b", better_than=0.1, scale="ratio").difference(1.2)
    row = table.row()
    assert {name: row[name] for name in ("at_least", "at_most", "baseline", "scale")} == {
        "at_least": 1.1,
        "at_most": None,
        "baseline": "b",
        "scale": "ratio",
    }


def test_a_gate_without_a_name_is_called_by_its_metric_and_rule(table: Table) -> None:
    table.gate(against="b", no_worse_than=0.005).difference(0.0)
    assert table.row()["gate"] == "score difference to b >= -0.005"


def test_notes_are_joined(table: Table) -> None:
    table.gate(at_least=0.5, model="a", using="interval")
    table.value(0.6, interval_status="too_few_units", note="1 unit")
    assert table.row()["note"] == "no interval: too_few_units; 1 unit"


@pytest.mark.parametrize("using", ["value", "interval"])
def test_nan_never_passes(table: Table, using: str) -> None:
    table.gate(at_least=0.5, model="a", using=using).value(math.nan, interval=(math.nan, math.nan))
    row = table.row()
    assert (row["verdict"], row["observed"]) == ("inconclusive", None)


PLACES = [("overall", "all"), ("region", "region=n"), ("region", "region=s"), ("device", "device=x")]


@pytest.mark.parametrize(
    ("slices", "expected"),
    [
        ("overall", ["overall"]),
        ("region", ["region", "region"]),
        (("device", "region"), ["region", "region", "device"]),
        (("device", "overall"), ["overall", "device"]),
        ("all", ["overall", "region", "region", "device"]),
        (("all",), ["overall", "region", "region", "device"]),
    ],
)
@pytest.mark.parametrize("model", [None, "b"])
def test_a_row_per_model_and_slice_in_suite_order(
    table: Table, slices: Any, expected: list[str], model: str | None
) -> None:
    for name, (slice_set, text) in itertools.product("ab", PLACES):
        table.value(0.8, name, slice_set=slice_set, slice=text)
        table.value(0.1, name, slice_set=slice_set, slice=text, metric="loss")
    judged = table.gate(at_least=0.7, slices=slices, model=model).judged()
    models = [model] if model else ["a", "b"]
    assert judged["model"].to_list() == [name for name in models for _ in expected]
    assert judged["slice_set"].to_list() == expected * len(models)
    assert judged["slice"].to_list() == [text for place, text in PLACES if place in expected] * len(models)
    assert set(judged["verdict"]) == {"pass"}


def test_against_judges_every_other_model_and_only_that_difference(table: Table) -> None:
    table.difference(0.1, "a", "b").difference(-0.1, "b", "a")
    table.difference(-9.0, "a", "b", metric="loss").difference(-9.0, "a", "b", scale="ratio")
    table.difference(-9.0, "a", "b", contrast="slice").value(-9.0)
    row = table.gate(against="b", at_least=0.0).row()
    assert (row["model"], row["observed"], row["verdict"]) == ("a", 0.1, "pass")


@pytest.mark.parametrize(
    ("on_undefined", "expected"), [("inconclusive",) * 2, ("fail",) * 2, ("skip", "inconclusive")]
)
def test_a_gate_that_matches_nothing_says_so(table: Table, on_undefined: str, expected: str) -> None:
    table.value(0.9).value(0.9, "b").gate(
        at_least=0.5, slices=("overall", "region"), on_undefined=on_undefined
    )
    judged = table.judged()
    assert judged["verdict"].to_list() == ["pass", expected] * 2
    missing = judged.filter(slice_set="region")
    assert set(missing["status"]) == {"no_match"}
    assert set(missing["slice"]) == {"all"}
    assert missing["note"].null_count() == 0
    assert missing["observed"].null_count() == 2


def test_a_gate_on_an_absent_earlier_run_says_so(table: Table) -> None:
    row = table.gate(model="a", against=Opponent(run=True), at_least=0.0).row()
    assert (row["verdict"], row["status"]) == ("inconclusive", "no_match")
    assert row["note"] == "there is no comparison with an earlier run"


def test_a_gate_that_no_model_can_meet_says_so(table: Table) -> None:
    suite = table.gate(against="b", at_least=0.0).suite()
    suite = suite.model_copy(update={"models": {"b": suite.models["b"]}})
    from plmetrics.core.results import COMPARISONS_SCHEMA, METRICS_SCHEMA

    judged = evaluate_gates(suite, Evidence(METRICS_SCHEMA.to_frame(), COMPARISONS_SCHEMA.to_frame()))
    assert judged["verdict"].to_list() == ["inconclusive"]
    assert verdict(judged) == "inconclusive"


def test_gates_stay_in_order(table: Table) -> None:
    for limit in (0.9, 0.1, 0.5):
        table.gate(at_least=limit, model="a")
    assert table.value(0.6).judged()["rule"].to_list() == [">= 0.9", ">= 0.1", ">= 0.5"]


def test_without_gates_the_table_has_its_columns(table: Table) -> None:
    judged = table.value(0.6).judged()
    assert judged.schema == GATES_SCHEMA
    assert judged.height == 0
    assert verdict(judged) == "none"


OUTCOMES = ("pass", "fail", "inconclusive", "skipped")


def together(*rows: tuple[str, str]) -> str:
    frame = pl.DataFrame(rows, schema={"level": pl.String, "verdict": pl.String}, orient="row")
    return verdict(frame)


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [("pass", "pass"), ("fail", "fail"), ("inconclusive", "inconclusive"), ("skipped", "none")],
)
def test_one_gate_decides_alone(outcome: str, expected: str) -> None:
    assert together(("fail", outcome)) == expected


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_gate_of_level_warn_decides_nothing(outcome: str) -> None:
    assert together(("warn", outcome)) == ("none" if outcome == "skipped" else "pass")
    for other, expected in (("pass", "pass"), ("fail", "fail"), ("inconclusive", "inconclusive")):
        assert together(("warn", outcome), ("fail", other)) == expected


@pytest.mark.parametrize("outcomes", list(itertools.product(OUTCOMES, repeat=3)))
def test_the_worst_of_level_fail_decides(outcomes: tuple[str, ...]) -> None:
    worst = next((o for o in ("fail", "inconclusive", "pass") if o in outcomes), "none")
    assert together(*(("fail", outcome) for outcome in outcomes)) == worst


def test_gates_that_are_judged_together_are_judged_as_each_alone(new_table: type[Table]) -> None:
    asked: list[dict[str, Any]] = [
        {"at_least": 0.75, "model": "a"},
        {"at_most": 0.8, "slices": "all", "min_rows": 30, "on_insufficient": "warn"},
        {"at_least": 0.7, "using": "interval", "correction": "holm", "slices": ("region", "overall")},
        {"at_least": -0.01, "against": "b", "using": "interval", "level": "warn", "name": "difference"},
        {"better_than": 0.01, "against": "b", "slices": "device", "on_undefined": "fail"},
        {"at_least": 0.75, "model": "a", "consecutive": 2},
        {"at_least": 0.75, "model": "a", "min_positives": 5},
        {"metric": "loss", "at_most": 0.3, "on_undefined": "skip"},
    ]
    sizes = pl.DataFrame({"model": ["a"], "slice_set": ["overall"], "slice": ["all"], "positives": [4.0]})

    def judged(*gates: dict[str, Any]) -> pl.DataFrame:
        table = new_table()
        table.uncertainty = Uncertainty()
        for gate in gates:
            table.gate(**gate)
        for model, value in (("a", 0.74), ("b", 0.8)):
            table.value(value, model, interval=(value - 0.05, value + 0.05), std_error=0.02, blocks=100, n=90)
        for name, value in (("n", 0.71), ("s", None)):
            table.value(value, slice_set="region", slice=f"region={name}", n=20, interval=(0.6, 0.8))
        table.difference(-0.06, interval=(-0.08, -0.04))
        return table.judged(sizes)

    of_all = judged(*asked)
    assert_frame_equal(of_all, pl.concat([judged(gate) for gate in asked]))
    assert of_all["verdict"].unique().sort().to_list() == ["fail", "inconclusive", "pass", "skipped"]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("off", "verdict"), [(0.5, "inconclusive"), (-0.5, "inconclusive"), (2.0, "fail"), (-2.0, "pass")]
)
def test_a_value_on_a_grid_is_judged_with_all_that_its_bound_leaves_open(off: float, verdict: str) -> None:
    draw = np.random.default_rng(3)
    score = draw.random(30_000)
    rows = pl.DataFrame({"label": draw.random(30_000) < score, "score": score})
    asked = {"label": "label", "models": "score", "metrics": "average_precision", "exact": False}
    value, bound = plm.evaluate(rows, **asked).metrics.select("value", "bound").row(0)
    limit = value + off * bound
    gated = plm.evaluate(rows, **asked, gates=[{"metric": "average_precision", "at_least": limit}])
    assert bound > 0
    assert gated.gates["verdict"].to_list() == [verdict]
    assert ("is not decided within" in (gated.gates["note"].item() or "")) == (verdict == "inconclusive")
    exact = plm.evaluate(
        rows, **(asked | {"exact": True}), gates=[{"metric": "average_precision", "at_least": limit}]
    )
    assert exact.verdict in {"pass", "fail"}


@pytest.mark.parametrize("seed", [0, 1, 2, 8])
def test_models_that_rounding_alone_tells_apart_are_no_worse_and_no_better(seed: int) -> None:
    """Scores that change places within a class leave sums as they are, but for the order of their terms."""
    random = np.random.default_rng(seed)
    y = (random.random(501) < 0.3).astype(int)
    old = random.random(501)
    new = old.copy()
    for label in (0, 1):
        rows = np.flatnonzero(y == label)
        new[rows] = old[random.permutation(rows)]
    metrics = ["brier", "log_loss", "ece"]
    gates = [
        {"metric": metric, "model": "new", "against": "old", rule: 0}
        for rule in ("no_worse_than", "better_than")
        for metric in metrics
    ]
    frame = pl.DataFrame({"y": y, "old": old, "new": new})
    found = plm.evaluate(frame, label="y", models=["old", "new"], metrics=metrics, gates=gates).gates
    assert found["observed"].abs().max() > 0  # type: ignore[operator]
    assert found["verdict"].to_list() == ["pass"] * 3 + ["fail"] * 3
