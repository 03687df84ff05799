"""Problems collected while a suite is checked, and pydantic's errors in plain words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from plmetrics.catalogue.metric import Metric, composition
from plmetrics.core.errors import Problem
from plmetrics.core.names import SuitePath, did_you_mean, nearest, number_text
from plmetrics.core.rowsql import RowExpressionError, compile_row, not_a_condition

if TYPE_CHECKING:
    from plmetrics.core.rowsql.compiler import RowExpression

AnyModel = TypeVar("AnyModel", bound=BaseModel)

NAMED_ARRAYS = "give the array a name in the table, a dict of arrays, and write that name here"
"""Hint where an array stands in place of a column's name."""

LABEL_FORM = "columns: {label: y}; with labels: true the table may lack it"


class Findings:
    """Problems found so far."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def add(self, message: str, path: SuitePath, hint: str | None = None) -> None:
        """Note one more."""
        self.problems.append(Problem(message, path, hint))

    def concern(self, key: str) -> bool:
        """Whether one of them lies in this section, which is then there, if wrong."""
        return any(problem.path[:1] == (key,) for problem in self.problems)

    def check_slice_sets(self, named: Iterable[str], path: SuitePath, fields: Mapping[str, Any]) -> None:
        """Note names of no slice set, unless the sets themselves are wrong: one of those may be meant."""
        names = tuple(fields.get("slices") or {})
        for name in named:
            if name not in {"all", "overall", *names} and not self.concern("slices"):
                self.add(*absent(name, "slice sets", path, names, hint="add it under slices"))

    def unknown_keys(self, mapping: Mapping[Any, Any], keys: Iterable[str], path: SuitePath) -> bool:
        """Note the unknown keys of a mapping; whether there are any."""
        unknown = [key for key in mapping if key not in keys]
        for key in unknown:
            self.add(f"unknown key '{key}'", (*path, key), key_hint(str(key), keys))
        return bool(unknown)

    def is_mapping(self, value: Any, path: SuitePath, hint: str | None = None) -> bool:
        """Whether a value is a mapping; a problem is noted if not."""
        if not isinstance(value, Mapping):
            what = path[-1] if isinstance(path[-1], str) else f"each of {path[-2]}"
            self.add(f"{what} must be a mapping, not {message_text(value)}", path, hint)
        return isinstance(value, Mapping)

    def model(
        self, kind: type[AnyModel], value: Any, path: SuitePath, hint: str | None = None
    ) -> AnyModel | None:
        """Validate one section; None, with the problems noted, if it is wrong. `hint` is for non-mappings."""
        if not self.is_mapping(value, path, hint):
            return None
        try:
            return kind.model_validate({key: frozen(item) for key, item in value.items()})
        except ValidationError as error:
            self.translate(error.errors(), kind, value, path)
            return None

    def models(
        self, kind: type[AnyModel], value: Any, key: str, hint: str
    ) -> Iterator[tuple[SuitePath, AnyModel]]:
        """The sections of a mapping, or of a list of them, each with its place; problems are noted."""
        listed = not isinstance(value, Mapping)
        if listed and not isinstance(value, (list, tuple)):
            if value is not None:
                msg = f"{key} must be a mapping or a list of them, not {message_text(value)}"
                self.add(msg, (key,), hint)
            return
        for place, item in enumerate(value if listed else [value]):
            path: SuitePath = (key, place) if listed else (key,)
            section = self.model(kind, item, path, hint)
            if section is not None:
                yield path, section

    def translate(self, errors: Sequence[Any], kind: type[BaseModel], value: Any, path: SuitePath) -> None:
        """Note pydantic's errors about a value, with those of the branches of a union as one problem."""
        expected: dict[SuitePath, list[str]] = {}
        inputs: dict[SuitePath, Any] = {}
        hints: dict[SuitePath, str | None] = {}
        places = [_place(error, value) for error in errors]
        for error, place in zip(errors, places, strict=True):
            key = str(error["loc"][-1]) if error["loc"] else ""
            if error["type"] == "frozen_instance":
                continue
            if error["type"] in {"extra_forbidden", "invalid_key"}:
                fields = _kind_at(kind, place[:-1]).model_fields
                outer = (
                    place[-2] if len(place) > 1 and key in _kind_at(kind, place[:-2]).model_fields else None
                )
                hint = f"write {key} beside {outer}" if isinstance(outer, str) else key_hint(key, fields)
                self.add(f"unknown key '{key}'", (*path, *place), hint)
            elif error["type"] == "missing":
                hint = f"name its column: {LABEL_FORM}" if key == "label" else None
                is_listed = isinstance(error["loc"][-1], int)
                message = f"{place[-2]} needs more than {key} value" if is_listed else f"'{key}' is missing"
                self.add(message, (*path, *place[:-1]), hint)
            elif not any(place == other[: len(place)] != other for other in places):
                expected.setdefault(place, []).append(_expectation(error))
                inputs[place] = error["input"]
                hints[place] = error.get("ctx", {}).get("hint")
        for place, words in expected.items():
            name = next((str(step) for step in reversed(place) if isinstance(step, str)), "the value")
            alternatives = " or ".join(dict.fromkeys(words))
            message = f"{name} must be {alternatives}, not {message_text(inputs[place])}"
            hint = hints[place] or _plural(_kind_at(kind, place[:-1]), place[-1:], inputs[place])
            hint = hint or _FORMS.get((name, type(inputs[place])))
            hint = hint or _quotes(words, inputs[place]) or _nearest(words, inputs[place])
            hint = hint or (
                NAMED_ARRAYS if "a text" in words and hasattr(inputs[place], "__array__") else None
            )
            self.add(message, (*path, *place), hint)


