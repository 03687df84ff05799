"""Metrics defined by a suite, from their mappings: aggregates of rows, formulas, metrics over slices."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from plmetrics.catalogue import registry
from plmetrics.catalogue.composite_metrics import OVER, Formula, OverSlices, is_across_slices
from plmetrics.catalogue.custom import AGGREGATES, Custom, CustomQuantile, CustomRatio, parse_row_expression
from plmetrics.catalogue.metric import Metric
from plmetrics.core.names import SuitePath
from plmetrics.core.rowsql import compile_row, not_a_condition
from plmetrics.suite.problems import Findings, message_text, read_expression

KINDS = (*AGGREGATES, "quantile", "formula", "over")
DEFINITION_KEYS = ("name", *KINDS, "where", "q", "direction", "slices")
_EVERYWHERE = ("name", "direction", "slices")
_OWN = {"formula": (), "over": (), "quantile": ("where", "q")}
_DIRECTIONS = ("higher", "lower", "zero", "none")
_NAME = re.compile(r"[^\W\d]\w*")
_NO_NAME = re.compile(r"""\"[^\"]*\"|'[^']*'|\b(?:(?P<name>map|\w+(?=@\d))(?:@\d+)?)\b""")
_CALL = re.compile(r"([^\W\d]\w*)\s*\(")


def kind_of(spec: object) -> str | None:
    """Kind of custom metric of a mapping, None for other mappings."""
    if not isinstance(spec, Mapping):
        return None
    return next((kind for kind in KINDS if kind in spec), None)


