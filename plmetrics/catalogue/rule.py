"""A rule of advice: which metrics suit a table, or mislead on it, and why.

A condition is read against `plmetrics.catalogue.known.Known`: terms `FACT OPERATOR NUMBER` joined by `and`. It holds
only where every fact in it is known.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from plmetrics.catalogue.known import Known

Verdict = Literal["advise", "advise_against"]

_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {">=": operator.ge, ">": operator.gt, "<": operator.lt, "<=": operator.le, "=": operator.eq}
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One piece of advice, whose `id` begins with its task.

    `metrics` are metric texts without blanks: parameters named there must agree, others may be anything.
    An advised metric's text may hold figures in braces, as the reason may. `companions` are metrics beside which one
    that is advised against does no harm.
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

    def holds(self, known: Known) -> bool:
        """Whether the rule speaks of a table with these figures."""
        return known.task == self.task and all(_holds(term, known) for term in self.when.split(" and "))

    def said(self, known: Known) -> str:
        """The reason, with the figures."""
        return self.reason.format(**known.texts())

    def texts(self, known: Known) -> tuple[str, ...]:
        """The metrics, with the figures."""
        figures = {name: text.replace(",", "") for name, text in known.texts().items()}
        return tuple(metric.format(**figures) for metric in self.metrics)


def _holds(term: str, known: Known) -> bool:
    fact, sign, number = term.split()
    value = known.figure(fact)
    return value is not None and _OPERATORS[sign](value, float(number))
