"""Writes the generated parts of the pages, and the types of keyword arguments: python -m docs.generate.

With --check it names the files that are out of date.

A part stands between `<!-- generated: KIND NAMES -->` and `<!-- end -->`. Its kind is one of `GENERATORS`; the names
are its arguments.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import polars as pl
import typer
import yaml

from docs import keywords
from docs.families import family_table
from plmetrics.catalogue import registry
from plmetrics.catalogue.advice.goals import GOALS
from plmetrics.catalogue.parameters import parameter_name
from plmetrics.catalogue.synonyms.table import synonyms
from plmetrics.cli.app import app
from plmetrics.core.results import FURTHER_TABLES, TABLES
from plmetrics.report.catalogue import describe, markdown_text, undefined_statuses
from plmetrics.suite.schema import json_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from plmetrics.catalogue.metric import Metric

FOLDER = Path(__file__).parent
PART = re.compile(r"(<!-- generated: (.+?) -->\n)(.*?)(<!-- end -->\n)", re.DOTALL)
TYPES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "array": "list",
    "object": "mapping",
}
BETTER = {"higher": "higher is better", "lower": "lower is better", "zero": "best near 0"}


def pages() -> Iterable[Path]:
    """The pages, in order of their paths."""
    return sorted(FOLDER.rglob("*.md"))


def updated(page: str) -> str:
    """A page with its generated parts written anew."""
    return PART.sub(lambda part: f"{part[1]}\n{generated(*part[2].split())}\n{part[4]}", page)


def generated(kind: str, *names: str) -> str:
    """A generated part, which ends with a line break."""
    return GENERATORS[kind](*names)


def catalogue_table(*tasks: str) -> str:
    """The metrics of some tasks, a table a task."""
    return markdown_text([metric for metric in _metrics() if metric.task in tasks])


def metric_cards(task: str, *modules: str) -> str:
    """The cards of the metrics of a task that some modules of the catalogue define."""
    chosen = [
        metric
        for metric in _metrics()
        if metric.task == task and metric.__module__.endswith(tuple(_ends(modules)))
    ]
    return "\n".join(map(_card, chosen))


def suite_keys(model: str, prefix: str = "") -> str:
    """The keys of the suite, or of one of its sections, with what they may be and mean."""
    schema = _schema()
    section = schema if model == "Suite" else schema["$defs"][model]
    required = section.get("required", ())
    rows = [
        (
            f"`{prefix}{key}`",
            _values(shape),
            _default(shape, required=key in required),
            shape.get("description", ""),
        )
        for key, shape in section["properties"].items()
    ]
    return _table(("key", "value", "default", "meaning"), rows)


def result_columns(table: str) -> str:
    """The columns of a result table, with their types and meanings."""
    meanings, schema = column_meanings(table), {**TABLES, **FURTHER_TABLES}[table]
    rows = [(f"`{name}`", _type(dtype), meanings[name]) for name, dtype in schema.items()]
    return _table(("column", "type", "meaning"), rows)


def column_meanings(table: str) -> Mapping[str, str]:
    """What the columns of a result table mean; `shared` are those of several tables."""
    meanings = _meanings()
    return meanings["shared"] | meanings[table]


def command_options(*commands: str) -> str:
    """The help of commands: what they do, their arguments and options."""
    group: Any = typer.main.get_command(app)
    return "\n".join(_command(name, group.commands[name]) for name in commands or group.commands)


def synonym_table(library: str, *tasks: str) -> str:
    """The names of a library that are taken as metrics, by task; then those that are not, and why."""
    entries = [
        (task, synonym)
        for task in tasks or registry.tasks()
        for synonym in synonyms(task)
        if synonym.library == library
    ]
    columns = 3 - (len(tasks) == 1)
    equivalents: dict[tuple[str, ...], list[str]] = {}
    neighbours: dict[tuple[str, ...], list[str]] = {}
    for task, synonym in entries:
        metric = f"`{synonym.metric}`" if synonym.metric else ""
        facts = (metric, f"`{task}`")[: columns - 1]
        rows, key = (equivalents, facts) if synonym.is_equal else (neighbours, (*facts, synonym.difference))
        rows.setdefault(key, []).append(f"`{synonym.name}`")
    head = (library, "plmetrics", "task")[:columns]
    first = _table(head, [(", ".join(names), *facts) for facts, names in equivalents.items()])
    others = _table(
        (*head, "what differs"), [(", ".join(names), *facts) for facts, names in neighbours.items()]
    )
    return f"{first}\nNot taken:\n\n{others}" if neighbours else first


def goal_table() -> str:
    """The goals of advice, with the metrics of each by task."""
    rows = []
    for goal in GOALS:
        texts = {
            task: dict.fromkeys(
                _goal_metric(text) for rule in goal.rules if rule.task == task for text in rule.metrics
            )
            for task in goal.tasks
        }
        cells = "<br>".join(f"{task}: {', '.join(names)}" for task, names in texts.items())
        rows.append((f"`{goal.name}`", goal.question, cells))
    return _table(("goal", "question or domain", "metrics, where the table has what they need"), rows)


def _goal_metric(text: str) -> str:
    """A metric of a goal, where figures of the table stand for `...`."""
    return "`expected_cost`" if text.startswith("expected_cost") else f"`{re.sub('{[a-z_]+}', '...', text)}`"


GENERATORS: dict[str, Callable[..., str]] = {
    "metrics": catalogue_table,
    "cards": metric_cards,
    "keys": suite_keys,
    "columns": result_columns,
    "commands": command_options,
    "names": synonym_table,
    "families": family_table,
    "goals": goal_table,
}


def main() -> None:
    """Write what is generated, or exit with the names of the files that are out of date."""
    texts = {page: updated(page.read_text("utf-8")) for page in pages()} | keywords.module_texts()
    late = {file: text for file, text in texts.items() if file.read_text("utf-8") != text}
    if late and "--check" in sys.argv[1:]:
        sys.exit("\n".join(["out of date; run python -m tasks pages:", *map(str, late)]))
    for file, text in late.items():
        file.write_text(text, "utf-8")


@cache
def _schema() -> dict[str, Any]:
    return json_schema()


@cache
def _meanings() -> dict[str, dict[str, str]]:
    meanings: dict[str, dict[str, str]] = yaml.safe_load((FOLDER / "columns.yaml").read_text("utf-8"))
    return meanings


def _metrics() -> list[type[Metric]]:
    """The metrics of plmetrics; others may be registered beside them."""
    return [metric for metric in registry.classes() if metric.__module__.startswith("plmetrics.")]


def _ends(modules: Iterable[str]) -> Iterable[str]:
    return (f".{module}" for module in modules)


def _card(metric: type[Metric]) -> str:
    """A heading with the metric's name, its meaning, and its facts as a list."""
    facts: Mapping[str, Any] = describe(metric)
    needed = [parameter["name"] for parameter in facts["parameters"] if parameter["required"]]
    signature = f"{metric.name}({', '.join(needed)})" if needed else metric.name
    aliases = ", ".join(f"`{alias}`" for alias in facts["aliases"])
    lines = [f"`{signature}`{f', also {aliases}' if aliases else ''}. {_one_line(facts['description'])}", ""]
    lines += [f"* {fact}" for fact in (*_facts(metric), *_parameters(metric), *_advice(facts))]
    return "\n".join([f"## {metric.name}", "", *lines, ""])


