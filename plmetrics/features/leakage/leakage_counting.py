"""The checks of the section `leakage`: their constants, their counts, and the storage of these in states.

A stored check is a part of one row, whose lists are the columns of a frame: of numbers, which add, or of keys with
their rows, which several states may share. Folds are not looked at: a cross-validation has no states.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.errors import DataError, Problem
from plmetrics.engine.inquiry import Question, answer, constant_question, frames_by_name, gather
from plmetrics.engine.memory.budget import passes_to_hold
from plmetrics.features.leakage.attributes import AttributesCounting, attribute_candidates
from plmetrics.features.leakage.leakage_section import Leakage
from plmetrics.features.leakage.training_rows import (
    EXAMPLE,
    REPEATED,
    LeakageFinding,
    LeakagePlans,
    evaluated_columns,
    join_passes,
)
from plmetrics.states.state_format import Builder, Part, SavedState

if TYPE_CHECKING:
    from plmetrics.engine.request import TableView
    from plmetrics.features.protocol import CountedRows
    from plmetrics.features.stored.alignment import AlignedStates
    from plmetrics.suite.model import Suite
    from plmetrics.table.source import Source

_PATH = ("leakage",)
_IN_TABLE = 10
"""Numbers' worth of memory that a key takes in a hash table, beside itself."""
KIND = "leakage"
MOST_KEYS = 10_000_000
"""The most different keys that a state holds, its own or those of states that were merged."""
_DUPLICATES = "duplicates"
_LAST = "last"


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
    def prepare(cls, view: TableView, train: Source | None) -> Question[LeakageCounting]:
        """Question about the end of training, and the number of distinct values of attributes.

        `view` is of the rows as they are in the data.
        """
        names = attribute_candidates(view)
        rows = evaluated_columns(view, names)
        attributes = AttributesCounting.prepare(rows, view, names) if names else constant_question(None)
        checks, looked = yield from gather(LeakagePlans.of(view, train), attributes)
        passes = yield from gather(*_passes_of_keys(view, train, checks))
        return cls(checks, looked, max(passes, default=1))

    def count(self) -> Question[list[LeakageFinding]]:
        """Make the checks."""
        attributes = constant_question([]) if self.attributes is None else self.attributes.count()
        frames, facts = yield from gather(self._frames(), attributes)
        return [*self.checks.findings(frames), *(LeakageFinding("attributes", **each) for each in facts)]

    def _frames(self) -> Question[dict[str, pl.DataFrame]]:
        """Frames of the plans, all passes together."""
        keyed = self.checks.keyed_plans(0, self.passes)
        frames = yield from frames_by_name({**self.checks.plans(), **keyed})
        for number in range(1, self.passes):
            more = yield from frames_by_name(self.checks.keyed_plans(number, self.passes))
            frames |= {name: join_passes(name, frames[name], frame) for name, frame in more.items()}
        return frames


def _passes_of_keys(view: TableView, train: Source | None, checks: LeakagePlans) -> Iterator[Question[int]]:
    """Number of passes of key look-ups, and of groupings by keys, within the memory budget."""
    if checks.keys and checks.train is not None and train is not None:
        columns = len(checks.keys) + _IN_TABLE
        what = "looking up the keys of the training table"
        yield passes_to_hold(view, checks.train, columns, what, *_PATH, "train", most=train.rows)
    if checks.spec.duplicates or checks.fold is not None:
        listed = checks.spec.duplicates if isinstance(checks.spec.duplicates, tuple) else checks.keys
        columns = len(listed) + _IN_TABLE
        name = "duplicates" if checks.spec.duplicates else "keys"
        yield passes_to_hold(view, checks.rows, columns, "grouping by keys", *_PATH, name)


def write(builder: Builder, rows: CountedRows, train: Source | None) -> None:
    """Add the parts of the checks of some rows, beside a training table."""
    counting = answer(LeakageCounting.prepare(rows.view, train))
    checks, frames = counting.checks, answer(frames_by_name(counting.checks.plans()))
    last = None if checks.last is None else checks.last[1]
    frames["counts"] = frames["counts"].with_columns(pl.lit(last, dtype=pl.String).alias(_LAST))
    for number in range(counting.passes):
        groups = {name: plan for name, (plan, _) in checks.groups(number, counting.passes).items()}
        for name, frame in answer(frames_by_name(checks.lookups(number, counting.passes) | groups)).items():
            before = [frames[name]] if name in frames else []
            frames[name] = _sum(name, [*before, frame])
    for name, frame in frames.items():
        builder.add(Part(KIND, bins=name), _row_of(name, frame))


