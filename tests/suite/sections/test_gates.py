"""What gates may ask for: margins, corrections, runs in a row, sizes of slices."""

import pickle
from typing import Any

import pytest

from plmetrics.core.errors import Problem
from plmetrics.features.nights.interval_section import IntervalSection
from plmetrics.suite.reader import metric_from_text
from plmetrics.suite.sections.gates import Gate

METRICS = "metrics: [f1, roc_auc, selection_rate, log_loss]\nslices: {region: region}\n"
INTERVALS = "uncertainty: true\n"


def said(problems: tuple[Problem, ...]) -> list[str]:
    return [f"{problem.where} {problem.message} | {problem.hint or ''}" for problem in problems]


@pytest.mark.parametrize(
    ("gate", "key", "words"),
    [
        ("at_least: 0.5, correction: holm", "correction", ["widens intervals", "using: interval"]),
        ("at_least: 0.5, correction: hlom, using: interval", "correction", ["must be", "'hlom'"]),
        ("at_least: 0.5, consecutive: 0", "consecutive", ["at least 1", "not 0"]),
        ("at_least: 0.5, consecutive: 1.5", "consecutive", ["a whole number"]),
        ("at_least: 0.5, min_rows: 0", "min_rows", ["at least 1"]),
        ("at_least: 0.5, min_rows: many", "min_rows", ["a whole number", "'many'"]),
        ("at_least: 0.5, min_positives: -3", "min_positives", ["at least 1", "-3"]),
        (
            "at_least: 0.5, on_insufficient: warn",
            "on_insufficient",
            ["no size is asked for", "add min_rows or min_positives, or labels: {coverage: 0.9}"],
        ),
        (
            "at_least: 0.5, min_rows: 5, on_insufficient: stop",
            "on_insufficient",
            ["must be skip, warn or fail"],
        ),
        (
            "metric: {name: rate, mean: score}, at_least: 0.5",
            "metric",
            ["is named here, and not defined", "under metrics, and write 'rate'"],
        ),
        (
            "metric: {metric: f1, slices: region}, at_least: 0.5",
            "metric",
            ["is named here, and not defined", "write 'f1'"],
        ),
        ("better_than: 0", "better_than", ["needs against"]),
        (
            "metric: selection_rate, against: a, better_than: 0",
            "better_than",
            ["neither better higher nor lower", "of your own takes direction"],
        ),
        ("against: a, better_than: -0.1", "better_than", ["must be at least 0", "-0.1"]),
        ("against: a, no_worse_than: 2 percent", "no_worse_than", ["or a percentage", "write 0.005"]),
        ("against: a, better_than: -2%", "better_than", ["or a percentage", "'-2%'"]),
        (
            "against: a, no_worse_than: 2%, scale: ratio",
            "scale",
            ["in percent is a relative change", "leave scale out"],
        ),
        ("against: 3, at_least: 1", "against", ["is a model, {slice: ...}", "not 3"]),
        ("against: {}, at_least: 1", "against", ["is a model, {slice: ...}"]),
        ("against: {slice: rest, run: true}, at_least: 1", "against", ["is a model"]),
        ("against: {run: true}, at_least: 1", "against", ["needs the run", "compare: {run: FOLDER}"]),
        (
            "slices: region, against: {slice: rest}, at_least: 1",
            "against",
            ["'region' is not compared with the rest", "add compare: {slices: {region: rest}}"],
        ),
        (
            "against: {slice: region=n}, at_least: 1",
            "against",
            ["'overall' is not compared with region=n", "name the slice set"],
        ),
        ("between: region, against: {slice: rest}, at_most: 1", "against", ["put together from all slices"]),
        ("at_least: 1, slices: []", "slices", ["a list that is not empty"]),
        ("at_least: 1, scale: ratio", "scale", ["scale: ratio needs against"]),
        ("against: a, at_least: 1, scale: ration", "scale", ["must be", "'ration'"]),
    ],
)
def test_what_is_wrong_is_said_at_its_place(refuse: Any, gate: str, key: str, words: list[str]) -> None:
    gate = gate if gate.startswith("metric:") else f"metric: f1, {gate}"
    problems = refuse(f"{METRICS}{INTERVALS}gates:\n- {{metric: f1, at_least: 0.1}}\n- {{{gate}}}\n")
    (problem,) = problems
    assert problem.path == ("gates", 1, key)
    assert problem.where is not None
    assert problem.where.line == 9
    assert all(word in said(problems)[0] for word in words), said(problems)


@pytest.mark.parametrize(
    ("gate", "words"),
    [
        ("{metric: f1, against: a, no_worse_than: 0.1, better_than: 0.1}", ["one rule", "write two gates"]),
        ("{metric: f1, against: a, no_worse_than: 1%, at_most: 0.1}", ["one rule"]),
        ("{metric: f1, against: a, no_worse_than: 1%, consecutives: 2}", ["unknown key", "'consecutive'"]),
    ],
)
def test_rules_that_contradict_each_other(refuse: Any, gate: str, words: list[str]) -> None:
    problems = refuse(f"{METRICS}gates: [{gate}]\n")
    assert all(word in said(problems)[0] for word in words), said(problems)