def _facts(metric: type[Metric]) -> Iterable[str]:
    low, high = metric.range
    words = [f"range {low:g} to {high:g}", BETTER.get(metric.direction, "neither higher nor lower is better")]
    words += ["no threshold"] if metric.threshold_free else []
    words += ["for rare classes as well"] if metric.handles_imbalance else []
    words += [f"proper: {metric.proper}"] if metric.proper not in {"", "no"} else []
    words += ["in units that people know"] if metric.interpretable else []
    words += ["needs probabilities"] if metric.probability else []
    yield f"Formula: `{metric.formula}`"
    yield f"Facts: {'; '.join(words)}."
    undefined = undefined_statuses(metric)
    if undefined:
        yield f"Undefined: {', '.join(f'`{status}`' for status in undefined)}"
    yield f"Use when: {metric.use_when}"
    if metric.beware:
        yield f"Beware: {metric.beware}"
    if metric.reference:
        yield f"Source: {metric.reference}"


def _parameters(metric: type[Metric]) -> Iterable[str]:
    for field in dataclasses.fields(metric):
        default = "" if field.default in {dataclasses.MISSING, None} else f" [{_word(field.default)}]"
        domain = field.metadata.get("domain") or field.type
        yield f"`{parameter_name(field)}`{default}: {field.metadata['doc']} ({domain})"


