"""Reading of a suite from plain values, with all its problems at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from plmetrics.catalogue import registry
from plmetrics.catalogue.metric import Metric
from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.names import SUITE_NAMES, SuitePath, did_you_mean, is_suite_name, plain_text
from plmetrics.features.registry import FEATURES, feature
from plmetrics.suite import crosschecks
from plmetrics.suite.mentions import SuiteMentions
from plmetrics.suite.model import Suite
from plmetrics.suite.problems import (
    LABEL_FORM,
    Findings,
    check_predicate,
    key_hint,
    key_word,
    message_text,
    switch_hint,
)
from plmetrics.suite.sections.basics import Columns, Compare, Curve, Data, SliceSet
from plmetrics.suite.sections.gates import Gate, read_margins, read_opponent
from plmetrics.suite.sections.metrics import METRIC_DEFAULTS, MetricReader, is_torn, say_torn
from plmetrics.suite.sections.models import read_models, with_model_columns
from plmetrics.suite.sections.output import Output
from plmetrics.suite.sections.section import Section, Strict
from plmetrics.suite.sections.uncertainty import Uncertainty
from plmetrics.suite.tasks import CURVES, TASK_HINTS, curve_hint

SUITE_KEYS = tuple(key for key in Suite.model_fields if key not in {"metric_slices", "sections"})
_SECTIONS: Mapping[str, type[Strict]] = MappingProxyType(
    {"data": Data, "columns": Columns, "uncertainty": Uncertainty, "compare": Compare, "output": Output}
)
_SCALARS = ("positive", "undefined", "ties", "min_rows", "max_slices", "exact", "reproducible")
_BESIDE_FOUR_FIFTHS = (
    "four_fifths",
    "name",
    "model",
    "level",
    "using",
    "on_undefined",
    "correction",
    "consecutive",
)
_DATA_FORM = "write data: {path: scores/*.parquet}"
_OUTPUT_FORM = "write output: {directory: runs}"
_LIST_FORMS = {
    "gates": "write gates: [{metric: accuracy, at_least: 0.9}]",
    "curves": "write curves: [roc, reliability]",
}
_RULE = re.compile(r"(?P<metric>[^\s<>][^<>]*?)\s*=?(?P<sign>[<>])=?\s*(?P<limit>-?[0-9]*\.?[0-9]+)")
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(B|KB|MB|GB|TB|KiB|MiB|GiB|TiB)?", re.IGNORECASE)
_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}


def suite_keys() -> tuple[str, ...]:
    """The keys of a suite, those of features among them."""
    return (*SUITE_KEYS, *FEATURES)


def suite_from_mapping(
    raw: Mapping[str, Any], name: str | None = None, *, reads_files: bool = False
) -> Suite:
    """A checked suite from plain values.

    Args:
        raw: keys and values as a YAML suite has them; metrics may be objects.
        name: the name of a suite without one.
        reads_files: whether the suite must have the path of its rows.

    Raises:
        ConfigError: all problems at once, each with its path in the suite.
    """
    findings = Findings()
    if (place := _not_text(raw)) is not None:
        raise ConfigError(Problem("this text holds half a character (a lone surrogate)", place))
    raw = _complete(raw)
    for key in raw:
        if key not in suite_keys():
            findings.add(f"unknown key '{key}'", (key,), _place_of(str(key)))
    task = _task(raw.get("task", "binary"), findings)
    raw = with_model_columns(raw, task, findings)
    fields: dict[str, Any] = {"name": _name(raw, name, findings), "task": task}
    fields["data"] = findings.model(Data, _section(raw, "data"), ("data",), _DATA_FORM)
    if "columns" in raw:
        fields["columns"] = findings.model(Columns, raw["columns"], ("columns",))
    else:
        findings.add("'columns' is missing", (), f"name at least the label: {LABEL_FORM}")
    if reads_files and fields["data"] is not None and fields["data"].rows is None:
        findings.add("'path' is missing: where the rows are", ("data",), _DATA_FORM)
    fields["models"] = read_models(raw, task, findings)
    parts = [tuple(model.columns()) for model in (fields["models"] or {}).values()]
    reader = MetricReader(task, findings, {key: raw.get(key) for key in METRIC_DEFAULTS})
    metrics = reader.read_list(raw.get("metrics"), parts=parts)
    fields["metrics"], fields["metric_slices"] = metrics.metrics, metrics.slices
    fields["slices"] = _slices(raw.get("slices"), findings)
    if raw.get("derive") is not None:
        from plmetrics.suite.sections.slices import read_derive

        fields["derive"] = read_derive(raw["derive"], findings)
    fields["uncertainty"] = _uncertainty(raw.get("uncertainty"), findings)
    fields |= _optional(raw, reader, findings)
    for key, read in (("gates", _gate), ("curves", _curve)):
        specs = enumerate(_list(raw.get(key), key, findings))
        fields[key] = tuple(read(spec, (key, index), reader, findings) for index, spec in specs)
    fields["memory"] = _memory(raw.get("memory"), findings)
    fields["sections"] = _sections(raw, reader, findings)
    fields["output"] = findings.model(Output, _section(raw, "output"), ("output",), _OUTPUT_FORM)
    fields["classes"] = _classes(raw.get("classes"), findings)
    for key in _SCALARS:
        if key in raw:
            fields[key] = raw[key]
    data = raw.get("data")
    if isinstance(data, Mapping) and isinstance(data.get("where"), str):
        check_predicate(data["where"], ("data", "where"), findings)
    crosschecks.check(fields, SuiteMentions.of(raw), findings)
    given = {key: value for key, value in fields.items() if value is not None}
    suite = None if findings.problems else findings.model(Suite, given, ())
    if suite is not None:
        return suite
    _scalars(fields, findings)
    raise ConfigError(list(dict.fromkeys(findings.problems)))


def _complete(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Suite with the columns and models implied by other keys."""
    if isinstance(raw.get("data"), Mapping) and "trec" in raw["data"]:
        from plmetrics.suite.mentions import trec_defaults

        raw = trec_defaults(raw)
    for key in FEATURES:
        if raw.get(key) is not None:
            raw = feature(key).fill(raw)
    return raw


