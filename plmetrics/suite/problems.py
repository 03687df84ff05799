"""From plain values to a checked suite: every problem is found and said in one go."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from plmetrics.catalogue import registry
from plmetrics.catalogue.metric import Metric, ParameterError
from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.names import RESERVED_SLICE_SETS, did_you_mean
from plmetrics.core.rowsql import RowExpressionError, compile_row
from plmetrics.core.text import TextError, join_torn, parse_call
from plmetrics.suite import crosschecks
from plmetrics.suite.model import (
    Columns,
    Compare,
    Curve,
    Data,
    Gate,
    ModelColumns,
    Output,
    SliceSet,
    Suite,
    Uncertainty,
)

if TYPE_CHECKING:
    from plmetrics.core.names import SuitePath

SUITE_KEYS = tuple(Suite.model_fields)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_CUSTOM = ("mean", "sum", "ratio", "quantile", "std", "null_share", "formula", "over")
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(B|KB|MB|GB|TB|KiB|MiB|GiB|TiB)?", re.IGNORECASE)
_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}


class Findings:
    """Problems found so far."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def add(self, message: str, path: SuitePath, hint: str | None = None) -> None:
        """Note one more."""
        self.problems.append(Problem(message, path, hint))

    def model(self, kind: type[BaseModel], value: Any, path: SuitePath) -> Any:
        """Validate one section; None, with the problems noted, if it is wrong."""
        if not isinstance(value, Mapping):
            self.add(f"must be a mapping, not {_shown(value)}", path)
            return None
        try:
            return kind.model_validate({key: frozen(item) for key, item in value.items()})
        except ValidationError as error:
            for one in error.errors():
                self._translate(one, kind, path)
            return None

    def _translate(self, error: Any, kind: type[BaseModel], path: SuitePath) -> None:
        place = (*path, *error["loc"])
        key = str(error["loc"][-1]) if error["loc"] else ""
        if error["type"] == "extra_forbidden":
            self.add(f"unknown key '{key}'", place, did_you_mean(key, kind.model_fields))
        elif error["type"] == "missing":
            self.add(f"'{key}' is missing", path)
        elif error["type"] == "literal_error":
            expected = error["ctx"]["expected"].replace("'", "")
            self.add(f"{key} must be {expected}, not {_shown(error['input'])}", place)
        else:
            words = error["msg"].removeprefix("Input should be ").replace("valid ", "")
            self.add(f"{key} must be {words}, not {_shown(error['input'])}", place)


def suite_from_mapping(raw: Mapping[str, Any], name: str | None = None) -> Suite:
    """A checked suite from plain values.

    Args:
        raw: keys and values as a YAML suite has them; metrics may be objects.
        name: what the suite is called if it does not say so.

    Raises:
        ConfigError: all problems at once, each with its path in the suite.
    """
    found = Findings()
    for key in raw:
        if key not in SUITE_KEYS:
            hint = "a file of defaults is not supported yet" if key == "defaults" else did_you_mean(str(key), SUITE_KEYS)
            found.add(f"unknown key '{key}'", (key,), hint)
    task = _task(raw.get("task", "binary"), found)
    fields: dict[str, Any] = {"name": _name(raw, name, found), "task": task}
    fields["data"] = found.model(Data, raw.get("data", {}), ("data",))
    if "columns" in raw:
        fields["columns"] = found.model(Columns, raw["columns"], ("columns",))
    else:
        found.add("'columns' is missing", (), "name at least the label: columns: {label: y}")
    fields["models"] = _models(raw, found)
    fields["metrics"] = _metrics(raw.get("metrics"), task, found)
    fields["slices"] = _slices(raw.get("slices"), found)
    fields["uncertainty"] = _uncertainty(raw.get("uncertainty"), found)
    fields["compare"] = _compare(raw.get("compare"), found)
    fields["gates"] = _gates(raw.get("gates"), task, found)
    fields["curves"] = _curves(raw.get("curves"), found)
    fields["memory"] = _memory(raw.get("memory"), found)
    fields["output"] = found.model(Output, raw.get("output", {}), ("output",))
    for key in ("positive", "min_rows", "max_slices", "exact"):
        if key in raw:
            fields[key] = raw[key]
    _predicate(getattr(fields["data"], "where", None), ("data", "where"), found)
    crosschecks.check(fields, found.add)
    suite = None if found.problems else found.model(Suite, _given(fields), ())
    if not found.problems:
        return suite  # type: ignore[no-any-return]
    _scalars(fields, found)
    raise ConfigError(list(dict.fromkeys(found.problems)))