class CustomMetrics:
    """The custom metrics of a suite by name, each made when it is first asked for."""

    def __init__(
        self, task: str, findings: Findings, metric: Callable[[Any, SuitePath], Metric | None]
    ) -> None:
        self._task = task
        self._findings = findings
        self._metric = metric
        self._specs: dict[str, tuple[Mapping[str, Any], SuitePath]] = {}
        self._metrics: dict[str, Custom | None] = {}
        self._open: list[str] = []

    def __contains__(self, name: object) -> bool:
        return name in self._specs

    def __iter__(self) -> Any:
        return iter(self._specs)

    def gather(self, entries: Any) -> None:
        """Note the definitions among the entries of `metrics`."""
        for index, spec in enumerate(entries):
            if kind_of(spec) is None:
                continue
            name, path = _name_of(spec), ("metrics", index)
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                hint = 'write {name: approval_rate, mean: "score < 0.2"}'
                place = (*path, "name") if "name" in spec else path
                self._findings.add("a metric that the suite defines needs a name: a word", place, hint)
                self._say_unknown(spec, path)
            elif name in self._specs:
                self._findings.add(f"the metric '{name}' is defined twice", (*path, "name"))
            elif self._task and name in _reserved_names(self._task):
                self._findings.add(
                    f"'{name}' is a metric of the catalogue already", (*path, "name"), "give it another name"
                )
            else:
                self._specs[name] = spec, path

    def of(self, spec: Mapping[str, Any]) -> Custom | None:
        """Metric of an entry; None, with a problem noted, if it is invalid."""
        name = _name_of(spec)
        is_definition = isinstance(name, str) and name in self._specs
        return self.get(name) if is_definition and self._specs[name][0] is spec else None

    def get(self, name: str) -> Custom | None:
        """Metric of that name; None, with a problem noted, if it is invalid."""
        if name in self._metrics:
            return self._metrics[name]
        spec, path = self._specs[name]
        if name in self._open:
            ring = " -> ".join([*self._open[self._open.index(name) :], name])
            self._findings.add(f"the metric '{name}' is defined by itself: {ring}", path)
            return None
        self._open.append(name)
        before = len(self._findings.problems)
        metric = self._define(name, spec, path)
        self._open.pop()
        self._metrics[name] = metric if len(self._findings.problems) == before else None
        return self._metrics[name]

    def _define(self, name: str, spec: Mapping[str, Any], path: SuitePath) -> Custom | None:
        kind = self._say_unknown(spec, path)
        direction = spec.get("direction", "none")
        if direction not in _DIRECTIONS:
            self._findings.add(
                f"direction must be one of {', '.join(_DIRECTIONS)}, not {message_text(direction)}",
                (*path, "direction"),
            )
            direction = "none"
        facts = {"name": name, "task": self._task, "direction": direction, "path": path}
        if kind == "formula":
            return self._formula(facts, spec["formula"])
        if kind == "over":
            return self._over(facts, spec["over"])
        return self._aggregate(kind, facts, spec)

    def _say_unknown(self, spec: Mapping[str, Any], path: SuitePath) -> str:
        """Note the unknown keys of a definition, and return its kind."""
        kind = kind_of(spec)
        assert kind is not None
        keys = (*_EVERYWHERE, kind, *_OWN.get(kind, ("where",)))
        self._findings.unknown_keys(spec, keys, path)
        return kind

    def _aggregate(self, kind: str, facts: dict[str, Any], spec: Mapping[str, Any]) -> Custom | None:
        path = facts["path"]
        where = spec.get("where")
        if where is not None:
            self._row(where, (*path, "where"), condition=True)
        if kind == "ratio":
            return self._ratio(facts, spec["ratio"], where)
        self._row(spec[kind], (*path, kind), condition=False)
        if kind == "quantile":
            share = spec.get("q")
            if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
                hint = 'write {name: p95, quantile: "latency", q: 0.95}'
                self._findings.add("quantile needs q, a number from 0 to 1", path, hint)
                return None
            return CustomQuantile(**facts, sql=str(spec[kind]), where=where, q=float(share))
        return AGGREGATES[kind](**facts, sql=_text(spec[kind]), where=where)

    def _ratio(self, facts: dict[str, Any], value: Any, where: str | None) -> Custom | None:
        path, keys = (*facts["path"], "ratio"), ("numerator", "denominator")
        if isinstance(value, (list, tuple)) and len(value) == len(keys):
            value = dict(zip(keys, value, strict=True))
        if not isinstance(value, Mapping) or set(value) != set(keys):
            hint = 'write ratio: {numerator: "profit", denominator: "exposure"}'
            self._findings.add("ratio needs a numerator and a denominator", path, hint)
            return None
        for key in keys:
            self._row(value[key], (*path, key), condition=False)
        return CustomRatio(
            **facts, sql=_text(value["numerator"]), divisor=_text(value["denominator"]), where=where
        )

    def _row(self, text: Any, path: SuitePath, *, condition: bool) -> None:
        """Note the problem of a row expression, as far as its text has one."""
        if (
            isinstance(text, (int, float))
            and not isinstance(text, bool)
            and abs(text) < math.inf
            and not condition
        ):
            text = _text(text)
        if not isinstance(text, str):
            self._findings.add(f"{path[-1]} must be an SQL expression, not {message_text(text)}", path)
            return
        row = read_expression(text, path, self._findings, parse_row_expression)
        if row is None:
            return
        if condition and row.kind not in {"condition", "unknown"}:
            self._findings.add(not_a_condition(text), path)
        if not condition and path[-1] != "null_share" and row.kind in {"text", "date"}:
            self._findings.add(f"'{text}' is a {row.kind}, not a number", path)

    def _formula(self, facts: dict[str, Any], text: Any) -> Custom | None:
        path = (*facts["path"], "formula")
        if not isinstance(text, str):
            self._findings.add(
                f"a formula is arithmetic over metrics, not {message_text(text)}",
                path,
                'write formula: "50*fp + 2000*fn"',
            )
            return None
        sql = _quote_metrics(text, lambda name: name in self or name in _reserved_names(self._task))
        row = read_expression(text, path, self._findings, lambda _: compile_row(sql))
        if row is None:
            return None
        if row.kind not in {"number", "unknown"}:
            self._findings.add(f"'{text}' is no number: it is a {row.kind}", path)
        if not row.columns:
            self._findings.add(f"'{text}' names no metric", path)
        operands = [(name, self._single(name, path)) for name in row.columns]
        if any(is_across_slices(metric) for _, metric in operands):
            self._findings.add("a metric over slices cannot stand in a formula", path)
        named = tuple((name, metric) for name, metric in operands if metric is not None)
        return Formula(**facts, expression=text, sql=sql, operands=named)

    def _single(self, text: Any, path: SuitePath) -> Metric | None:
        """Metric with one value in a slice."""
        metric = self._metric(text, path)
        if metric is not None and metric.by_class:
            msg = f"'{metric.text}' has a value for each class, and one is needed"
            self._findings.add(msg, path, "use average=macro, micro or weighted")
        return metric

    def _over(self, facts: dict[str, Any], value: Any) -> Custom | None:
        path = (*facts["path"], "over")
        hint = "write over: {slice_set: season, metric: points, agg: mean}"
        if not self._findings.is_mapping(value, path, hint):
            return None
        self._findings.unknown_keys(value, ("slice_set", "metric", "agg", "weight"), path)
        if not {"slice_set", "metric"} <= set(value):
            self._findings.add("over needs slice_set and metric", path, hint)
            return None
        agg = value.get("agg", "mean")
        if agg not in OVER:
            self._findings.add(
                f"agg must be one of {', '.join(OVER)}, not {message_text(agg)}", (*path, "agg")
            )
        if not isinstance(value["slice_set"], str):
            self._findings.add(
                f"slice_set must be the name of a slice set, not {message_text(value['slice_set'])}",
                (*path, "slice_set"),
            )
        metric = self._single(value["metric"], (*path, "metric"))
        if is_across_slices(metric):
            self._findings.add("a metric over slices cannot be put over slices again", (*path, "metric"))
        if metric is not None and agg == "worst" and metric.direction not in {"higher", "lower"}:
            self._findings.add(
                f"'{metric.text}' has no worse side",
                (*path, "agg"),
                "use min or max, or give the metric a direction",
            )
        facts = {"direction": "none" if metric is None else metric.direction} | {
            k: v for k, v in facts.items() if k != "direction" or v != "none"
        }
        weight = self._slice_weight(value, (*path, "weight")) if "weight" in value else None
        return OverSlices(
            **facts, slice_set=str(value["slice_set"]), metric=metric, agg=str(agg), weight=weight
        )

    def _slice_weight(self, over: Mapping[str, Any], path: SuitePath) -> Metric | None:
        """Metric whose values weigh the slices of a mean."""
        if over.get("agg", "mean") != "mean":
            hint = "leave out weight, or write agg: mean"
            self._findings.add(f"weight is of a mean, not of agg {over['agg']}", path, hint)
        weight = self._single(over["weight"], path)
        if is_across_slices(weight):
            self._findings.add("weight has no value in each slice", path, "name a metric such as a sum")
        return weight