_WORDS = {
    "string_type": "a text",
    "string_too_short": "a text that is not empty",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "too_short": "a list that is not empty",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "date_type": "a date",
    "datetime_type": "a date",
    "is_instance_of": "a metric",
}
_OTHER_WORDS = {
    **dict.fromkeys(("min", "minimum", "above"), "at_least"),
    **dict.fromkeys(("max", "maximum", "below"), "at_most"),
    **dict.fromkeys(("cluster", "clusters", "group", "groups"), "unit"),
    **dict.fromkeys(("fdr", "bh", "fdr_bh"), "benjamini_hochberg"),
    **dict.fromkeys(("delong", "wilson", "delta"), "analytic"),
    **dict.fromkeys(("obf", "obrien-fleming"), "obrien_fleming"),
    **dict.fromkeys(("bootstrap", "n_bootstrap", "n_boot", "n_resamples", "resamples"), "replicates"),
    **dict.fromkeys(("confidence", "confidence_level", "conf_level"), "level"),
    **dict.fromkeys(("target", "y_true", "truth"), "label"),
    **dict.fromkeys(("y_pred", "y_score", "y_prob", "score", "scores", "predictions"), "models"),
    "average": "mean",
    "html": "report",
    "metric": "outcome",
    "metrics": "measures",
    "path": "directory",
}
"""Keys and values under names that other tools or sections have for them."""

_NO_RANGE = (
    "for a range write two gates, one with at_least and one with at_most; within is a band of earlier values"
)
_FORMS: dict[tuple[str, type], str] = {
    ("unit", tuple): "join the columns: derive: {both: \"a || '/' || b\"}, and name both here",
    ("within", tuple): f"{_NO_RANGE}, as {{sd: 3, window: 56d}}",
    ("threshold", str): "write a number here, or the rule in a metric: recall(threshold=max(f1))",
}
"""Hints for values of another form than a key has, by key and type."""

