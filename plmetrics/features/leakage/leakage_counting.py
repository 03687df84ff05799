"""The checks of the section `leakage`: what they must know of the rows, and what they count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from plmetrics.engine.inquiry import constant_question, frames_by_name, together
from plmetrics.engine.memory.budget import passes_to_hold
from plmetrics.features.leakage.attributes import AttributesCounting, attribute_candidates
from plmetrics.features.leakage.leakage_section import Leakage
from plmetrics.features.leakage.training_rows import (
    Finding,
    LeakagePlans,
    evaluated_columns,
    join_passes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from plmetrics.engine.inquiry import Question
    from plmetrics.engine.request import TableView
    from plmetrics.table.source import Source

_PATH = ("leakage",)
_IN_TABLE = 10
"""Numbers' worth of memory that a key takes in a hash table, beside itself."""


def leakage_text(view: TableView) -> str:
    """Checks of the section `leakage`, in words."""
    spec, columns = Leakage.of(view.suite), attribute_candidates(view)
    requests = {
        "keys": spec.keys,
        "times": spec.time,
        "duplicates": spec.duplicates,
        f"{len(columns)} {'attribute' if len(columns) == 1 else 'attributes'}": columns,
    }
    return ", ".join(name for name, requested in requests.items() if requested)


@dataclass(frozen=True, slots=True)
class LeakageCounting:
    """The checks of the section `leakage`, as they are counted: keys in so many passes, by their hash."""

    checks: LeakagePlans
    attributes: AttributesCounting | None
    passes: int = 1

    @classmethod
    def look(cls, view: TableView, train: Source | None) -> Question[LeakageCounting]:
        """Look up when training ended, and how many values attributes have.

        `view` is of the rows as they are in the data.

        Raises:
            DataError: the training table has no time.
            ConfigError: there is no room to look up keys.
        """
        names = attribute_candidates(view)
        rows = evaluated_columns(view, names)
        attributes = AttributesCounting.look(rows, view, names) if names else constant_question(None)
        checks, looked = yield from together(LeakagePlans.of(view, train), attributes)
        passes = yield from together(*_passes_of_keys(view, train, checks))
        return cls(checks, looked, max(passes, default=1))

    def count(self) -> Question[list[Finding]]:
        """Make the checks."""
        attributes = constant_question([]) if self.attributes is None else self.attributes.count()
        frames, facts = yield from together(self._frames(), attributes)
        return [*self.checks.findings(frames), *(Finding("attributes", **each) for each in facts)]

    def _frames(self) -> Question[dict[str, pl.DataFrame]]:
        """Frames of the plans, all passes together."""
        keyed = self.checks.keyed_plans(0, self.passes)
        frames = yield from frames_by_name({**self.checks.plans(), **keyed})
        for number in range(1, self.passes):
            more = yield from frames_by_name(self.checks.keyed_plans(number, self.passes))
            frames |= {name: join_passes(name, frames[name], frame) for name, frame in more.items()}
        return frames


def _passes_of_keys(view: TableView, train: Source | None, checks: LeakagePlans) -> Iterator[Question[int]]:
    """In how many passes keys are looked up, and grouped by, so that the memory budget has room for them."""
    if checks.keys and checks.train is not None and train is not None:
        columns = len(checks.keys) + _IN_TABLE
        what = "looking up the keys of the training table"
        yield passes_to_hold(view, checks.train, columns, what, *_PATH, "train", most=train.rows)
    if checks.spec.duplicates or checks.fold is not None:
        listed = checks.spec.duplicates if isinstance(checks.spec.duplicates, tuple) else checks.keys
        columns = len(listed) + _IN_TABLE
        name = "duplicates" if checks.spec.duplicates else "keys"
        yield passes_to_hold(view, checks.rows, columns, "grouping by keys", *_PATH, name)