def metric_from_text(task: str, text: str) -> Metric:
    """A metric of a task from its text.

    Raises:
        ConfigError: no such metric, or a parameter is wrong.
    """
    found = Findings()
    metric = _metric(text, task, (), found)
    if metric is None:
        raise ConfigError(found.problems)
    return metric


def frozen(value: Any) -> Any:
    """Lists as tuples, all the way down: what a frozen suite holds."""
    if isinstance(value, (list, tuple)):
        return tuple(frozen(item) for item in value)
    if isinstance(value, dict):
        return {key: frozen(item) for key, item in value.items()}
    return value


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


def _scalars(fields: Mapping[str, Any], found: Findings) -> None:
    """Top-level numbers and flags are checked also when a section is wrong."""
    for key in ("positive", "min_rows", "max_slices", "exact"):
        if key in fields:
            try:
                Suite.__pydantic_validator__.validate_assignment(Suite.model_construct(), key, fields[key])
            except ValidationError as error:
                for one in error.errors():
                    if one["loc"] and one["loc"][0] == key and one["type"] != "frozen_instance":
                        found._translate(one, Suite, ())  # noqa: SLF001


def _task(value: Any, found: Findings) -> str:
    known = registry.tasks()
    later = ("multiclass", "quantile", "ranking", "uplift")
    if value in known:
        return str(value)
    if value in later:
        found.add(f"task '{value}' is not available yet", ("task",), "available: " + ", ".join(known))
    else:
        hint = did_you_mean(str(value), [*known, *later])
        found.add(f"task must be one of {', '.join(known)}, not {_shown(value)}", ("task",), hint)
    return ""


def _name(raw: Mapping[str, Any], default: str | None, found: Findings) -> str:
    value = raw.get("name", default)
    if value is None:
        return "evaluation"
    if not isinstance(value, str) or not _NAME.fullmatch(value) or len(value) > 100:
        hint = "it names a folder: use letters, digits, dots, hyphens and underscores"
        found.add(f"name must be usable as a folder's name, not {_shown(value)}", ("name",), hint)
        return "evaluation"
    return value


def _label(value: Any, what: str, path: SuitePath, found: Findings) -> bool:
    plain = isinstance(value, str) and value.strip() and not any(ord(c) < 32 or c in "/\\|" for c in value)
    if not plain:
        found.add(f"{what} must be a text without slashes, bars and control characters, not {_shown(value)}", path)
    return bool(plain)


def _models(raw: Mapping[str, Any], found: Findings) -> dict[str, ModelColumns] | None:
    value = raw.get("models")
    if isinstance(value, str):
        value = [value]
    if isinstance(value, (list, tuple)):
        value = {str(column): column for column in value}
    if not isinstance(value, Mapping) or not value:
        hint = "write models: {name: score column}"
        if "models" in raw:
            found.add(f"models must be a mapping of names to columns, not {_shown(value)}", ("models",), hint)
        else:
            found.add("'models' is missing", (), hint)
        return None
    out: dict[str, ModelColumns] = {}
    for name, spec in value.items():
        path: SuitePath = ("models", name)
        if not _label(name, "a model's name", path, found):
            continue
        given = {"score": spec} if isinstance(spec, str) else spec
        model = found.model(ModelColumns, given, path)
        if model is not None and _one_column(model, path, found):
            out[name] = model
    return out


def _one_column(model: ModelColumns, path: SuitePath, found: Findings) -> bool:
    given = [key for key, value in model if value is not None]
    later = [key for key in given if key not in {"score", "prediction"}]
    if later:
        found.add(f"{', '.join(later)} belongs to tasks that are not available yet", path, "give score or prediction")
    elif len(given) != 1:
        found.add("a model has exactly one of score and prediction", path, "write {score: column}")
    return len(given) == 1 and not later