def _slices(value: Any, findings: Findings) -> dict[str, SliceSet] | None:
    if value is None:
        return {}
    from plmetrics.suite.sections.slices import read_slices

    return read_slices(value, findings)


def _optional(raw: Mapping[str, Any], reader: MetricReader, findings: Findings) -> dict[str, Any]:
    """Sections with rarely needed modules: comparisons, messages, calibration and the baseline."""
    fields: dict[str, Any] = {"compare": None, "calibrate": (), "baseline": False}
    if raw.get("compare") is not None:
        from plmetrics.suite.sections.compare import read_compare

        fields["compare"] = read_compare(raw["compare"], reader.result_text, findings)
    if raw.get("notify") is not None:
        from plmetrics.suite.sections.output import read_notify

        fields["notify"] = read_notify(raw["notify"], findings)
    baseline = raw.get("baseline")
    if raw.get("calibrate") is not None or not (baseline is None or baseline is False):
        from plmetrics.suite.sections.calibrate import read_baseline, read_calibrations

        fields["calibrate"] = read_calibrations(raw.get("calibrate"), findings)
        fields["baseline"] = read_baseline(baseline, findings)
    return fields


def _sections(raw: Mapping[str, Any], reader: MetricReader, findings: Findings) -> dict[str, Section]:
    """The sections of features."""
    sections = {
        key: feature(key).read(raw[key], findings, reader.read)
        for key in FEATURES
        if raw.get(key) is not None
    }
    return {key: section for key, section in sections.items() if section is not None}


def metric_from_text(task: str, text: str, parameters: Mapping[str, Any] | None = None) -> Metric:
    """A metric of a task from its text, or from its name and parameters.

    Raises:
        ConfigError: no such metric, or a parameter is wrong.
    """
    findings = Findings()
    metric = MetricReader(task, findings).read({text: parameters} if parameters else text, ())
    if metric is None:
        raise ConfigError(findings.problems)
    return metric


