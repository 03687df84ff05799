"""The section `leakage` of a suite: its short forms and checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from plmetrics.suite.sections.section import Column, OneOrMore, Section, Strict

if TYPE_CHECKING:
    from plmetrics.core.names import SuitePath
    from plmetrics.suite.problems import Findings
    from plmetrics.suite.sections.section import ReadMetric

_PATH = ("leakage",)

Limit = Annotated[int, Field(ge=0)] | Annotated[float, Field(gt=0, lt=1)]


class LeakageLimits(Strict):
    """Admissible leakage: so many rows, or below 1 a share of them."""

    keys: Limit = Field(default=0, description="Rows whose keys stand in the training table.")
    time: Limit = Field(default=0, description="Rows no later than the last training row.")
    folds: Limit = Field(default=0, description="Rows whose keys stand in another fold too.")
    duplicates: Limit = Field(default=0, description="Rows that are there more than once.")


class Leakage(Section):
    """Checks that the rows to evaluate were not known in training. An excess over a limit is a failed gate."""

    cosmetic: ClassVar[Mapping[str, Any]] = {"train": True}
    example: ClassVar[str | None] = "write leakage: {train: train.parquet, keys: [id]}"

    train: Column | Annotated[tuple[Column, ...], Field(min_length=1)] | None = Field(
        default=None, description="Files of the training table, as in data.path. ${VAR} is replaced."
    )
    keys: OneOrMore | None = Field(
        default=None, description="Columns that together tell what a row is about: no such row in two places."
    )
    train_keys: OneOrMore | None = Field(
        default=None, description="Names of the keys in the training table; the same if not given."
    )
    time: Column | None = Field(
        default=None,
        description="Column of a time, date or number: all must be later than in the training table.",
    )
    train_time: Column | None = Field(
        default=None, description="Name of `time` in the training table; the same if not given."
    )
    duplicates: bool | OneOrMore = Field(
        default=False,
        description="Whether no two rows may have the same keys, or the columns to compare instead.",
    )
    attributes: bool | OneOrMore = Field(
        default=False,
        description="Columns that must not tell the label by themselves; true: all without a role.",
    )
    perfect: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.99, description="Association with the label from which an attribute alone is leakage."
    )
    limit: LeakageLimits = Field(
        default=LeakageLimits(),
        description="Largest number of leaking rows by check; their share where it is below 1.",
    )
    level: Literal["fail", "warn"] = Field(default="fail", description="Whether leakage fails the run.")

    @property
    def reads_every_column(self) -> bool:
        """Whether all columns without a role are looked at."""
        return self.attributes is True

    @classmethod
    def read(cls, value: Any, path: SuitePath, problems: Findings, read_metric: ReadMetric) -> Self | None:
        """The section from plain values; a number is no limit."""
        limit = value.get("limit", {}) if isinstance(value, Mapping) else {}
        hint = "write limit: {keys: 10} for rows, or {keys: 0.001} for a share of them"
        if not problems.is_mapping(limit, (*path, "limit"), hint):
            return None
        return super().read(value, path, problems, read_metric)

    def check(self, fields: Mapping[str, Any], problems: Findings) -> None:
        """Note requests without their inputs."""
        columns = fields.get("columns")
        fold = columns is not None and columns.fold is not None
        if not (self.keys or self.time or self.duplicates or self.attributes):
            problems.add("leakage checks nothing", _PATH, "give it keys, time, duplicates or attributes")
        if self.keys and self.train is None and not fold and not self.duplicates:
            hint = "add train: the training table; or columns.fold, or duplicates: true"
            problems.add("there is nothing to look for the keys in", (*_PATH, "keys"), hint)
        if self.duplicates is True and not self.keys:
            problems.add(
                "duplicates: true needs keys", (*_PATH, "duplicates"), "add keys: [id], or list columns here"
            )
        if self.time is not None and self.train is None:
            problems.add("time needs train: the table whose last time it is compared with", (*_PATH, "time"))
        if self.train is not None and not (self.keys or self.time):
            problems.add(
                "train is compared by keys or time", (*_PATH, "train"), "add keys: [id], or time: column"
            )
        for key, needs in (("train_time", "time"), ("train_keys", "keys")):
            if getattr(self, key) and not getattr(self, needs):
                problems.add(f"{key} needs {needs}", (*_PATH, key))
        if self.train_keys and self.keys and len(self.train_keys) != len(self.keys):
            problems.add("train_keys must name a column for each of keys", (*_PATH, "train_keys"))
        for key in self.limit.model_fields_set:
            if not _asks_for(self, key, fold=fold):
                problems.add(f"limit names '{key}', which is not checked", (*_PATH, "limit", key))


def _asks_for(spec: Leakage, check: str, *, fold: bool) -> bool:
    columns = {
        "keys": bool(spec.keys) and spec.train is not None,
        "time": spec.time is not None,
        "folds": bool(spec.keys) and fold,
        "duplicates": bool(spec.duplicates),
    }
    return columns[check]
