"""Advice on the metrics of a suite, by the rules of the catalogue: what to ask for, and what not to rely on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.catalogue import registry
from plmetrics.catalogue.advice import rules_for
from plmetrics.core.text import parse_call
from plmetrics.suite.problems import metric_from_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from plmetrics.catalogue.known import Known
    from plmetrics.catalogue.metric import Metric
    from plmetrics.catalogue.rule import Rule
    from plmetrics.suite.model import Suite

_SHOWN = 3

_TEXT = pl.String()
ADVICE_SCHEMA = pl.Schema(
    {
        "task": _TEXT,
        "metric": _TEXT,
        "verdict": _TEXT,
        "reason": _TEXT,
        "companions": pl.List(_TEXT),
        "rule": _TEXT,
        "source": _TEXT,
    }
)


@dataclass(frozen=True, slots=True)
class Advice:
    """What the rules say of a table. `chosen` are the metric texts for a suite, each with its reason."""

    known: Known
    chosen: tuple[tuple[str, str], ...]
    against: tuple[Rule, ...]

    def frame(self) -> pl.DataFrame:
        """A row per metric and rule: `advise` where it stands in the suite, `advise_against` with the reason."""
        rows = [
            _row(rule, self.known, text) for rule, text in _advised(self.known) if text in dict(self.chosen)
        ]
        rows += [_row(rule, self.known, text) for rule in self.against for text in rule.metrics]
        return pl.DataFrame(rows, schema=ADVICE_SCHEMA)

    def warnings(self) -> list[tuple[str, str]]:
        """The metrics of each rule that advises against some, and the reason."""
        return [(_names(rule.metrics), _reason(rule, self.known)) for rule in self.against]


def advise(known: Known) -> Advice:
    """Choose metrics for a table; one that a rule advises against is chosen only beside a companion of the rule."""
    against = rules_for(known, "advise_against")
    offered: dict[str, str] = {}
    for rule, text in _advised(known):
        offered.setdefault(text, rule.said(known))
    chosen = {text: metric_from_text(known.task, text) for text in offered}
    for rule in against:
        beside = [metric for metric in chosen.values() if _any(rule.companions, metric)]
        misled = [
            text for text, metric in chosen.items() if _any(rule.metrics, metric) and metric not in beside
        ]
        if not beside:
            chosen = {text: metric for text, metric in chosen.items() if text not in misled}
    return Advice(known, tuple((text, offered[text]) for text in chosen), against)


def misleading(suite: Suite, known: Known) -> list[str]:
    """Warnings of a suite that relies on a metric which misleads on its table.

    It relies on a metric that it asks for without a companion that the rule names, or judges by a gate without one.
    """
    gated = [gate.metric for gate in suite.gates]
    warnings = []
    for rule in rules_for(known, "advise_against"):
        relied = _relied(rule, suite.metrics)
        judged = [metric for metric in _relied(rule, gated) if metric not in relied]
        for metrics, start in ((relied, ""), (judged, "a gate on ")):
            if metrics:
                named = _names(tuple(dict.fromkeys(metric.text for metric in metrics)))
                warnings.append(f"{start}{named} may mislead: {_reason(rule, known)} (rule {rule.id})")
    return warnings


def matches(pattern: str, metric: Metric) -> bool:
    """Whether a rule's pattern speaks of a metric: names agree, and the parameters that the pattern names.

    >>> metric = registry.create("binary", "precision", {"threshold": 0.3})
    >>> matches("precision", metric), matches("precision(threshold=0.5)", metric)
    (True, False)
    """
    call = parse_call(pattern)
    return metric.name == call.name and all(
        getattr(metric, key, None) == value for key, value in call.parameters.items()
    )


def _advised(known: Known) -> list[tuple[Rule, str]]:
    """The metrics that rules advise, by canonical text, each with its rule; those that are not there are left out."""
    names = registry.names(known.task) if known.task in registry.tasks() else ()
    return [
        (rule, metric_from_text(known.task, text).text)
        for rule in rules_for(known, "advise")
        for text in rule.texts(known)
        if parse_call(text).name in names
    ]


def _any(patterns: Iterable[str], metric: Metric) -> bool:
    return any(matches(pattern, metric) for pattern in patterns)


def _relied(rule: Rule, metrics: Sequence[Metric]) -> list[Metric]:
    """The metrics that a rule speaks of, if no companion stands beside them."""
    if any(_any(rule.companions, metric) for metric in metrics):
        return []
    return [metric for metric in metrics if _any(rule.metrics, metric)]


def _reason(rule: Rule, known: Known) -> str:
    reason = rule.said(known)
    if not rule.companions:
        return reason
    return f"{reason}; read {_names(rule.companions, 'or')} beside it"


def _names(texts: Sequence[str], last: str = "and") -> str:
    shown = list(texts[:_SHOWN])
    more = len(texts) - len(shown)
    if more and last == "and":
        return f"{', '.join(shown)} and {more} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {last} {shown[-1]}"


def _row(rule: Rule, known: Known, text: str) -> dict[str, object]:
    return {
        "task": rule.task,
        "metric": text,
        "verdict": rule.verdict,
        "reason": rule.said(known),
        "companions": list(rule.companions),
        "rule": rule.id,
        "source": rule.source,
    }
