"""The section `leakage` of a suite: its short forms, and what does not fit together in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from plmetrics.suite.problems import shown
from plmetrics.suite.sections.basics import FRAME, Column, Section, Strict

if TYPE_CHECKING:
    from collections.abc import Callable

    from plmetrics.suite.model import Suite
    from plmetrics.suite.problems import Findings


_PATH = ("leakage",)
_FORM = "write leakage: {train: train.parquet, keys: [id]}"
_TEXTS = ("keys", "train_keys", "duplicates", "attributes")


Limit = Annotated[int, Field(ge=0)] | Annotated[float, Field(gt=0, lt=1)]


class LeakageLimits(Strict):
    """How much leakage is borne: so many rows, or below 1 a share of them."""

    keys: Limit = Field(default=0, description="Rows whose keys stand in the training table.")
    time: Limit = Field(default=0, description="Rows no later than the last training row.")
    folds: Limit = Field(default=0, description="Rows whose keys stand in another fold too.")
    duplicates: Limit = Field(default=0, description="Rows that are there more than once.")


class Leakage(Section):
    """Checks that the rows to evaluate were not known in training. What goes beyond its limit is a failed gate."""

    cosmetic: ClassVar[Mapping[str, Any]] = {"train": True}

    train: Column | Annotated[tuple[Column, ...], Field(min_length=1)] | None = Field(
        default=None, description="Files of the training table, as in data.path. ${VAR} is replaced."
    )
    keys: Annotated[tuple[Column, ...], Field(min_length=1)] | None = Field(
        default=None, description="Columns that together tell what a row is about: no such row in two places."
    )
    train_keys: Annotated[tuple[Column, ...], Field(min_length=1)] | None = Field(
        default=None, description="What the keys are called in the training table; the same if not given."
    )
    time: Column | None = Field(
        default=None,
        description="Column of a time, date or number: all must be later than in the training table.",
    )
    train_time: Column | None = Field(
        default=None, description="What `time` is called in the training table; the same if not given."
    )
    duplicates: bool | Annotated[tuple[Column, ...], Field(min_length=1)] = Field(
        default=False,
        description="Whether no two rows may have the same keys, or the columns to compare instead.",
    )
    attributes: bool | Annotated[tuple[Column, ...], Field(min_length=1)] = Field(
        default=False,
        description="Columns that must not tell the label by themselves; true: all without a role.",
    )
    perfect: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.99, description="How well an attribute alone may not tell the label."
    )
    limit: LeakageLimits = Field(default=LeakageLimits(), description="How much of it is borne.")
    level: Literal["fail", "warn"] = Field(default="fail", description="Whether leakage fails the run.")


def section_of(suite: Suite) -> Leakage:
    """The section of a suite that has it."""
    section = suite.sections["leakage"]
    assert isinstance(section, Leakage)
    return section


def read_leakage(value: Any, found: Findings) -> Leakage | None:
    """The section; None where it is wrong."""
    if not isinstance(value, Mapping):
        found.add(f"leakage must be a mapping, not {shown(value)}", _PATH, _FORM)
        return None
    given = {key: [item] if key in _TEXTS and isinstance(item, str) else item for key, item in value.items()}
    if "limit" in given and not isinstance(given["limit"], Mapping):
        hint = "write limit: {keys: 10} for rows, or {keys: 0.001} for a share of them"
        found.add(f"limit must be a mapping, not {shown(given['limit'])}", (*_PATH, "limit"), hint)
        return None
    return found.model(Leakage, given, _PATH)


def check_leakage(spec: Leakage, fields: Mapping[str, Any], add: Callable[..., None]) -> None:
    """Note what is asked for without what it needs."""
    columns = fields.get("columns")
    fold = columns is not None and columns.fold is not None
    if not (spec.keys or spec.time or spec.duplicates or spec.attributes):
        add("leakage checks nothing", _PATH, "give it keys, time, duplicates or attributes")
    if spec.keys and spec.train is None and not fold and not spec.duplicates:
        hint = "add train: the training table; or columns.fold, or duplicates: true"
        add("there is nothing to look for the keys in", (*_PATH, "keys"), hint)
    if spec.duplicates is True and not spec.keys:
        add("duplicates: true needs keys", (*_PATH, "duplicates"), "add keys: [id], or list columns here")
    if spec.time is not None and spec.train is None:
        add("time needs train: the table whose last time it is compared with", (*_PATH, "time"))
    if spec.train is not None and not (spec.keys or spec.time):
        add("train is compared by keys or time", (*_PATH, "train"), "add keys: [id], or time: column")
    for key, needs in (("train_time", "time"), ("train_keys", "keys")):
        if getattr(spec, key) and not getattr(spec, needs):
            add(f"{key} needs {needs}", (*_PATH, key))
    if spec.train_keys and spec.keys and len(spec.train_keys) != len(spec.keys):
        add("train_keys must name a column for each of keys", (*_PATH, "train_keys"))
    for key in spec.limit.model_fields_set:
        if not _asked(spec, key, fold=fold):
            add(f"limit names '{key}', which is not checked", (*_PATH, "limit", key))


def _asked(spec: Leakage, check: str, *, fold: bool) -> bool:
    """Whether a check is made."""
    made = {
        "keys": bool(spec.keys) and spec.train is not None,
        "time": spec.time is not None,
        "folds": bool(spec.keys) and fold,
        "duplicates": bool(spec.duplicates),
    }
    return made[check]


def with_frame(given: Any) -> Any:
    """The section as a suite has it, where `train` is a frame or table of another library."""
    if not isinstance(given, Mapping) or "train" not in given or given["train"] is None:
        return given
    train = given["train"]
    paths = train if isinstance(train, (list, tuple)) else [train]
    if not all(hasattr(path, "__fspath__") or isinstance(path, str) for path in paths):
        return {**given, "train": FRAME}
    texts = [str(path) for path in paths]
    return {**given, "train": texts if isinstance(train, (list, tuple)) else texts[0]}


def leakage_schema() -> dict[str, Any]:
    """The JSON Schema of the section: columns may stand without a list."""
    schema = Leakage.model_json_schema()
    for key in _TEXTS:
        schema["properties"][key]["anyOf"].append({"type": "string", "description": "The column."})
    return schema
