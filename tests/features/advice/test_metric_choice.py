"""Every rule of advice fires on a table made for it, and is silent on one made the other way round."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.catalogue import registry
from plmetrics.catalogue.advice.advice_rule import TableFacts, matches
from plmetrics.catalogue.advice.advice_rules import RULES, matching_rules
from plmetrics.catalogue.advice.table_survey import Layout, survey
from plmetrics.core.text import parse_call
from plmetrics.diagnostics.run_warnings import misleading_metrics
from plmetrics.features.advice.metric_choice import advise
from plmetrics.suite.arguments import suite_from_arguments
from plmetrics.suite.reader import metric_from_text

Table = Callable[[], TableFacts]


def binary(
    positives: float = 0.3, rows: int = 4000, scores: Sequence[float] = (0, 1), **layout: Any
) -> TableFacts:
    """A share of positives, and scores spread evenly from one end to the other, or just these if there are three."""
    label = (np.arange(rows) < round(positives * rows)).astype(int)
    held = np.linspace(*scores, rows) if len(scores) == 2 else np.resize(scores[:2], rows)
    frame = pl.DataFrame({"y": label, "p": held})
    return survey(frame, Layout("binary", "y", {"m": {"score": "p"}}, **layout))


def multiclass(*sizes: int, high: float = 1.0) -> TableFacts:
    label = np.repeat([f"c{i}" for i in range(len(sizes))], sizes)
    names = tuple(f"c{i}" for i in range(len(sizes)))
    frame = pl.DataFrame({"y": label, **{name: np.linspace(0, high, len(label)) for name in names}})
    return survey(frame, Layout("multiclass", "y", {"m": {f"proba|{n}": n for n in names}}, classes=names))


def regression(label: Any, prediction: float = 1.0) -> TableFacts:
    frame = pl.DataFrame({"y": np.asarray(label, dtype=float)}).with_columns(p=pl.lit(prediction))
    return survey(frame, Layout("regression", "y", {"m": {"score": "p"}}))


def quantile(*levels: float) -> TableFacts:
    parts = {f"quantile|{level:g}": f"q{level:g}" for level in levels} or {"mean": "mu", "sd": "sd"}
    frame = pl.DataFrame({"y": [1.0, 2.0], **{column: [1.0, 2.0] for column in parts.values()}})
    return survey(frame, Layout("quantile", "y", {"m": parts}))


def ranking(*labels: int, queries: int = 5) -> TableFacts:
    query = np.repeat(np.arange(queries), len(labels))
    frame = pl.DataFrame({"q": query, "y": list(labels) * queries, "p": np.linspace(0, 1, len(query))})
    return survey(frame, Layout("ranking", "y", {"m": {"score": "p"}}, query="q"))


def calls() -> TableFacts:
    frame = pl.DataFrame({"y": ["good", "bad"], "called": ["good", "good"]})
    return survey(frame, Layout("binary", "y", {"m": {"prediction": "called"}}, positive="bad"))


def multilabel(*shares: float, rows: int = 200, high: float = 1.0) -> TableFacts:
    """Classes that these shares of the rows have, [0.5, 0.5] if not said."""
    shares = shares or (0.5, 0.5)
    labels = {f"c{i}": f"is_c{i}" for i in range(len(shares))}
    columns = {
        column: (np.arange(rows) < share * rows).astype(int)
        for column, share in zip(labels.values(), shares, strict=True)
    }
    frame = pl.DataFrame({**columns, "p": np.linspace(0, high, rows)})
    model = {f"proba|{name}": "p" for name in labels}
    return survey(frame, Layout("multilabel", "is_c0", {"m": model}, classes=(*labels,), labels=labels))


def uplift(treated: float) -> TableFacts:
    frame = pl.DataFrame(
        {"y": [0, 1] * 100, "t": [int(i < 200 * treated) for i in range(200)], "p": [0.1] * 200}
    )
    return survey(frame, Layout("uplift", "y", {"m": {"score": "p"}}, treatment="t"))


COSTS = {"costs": (1.0, 5.0)}
EVEN = np.linspace(10, 20, 1000)
TAIL = [*np.linspace(1, 2, 990), *[1000.0] * 10]
ZEROS = [0.0] * 300 + [*np.linspace(10, 20, 700)]
CLAIMS = [0] * 950 + [1] * 45 + [60] * 5
NINE = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

CASES: dict[str, tuple[Table, Table]] = {
    "binary/base-rate": (binary, lambda: binary(rows=0)),
    "binary/ranks": (binary, lambda: binary(positives=0)),
    "binary/rare": (lambda: binary(0.1), lambda: binary(0.4)),
    "binary/common": (lambda: binary(0.4), lambda: binary(0.1)),
    "binary/very-rare": (lambda: binary(0.005), lambda: binary(0.05)),
    "binary/costs": (lambda: binary(**COSTS), binary),
    "binary/costs-no-probabilities": (lambda: binary(scores=(-3, 3), **COSTS), lambda: binary(**COSTS)),
    "binary/decisions": (binary, lambda: binary(scores=(0, 0.4))),
    "binary/unequal": (lambda: binary(0.1), lambda: binary(0.4)),
    "binary/equal": (lambda: binary(0.4), lambda: binary(0.1)),
    "binary/out-of-reach": (lambda: binary(scores=(0, 0.4)), binary),
    "binary/no-threshold": (lambda: binary(scores=(-3, 3)), binary),
    "binary/proper": (binary, lambda: binary(scores=(-3, 3))),
    "binary/skill": (binary, lambda: binary(positives=0)),
    "binary/in-the-large": (binary, lambda: binary(scores=(-3, 3))),
    "binary/gaps": (binary, lambda: binary(rows=500)),
    "binary/accuracy-imbalance": (lambda: binary(0.03), lambda: binary(0.4)),
    "binary/roc-area-rare": (lambda: binary(0.001), lambda: binary(0.1)),
    "binary/specificity-rare": (lambda: binary(0.03), lambda: binary(0.1)),
    "binary/f1-common": (lambda: binary(0.9), lambda: binary(0.4)),
    "binary/threshold-unreached": (lambda: binary(scores=(0, 0.4)), binary),
    "binary/threshold-passed": (lambda: binary(scores=(0.5, 1)), binary),
    "binary/threshold-of-logits": (lambda: binary(scores=(-3, 3)), lambda: binary(scores=(0, 100))),
    "binary/threshold-of-margins": (lambda: binary(scores=(0, 100)), lambda: binary(scores=(-3, 3))),
    "binary/equal-errors": (lambda: binary(**COSTS), lambda: binary(costs=(2.0, 2.0))),
    "binary/no-probabilities": (lambda: binary(scores=(0, 1.01)), binary),
    "binary/ece-few-rows": (lambda: binary(rows=500), binary),
    "binary/test-many-rows": (lambda: binary(rows=30_000), binary),
    "binary/test-units": (lambda: TableFacts(task="binary", units=1), lambda: binary(0.1)),
    "binary/test-weights": (lambda: TableFacts(task="binary", weighted=1), lambda: binary(0.1)),
    "quantile/test-units": (lambda: TableFacts(task="quantile", units=1), lambda: quantile(0.1)),
    "quantile/test-weights": (lambda: TableFacts(task="quantile", weighted=1), lambda: quantile(0.1)),
    "binary/brier-rare": (lambda: binary(0.001), lambda: binary(0.1)),
    "binary/scores-are-decisions": (lambda: binary(scores=(0, 1, 1)), binary),
    "binary/one-class": (lambda: binary(positives=1), binary),
    "binary/called": (calls, binary),
    "multiclass/equal": (lambda: multiclass(50, 50, 50), lambda: multiclass(500, 50, 50)),
    "multiclass/unequal": (lambda: multiclass(500, 50, 50), lambda: multiclass(*[50] * 6)),
    "multiclass/coefficient": (lambda: multiclass(5, 5), lambda: multiclass(5)),
    "multiclass/harmonic": (lambda: multiclass(5, 5), lambda: multiclass(5)),
    "multiclass/per-class": (lambda: multiclass(5, 5, 5), lambda: multiclass(*[5] * 40)),
    "multiclass/many-classes": (lambda: multiclass(*[5] * 40), lambda: multiclass(5, 5, 5)),
    "multiclass/proper": (lambda: multiclass(5, 5, 5), lambda: multiclass(5, 5, 5, high=2)),
    "multiclass/ranks": (lambda: multiclass(5, 5, 5), lambda: multiclass(5, 5, 0)),
    "multiclass/gaps": (lambda: multiclass(1000, 1000, 1000), lambda: multiclass(50, 50, 50)),
    "multiclass/accuracy-imbalance": (lambda: multiclass(900, 50, 50), lambda: multiclass(50, 50, 50)),
    "multiclass/macro-imbalance": (lambda: multiclass(950, 25, 25), lambda: multiclass(50, 50, 50)),
    "multiclass/macro-few-rows": (lambda: multiclass(100, 100, 5), lambda: multiclass(50, 50, 50)),
    "multiclass/area-few-rows": (lambda: multiclass(100, 100, 5), lambda: multiclass(50, 50, 50)),
    "multiclass/ece-few-rows": (lambda: multiclass(100, 100, 50), lambda: multiclass(200, 200, 200)),
    "multiclass/no-probabilities": (lambda: multiclass(5, 5, 5, high=2), lambda: multiclass(5, 5, 5)),
    "multiclass/top-k-few-classes": (lambda: multiclass(5, 5, 5), lambda: multiclass(*[5] * 10)),
    "regression/counts": (lambda: regression(CLAIMS), lambda: regression(CLAIMS, 0.0)),
    "regression/typical": (lambda: regression(EVEN), lambda: regression([])),
    "regression/large-errors": (lambda: regression(EVEN), lambda: regression(TAIL)),
    "regression/bias": (lambda: regression(EVEN), lambda: regression([])),
    "regression/explained": (lambda: regression(EVEN), lambda: regression(EVEN + 1e6)),
    "regression/heavy-tails": (lambda: regression(TAIL), lambda: regression(EVEN)),
    "regression/relative": (lambda: regression(EVEN), lambda: regression(EVEN - 15)),
    "regression/relative-total": (lambda: regression([1e-3, *EVEN]), lambda: regression(EVEN)),
    "regression/relative-zeros": (lambda: regression(ZEROS), lambda: regression(EVEN)),
    "regression/shares": (lambda: regression([0, 0.5, 1]), lambda: regression(EVEN)),
    "regression/decades": (lambda: regression(np.logspace(0, 4, 500)), lambda: regression(EVEN)),
    "regression/mape-zeros": (lambda: regression(ZEROS), lambda: regression(EVEN)),
    "regression/mape-near-zero": (lambda: regression([1e-3, *EVEN]), lambda: regression(EVEN)),
    "regression/smape-zeros": (lambda: regression(ZEROS), lambda: regression(EVEN)),
    "regression/r2-constant": (lambda: regression(EVEN + 1e6), lambda: regression(EVEN)),
    "regression/r2-one-value": (lambda: regression([7] * 950 + [9] * 50), lambda: regression(EVEN)),
    "regression/squares-tails": (lambda: regression(TAIL), lambda: regression(EVEN)),
    "regression/median-zeros": (lambda: regression([0] * 60 + [5] * 40), lambda: regression(ZEROS)),
    "regression/logarithm-negative": (lambda: regression(EVEN - 15), lambda: regression(EVEN)),
    "regression/logarithm-predictions": (lambda: regression(EVEN, -2.0), lambda: regression(EVEN)),
    "quantile/proper": (lambda: quantile(0.1, 0.9), quantile),
    "quantile/whole": (lambda: quantile(*NINE), lambda: quantile(0.1, 0.9)),
    "quantile/distribution": (quantile, lambda: quantile(0.1, 0.9)),
    "quantile/median": (lambda: quantile(*NINE), lambda: quantile(0.1, 0.9)),
    "quantile/intervals": (lambda: quantile(0.1, 0.9), lambda: quantile(0.1, 0.5)),
    "quantile/order": (lambda: quantile(0.1, 0.9), lambda: quantile(0.5)),
    "quantile/crps-few-levels": (lambda: quantile(0.1, 0.9), lambda: quantile(*NINE)),
    "quantile/coverage-alone": (lambda: quantile(0.1, 0.9), lambda: quantile(0.5)),
    "quantile/no-median": (lambda: quantile(0.1, 0.9), lambda: quantile(*NINE)),
    "ranking/graded": (lambda: ranking(0, 1, 2, 3), lambda: ranking(0, 1, 0, 1)),
    "ranking/binary": (lambda: ranking(0, 1, 0, 1), lambda: ranking(0, 1, 2, 3)),
    "ranking/one": (lambda: ranking(0, 1, 0), lambda: ranking(1, 1, 0)),
    "ranking/several": (lambda: ranking(1, 1, 0), lambda: ranking(0, 1, 0)),
    "ranking/precision-few-relevant": (lambda: ranking(0, 1, 0), lambda: ranking(1, 1, 1)),
    "ranking/first-only": (lambda: ranking(1, 1, 1, 1, 1, 0), lambda: ranking(0, 1, 0)),
    "ranking/grades-lost": (lambda: ranking(0, 1, 2), lambda: ranking(0, 1, 1)),
    "ranking/few-documents": (lambda: ranking(0, 1), lambda: ranking(0, 1, 0, 0)),
    "multilabel/average": (multilabel, lambda: multilabel(rows=0)),
    "multilabel/rows": (multilabel, lambda: multilabel(rows=0)),
    "multilabel/per-class": (multilabel, lambda: multilabel(*[0.2] * 21)),
    "multilabel/ranks": (multilabel, lambda: multilabel(0.5, 0)),
    "multilabel/proper": (multilabel, lambda: multilabel(high=2)),
    "multilabel/exact": (lambda: multilabel(*[0.2] * 6), multilabel),
    "multilabel/empty-rows": (lambda: multilabel(0.1, 0.1), multilabel),
    "multilabel/few-rows": (lambda: multilabel(0.5, 0.01), multilabel),
    "multilabel/no-probabilities": (lambda: multilabel(high=2), multilabel),
    "experiment/outcomes": (
        lambda: survey(pl.DataFrame({"y": [1.0]}), Layout("experiment", "y", {})),
        lambda: survey(pl.DataFrame({"y": []}), Layout("experiment", "y", {})),
    ),
    "uplift/effect": (lambda: uplift(0.5), lambda: uplift(0)),
    "uplift/ranks": (lambda: uplift(0.5), lambda: uplift(0.02)),
    "uplift/small-arm": (lambda: uplift(0.02), lambda: uplift(0.5)),
    "uplift/small-control": (lambda: uplift(0.98), lambda: uplift(0.5)),
}


def test_no_label_is_positive_where_the_positive_one_is_beyond_their_type() -> None:
    assert binary(positive=2**63).prevalence == 0
    assert binary(positive=1).prevalence == pytest.approx(0.3)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_fires_on_its_table_and_not_on_the_opposite(rule: Any) -> None:
    fitting, opposite = CASES[rule.id]
    known = fitting()
    assert rule.holds(known)
    assert not rule.holds(opposite())
    assert "?" not in rule.explanation(known)
    assert "{" not in rule.explanation(known)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_has_a_source_and_names_metrics_of_its_task(rule: Any) -> None:
    assert any(character.isdigit() for character in rule.source)
    texts = rule.texts(CASES[rule.id][0]()) if rule.verdict == "advise" else rule.metrics
    for text in (*texts, *rule.companions):
        call = parse_call(text)
        found = registry.find(rule.task, call.name)
        assert found.name == call.name
        assert set(call.parameters) <= {*found.__dataclass_fields__}
        assert rule in matching_rules(rule.task, call.name) or text in rule.companions
    if rule.verdict == "advise":
        assert all(metric_from_text(rule.task, text).task == rule.task for text in texts)


def test_rules_are_told_apart() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)
    assert {rule.task for rule in RULES} == set(registry.tasks())


def test_a_rule_is_silent_on_what_nobody_looked_at() -> None:
    assert not [rule.id for task in registry.tasks() for rule in RULES if rule.holds(TableFacts(task=task))]


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("precision", "precision(threshold=0.3)", True),
        ("precision(threshold=0.5)", "precision", True),
        ("precision(threshold=0.5)", "precision(threshold=0.3)", False),
        ("precision(threshold=0.5)", "precision(threshold=max(f1))", False),
        ("ece", "mce", True),
        ("recall", "precision", False),
    ],
)
def test_patterns(pattern: str, text: str, fits: bool) -> None:
    assert matches(pattern, metric_from_text("binary", text)) is fits


def suite(metrics: Sequence[str], gates: Sequence[str] = ()) -> Any:
    rules = [{"metric": metric, "at_least": 0.1} for metric in gates]
    return suite_from_arguments(label="y", models="p", metrics=list(metrics), gates=rules)


@pytest.mark.parametrize(
    ("metrics", "gates", "starts"),
    [
        (["accuracy"], [], ["accuracy may mislead"]),
        (["accuracy", "mcc"], [], []),
        (["accuracy", "mcc"], ["accuracy"], ["a gate on accuracy may mislead"]),
        (["accuracy", "mcc"], ["accuracy", "mcc"], []),
        (["accuracy", "error_rate"], ["accuracy"], ["accuracy and error_rate may mislead"]),
        (["log_loss"], [], []),
        (["specificity", "npv", "accuracy"], [], ["accuracy may", "specificity and npv may"]),
    ],
)
def test_a_suite_is_warned_of_what_it_relies_on(
    metrics: list[str], gates: list[str], starts: list[str]
) -> None:
    said = misleading_metrics(suite(metrics, gates), binary(0.03))
    assert len(said) == len(starts)
    assert all(text.startswith(start) for text, start in zip(said, starts, strict=True))


@pytest.mark.parametrize(("column", "said"), [("unit", "independent"), ("weight", "numbers of rows")])
def test_tests_of_independent_rows_are_warned_of_units_and_weights(column: str, said: str) -> None:
    rows = pl.DataFrame({"y": [1.0, 2.0], "mu": [1.0, 1.0], "sd": [1.0, 1.0], "c": [1, 1]})
    asked: Any = {"task": "quantile", "label": "y", "models": {"m": {"mean": "mu", "sd": "sd"}}}
    metrics = ["berkowitz_p_value"]
    with pytest.warns(plm.PlmetricsWarning, match=f"berkowitz_p_value may mislead: .*{said}"):
        plm.evaluate(rows, **asked, metrics=metrics, **{column: "c"})
    assert not plm.evaluate(rows, **asked, metrics=metrics).warnings


def test_noise_in_bins_is_none_of_an_error_without_it_and_names_the_bins_it_is_of() -> None:
    (said,) = misleading_metrics(suite(["ece(bins=10)", "ece(debias=true)"]), binary(rows=500))
    assert said.startswith("ece(bins=10) may mislead: 500 rows: chance alone gives")
    assert "in 15 bins" in said


def test_a_warning_has_the_figures_the_companions_and_the_rule() -> None:
    (said,) = misleading_metrics(suite(["accuracy"]), binary(0.03))
    assert "97 %" in said
    assert "read balanced_accuracy, mcc or cohen_kappa beside it" in said
    assert said.endswith("(rule binary/accuracy-imbalance)")


def test_what_is_advised_against_is_chosen_beside_a_companion_only() -> None:
    rare = advise(binary(0.001))
    chosen = list(rare.chosen)
    assert {"roc_auc", "average_precision", "brier", "brier_skill"} <= set(chosen)
    assert "accuracy" not in chosen
    margins = list(advise(binary(scores=(-3, 3))).chosen)
    assert not {"log_loss", "brier", "ece", "precision", "accuracy"} & set(margins)


def test_claims_are_judged_by_a_deviance_and_not_by_a_median_of_zeros() -> None:
    chosen = list(advise(regression(CLAIMS)).chosen)
    assert "tweedie_deviance(power=1)" in chosen
    assert "median_absolute_error" not in chosen


def test_advice_is_a_frame_with_sources() -> None:
    frame = advise(binary(0.03)).frame()
    assert set(frame["verdict"]) == {"advise", "advise_against"}
    assert frame["source"].str.len_chars().min() > 10
    (row,) = frame.filter(metric="accuracy").to_dicts()
    assert (row["verdict"], row["rule"]) == ("advise_against", "binary/accuracy-imbalance")
    assert "97 %" in row["reason"]


def test_figures_follow_weights_and_positives() -> None:
    frame = pl.DataFrame(
        {"y": ["bad", "good", "good", None], "w": [6.0, 1.0, 1.0, 9.0], "p": [0.1, 0.2, None, 0.3]}
    )
    known = survey(frame, Layout("binary", "y", {"m": {"score": "p"}}, positive="bad", weight="w"))
    assert (known.prevalence, known.largest) == (0.75, 0.75)
    assert (known.top_score, known.bottom_score, known.values) == (0.3, 0.1, 3)


def test_a_sample_does_not_say_that_a_class_is_absent() -> None:
    frame = pl.DataFrame({"y": [0] * 10, "p": [0.1] * 10})
    layout = Layout("binary", "y", {"m": {"score": "p"}})
    assert survey(frame, layout).smallest == 0
    assert survey(frame, layout, 1000, complete=False).smallest is None