def _advice(facts: Mapping[str, Any]) -> Iterable[str]:
    for verdict, word in (("advise", "Suits"), ("advise_against", "Misleads")):
        rules = [rule for rule in facts["advice"] if rule["verdict"] == verdict]
        cases = [f"where `{rule['when']}` ({rule['source']})" for rule in rules]
        if cases:
            yield f"{word} {'; '.join(cases)}"


def _values(shape: Mapping[str, Any]) -> str:
    """What a key may be."""
    found = dict.fromkeys(_kinds(shape))
    return ", ".join(kind for kind in found if kind) or "any"


def _kinds(shape: Mapping[str, Any]) -> Iterable[str]:
    if "anyOf" in shape:
        for option in shape["anyOf"]:
            yield from _kinds(option)
    elif "enum" in shape:
        yield from (f"`{value}`" for value in shape["enum"])
    elif "const" in shape:
        yield f"`{shape['const']}`"
    elif "$ref" in shape:
        yield "mapping"
    else:
        types = shape.get("type", ())
        yield from (TYPES.get(name, "") for name in ([types] if isinstance(types, str) else types))


def _default(shape: Mapping[str, Any], *, required: bool) -> str:
    default = shape.get("default")
    if required:
        return "required"
    return "" if default is None or default in ([], {}) else f"`{_word(default)}`"


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_word, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_word(item)}' for key, item in value.items())}}}"
    return "null" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _type(dtype: pl.DataType) -> str:
    return "list of (column, value)" if dtype == pl.List else str(dtype)


def _command(name: str, command: Any) -> str:
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    usage = " ".join(
        ["plmetrics", name, "[OPTIONS]", *(param.metavar or param.name.upper() for param in arguments)]
    )
    rows = [
        (_names(param), ("required. " if param.required else "") + (param.help or ""))
        for param in command.params
    ]
    paragraphs = [_one_line(paragraph) for paragraph in command.help.split("\n\n")]
    text = "\n\n".join(paragraphs)
    return f"## {name}\n\n`{usage}`\n\n{text}\n\n{_table(('option', 'meaning'), rows)}"


def _names(param: Any) -> str:
    if param.param_type_name == "argument":
        return f"`{param.metavar or param.name.upper()}`"
    names = " / ".join(", ".join(options) for options in (param.opts, param.secondary_opts) if options)
    value = param.metavar or "|".join(_choices(param.type_descriptor.annotation))
    return f"`{names}{f' {value}' if value else ''}`"


def _choices(annotation: Any) -> Iterator[str]:
    """The words that an option takes, where it takes some only."""
    if get_origin(annotation) is Literal:
        yield from map(str, get_args(annotation))
    else:
        for part in get_args(annotation):
            yield from _choices(part)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [
        head,
        ["---"] * len(head),
        *([_one_line(cell).replace("|", "\\|") for cell in row] for row in rows),
    ]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _one_line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    main()