def _name_of(spec: Mapping[str, Any]) -> Any:
    """The name of a custom metric; a metric over slices may go without one."""
    over = spec.get("over")
    if "name" in spec or not isinstance(over, Mapping):
        return spec.get("name")
    text = f"{over.get('agg', 'mean')} {over.get('metric')} over {over.get('slice_set')}"
    weight = f" by {over['weight']}" if "weight" in over else ""
    return "_".join(re.findall(r"\w+", text + weight))


def _reserved_names(task: str) -> set[str]:
    return set(registry.reserved_names(task))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _quote_metrics(text: str, is_metric: Callable[[str], bool]) -> str:
    """Formula with parametrised metrics as quoted names: `recall(threshold=0.3)` is no call of SQL."""
    out, place = [], 0
    for match in _CALL.finditer(text):
        if match.start() < place or not is_metric(match[1]) or text[: match.start()].count('"') % 2:
            continue
        end = _closing(text, match.end())
        out += [text[place : match.start()], '"', text[match.start() : end].replace('"', '""'), '"']
        place = end
    return _without_sql_words("".join([*out, text[place:]]), is_metric)


def _without_sql_words(text: str, is_metric: Callable[[str], bool]) -> str:
    """Formula with metrics as quoted names if invalid in SQL: `ndcg@10`, and `map`, a type."""

    def quoted(match: re.Match[str]) -> str:
        name = match["name"]
        return f'"{match[0]}"' if name is not None and is_metric(name) else match[0]

    return _NO_NAME.sub(quoted, text)


def _closing(text: str, start: int) -> int:
    """Position behind the closing parenthesis of the one opened just before `start`."""
    depth = 1
    for index in range(start, len(text)):
        depth += (text[index] == "(") - (text[index] == ")")
        if depth == 0:
            return index + 1
    return len(text)
