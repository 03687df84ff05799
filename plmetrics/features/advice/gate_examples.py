"""Examples of gates for metrics that were chosen: limits that chance sets, for the reader to raise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.catalogue import registry
from plmetrics.core.names import number_text
from plmetrics.core.text import parse_call
from plmetrics.features.advice.yaml_lines import yaml_scalar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from plmetrics.catalogue.advice.advice_rule import TableFacts

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


def gate_examples(
    texts: Sequence[str], facts: TableFacts, models: Sequence[str] = ()
) -> Iterator[tuple[str, str]]:
    """Gates of the first metrics that have a limit, and of the second model against the first; with reasons."""
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
    """A gate at the value of chance."""
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