_SWITCHES = {"true": ("yes", "on", "y"), "false": ("no", "off", "n")}
_SHARE = frozenset({"less than 1", "at most 1"})
_PERCENT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*")
_LIMITS = {
    "greater_than": ("greater than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
}


def _expectation(error: Any) -> str:
    kind = error["type"]
    if kind in _LIMITS:
        word, limit = _LIMITS[kind]
        return f"{word} {number_text(error['ctx'][limit])}"
    if kind == "literal_error":
        return str(error["ctx"]["expected"]).replace("'", "")
    if kind == "too_short" and error["ctx"].get("min_length", 1) > 1:
        return f"a list of at least {error['ctx']['min_length']}"
    if kind == "value_error":
        return str(error["ctx"]["error"])  # what a validator of ours expects
    return _WORDS.get(kind) or str(error["msg"]).removeprefix("Input should be ").lower()


def key_word(key: str) -> str:
    """Our word for a key; the key itself where there is none."""
    return _OTHER_WORDS.get(key, key)


def key_hint(key: str, keys: Iterable[str]) -> str | None:
    """Hint for an unknown key of a section with these keys."""
    word = key_word(key)
    if word == "unit" and word not in keys:
        return "what is resampled together is named under columns: {unit: COLUMN}"
    return f"did you mean '{word}'?" if word in keys else did_you_mean(key, keys)


def switch_hint(value: Any) -> str | None:
    """Hint for a word read as true or false by earlier versions of YAML."""
    word = value.strip().lower() if isinstance(value, str) else ""
    return next((f"write {truth}" for truth, words in _SWITCHES.items() if word in words), None)


def _quotes(expected: Sequence[str], value: Any) -> str | None:
    """Hint for a text in place of a number or of true and false, the other way round, or percent for a share."""
    if "true or false" in expected and (hint := switch_hint(value)) is not None:
        return hint
    if isinstance(value, str) and (share := _PERCENT.fullmatch(value)) is not None:
        return _share(float(share[1])) if any("number" in word for word in expected) else None
    if isinstance(value, (int, float)) and not _SHARE.isdisjoint(expected) and 10 <= value < 100:
        return _share(value)
    if isinstance(value, (int, float)) and "a text" in expected:
        return f"put it in quotes: '{message_text(value)}'"
    if isinstance(value, str) and re.fullmatch(r"[-+]?[0-9.]+(e[-+]?[0-9]+)?", value.strip()):
        return "write it without quotes"
    return None


def _plural(kind: type[BaseModel], key: SuitePath, value: Any) -> str | None:
    """Hint for a value that the list of this name takes, in a section that has a key for one and for several."""
    field = kind.model_fields.get(f"{key[0]}s") if key else None
    form = None if field is None else field.annotation
    if form is None or not isinstance(value, str):
        return None
    try:
        TypeAdapter(form).validate_python((value,))
    except ValidationError:
        return None
    return f"write {key[0]}s: [{value}]"


def _share(percent: float) -> str:
    return f"write {number_text(round(percent / 100, 15))}"


def _nearest(expected: Sequence[str], value: Any) -> str | None:
    """Nearest of the expected names to a text."""
    names = [name for words in expected for name in re.split(", | or ", words) if " " not in name]
    if not isinstance(value, str):
        return None
    word = _OTHER_WORDS.get(value.lower())
    match = word if word in names else nearest(value, names)
    return None if match is None else f"did you mean '{match}'?"


def _place(error: Any, value: Any) -> SuitePath:
    """Place of an error in the value, that of a missing key included."""
    place = _within(error["loc"], value)
    return (*place, error["loc"][-1]) if error["type"] == "missing" else place


def _within(location: Sequence[Any], value: Any) -> SuitePath:
    """Steps of a location within the value: pydantic adds names of types between and behind them."""
    place: list[str | int] = []
    for step in location:
        inside = isinstance(value, (Mapping, list, tuple)) and (
            step in value if isinstance(value, Mapping) else isinstance(step, int) and step < len(value)
        )
        if inside:
            place.append(step)
            value = value[step]
    return tuple(place)


def _kind_at(kind: type[BaseModel], place: SuitePath) -> type[BaseModel]:
    """Section at a depth within another."""
    for step in place:
        field = kind.model_fields.get(str(step))
        parts = () if field is None else (field.annotation, *get_args(field.annotation))
        kind = next((part for part in parts if isinstance(part, type) and issubclass(part, BaseModel)), kind)
    return kind


def absent(
    name: str, kind: str, path: SuitePath, names: Iterable[str], what: str = "", hint: str | None = None
) -> tuple[str, SuitePath, str | None]:
    """Problem of an unknown model or slice set of a suite, as `add` takes it.

    Args:
        name: the name.
        kind: models or slice sets.
        path: where it stands.
        names: those that there are.
        what: the key that it is given by, if the path does not end with it.
        hint: what to do where it is like none of them.
    """
    return f"{what} '{name}' is not one of the {kind}".lstrip(), path, did_you_mean(name, names) or hint


def lacks_column(metric: Metric, model: str, parts: tuple[str, ...]) -> str | None:
    """Need of a metric or its parts that the prediction of a model does not meet, in words; None if all are met."""
    lacking = next(filter(None, (part.lacks(parts) for part in composition(metric))), None)
    return None if lacking is None else f"{metric.text} needs {lacking}, which model '{model}' does not have"


def frozen(value: Any) -> Any:
    """Lists as tuples, all the way down, for a frozen suite."""
    if isinstance(value, (list, tuple)):
        return tuple(frozen(item) for item in value)
    if isinstance(value, dict):
        return {key: frozen(item) for key, item in value.items()}
    return value


def message_text(value: Any) -> str:
    """A value as it stands in a message, cut where it is long."""
    if value is None or isinstance(value, bool):
        return "nothing" if value is None else str(value).lower()
    if hasattr(value, "__array__") or hasattr(value, "collect_schema"):
        kind = type(value).__name__
        return "an array" if kind == "ndarray" else f"a {kind}"
    text = repr(list(value) if isinstance(value, tuple) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def is_label(value: Any, what: str, path: SuitePath, findings: Findings, *, hint: str | None = None) -> bool:
    """Whether a text can name a model or a slice set in results; a problem is noted if not."""
    plain = isinstance(value, str) and value.strip() and not any(ord(c) < 32 or c in "/\\|" for c in value)
    if not plain:
        findings.add(
            f"{what} must be a text without slashes, bars and control characters, not {message_text(value)}",
            path,
            hint,
        )
    return bool(plain)


def read_expression(
    text: str, path: SuitePath, findings: Findings, compiler: Callable[[str], RowExpression] = compile_row
) -> RowExpression | None:
    """The expression of a text; None, with the problem noted, if it is none."""
    try:
        return compiler(text)
    except RowExpressionError as error:
        findings.add(f"'{text}': {error}", path, error.hint)
        return None


def check_predicate(text: Any, path: SuitePath, findings: Findings) -> None:
    """Note the problem of an invalid row condition."""
    if isinstance(text, str) and text:
        row = read_expression(text, path, findings)
        if row is not None and row.kind not in {"condition", "unknown"}:
            findings.add(not_a_condition(text), path)


def check_expression(text: str, path: SuitePath, findings: Findings) -> None:
    """Note the problem of an invalid column expression."""
    row = read_expression(text, path, findings)
    if row is not None and not row.columns:
        findings.add(f"'{text}' reads no column", path, "name the columns it is computed from")
