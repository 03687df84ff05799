"""The section `drift`: its short forms, and what is refused, with the place."""

from typing import Any

import pytest

from plmetrics.features.drift.drift_measures import _MEASURES, DEFAULTS, measure_of
from plmetrics.suite.model import canonical

REFERENCE = "drift: {reference: r.parquet, "
SLICES = "slices: {region: region, age: {column: age, bins: [30]}}\n"


def test_one_column_needs_no_list(load: Any) -> None:
    spec = load(SLICES + REFERENCE + "columns: age, measures: psi, slices: region}\n").suite.sections["drift"]
    assert (spec.columns, spec.measures, spec.slices) == (("age",), ("psi",), ("region",))
    assert (spec.scores, spec.label, spec.bins, spec.floor, spec.correction) == (True, True, 10, 1e-4, "holm")


def test_none_by_default(load: Any) -> None:
    assert "drift" not in load("").suite.sections
    assert "drift" not in load("drift: null\n").suite.sections


def test_measures_share_bins_and_floor_and_are_kept_once(load: Any) -> None:
    text = REFERENCE + "bins: 20, measures: [psi, 'psi(bins=20)', {quantile: {q: 0.95}}, null_share]}\n"
    spec = load(text).suite.sections["drift"]
    assert [measure.text for measure in spec.distances()] == ["psi(bins=20)", "quantile(q=0.95)"]
    plain = load("drift: {where: age > 3}\n").suite.sections["drift"]
    assert [measure.name for measure in plain.distances()] == list(DEFAULTS)


def test_a_gate_means_the_same_measure(load: Any) -> None:
    text = REFERENCE + "bins: 20, measures: [psi], gates: [{measure: psi, at_most: 0.1}]}\n"
    spec = load(text).suite.sections["drift"]
    assert spec.gate_measure(spec.gates[0]).text == "psi(bins=20)"


def test_all_slice_sets_in_the_order_of_the_suite(load: Any) -> None:
    spec = load(SLICES + REFERENCE + "slices: all}\n").suite.sections["drift"]
    assert spec.sets(("region", "age")) == ("region", "age")
    spec = load(SLICES + REFERENCE + "slices: [age, region]}\n").suite.sections["drift"]
    assert spec.sets(("region", "age")) == ("region", "age")


def test_where_the_reference_lies_is_no_part_of_the_meaning(load: Any) -> None:
    sources = [
        "reference: r.csv",
        "reference: [u.csv, v.csv]",
        "state: x.state",
        "state: [a, b]",
        "run: runs/x",
        "run: runs/x, reference: any",
    ]
    first, *others = (canonical(load(f"drift: {{{source}, columns: [age]}}\n").suite) for source in sources)
    assert all(other == first for other in others)
    assert first != canonical(load(REFERENCE + "columns: size}\n").suite)


@pytest.mark.parametrize(
    ("section", "choice"),
    [("run: r", "accepted"), ("run: r, reference: any", "any"), ("reference: any", None)],
)
def test_which_runs_may_be_the_reference(load: Any, section: str, choice: str | None) -> None:
    """Without a run it is a file that may have any name."""
    spec = load(f"drift: {{{section}}}\n").suite.sections["drift"]
    assert spec.is_counted == (choice is not None)
    assert choice is None or spec.choice == choice


@pytest.mark.parametrize("key", ["reference", "state", "run"])
def test_environment_variables_are_replaced(load: Any, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("MONTH", "august")
    assert getattr(load(f"drift: {{{key}: '${{MONTH}}.x'}}\n").suite.sections["drift"], key) == "august.x"


OF_FILE = REFERENCE.removeprefix("drift: ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("r.parquet", "drift must be a mapping, not 'r.parquet'"),
        ("{columns: age}", "drift needs a reference to compare with"),
        ("{run: runs/x, where: age > 3}", "run and where both say what the reference is"),
        ("{run: runs/x, reference: r.csv}", "run and reference both say what the reference is"),
        ("{where: 'age + 3'}", "'age + 3' is not a condition"),
        ("{state: x.state, where: age > 3}", "where picks rows of the reference, and a state has none"),
        ("{state: x.state, run: runs/x}", "run and state both say what the reference is"),
        ("{state: x.state, reference: r.csv}", "state and reference both say what the reference is"),
        ("{state: []}", "state must be"),
        ("{run: runs/x}\nreproducible: true", "reproducible does not serve drift from a state or a run"),
        (OF_FILE + "colums: [age]}", "did you mean 'columns'"),
        (OF_FILE + "scores: false, label: false}", "drift compares nothing"),
        (OF_FILE + "measures: [pis]}", "did you mean 'psi'"),
        (OF_FILE + "measures: []}", "measures must be a list that is not empty"),
        (OF_FILE + "measures: ['psi(bin=3)']}", "measure 'psi' has no parameter 'bin'"),
        (OF_FILE + "measures: ['psi(bins=1)']}", "bins of psi must be 2 to 1000"),
        (OF_FILE + "measures: [quantile(q=2)]}", "q of quantile must be greater than 0 and less than 1"),
        (OF_FILE + "measures: [wasserstein(scale=mad)]}", "scale of wasserstein must be unit or sd"),
        (OF_FILE + "measures: [psi(bins=3, floor=0.1)]}", "it needs quotes"),
        (OF_FILE + "measures: ['psi(']}", "psi("),
        (OF_FILE + "bins: 1}", "bins must be at least 2"),
        (OF_FILE + "floor: 0}", "floor must be greater than 0"),
        (OF_FILE + "slices: region}", "'region' is not one of the slice sets"),
        (OF_FILE + "correction: hommel}", "correction must be"),
        (OF_FILE + "gates: [{measure: psi}]}", "a gate needs a rule"),
        (OF_FILE + "gates: [{measure: psi, at_most: 1, at_least: 0}]}", "a gate has one rule"),
        (OF_FILE + "gates: [{at_most: 1}]}", "'measure' is missing"),
        (OF_FILE + "gates: [{measure: variance, at_most: 1}]}", "is not in drift's measures"),
        (OF_FILE + "gates: [{measure: pis, at_most: 1}]}", "did you mean 'psi'"),
        (OF_FILE + "gates: [{measure: psi, p_at_least: 0.1}]}", "'psi' is no test"),
        (OF_FILE + "gates: [{measure: psi, at_most: 1, column: age}]}", "column 'age' is not compared"),
        (OF_FILE + "gates: [{measure: psi, at_most: 1, slices: r}]}", "not one of drift's slice sets"),
        (OF_FILE + "gates: [{measure: psi, at_most: 1, model: zz}]}", "model 'zz' is not one of the models"),
    ],
)
def test_what_is_wrong_is_said(refuse: Any, text: str, words: str) -> None:
    problems = refuse(f"drift: {text}\n")
    assert any(words in str(problem) or words in f"{problem.message} {problem.hint}" for problem in problems)
    assert {problem.where.line for problem in problems} == {4}
    assert {problem.path[0] for problem in problems} == {"drift"}


def test_a_slice_set_beside_a_wrong_one_is_not_missed(refuse: Any) -> None:
    slices = "slices: {month: {column: day, every: 1m}, region: region}\n"
    (problem,) = refuse(f"{slices}drift: {OF_FILE}slices: region}}\n")
    assert problem.path[:2] == ("slices", "month")


@pytest.mark.parametrize("name", _MEASURES)
def test_texts_of_measures_read_back(name: str) -> None:
    measure = measure_of(name)
    assert measure.text == name
    assert measure_of(measure.text) == measure