def _metrics(value: Any, task: str, found: Findings) -> tuple[Metric, ...] | None:
    if value is None:
        return registry.default_metrics(task) if task else None
    if isinstance(value, (str, Metric)):
        value = [value]
    if not isinstance(value, (list, tuple)) or not value:
        found.add(f"metrics must be a list with at least one metric, not {_shown(value)}", ("metrics",))
        return None
    out: dict[str, Metric] = {}
    index = 0
    while index < len(value):
        path: SuitePath = ("metrics", index)
        torn = join_torn(value[index:]) if isinstance(value[index], str) else None
        if torn is not None:
            whole, pieces = torn
            hint = f'write "{whole}", with the quotes'
            found.add(f"YAML splits {whole} at its comma: it needs quotes inside [ ] and {{ }}", path, hint)
            index += pieces
            continue
        metric = _metric(value[index], task, path, found)
        if metric is not None:
            out.setdefault(metric.text, metric)
        index += 1
    return tuple(out.values())


def _metric(value: Any, task: str, path: SuitePath, found: Findings) -> Metric | None:
    if isinstance(value, Metric):
        if task and value.task != task:
            found.add(f"'{value.text}' is a metric of task '{value.task}', not of '{task}'", path)
        return value
    try:
        if isinstance(value, str):
            call = parse_call(value)
            return _known(task, call.name, dict(call.parameters))
        if isinstance(value, Mapping):
            return _from_mapping(value, task, path, found)
        found.add(f"a metric is a text such as precision(threshold=0.3), not {_shown(value)}", path)
    except TextError as error:
        found.add(str(error), path, error.hint)
    except registry.UnknownMetricError as error:
        found.add(str(error), path, error.hint)
    except ParameterError as error:
        found.add(str(error), path)
    return None


def _from_mapping(value: Mapping[str, Any], task: str, path: SuitePath, found: Findings) -> Metric | None:
    custom = [key for key in _CUSTOM if key in value]
    if custom:
        found.add(f"custom metrics ({custom[0]}:) are not available yet", path)
    elif len(value) != 1:
        hint = "write {recall_at_precision: {precision: 0.9}} or recall_at_precision(precision=0.9)"
        found.add("a metric as a mapping has one key, its name", path, hint)
    else:
        ((name, parameters),) = value.items()
        if parameters is not None and not isinstance(parameters, Mapping):
            found.add(f"the parameters of '{name}' must be a mapping, not {_shown(parameters)}", (*path, name))
            return None
        return _known(task, str(name), dict(parameters or {}))
    return None


def _known(task: str, name: str, parameters: dict[str, Any]) -> Metric | None:
    """A metric; where the task itself is wrong, the name is looked up in all tasks."""
    if task:
        return registry.create(task, name, parameters)
    for known in registry.tasks():
        try:
            registry.find(known, name)
        except registry.UnknownMetricError:
            continue
        return registry.create(known, name, parameters)
    names = [name for known in registry.tasks() for name in registry.names(known)]
    msg = f"unknown metric '{name}'"
    raise registry.UnknownMetricError(msg, did_you_mean(name, names))


def _slices(value: Any, found: Findings) -> dict[str, SliceSet]:
    if value is None:
        return {}
    if isinstance(value, str):
        value = [value]
    if isinstance(value, (list, tuple)):
        value = {item if isinstance(item, str) else "_".join(map(str, item)): item for item in value}
    if not isinstance(value, Mapping):
        found.add(f"slices must be a mapping of names to columns, not {_shown(value)}", ("slices",))
        return {}
    out: dict[str, SliceSet] = {}
    for name, spec in value.items():
        path: SuitePath = ("slices", name)
        if not _label(name, "a slice set's name", path, found):
            continue
        if name in RESERVED_SLICE_SETS:
            found.add(f"'{name}' is reserved and cannot name a slice set", path)
            continue
        made = _slice_set(spec, path, found)
        if made is not None:
            out[name] = made
    return out


def _slice_set(spec: Any, path: SuitePath, found: Findings) -> SliceSet | None:
    if isinstance(spec, str):
        spec = {"columns": [spec]}
    elif isinstance(spec, (list, tuple)):
        spec = {"columns": list(spec)}
    if not isinstance(spec, Mapping):
        found.add(f"a slice set is a column, a list of columns or a mapping, not {_shown(spec)}", path)
        return None
    given = dict(spec)
    if "column" in given:
        if "columns" in given:
            found.add("column and columns exclude each other", path)
        given["columns"] = [given.pop("column")]
    unknown = [key for key in given if key not in {"columns", "bins", "where"}]
    for key in unknown:
        later = {"top", "quantiles", "tags"}
        hint = "not available yet" if key in later else did_you_mean(str(key), ["column", "columns", "bins", "where"])
        found.add(f"unknown key '{key}'", (*path, key), hint)
    if unknown:
        return None
    if "bins" in given:
        given["bins"] = _bins(given["bins"], (*path, "bins"), found)
    made = found.model(SliceSet, given, path)
    return made if made is not None and _sensible(made, path, found) else None


