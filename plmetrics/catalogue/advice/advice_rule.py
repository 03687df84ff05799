"""A rule of advice: which metrics suit a table, or mislead on it, and why."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from plmetrics.core.text import parse_call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from plmetrics.catalogue.advice.table_facts import TableFacts
    from plmetrics.catalogue.metric import Metric

Verdict = Literal["advise", "advise_against"]

_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {">=": operator.ge, ">": operator.gt, "<": operator.lt, "<=": operator.le, "=": operator.eq}
)
_LISTED = 3


@dataclass(frozen=True, slots=True)
class Rule:
    """One piece of advice, whose `id` begins with its task.

    `metrics` are metric texts without blanks: parameters named there must agree, others may be anything. An advised
    metric's text may hold figures in braces, as the reason may. `when` is the condition on the facts, which cards of
    metrics print: terms `FACT OPERATOR NUMBER` joined by `and`, false where a fact is unknown. `companions` are
    metrics beside which one that is advised against does no harm.
    """

    id: str
    verdict: Verdict
    metrics: tuple[str, ...]
    when: str
    reason: str
    source: str
    companions: tuple[str, ...] = ()

    @property
    def task(self) -> str:
        """The task it is about."""
        return self.id.partition("/")[0]

    def holds(self, facts: TableFacts) -> bool:
        """Whether the condition is true of a table."""
        return facts.task == self.task and all(_true(term, facts) for term in self.when.split(" and "))

    def explanation(self, facts: TableFacts) -> str:
        """The reason, with the figures."""
        return self.reason.format(**facts.texts())

    def caution(self, facts: TableFacts) -> str:
        """The reason, and the companions to read beside a metric."""
        advice = f"; read {names_text(self.companions, 'or')} beside it" if self.companions else ""
        return self.explanation(facts) + advice

    def texts(self, facts: TableFacts) -> tuple[str, ...]:
        """The metrics, with the figures."""
        figures = {name: text.replace(",", "") for name, text in facts.texts().items()}
        return tuple(metric.format(**figures) for metric in self.metrics)

    def affected(self, metrics: Iterable[Metric]) -> list[Metric]:
        """The metrics that the rule names, if none of its companions is among them."""
        candidates = list(metrics)
        if any(matches(pattern, metric) for pattern in self.companions for metric in candidates):
            return []
        return [metric for metric in candidates if any(matches(pattern, metric) for pattern in self.metrics)]


def matches(pattern: str, metric: Metric) -> bool:
    """Whether a metric has the name of a rule's pattern, and the parameters that the pattern gives.

    >>> from plmetrics.catalogue import registry
    >>> metric = registry.create("binary", "precision", {"threshold": 0.3})
    >>> matches("precision", metric), matches("precision(threshold=0.5)", metric)
    (True, False)
    """
    call = parse_call(pattern)
    return metric.name == call.name and all(
        getattr(metric, key, None) == value for key, value in call.parameters.items()
    )


def names_text(texts: Sequence[str], last: str = "and") -> str:
    """The first three names of a list, in words."""
    listed = list(texts[:_LISTED])
    more = len(texts) - len(listed)
    if more and last == "and":
        return f"{', '.join(listed)} and {more} more"
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} {last} {listed[-1]}"


def _true(term: str, facts: TableFacts) -> bool:
    fact, sign, number = term.split()
    value = getattr(facts, fact)
    return value is not None and _OPERATORS[sign](value, float(number))


def advise(name: str, metrics: str, when: str, reason: str, source: str) -> Rule:
    """A rule that advises metrics, whose texts are set apart by blanks."""
    return Rule(name, "advise", tuple(metrics.split()), when, reason, source)
