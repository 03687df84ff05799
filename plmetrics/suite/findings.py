"""Problems collected while a suite is checked, and pydantic's errors in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from plmetrics.core.errors import Problem
from plmetrics.core.names import did_you_mean

if TYPE_CHECKING:
    from plmetrics.core.names import SuitePath

AnyModel = TypeVar("AnyModel", bound=BaseModel)


class Findings:
    """Problems found so far."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def add(self, message: str, path: SuitePath, hint: str | None = None) -> None:
        """Note one more."""
        self.problems.append(Problem(message, path, hint))

    def model(self, kind: type[AnyModel], value: Any, path: SuitePath) -> AnyModel | None:
        """Validate one section; None, with the problems noted, if it is wrong."""
        if not isinstance(value, Mapping):
            self.add(f"must be a mapping, not {shown(value)}", path)
            return None
        try:
            return kind.model_validate({key: frozen(item) for key, item in value.items()})
        except ValidationError as error:
            for one in error.errors():
                self.translate(one, kind, path)
            return None

    def translate(self, error: Any, kind: type[BaseModel], path: SuitePath) -> None:
        """Note one of pydantic's errors."""
        place = (*path, *error["loc"])
        key = str(error["loc"][-1]) if error["loc"] else ""
        if error["type"] == "extra_forbidden":
            self.add(f"unknown key '{key}'", place, did_you_mean(key, kind.model_fields))
        elif error["type"] == "missing":
            self.add(f"'{key}' is missing", path)
        elif error["type"] == "literal_error":
            expected = error["ctx"]["expected"].replace("'", "")
            self.add(f"{key} must be {expected}, not {shown(error['input'])}", place)
        else:
            words = error["msg"].removeprefix("Input should be ").replace("valid ", "")
            self.add(f"{key} must be {words}, not {shown(error['input'])}", place)


def frozen(value: Any) -> Any:
    """Lists as tuples, all the way down: what a frozen suite holds."""
    if isinstance(value, (list, tuple)):
        return tuple(frozen(item) for item in value)
    if isinstance(value, dict):
        return {key: frozen(item) for key, item in value.items()}
    return value


def shown(value: Any) -> str:
    """A value as it stands in a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
