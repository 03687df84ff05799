"""From plain values to a checked suite: every problem is found and said in one go."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from plmetrics.catalogue import registry
from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.names import did_you_mean
from plmetrics.features.registry import FEATURES, feature
from plmetrics.suite import crosschecks
from plmetrics.suite.mentions import Written
from plmetrics.suite.model import Suite
from plmetrics.suite.problems import Findings, shown
from plmetrics.suite.sections.basics import Columns, Compare, Curve, Data, Output
from plmetrics.suite.sections.gates import Gate, read_margins, read_opponent
from plmetrics.suite.sections.metrics import MetricReader, is_torn, say_torn
from plmetrics.suite.sections.models import class_name, read_models
from plmetrics.suite.sections.uncertainty import Uncertainty
from plmetrics.suite.tasks import CURVES

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.core.names import SuitePath
    from plmetrics.suite.sections.basics import SliceSet
    from plmetrics.suite.sections.section import Section, Strict

_KEYS = tuple(key for key in Suite.model_fields if key not in {"metric_slices", "sections"})
_SECTIONS: Mapping[str, type[Strict]] = MappingProxyType(
    {"data": Data, "columns": Columns, "uncertainty": Uncertainty, "compare": Compare, "output": Output}
)
_SCALARS = ("positive", "min_rows", "max_slices", "exact", "reproducible")
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
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(B|KB|MB|GB|TB|KiB|MiB|GiB|TiB)?", re.IGNORECASE)
_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}


def suite_keys() -> tuple[str, ...]:
    """The keys of a suite, those of features among them."""
    return (*_KEYS, *FEATURES)


def suite_from_mapping(
    raw: Mapping[str, Any], name: str | None = None, *, reads_files: bool = False
) -> Suite:
    """A checked suite from plain values.

    Args:
        raw: keys and values as a YAML suite has them; metrics may be objects.
        name: what the suite is called if it does not say so.
        reads_files: whether the suite itself must say where its rows are.

    Raises:
        ConfigError: all problems at once, each with its path in the suite.
    """
    found = Findings()
    if (place := _not_text(raw)) is not None:
        raise ConfigError(Problem("this text holds half a character (a lone surrogate)", place))
    if isinstance(raw.get("data"), Mapping) and "trec" in raw["data"]:
        from plmetrics.suite.trec import trec_defaults

        raw = trec_defaults(raw)
    for key in raw:
        if key not in suite_keys():
            found.add(f"unknown key '{key}'", (key,), _place_of(str(key)))
    task = _task(raw.get("task", "binary"), found)
    fields: dict[str, Any] = {"name": _name(raw, name, found), "task": task}
    fields["data"] = found.model(Data, _section(raw, "data"), ("data",))
    if "columns" in raw:
        fields["columns"] = found.model(Columns, raw["columns"], ("columns",))
    else:
        found.add("'columns' is missing", (), "name at least the label: columns: {label: y}")
    if reads_files and fields["data"] is not None and fields["data"].rows is None:
        found.add("'path' is missing: where the rows are", ("data",), "write data: {path: scores/*.parquet}")
    fields["models"] = read_models(raw, task, found)
    parts = [tuple(model.columns()) for model in (fields["models"] or {}).values()]
    reader = MetricReader(task, found)
    metrics = reader.read_all(raw.get("metrics"), parts=parts)
    fields["metrics"], fields["metric_slices"] = metrics.metrics, metrics.slices
    fields["slices"] = _slices(raw.get("slices"), found)
    fields["uncertainty"] = _uncertainty(raw.get("uncertainty"), found)
    fields |= _optional(raw, found)
    fields["gates"] = _gates(raw.get("gates"), reader, found)
    fields["curves"] = _curves(raw.get("curves"), found)
    fields["memory"] = _memory(raw.get("memory"), found)
    fields["sections"] = _sections(raw, reader, found)
    fields["output"] = found.model(Output, _section(raw, "output"), ("output",))
    fields["classes"] = _classes(raw.get("classes"), found)
    for key in _SCALARS:
        if key in raw:
            fields[key] = raw[key]
    data = raw.get("data")
    if isinstance(data, Mapping) and data.get("where"):
        from plmetrics.suite.sections.slices import check_predicate

        check_predicate(data["where"], ("data", "where"), found)
    crosschecks.check(fields, Written.of(raw), found)
    suite = None if found.problems else found.model(Suite, _given(fields), ())
    if suite is not None:
        return suite
    _scalars(fields, found)
    raise ConfigError(list(dict.fromkeys(found.problems)))


def _slices(value: Any, found: Findings) -> dict[str, SliceSet] | None:
    if value is None:
        return {}
    from plmetrics.suite.sections.slices import read_slices

    return read_slices(value, found)


def _optional(raw: Mapping[str, Any], found: Findings) -> dict[str, Any]:
    """The sections on comparisons and on models that a run adds, whose modules few suites need."""
    fields: dict[str, Any] = {"compare": None, "calibrate": (), "baseline": False}
    if raw.get("compare") is not None:
        from plmetrics.suite.sections.compare import read_compare

        fields["compare"] = read_compare(raw["compare"], found)
    baseline = raw.get("baseline")
    if raw.get("calibrate") is not None or not (baseline is None or baseline is False):
        from plmetrics.suite.sections.calibrate import read_baseline, read_calibrations

        fields["calibrate"] = read_calibrations(raw.get("calibrate"), found)
        fields["baseline"] = read_baseline(baseline, found)
    return fields


def _sections(raw: Mapping[str, Any], reader: MetricReader, found: Findings) -> dict[str, Section]:
    """The sections of features that the suite has."""
    asked = {
        key: feature(key).read(raw[key], found, reader.read) for key in FEATURES if raw.get(key) is not None
    }
    return {key: section for key, section in asked.items() if section is not None}


def metric_from_text(task: str, text: str) -> Metric:
    """A metric of a task from its text.

    Raises:
        ConfigError: no such metric, or a parameter is wrong.
    """
    found = Findings()
    metric = MetricReader(task, found).read(text, ())
    if metric is None:
        raise ConfigError(found.problems)
    return metric


def _not_text(value: Any, place: SuitePath = ()) -> SuitePath | None:
    """Where a name or a value cannot be written as text, if anywhere."""
    if isinstance(value, str):
        return place if any("\ud800" <= character <= "\udfff" for character in value) else None
    steps: list[tuple[SuitePath, Any]] = []
    if isinstance(value, Mapping):
        steps += [(place, key) for key in value] + [((*place, key), item) for key, item in value.items()]
    elif isinstance(value, (list, tuple)):
        steps += [((*place, index), item) for index, item in enumerate(value)]
    found = (_not_text(item, at) for at, item in steps)
    return next((at for at in found if at is not None), None)


def _place_of(key: str) -> str | None:
    """Where a key belongs that the suite itself does not have."""
    if key == "defaults":
        return "only a suite's YAML file can have defaults"
    for section, kind in _SECTIONS.items():
        if key in kind.model_fields:
            return f"it stands under {section}:"
    return did_you_mean(key, (*suite_keys(), "defaults"))


def _section(raw: Mapping[str, Any], key: str) -> Any:
    """A section whose keys all have defaults: a key without a value is as good as none."""
    return {} if raw.get(key) is None else raw[key]


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


def _scalars(fields: Mapping[str, Any], found: Findings) -> None:
    """Top-level numbers and flags are checked also when a section is wrong."""
    for key in _SCALARS:
        if fields.get(key) is not None:
            try:
                Suite.__pydantic_validator__.validate_assignment(Suite.model_construct(), key, fields[key])
            except ValidationError as error:
                own = [one for one in error.errors() if one["loc"] and one["loc"][0] == key]
                found.translate(own, Suite, {key: fields[key]}, ())


def _task(value: Any, found: Findings) -> str:
    known = registry.tasks()
    if value in known:
        return str(value)
    hint = did_you_mean(str(value), known)
    found.add(f"task must be one of {', '.join(known)}, not {shown(value)}", ("task",), hint)
    return ""


def _name(raw: Mapping[str, Any], default: str | None, found: Findings) -> str:
    value = default if raw.get("name") is None else raw["name"]
    if value is None:
        return "evaluation"
    if not isinstance(value, str) or not _NAME.fullmatch(value) or len(value) > 100:
        hint = "it names a folder: use letters, digits, dots, hyphens and underscores"
        if raw.get("name") is None:
            hint = "this is the name of the suite's file; add name: some-name"
        found.add(f"name must be usable as a folder's name, not {shown(value)}", ("name",), hint)
        return "evaluation"
    return value


def _classes(value: Any, found: Findings) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, (list, tuple)) or len(value) < 2:
        found.add(f"classes must be a list of at least two, not {shown(value)}", ("classes",))
        return None
    names = tuple(class_name(name) for name in value)
    if len(set(names)) < len(names):
        found.add("a class stands in classes twice", ("classes",))
        return None
    return names


def _uncertainty(value: Any, found: Findings) -> Uncertainty | None:
    if value is None or value is False:
        return None
    made = found.model(Uncertainty, {} if value is True else value, ("uncertainty",))
    if made is not None and made.methods is not None and "method" in made.model_fields_set:
        msg = "method and methods both say how intervals are made"
        found.add(msg, ("uncertainty", "method"), "leave one of them out")
    return made


def _gates(value: Any, reader: MetricReader, found: Findings) -> tuple[Gate | None, ...]:
    """The gates in their places, None for one that is wrong."""
    if not _list(value, "gates", found):
        return ()
    return tuple(_gate(spec, ("gates", index), reader, found) for index, spec in enumerate(value))


def _gate(spec: Any, path: SuitePath, reader: MetricReader, found: Findings) -> Gate | None:
    if not isinstance(spec, Mapping):
        found.add(f"a gate is a mapping such as {{metric: roc_auc, at_least: 0.75}}, not {shown(spec)}", path)
        return None
    given = dict(spec)
    if "four_fifths" in given and not _four_fifths(given, path, reader, found):
        return None
    if is_torn(given.get("metric")):
        rest = [str(key) for key, item in given.items() if item is None]
        say_torn(", ".join([given["metric"], *rest]), (*path, "metric"), found)
        return None
    if isinstance(given.get("metric"), (str, Mapping)):
        given["metric"] = reader.read(given["metric"], (*path, "metric"))
        if given["metric"] is None:
            return None
    if not (read_opponent(given, path, found) and read_margins(given, path, found)):
        return None
    return found.model(Gate, given, path)


def _four_fifths(given: dict[str, Any], path: SuitePath, reader: MetricReader, found: Findings) -> bool:
    """Write out the gate of the four-fifths rule; whether it is as it should be."""
    for key in given:
        if key not in _BESIDE_FOUR_FIFTHS:
            hint = (
                "write {metric: selection_rate, between: SLICE_SET, ratio_at_least: 0.8} for any other rule"
            )
            found.add(f"four_fifths says all of the rule: it excludes {key}", (*path, key), hint)
            return False
    groups = given["four_fifths"]
    if not isinstance(groups, str):
        found.add(f"four_fifths must be the name of a slice set, not {shown(groups)}", (*path, "four_fifths"))
        return False
    metric = reader.read({"disparate_impact": {"by": groups}}, (*path, "four_fifths"))
    given.setdefault("name", "four_fifths")
    given |= {"metric": metric, "at_least": 0.8}
    return metric is not None


def _curves(value: Any, found: Findings) -> tuple[Curve | None, ...]:
    """The curves in their places, None for one that is wrong."""
    if not _list(value, "curves", found):
        return ()
    return tuple(_curve(spec, ("curves", index), found) for index, spec in enumerate(value))


def _curve(spec: Any, path: SuitePath, found: Findings) -> Curve | None:
    given = {"curve": spec} if isinstance(spec, str) else spec
    if not isinstance(given, Mapping):
        found.add(f"a curve is a name such as roc, or a mapping, not {shown(spec)}", path)
        return None
    name = given.get("curve")
    known = tuple(dict.fromkeys(name for names in CURVES.values() for name in names))
    if isinstance(name, str) and name not in known:
        place = path if isinstance(spec, str) else (*path, "curve")
        found.add(f"unknown curve '{name}'", place, did_you_mean(name, known, limit=len(known)))
        return None
    return found.model(Curve, given, path)


def _list(value: Any, key: str, found: Findings) -> bool:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return True
    if value is not None:
        found.add(f"{key} must be a list, not {shown(value)}", (key,))
    return False


def _memory(value: Any, found: Findings) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
        return value
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        found.add(f"memory must be bytes or a size such as 4GB, not {shown(value)}", ("memory",))
        return None
    return int(float(match[1]) * _UNITS[(match[2] or "B").lower()])