def merge(layouts: Sequence[AlignedStates], builder: Builder) -> None:
    """Add the parts of the checks of all states.

    Raises:
        DataError: there are too many keys, or the states looked at other training tables.
    """
    for part in layouts[0].head.numbers(KIND).values():
        total: list[pl.DataFrame] = []
        for rows in chain.from_iterable(group.rows_of(KIND, part.bins) for group in layouts):
            total = [_sum(part.bins, [*total, _frame_of(part, rows)])]
        builder.add(Part(KIND, bins=part.bins), _row_of(part.bins, total[0]))


def findings_of_state(suite: Suite, saved: SavedState) -> list[LeakageFinding]:
    """Findings of the checks of all rows of a state, as those of a run over them."""
    spec, frames = Leakage.of(suite), {}
    for number, part in saved.head.numbers(KIND).items():
        frames[part.bins] = _frame_of(part, saved.of(number))
    if _DUPLICATES in frames:
        twice = frames[_DUPLICATES].filter(REPEATED[_DUPLICATES])
        by = [name for name in twice.columns if name != "n"]
        frames[_DUPLICATES] = twice.select(pl.col("n").sum().alias("rows"))
        frames[f"{_DUPLICATES}{EXAMPLE}"] = twice.select(by).sort(by).head(1)
    text = frames["counts"][_LAST].item()
    last = None if text is None else (pl.lit(None), text)
    none = pl.LazyFrame()
    return LeakagePlans(spec, None, none, none if "train" in frames else None, last, ()).findings(frames)


def _sum(name: str, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    if len({tuple(frame.schema.items()) for frame in frames}) > 1:
        msg = "the columns that leakage compares are of other types in the rows of other states"
        raise DataError(Problem(msg, ("leakage",), "cast them to one type where the tables are written"))
    if name == _DUPLICATES:
        return _keys_together(frames)
    if name == "counts":
        return reduce(_counts_together, frames)
    if name == "train":
        if any(not frame.equals(frames[0]) for frame in frames):
            raise _other_training()
        return frames[0]
    return reduce(lambda one, other: join_passes(name, one, other), frames)


def _keys_together(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    every = pl.concat(frames)
    by = [column for column in every.columns if column != "n"]
    keys = every.group_by(by).agg(pl.col("n").sum()).sort(by)
    if keys.height > MOST_KEYS:
        most = f"{MOST_KEYS:,} are the most that a state holds"
        msg = f"leakage looks for duplicates among {keys.height:,} different keys, and {most}"
        hint = "run it over the rows: keys are then looked at in as many passes as memory asks for"
        raise DataError(Problem(msg, ("leakage", _DUPLICATES), hint))
    return keys


def _counts_together(earlier: pl.DataFrame, later: pl.DataFrame) -> pl.DataFrame:
    if earlier[_LAST].item() != later[_LAST].item():
        raise _other_training()
    both = pl.concat([earlier, later])
    first = [pl.col("first").min()] if "first" in both.columns else []
    return both.select(pl.exclude(_LAST, "first").sum(), *first, pl.col(_LAST).first()).select(both.columns)


def _other_training() -> DataError:
    msg = "the states were compared with other training tables"
    return DataError(Problem(msg, ("leakage", "train"), "write them again with the same one"))


def _row_of(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Frame as one row of lists, with names unique among parts."""
    texts = frame.with_columns(pl.selectors.categorical().cast(pl.String))
    return texts.select(pl.all().implode().name.prefix(f"@{KIND}|{name}|"))


def _frame_of(part: Part, rows: pl.DataFrame) -> pl.DataFrame:
    columns: dict[str, Any] = {
        name.removeprefix(f"@{KIND}|{part.bins}|"): rows[name][0] for name in part.columns
    }
    return pl.DataFrame(columns)
