"""Metrics for a table by the rules of advice, and examples of gates on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.catalogue import registry
from plmetrics.catalogue.advice.advice_rule import AdviceRule, TableFacts, names_text
from plmetrics.catalogue.advice.advice_rules import rules_for
from plmetrics.core.names import number_text
from plmetrics.core.text import parse_call
from plmetrics.features.advice.table_description import yaml_scalar
from plmetrics.suite.reader import metric_from_text

if TYPE_CHECKING:
    from plmetrics.catalogue.advice.goals import Goal

_TEXTS = ("task", "metric", "verdict", "reason", "companions", "rule", "source")
ADVICE_SCHEMA = pl.Schema(
    {name: pl.List(pl.String()) if name == "companions" else pl.String() for name in _TEXTS}
)
_MOST = 3
_BETTER = "surely better than chance: raise it to what you need"
_CHANCE: dict[str, tuple[float | None, str]] = {
    "roc_auc": (0.5, _BETTER),
    "balanced_accuracy": (0.5, _BETTER),
    "gini": (0, _BETTER),
    "mcc": (0, _BETTER),
    "cohen_kappa": (0, _BETTER),
    "brier_skill": (0, "surely better than giving every row the prevalence"),
    "log_loss_skill": (0, "surely better than giving every row the prevalence"),
    "r2": (0, "surely better than predicting the mean: raise it to what you need"),
    "rmse_skill": (0, "surely better than predicting the mean"),
    "qini": (0, "surely better than treating at random"),
    "ate": (0, "the effect is surely above 0"),
}
"""By metric the value that chance has, or a constant, and what passing says."""
_OWN = ("ndcg", "map", "mrr", "f1", "accuracy", "recall", "mae", "wis")
"""Metrics without such a value, whose limit is the reader's."""


@dataclass(frozen=True, slots=True)
class Advice:
    """Advice on a table. `chosen` are the metric texts for a suite, each with its reason."""

    facts: TableFacts
    chosen: dict[str, str]
    advised: tuple[tuple[AdviceRule, str], ...]
    against: tuple[AdviceRule, ...]

    def frame(self) -> pl.DataFrame:
        """A row per metric and rule: `advise` where it stands in the suite, `advise_against` with the reason."""
        advised = [(rule, text) for rule, text in self.advised if text in self.chosen]
        against = [(rule, text) for rule in self.against for text in rule.metrics]
        rows = [
            {
                "task": rule.task,
                "metric": text,
                "verdict": rule.verdict,
                "reason": rule.explanation(self.facts),
                "companions": list(rule.companions),
                "rule": rule.id,
                "source": rule.source,
            }
            for rule, text in (*advised, *against)
        ]
        return pl.DataFrame(rows, schema=ADVICE_SCHEMA)

    def cautions(self) -> list[str]:
        """Metrics of each rule against some, and the reason."""
        return [f"{names_text(rule.metrics)}: {rule.caution(self.facts)}" for rule in self.against]


def advise(facts: TableFacts, goals: Sequence[Goal] = ()) -> Advice:
    """Choose metrics for a table, those of goals first.

    One that a rule advises against is chosen only beside a companion of the rule.
    """
    names = registry.names(facts.task) if facts.task in registry.tasks() else ()
    advised = [
        (rule, metric_from_text(facts.task, text))
        for rule in (*(rule for goal in goals for rule in goal.rules_of(facts)), *rules_for(facts, "advise"))
        for text in rule.texts(facts)
        if parse_call(text).name in names
    ]
    against = rules_for(facts, "advise_against")
    if facts.called:
        against = tuple(rule for rule in against if not _is_of_probabilities(rule))
    metrics = {metric.text: metric for _, metric in advised}
    for rule in against:
        for metric in rule.targets(metrics.values()):
            del metrics[metric.text]
    reasons: dict[str, str] = {}
    for rule, metric in advised:
        if metric.text in metrics:
            reasons.setdefault(metric.text, rule.explanation(facts))
    return Advice(facts, reasons, tuple((rule, metric.text) for rule, metric in advised), against)


def _is_of_probabilities(rule: AdviceRule) -> bool:
    return all(registry.find(rule.task, parse_call(text).name).probability for text in rule.metrics)


def gate_examples(
    texts: Sequence[str], facts: TableFacts, models: Sequence[str] = ()
) -> Iterator[tuple[str, str]]:
    """Gates of the first metrics with a limit, and of the second model against the first; with reasons."""
    gates = [gate for text in texts if (gate := _chance_gate(text, facts)) is not None]
    primary = [text for text in texts if parse_call(text).name in (*_CHANCE, *_OWN)]
    higher = [text for text in primary if _direction(facts.task, text) == "higher" and _is_single(text)]
    if not gates and higher:
        gates = [
            (f"{{metric: {yaml_scalar(higher[0])}, at_least: 0.5, using: interval}}", "a limit of your own")
        ]
    yield from gates[:_MOST]
    singles = [text for text in primary if _is_single(text)]
    if len(models) > 1 and singles:
        rival, challenger = map(yaml_scalar, models[:2])
        yield (
            f"{{metric: {yaml_scalar(singles[0])}, model: {challenger}, against: {rival}, no_worse_than: 0}}",
            "as good as the first model",
        )


def _chance_gate(text: str, facts: TableFacts) -> tuple[str, str] | None:
    call = parse_call(text)
    limit, reason = _CHANCE.get(call.name, (None, _BETTER))
    if call.name == "balanced_accuracy" and facts.task == "multiclass":
        limit = None if facts.classes is None else round(1 / facts.classes, 4)
    if call.name == "average_precision" and facts.task == "binary" and facts.prevalence is not None:
        limit = float(f"{facts.prevalence:.3g}")
        reason = "surely better than chance, which has the prevalence"
    if call.name == "calibration_ratio":
        return f"{{metric: {text}, at_least: 0.9, at_most: 1.1}}", "right on average, give or take a tenth"
    if call.name == "crossing_rate":
        return f"{{metric: {text}, at_most: 0}}", "no quantiles cross"
    level = call.parameters.get("level")
    if call.name == "interval_coverage" and isinstance(level, float):
        least = number_text(round(level - 0.05, 6))
        return (
            f"{{metric: {yaml_scalar(text)}, at_least: {least}}}",
            "intervals hold nearly as often as they say",
        )
    if limit is None or not _is_single(text):
        return None
    return f"{{metric: {yaml_scalar(text)}, at_least: {number_text(limit)}, using: interval}}", reason


def _is_single(text: str) -> bool:
    """Whether a metric has one value for a slice."""
    return parse_call(text).parameters.get("average") != "none"


def _direction(task: str, text: str) -> str:
    return registry.find(task, parse_call(text).name).direction
