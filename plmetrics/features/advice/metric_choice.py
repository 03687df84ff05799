"""The choice of metrics for a table by the rules of advice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.catalogue import registry
from plmetrics.catalogue.advice.advice_rule import Rule, names_text
from plmetrics.catalogue.advice.advice_rules import rules_for
from plmetrics.core.text import parse_call
from plmetrics.suite.reader import metric_from_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.catalogue.advice.advice_rule import TableFacts
    from plmetrics.catalogue.advice.goals import Goal

_TEXTS = ("task", "metric", "verdict", "reason", "companions", "rule", "source")
ADVICE_SCHEMA = pl.Schema(
    {name: pl.List(pl.String()) if name == "companions" else pl.String() for name in _TEXTS}
)


@dataclass(frozen=True, slots=True)
class Advice:
    """Advice on a table. `chosen` are the metric texts for a suite, each with its reason."""

    facts: TableFacts
    chosen: dict[str, str]
    advised: tuple[tuple[Rule, str], ...]
    against: tuple[Rule, ...]

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
        """The metrics of each rule that advises against some, and the reason."""
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
        for metric in rule.affected(metrics.values()):
            del metrics[metric.text]
    reasons: dict[str, str] = {}
    for rule, metric in advised:
        if metric.text in metrics:
            reasons.setdefault(metric.text, rule.explanation(facts))
    return Advice(facts, reasons, tuple((rule, metric.text) for rule, metric in advised), against)


def _is_of_probabilities(rule: Rule) -> bool:
    """Whether a rule speaks of metrics that read probabilities alone."""
    return all(registry.find(rule.task, parse_call(text).name).probability for text in rule.metrics)