def _sensible(made: SliceSet, path: SuitePath, found: Findings) -> bool:
    before = len(found.problems)
    if made.where is not None:
        if made.columns or made.bins is not None:
            found.add("where stands alone: it excludes columns and bins", path)
        _predicate(made.where, (*path, "where"), found)
    elif not made.columns:
        found.add("a slice set needs a column, columns or where", path)
    elif made.bins is not None and len(made.columns) != 1:
        found.add("bins need exactly one column", path)
    if len(set(made.columns)) < len(made.columns):
        found.add("a column stands twice in this slice set", path)
    return len(found.problems) == before


def _bins(value: Any, path: SuitePath, found: Findings) -> Any:
    """Edges as numbers or dates, ascending."""
    if not isinstance(value, (list, tuple)) or not value:
        found.add(f"bins must be a list of edges, not {_shown(value)}", path, "write bins: [25, 40, 65]")
        return None
    edges = [_date(edge) if isinstance(edge, str) else edge for edge in value]
    numeric = all(isinstance(edge, (int, float)) and not isinstance(edge, bool) for edge in edges)
    temporal = all(isinstance(edge, datetime.date) for edge in edges)
    if not numeric and not temporal:
        found.add("bins must be numbers, or dates such as 2024-01-31", path)
        return None
    if any(not low < high for low, high in zip(edges, edges[1:], strict=False)) or edges != edges:  # noqa: PLR0124
        found.add(f"bins must ascend, not {_shown(value)}", path)
        return None
    if numeric and any(edge in {float("inf"), float("-inf")} or edge != edge for edge in edges):  # noqa: PLR0124
        found.add("bins must be finite; the first and the last bin are open anyway", path)
        return None
    return edges


def _date(text: str) -> Any:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        pass
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        return text


def _predicate(text: Any, path: SuitePath, found: Findings) -> None:
    if not isinstance(text, str):
        return
    try:
        row = compile_row(text)
    except RowExpressionError as error:
        found.add(f"'{text}': {error}", path, error.hint)
        return
    if row.kind not in {"condition", "unknown"}:
        found.add(f"'{text}' is not a condition: it is neither true nor false", path)


def _uncertainty(value: Any, found: Findings) -> Uncertainty | None:
    if value is None or value is False:
        return None
    return found.model(Uncertainty, {} if value is True else value, ("uncertainty",))


def _compare(value: Any, found: Findings) -> Compare | None:
    if value is None:
        return None
    return found.model(Compare, {"baseline": value} if isinstance(value, str) else value, ("compare",))


def _gates(value: Any, task: str, found: Findings) -> tuple[Gate, ...]:
    if not _list(value, "gates", found):
        return ()
    out: list[Gate] = []
    for index, spec in enumerate(value):
        path: SuitePath = ("gates", index)
        if not isinstance(spec, Mapping):
            found.add(f"a gate is a mapping such as {{metric: roc_auc, at_least: 0.75}}, not {_shown(spec)}", path)
            continue
        given = dict(spec)
        if "between" in given:
            found.add("gates between slices are not available yet", (*path, "between"))
            continue
        if "metric" in given:
            given["metric"] = _metric(given["metric"], task, (*path, "metric"), found)
            if given["metric"] is None:
                continue
        gate = found.model(Gate, given, path)
        if gate is not None:
            out.append(gate)
    return tuple(out)


def _curves(value: Any, found: Findings) -> tuple[Curve, ...]:
    if not _list(value, "curves", found):
        return ()
    out = []
    for index, spec in enumerate(value):
        given = {"curve": spec} if isinstance(spec, str) else spec
        if isinstance(given, Mapping) and isinstance(given.get("slices"), str):
            given = {**given, "slices": [given["slices"]]}
        out.append(found.model(Curve, given, ("curves", index)))
    return tuple(curve for curve in out if curve is not None)


def _list(value: Any, key: str, found: Findings) -> bool:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return True
    if value is not None:
        found.add(f"{key} must be a list, not {_shown(value)}", (key,))
    return False


def _memory(value: Any, found: Findings) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
        return value
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        found.add(f"memory must be bytes or a size such as 4GB, not {_shown(value)}", ("memory",))
        return None
    return int(float(match[1]) * _UNITS[(match[2] or "B").lower()])


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