def _not_text(value: Any) -> SuitePath | None:
    """Place of the first name or value without a text encoding, if any."""
    if isinstance(value, str):
        plain = value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)
        return None if plain else ()
    if isinstance(value, (list, tuple)):
        items: Iterable[tuple[Any, Any]] = enumerate(value)
    elif isinstance(value, (dict, Mapping)):
        if any(_not_text(key) is not None for key in value):
            return ()
        items = value.items()
    else:
        return None
    for key, item in items:
        if (fault := _not_text(item)) is not None:
            return (key, *fault)
    return None


_KEYS_ELSEWHERE = {
    "fairness": "its metrics name a slice set: metrics: [demographic_parity_difference(by=region)]",
    "threshold": "write metrics: [recall(threshold=0.3)], or models: {m: {score: p, threshold: 0.3}}",
}


def _place_of(key: str) -> str | None:
    """Hint for an unknown key: its section, or a similar key."""
    if key == "defaults":
        return "only a suite's YAML file can have defaults"
    for section, kind in _SECTIONS.items():
        if key in kind.model_fields:
            return f"it stands under {section}:"
        if (word := key_word(key)) != key and word in kind.model_fields:
            return f"write {section}: {{{word}: ...}}"
    if key in _KEYS_ELSEWHERE:
        return _KEYS_ELSEWHERE[key]
    return key_hint(key, (*suite_keys(), "defaults"))


def _section(raw: Mapping[str, Any], key: str) -> Any:
    """Section with defaults for all keys; empty for a key without a value."""
    return {} if raw.get(key) is None else raw[key]


def _scalars(fields: Mapping[str, Any], findings: Findings) -> None:
    """Check top-level numbers and flags, also where a section is wrong."""
    for key in _SCALARS:
        if fields.get(key) is not None:
            try:
                Suite.__pydantic_validator__.validate_assignment(Suite.model_construct(), key, fields[key])
            except ValidationError as error:
                entries = [entry for entry in error.errors() if entry["loc"] and entry["loc"][0] == key]
                findings.translate(entries, Suite, {key: fields[key]}, ())


def _task(value: Any, findings: Findings) -> str:
    if registry.has_metrics(value):
        return str(value)
    tasks = registry.tasks()
    hint = TASK_HINTS.get(str(value).lower()) or did_you_mean(str(value), tasks, limit=0)
    msg = f"task must be one of {', '.join(tasks)}, not {message_text(value)}"
    findings.add(msg, ("task",), hint)
    return ""


def _name(raw: Mapping[str, Any], default: str | None, findings: Findings) -> str:
    value = default if raw.get("name") is None else raw["name"]
    if value is None:
        return "evaluation"
    if not isinstance(value, str) or not is_suite_name(value):
        of_file = raw.get("name") is None
        hint = "this is the name of the suite's file; add name: some-name" if of_file else SUITE_NAMES
        findings.add(f"name must be usable as a folder's name, not {message_text(value)}", ("name",), hint)
        return "evaluation"
    return value


def _classes(value: Any, findings: Findings) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, (list, tuple)) or len(value) < 2:
        findings.add(f"classes must be a list of at least two, not {message_text(value)}", ("classes",))
        return None
    names = tuple(plain_text(name) for name in value)
    if len(set(names)) < len(names):
        findings.add("a class stands in classes twice", ("classes",))
        return None
    return names


def _uncertainty(value: Any, findings: Findings) -> Uncertainty | None:
    if value is None or value is False:
        return None
    form = switch_hint(value) or "write uncertainty: true, or uncertainty: {replicates: 1000}"
    section = findings.model(Uncertainty, {} if value is True else value, ("uncertainty",), form)
    if section is not None and section.methods is not None and "method" in section.model_fields_set:
        msg = "method and methods both say how intervals are made"
        findings.add(msg, ("uncertainty", "method"), "leave one of them out")
    return section


