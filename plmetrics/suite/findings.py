"""What is wrong with a suite, collected until everything has been looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from plmetrics.core.errors import Location, Problem
from plmetrics.core.names import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic_core import ErrorDetails

    from plmetrics.core.names import SuitePath

ModelT = TypeVar("ModelT", bound=BaseModel)

_PHRASES = {
    "string_type": "must be text",
    "string_too_short": "must not be empty",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "model_type": "must be a mapping of keys to values",
    "dict_type": "must be a mapping of keys to values",
    "tuple_type": "must be a list",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be {expected}",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem at a place in the suite; `at_key` where the key itself is wrong, not its value."""

    message: str
    path: SuitePath
    hint: str | None = None
    at_key: bool = False


class Findings:
    """Collects problems. Nothing is raised before everything has been read."""

    def __init__(self) -> None:
        self.found: list[Finding] = []

    def add(self, message: str, *path: str | int, hint: str | None = None, at_key: bool = False) -> None:
        """Note a problem at a path."""
        self.found.append(Finding(message, path, hint, at_key))

    def validated(self, model: type[ModelT], raw: Any, *path: str | int) -> ModelT | None:
        """The typed object, or None and the reasons in plain words."""
        if not isinstance(raw, dict):
            self.add(f"{path[-1]} must be a mapping of keys to values, not {described(raw)}", *path)
            return None
        try:
            return model.model_validate(raw)
        except ValidationError as error:
            for details in _one_per_place(error):
                self._translate(details, tuple(model.model_fields), path)
        return None

    def field(self, model: type[BaseModel], name: str, raw: Any) -> Any:
        """One typed value of a model's field, or its default and the reason in plain words."""
        info = model.model_fields[name]
        if raw is None:
            return info.get_default(call_default_factory=True)
        adapter: TypeAdapter[Any] = TypeAdapter(info.rebuild_annotation(), config=ConfigDict(strict=True))
        try:
            return adapter.validate_python(raw)
        except ValidationError as error:
            self.add(_message(name, _one_per_place(error, depth=0)[0]), name)
        return info.get_default(call_default_factory=True)

    def problems(self, locate: Callable[[SuitePath, bool], Location | None]) -> tuple[Problem, ...]:
        """All problems, each with its place in the file, in the order of the file."""
        unique = dict.fromkeys(self.found)
        located = [
            Problem(finding.message, finding.path, finding.hint, locate(finding.path, finding.at_key))
            for finding in unique
        ]
        return tuple(sorted(located, key=_order))

    def _translate(self, details: ErrorDetails, known: tuple[str, ...], path: SuitePath) -> None:
        place = (*path, *details["loc"])
        name = str(place[-1])
        if details["type"] == "missing":
            self.add(f"'{name}' is missing", *place[:-1])
        elif details["type"] in {"extra_forbidden", "invalid_key"}:
            hint = did_you_mean(name, known)
            self.add(f"unknown key '{name}'", *place, hint=hint, at_key=True)
        else:
            self.add(_message(name, details), *place)


def _order(problem: Problem) -> tuple[bool, str, int, int]:
    where = problem.where
    return (True, "", 0, 0) if where is None else (False, where.file, where.line, where.column)


def _one_per_place(error: ValidationError, depth: int = 1) -> list[ErrorDetails]:
    """The errors, of which a value that may have several types has one for each type."""
    seen: dict[tuple[int | str, ...], ErrorDetails] = {}
    for details in error.errors(include_url=False):
        seen.setdefault(details["loc"][:depth], {**details, "loc": details["loc"][:depth]})
    return list(seen.values())


def _message(name: str, details: ErrorDetails) -> str:
    given = details["input"]
    if details["type"] == "literal_error":
        phrase = "must be " + str(details["ctx"]["expected"])
    else:
        context: Mapping[str, Any] = details.get("ctx") or {}
        phrase = _PHRASES.get(details["type"], "is not valid").format(**context)
    return f"{name} {phrase}, not {described(given)}"


def described(value: Any) -> str:
    """A value in a message: short, and no Python.

    >>> described(None), described(True), described({"a": 1}), described("x" * 50)
    ('nothing', 'true', 'a mapping', "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'")
    """
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else value[:40] + "...")
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, (list, tuple, set)):
        return "a list"
    return repr(value) if isinstance(value, (int, float)) else f"a {type(value).__name__}"