def test_corrections_need_intervals(refuse: Any) -> None:
    gate = "{metric: f1, at_least: 0.5, using: interval, correction: holm}"
    (problem,) = refuse(f"{METRICS}gates: [{gate}]\n")
    assert "using: interval needs uncertainty" in problem.message


def test_opponents_are_read_as_mappings(refuse: Any) -> None:
    (problem,) = refuse(f"{METRICS}gates: [{{metric: f1, at_least: 0, against: {{slcie: rest}}}}]\n")
    assert (problem.path, problem.hint) == (("gates", 0, "against", "slcie"), "did you mean 'slice'?")


COMPARED = "compare: {slices: {region: [rest, all]}, scales: [ratio]}\n"


@pytest.mark.parametrize("other", ["rest", "all"])
def test_slices_against_others(load: Any, other: str) -> None:
    gate = f"{{metric: f1, slices: region, against: {{slice: {other}}}, scale: ratio, at_least: 0.9}}"
    (found,) = load(f"{METRICS}{COMPARED}gates: [{gate}]\n").suite.gates
    assert (found.rival, found.opponent.slice) == (None, other)


def test_gates_against_slices_are_on_a_scale_that_is_compared(refuse: Any) -> None:
    gate = "{metric: f1, slices: region, against: {slice: rest}, at_least: 0.9}"
    (problem,) = refuse(f"{METRICS}{COMPARED}gates: [{gate}]\n")
    assert problem.path == ("gates", 0, "scale")
    assert problem.hint == "add it: compare: {scales: [ratio, difference]}"


@pytest.mark.parametrize(
    "rule",
    ["against: {slice: rest}, scale: ratio, at_least: 0.9, slices: region", "between: region, at_most: 5"],
)
def test_totals_are_not_gated_between_slices(refuse: Any, rule: str) -> None:
    (problem,) = refuse(
        f"metrics: [tp]\nslices: {{region: region}}\n{COMPARED}gates: [{{metric: tp, {rule}}}]\n"
    )
    assert problem.path == ("gates", 0, "metric")
    assert problem.message == "'tp' is a total, which is larger where there are more rows"


def test_only_binary_labels_have_positives(refuse: Any) -> None:
    gate = "{metric: mae, at_most: 1, min_positives: 3}"
    (problem,) = refuse(f"task: regression\nmetrics: [mae]\ngates: [{gate}]\n")
    assert problem.path == ("gates", 0, "min_positives")
    assert "of task 'binary', not of 'regression'" in problem.message
    assert problem.hint == "use min_rows"


@pytest.mark.parametrize(("margin", "share"), [("2%", 0.02), ("0.5 %", 0.005), ("100%", 1.0), ("0%", 0.0)])
@pytest.mark.parametrize("key", ["no_worse_than", "better_than"])
def test_margins_in_percent_are_relative_changes(load: Any, key: str, margin: str, share: float) -> None:
    text = f"{METRICS}gates: [{{metric: log_loss, against: a, {key}: {margin}}}]\n"
    (gate,) = load(text).suite.gates
    assert (getattr(gate, key), gate.scale) == (pytest.approx(share), "relative_change")


def test_all_of_it_at_once(load: Any) -> None:
    gate = (
        "{metric: roc_auc, against: a, better_than: 0.01, using: interval, slices: all, correction: bonferroni, "
        "consecutive: 3, min_rows: 100, min_positives: 20, on_insufficient: warn}"
    )
    (found,) = load(f"{METRICS}{INTERVALS}gates: [{gate}]\n").suite.gates
    assert (found.correction, found.consecutive, found.on_insufficient) == ("bonferroni", 3, "warn")


def test_a_gate_of_another_metric_judges_the_differences_of_that() -> None:
    recall, f1 = (metric_from_text("binary", name) for name in ("recall", "f1"))
    gate = Gate(metric=recall, between="region", at_most=0.1)
    assert gate.subject.text == "disparity(recall, by=region)"
    assert gate.of(f1).subject.text == "disparity(f1, by=region)"
    assert gate.of(recall) is gate


def test_cached_properties_belong_to_one_gate_and_are_not_pickled(load: Any) -> None:
    gate = "{metric: f1, between: region, at_most: 0.1}"
    suite = load(f"{METRICS}gates: [{gate}]\n").suite
    (gate,) = suite.gates
    assert gate.subject.text == "disparity(f1, by=region)"
    assert gate.model_copy(update={"between": None}).subject.text == "f1"
    (read,) = pickle.loads(pickle.dumps(suite)).gates
    assert read == gate
    assert read.subject.text == gate.subject.text


def test_the_calendar_of_a_copied_section_is_that_of_its_interval() -> None:
    days = IntervalSection(every="1d", column="d")
    months = days.model_copy(update={"every": "1mo"})
    assert days.calendar != days.model_copy(update={"every": "1mo"}).calendar == months.calendar
