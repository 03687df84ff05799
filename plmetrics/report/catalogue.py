"""Registered metrics as text: a list of them, and the card of one."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from rich.cells import cell_len
from rich.text import Text

from plmetrics.catalogue.advice.advice_rules import matching_rules
from plmetrics.catalogue.advice.goals import GOALS
from plmetrics.catalogue.parameters import parameter_name
from plmetrics.catalogue.parameters import parameters as parameters_of
from plmetrics.catalogue.synonyms.table import Synonym, synonyms
from plmetrics.core.names import number_text, plain_text
from plmetrics.report.layout import (
    FAINT,
    GAP,
    INDENT,
    definition_list,
    flow,
    heading,
    join_blocks,
    to_text,
    wrap,
)
from plmetrics.report.numbers import plural
from plmetrics.states.sums import View

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric

MetricClass = type["Metric"]
_NAME = 36
_BESIDE = 40
_VERDICTS = {"advise": "suits", "advise_against": "misleads"}
_WORDS = {"higher": "higher", "lower": "lower", "zero": "near 0", "none": "-"}
_COLUMNS = ("metric", "also", "formula", "undefined", "range", "better", "use when")


def describe(metric: MetricClass) -> dict[str, Any]:
    """The facts of a metric, ready for JSON: infinite ends of the range are null."""
    return {
        "task": metric.task,
        "name": metric.name,
        "aliases": [*metric.aliases, *metric.presets],
        "family": metric.family,
        "parameters": [_parameter(field) for field in dataclasses.fields(metric)],
        "range": [end if abs(end) < float("inf") else None for end in metric.range],
        "direction": metric.direction,
        "threshold_free": metric.threshold_free,
        "handles_imbalance": metric.handles_imbalance,
        "proper": metric.proper,
        "interpretable": metric.interpretable,
        "probability": metric.probability,
        "convention": _convention(metric),
        "description": description(metric),
        "formula": metric.formula,
        "use_when": metric.use_when,
        "beware": metric.beware,
        "reference": metric.reference,
        "advice": [
            {"rule": rule.id, "verdict": rule.verdict, "when": rule.when, "source": rule.source}
            for rule in matching_rules(metric.task, metric.name)
        ],
    }


def csv_text(metrics: Sequence[MetricClass]) -> str:
    """The facts of metrics as CSV, a row a metric; lists are joined by `; `."""
    flat = [{fact: _cell(value) for fact, value in describe(metric).items()} for metric in metrics]
    return pl.DataFrame(flat, infer_schema_length=None).write_csv()


def list_text(metrics: Sequence[MetricClass], width: int = 100, *, color: bool = False) -> str:
    """One entry a metric, by task: parameters with defaults, range, better direction, and use."""
    blocks = []
    for task in dict.fromkeys(metric.task for metric in metrics):
        of_task = [metric for metric in metrics if metric.task == task]
        lines = heading(task, plural(len(of_task), "metric"), width)
        longest = max(cell_len(_signature(metric)) for metric in of_task)
        for metric in of_task:
            lines += _entry(metric, min(longest, _NAME), width)
        blocks.append(lines)
    return to_text(join_blocks(blocks), width, color=color)


def card_text(metric: MetricClass, width: int = 100, *, color: bool = False) -> str:
    """Card of one metric with all its facts."""
    lines = heading(_signature(metric), metric.task, width)
    lines += wrap(Text(description(metric)), width)
    facts = [
        ("formula", metric.formula),
        ("task", metric.task),
        ("family", metric.family),
        ("aliases", ", ".join(_aliases(metric))),
        ("elsewhere", ", ".join(dict.fromkeys(synonym.name for synonym in names_elsewhere(metric)))),
        ("undefined", ", ".join(undefined_statuses(metric))),
        ("range", _range(metric)),
        ("better", _WORDS[metric.direction]),
        ("threshold-free", _yes(metric.threshold_free)),
        ("handles imbalance", _yes(metric.handles_imbalance)),
        ("proper", metric.proper),
        ("interpretable", _yes(metric.interpretable)),
        ("needs", "probabilities: scores in [0, 1]" if metric.probability else ""),
    ]
    parameters = [(_default(field), _meaning(field)) for field in dataclasses.fields(metric)]
    rules = [
        (_VERDICTS[rule.verdict], f"{rule.when} ({rule.source})")
        for rule in matching_rules(metric.task, metric.name)
    ]
    words = [("use when", metric.use_when), ("beware", metric.beware), ("reference", metric.reference)]
    parts = [lines, definition_list([fact for fact in facts if fact[1]], width)]
    if parameters:
        parts.append(
            heading("Parameters", "conventions, with their defaults", width)
            + definition_list(parameters, width)
        )
    if rules:
        parts.append(heading("Advice", "by plmetrics suggest", width) + definition_list(rules, width))
    return to_text(join_blocks([*parts, definition_list(words, width)]), width, color=color)


def markdown_text(metrics: Sequence[MetricClass]) -> str:
    """A Markdown table for each task, a row a metric, as the documentation shows it."""
    blocks = []
    for task in dict.fromkeys(metric.task for metric in metrics):
        rows = [_COLUMNS, ["---"] * len(_COLUMNS)]
        rows += [_markdown_row(metric) for metric in metrics if metric.task == task]
        table = "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
        blocks.append(f"Task `{task}`:\n\n{table}\n")
    return "\n".join(blocks)


def goals_text() -> str:
    """The goals of an evaluation, a line each: name, question, tasks."""
    width = max(len(goal.name) for goal in GOALS)
    lines = [f"{goal.name:<{width}}  {goal.question} ({', '.join(goal.tasks)})" for goal in GOALS]
    return "\n".join(lines) + "\n"


def goals_json() -> str:
    """The goals of an evaluation as JSON: name, kind, question, tasks."""
    rows = [
        {"goal": goal.name, "kind": goal.kind, "question": goal.question, "tasks": goal.tasks}
        for goal in GOALS
    ]
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def names_elsewhere(metric: MetricClass) -> Iterator[Synonym]:
    """Names in other libraries of a metric, or of a metric with some of its parameters."""
    for synonym in synonyms(metric.task):
        if synonym.is_equal and synonym.metric.partition("(")[0] in (metric.name, *metric.aliases):
            yield synonym


def undefined_statuses(metric: MetricClass) -> tuple[str, ...]:
    """Statuses in place of a value, of any option of a parameter, besides those of every metric."""
    with np.errstate(all="ignore"):
        statuses = [status for example in _examples(metric) for status, _ in example.undefined(_AnyState({}))]
    return tuple(status for status in dict.fromkeys(statuses) if status != "no_rows")


def _examples(metric: MetricClass) -> Iterator[Metric]:
    """The metric with its defaults, and with each option of a parameter."""
    fields = dataclasses.fields(metric)
    defaults = {
        field.name: 0.5 if field.default is dataclasses.MISSING else field.default for field in fields
    }
    options = [{field.name: option} for field in fields for option in field.metadata.get("options", ())]
    for changed in ({}, *options):
        example = object.__new__(metric)
        for name, argument in (defaults | changed).items():
            object.__setattr__(example, name, argument)
        yield example


class _AnyState(View):
    """State with ones in every array, for the undefined statuses of a metric by name."""

    def __getattr__(self, name: str) -> Any:
        return np.ones(3)


def _markdown_row(metric: MetricClass) -> list[str]:
    cells = [
        f"`{_signature(metric, optional=True)}`",
        ", ".join(f"`{alias}`" for alias in _aliases(metric)),
        f"`{metric.formula}`",
        ", ".join(f"`{status}`" for status in undefined_statuses(metric)),
        _range(metric),
        _WORDS[metric.direction],
        metric.use_when,
    ]
    return [cell.replace("|", "\\|") for cell in cells]


def _aliases(metric: MetricClass) -> list[str]:
    """Other names, with the parameters they set."""
    presets = metric.presets.items()
    return [
        *metric.aliases,
        *(
            f"{name} ({', '.join(f'{key}={plain_text(value)}' for key, value in arguments.items())})"
            for name, arguments in presets
        ),
    ]


def _entry(metric: MetricClass, column: int, width: int) -> list[Text]:
    """The facts, and `use when` beside them where there is room, else below."""
    signature = _signature(metric)
    facts = Text(f"{_range(metric):<11}  {_WORDS[metric.direction]:<6}", FAINT)
    start = INDENT + column + GAP + facts.cell_len + GAP
    head = Text(" " * INDENT + signature.ljust(column) + " " * GAP) + facts
    use = Text(metric.use_when)
    if cell_len(signature) > column or width - start < _BESIDE:
        above = [head] if head.cell_len <= width else flow([Text(signature), facts], width)
        return above + wrap(use, width, indent=3 * INDENT)
    first, *more = wrap(use, width, indent=start)
    return [head + first[head.cell_len :], *more]


def _signature(metric: MetricClass, *, optional: bool = False) -> str:
    """Name and parameters with their defaults; with `optional`, in brackets those without a default."""
    fields = parameters_of(metric).values()
    parameters = [
        f"[{parameter_name(field)}]" if field.default is None else _default(field)
        for field in fields
        if optional or field.default is not None
    ]
    return f"{metric.name}({', '.join(parameters)})" if parameters else metric.name


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is None or field.default is dataclasses.MISSING:
        return parameter_name(field)
    return f"{parameter_name(field)}={plain_text(field.default)}"


def _meaning(field: dataclasses.Field[Any]) -> str:
    need = {dataclasses.MISSING: "; required", None: "; optional"}
    needed = next((word for default, word in need.items() if field.default is default), "")
    return f"{field.metadata['doc']} ({field.metadata.get('domain') or field.type}{needed})"


def _convention(metric: MetricClass) -> str:
    """Conventions of a metric; rival definitions are other values of the parameters."""
    conventions = [f"{_default(field)}: {_meaning(field)}" for field in dataclasses.fields(metric)]
    return "; ".join(conventions) or "one definition, without parameters"


def _cell(value: Any) -> Any:
    """A fact as one cell: the names of parameters, the ends of the range, the rules of advice."""
    if not isinstance(value, list):
        return value
    parts = [item.get("name", item.get("rule")) if isinstance(item, dict) else item for item in value]
    return "; ".join("" if part is None else plain_text(part) for part in parts)


def _parameter(field: dataclasses.Field[Any]) -> dict[str, Any]:
    required = field.default is dataclasses.MISSING
    return {
        "name": parameter_name(field),
        "type": str(field.type),
        "required": required,
        "default": None if required else field.default,
        "domain": field.metadata.get("domain", ""),
        "doc": field.metadata.get("doc", ""),
    }


def description(metric: Metric | MetricClass) -> str:
    """Meaning of a metric, from its documentation, in one paragraph."""
    return " ".join((metric.__doc__ or "").partition(">>>")[0].split())


def _range(metric: MetricClass) -> str:
    low, high = map(number_text, metric.range)
    return f"{low} to {high}"


def _yes(fact: bool) -> str:  # noqa: FBT001
    return "yes" if fact else "no"