def _list(value: Any, key: str, findings: Findings) -> Sequence[Any]:
    """A list of gates or curves; empty for anything else."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return value
    if value is not None:
        findings.add(f"{key} must be a list, not {message_text(value)}", (key,), _LIST_FORMS[key])
    return ()


def _gate(spec: Any, path: SuitePath, reader: MetricReader, findings: Findings) -> Gate | None:
    if not isinstance(spec, Mapping) or _has_metric_as_key(spec):
        msg = f"a gate is a mapping such as {{metric: roc_auc, at_least: 0.75}}, not {message_text(spec)}"
        findings.add(msg, path, _gate_form(spec))
        return None
    fields = dict(spec)
    if "four_fifths" in fields and not _four_fifths(fields, path, reader, findings):
        return None
    if is_torn(fields.get("metric")):
        empty_keys = [str(key) for key, item in fields.items() if item is None]
        say_torn(", ".join([fields["metric"], *empty_keys]), (*path, "metric"), findings)
        return None
    if isinstance(fields.get("metric"), (str, Mapping)):
        fields["metric"] = reader.read(fields["metric"], (*path, "metric"))
        if fields["metric"] is None:
            return None
    if not (read_opponent(fields, path, findings) and read_margins(fields, path, findings)):
        return None
    return findings.model(Gate, fields, path)


def _has_metric_as_key(spec: Mapping[str, Any]) -> bool:
    """Whether a mapping is a metric with its limit, as `{accuracy: 0.9}`."""
    is_limit = all(isinstance(value, (int, float, Mapping)) for value in spec.values())
    return len(spec) == 1 and is_limit and spec.keys().isdisjoint(Gate.model_fields)


def _gate_form(spec: Any) -> str | None:
    """Mapping of a gate's text such as `accuracy >= 0.9`, or of a metric with its limit."""
    if isinstance(spec, Mapping):
        ((name, limit),) = spec.items()
        limits = limit if isinstance(limit, Mapping) else {"at_least": limit}
        return f"write {{metric: {name}, {', '.join(f'{key}: {value}' for key, value in limits.items())}}}"
    rule = _RULE.fullmatch(spec) if isinstance(spec, str) else None
    if rule is None:
        return None
    limit = "at_least" if rule["sign"] == ">" else "at_most"
    metric = f'"{rule["metric"]}"' if "," in rule["metric"] else rule["metric"]
    return f"write {{metric: {metric}, {limit}: {rule['limit']}}}"


def _four_fifths(fields: dict[str, Any], path: SuitePath, reader: MetricReader, findings: Findings) -> bool:
    """Write out the gate of the four-fifths rule, and return whether it is valid."""
    for key in fields:
        if key not in _BESIDE_FOUR_FIFTHS:
            hint = (
                "write {metric: selection_rate, between: SLICE_SET, ratio_at_least: 0.8} for any other rule"
            )
            findings.add(f"four_fifths says all of the rule: it excludes {key}", (*path, key), hint)
            return False
    groups = fields["four_fifths"]
    if not isinstance(groups, str):
        findings.add(
            f"four_fifths must be the name of a slice set, not {message_text(groups)}", (*path, "four_fifths")
        )
        return False
    metric = reader.read({"disparate_impact": {"by": groups}}, (*path, "four_fifths"))
    fields.setdefault("name", "four_fifths")
    fields |= {"metric": metric, "at_least": 0.8}
    return metric is not None


def _curve(spec: Any, path: SuitePath, reader: MetricReader, findings: Findings) -> Curve | None:
    fields = {"curve": spec} if isinstance(spec, str) else spec
    if not isinstance(fields, Mapping):
        findings.add(f"a curve is a name such as roc, or a mapping, not {message_text(spec)}", path)
        return None
    name = fields.get("curve")
    curves = tuple(dict.fromkeys(name for names in CURVES.values() for name in names))
    if isinstance(name, str) and name not in curves:
        place = path if isinstance(spec, str) else (*path, "curve")
        findings.add(f"unknown curve '{name}'", place, curve_hint(name, reader.task))
        return None
    if isinstance(fields.get("metric"), str):
        fields = {**fields, "metric": reader.result_text(fields["metric"])}
    return findings.model(Curve, fields, path)


def _memory(value: Any, findings: Findings) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
        return value
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        findings.add(f"memory must be bytes or a size such as 4GB, not {message_text(value)}", ("memory",))
        return None
    return int(float(match[1]) * _UNITS[(match[2] or "B").lower()])
