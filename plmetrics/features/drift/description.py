"""The description of counts of a window: slice sets, keys and columns; and whether counts serve as a reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from plmetrics.core.errors import ConfigError, DataError, Problem
from plmetrics.core.names import SuitePath, name_list
from plmetrics.features.drift.slice_counts import BLOCK
from plmetrics.features.drift.subjects import Kind, Subject
from plmetrics.features.drift.windows import CurrentWindow, block_column
from plmetrics.features.stored.grids import key_content
from plmetrics.table.slice_keys import SliceKey

_FROM_DATA = ("@quantiles|", "@top|")
_LISTED = 12
_WORDS = {
    "number": "numbers",
    "days": "moments or durations",
    "seconds": "times of day",
    "category": "texts or booleans",
}


@dataclass(frozen=True, slots=True)
class ColumnDescription:
    """Description of a column of counts. `kind` is None for a column of nulls alone, whatever its type.

    `zoned` says of moments whether they have a time zone, `positive` of a label what it counts as positive, `bits` of
    floats how many they have.
    """

    subject: str
    column: str
    kind: Kind | None
    model: str | None = None
    part: str = ""
    zoned: bool | None = None
    positive: str | None = None
    bits: int = 64

    @classmethod
    def of(cls, subject: Subject, window: CurrentWindow) -> ColumnDescription:
        """Description of a subject of a window."""
        dtype = window.view.schema[subject.column]
        zoned = dtype.time_zone is not None if isinstance(dtype, pl.Datetime) else None
        positive = window.view.suite.positive if subject.subject == "label" else None
        kind = None if dtype == pl.Null and subject.subject == "column" else subject.kind
        label = None if positive is None else str(positive)
        return cls(
            subject.subject, subject.column, kind, subject.model, subject.part, zoned, label, subject.bits
        )

    @property
    def name(self) -> str:
        """Identity among all columns of a state's counts."""
        return "|".join([self.subject, self.model or "", self.part, self.column])

    @property
    def words(self) -> str:
        """Name in messages."""
        if self.subject == "column":
            return f"column '{self.column}'"
        of_model = f" of model '{self.model}'" if self.model is not None else ""
        return f"the {self.subject}{of_model} (column '{self.column}')"


@dataclass(frozen=True, slots=True)
class Description:
    """The slice sets, keys, weight and columns of counts; values of `folded` columns are not told apart.

    `sets` are the key columns of each slice set by name, of predicates that may overlap one by one; `groups` are those
    that counts lie together by. `keys` say of keys what their column's name does not: the text of a predicate, the
    edges found in the data.
    """

    sets: Mapping[str, tuple[tuple[str, ...], ...]]
    groups: tuple[tuple[str, ...], ...]
    keys: Mapping[str, Any]
    subjects: tuple[ColumnDescription, ...]
    weight: str | None = None
    folded: frozenset[str] = frozenset()

    @classmethod
    def of(cls, window: CurrentWindow) -> Description:
        """Description of the counts of a window; nothing is folded yet."""
        sets: dict[str, tuple[tuple[str, ...], ...]] = {}
        keys: dict[str, Any] = {}
        for part in window.sets:
            sets[part.name] = (*sets.get(part.name, ()), tuple(part.columns))
            keys |= {key.column: text for key in part.keys if (text := _of_key(key, part.name, window))}
        groups = _widest([tuple(part.columns) for part in window.sets])
        if window.unit is not None:
            groups = tuple((*group, block_column(window.unit)) for group in groups)
        subjects = tuple(ColumnDescription.of(subject, window) for subject in window.subjects)
        return cls(sets, groups, keys, subjects, window.view.suite.columns.weight)

    @classmethod
    def read(cls, description: Mapping[str, Any]) -> Description:
        """From the JSON of a state."""
        return cls(
            {name: tuple(map(tuple, parts)) for name, parts in description["sets"].items()},
            tuple(map(tuple, description["groups"])),
            description["keys"],
            tuple(ColumnDescription(**entry) for entry in description["subjects"]),
            description["weight"],
            frozenset(description["folded"]),
        )

    def json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "sets": {name: list(map(list, parts)) for name, parts in self.sets.items()},
            "groups": [list(columns) for columns in self.groups],
            "keys": dict(self.keys),
            "subjects": [asdict(column) for column in self.subjects],
            "weight": self.weight,
            "folded": sorted(self.folded),
        }

    @property
    def keys_from_data(self) -> dict[str, Any]:
        """Keys with edges or values from the data."""
        return {column: key for column, key in self.keys.items() if column.startswith(_FROM_DATA)}

    def counterpart(self, column: ColumnDescription) -> ColumnDescription | None:
        """Reference of a column: of scores those of the same model, else of the same column."""
        same = [
            subject
            for subject in self.subjects
            if (subject.subject, subject.column, subject.part) == (column.subject, column.column, column.part)
        ]
        return next((subject for subject in same if subject.model == column.model), same[0] if same else None)

    @property
    def block(self) -> str | None:
        """The key of blocks of units, None where counts do not tell these."""
        return next((key for key in self.groups[0] if key.startswith(BLOCK)), None)

    @property
    def groups_without_units(self) -> tuple[tuple[str, ...], ...]:
        """The groups without the key of blocks of units."""
        return tuple(tuple(key for key in group if not key.startswith(BLOCK)) for group in self.groups)

    def group_of(self, columns: Sequence[str]) -> int | None:
        """Number of the first group with all of some keys."""
        return next((n for n, group in enumerate(self.groups) if set(columns) <= set(group)), None)


def _of_key(key: SliceKey, name: str, window: CurrentWindow) -> Any:
    """Meaning of a key beyond the name of its column."""
    if key.kind == "predicate":
        where = window.view.suite.slices[name].where
        return where if isinstance(where, str) or where is None else where[key.label]
    return key_content(key) if key.column.startswith(_FROM_DATA) else None


def _widest(columns: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Sets of columns without a superset among the others."""
    unique = list(dict.fromkeys(tuple(sorted(names)) for names in columns))
    return tuple(names for names in unique if not any(set(names) < set(other) for other in unique))


def check_serves(needed: Description, reference: Description, place: str, path: SuitePath) -> None:
    """Check the columns and slices of counts against those a suite compares.

    `place` is what people call the reference, `path` where the suite names it.

    Raises:
        DataError: it lacks columns or slice sets, or holds them with another meaning; all is named.
    """
    problems = [Problem(text, path, hint) for text, hint in _misfits(needed, reference, place)]
    if problems:
        raise DataError(problems)


def _misfits(needed: Description, reference: Description, place: str) -> Iterator[tuple[str, str]]:
    again = "write the state again with this suite, or compare by a table: drift.reference"
    if needed.weight != reference.weight:
        weighting = [
            f"by '{description.weight}'" if description.weight else "equally"
            for description in (reference, needed)
        ]
        yield f"{place} weighs rows {weighting[0]}, and this suite {weighting[1]}", again
    names = [subject.words for subject in reference.subjects]
    listed = name_list(names, _LISTED)
    for subject in needed.subjects:
        there = reference.counterpart(subject)
        if there is None:
            yield f"{place} does not count {subject.words}; it counts {listed or 'no column'}", again
        elif differing := _type_conflict(subject, there):
            yield (
                f"{subject.words} {differing[1]}, but {differing[0]} in {place}",
                "store it in one type in both",
            )
    for name, parts in needed.sets.items():
        if any(reference.group_of(columns) is None for columns in parts):
            sets = (
                ", ".join(set_name for set_name in reference.sets if set_name != "overall")
                or "none beside overall"
            )
            yield f"{place} is not sliced by the slice set '{name}'; its slice sets: {sets}", again
    for column, meaning in needed.keys.items():
        there_meaning = reference.keys.get(column, meaning)
        if isinstance(meaning, str) and there_meaning != meaning:
            label = column.split("|")[-1]
            yield f"{place} means by '{label}' {there_meaning!r}, and this suite {meaning!r}", again


def _type_conflict(needed: ColumnDescription, there: ColumnDescription) -> tuple[str, str] | None:
    """Difference of type or meaning between two columns of one name: there, and here."""
    if None not in (needed.kind, there.kind) and needed.kind != there.kind:
        return f"held {_WORDS[str(there.kind)]}", f"holds {_WORDS[str(needed.kind)]}"
    if needed.zoned is not None and there.zoned is not None and needed.zoned != there.zoned:
        zones = {True: "had a time zone", False: "had none"}
        return zones[there.zoned], "has a time zone" if needed.zoned else "has no time zone"
    if needed.positive != there.positive:
        return f"counted {there.positive or 1} as positive", f"counts {needed.positive or 1} as positive"
    return None


def check_one_meaning(
    first: Description, other: Description, places: tuple[str, str], path: SuitePath = ()
) -> None:
    """Check two states for counts of equal meaning, fit to be added.

    Raises:
        ConfigError: columns or keys have another meaning in the second.
    """
    problems = []
    for subject in first.subjects:
        there = other.counterpart(subject)
        differing = None if there is None else _type_conflict(subject, there)
        if differing is not None:
            text = f"drift's {subject.words} {differing[1]} in {places[0]}, but {differing[0]} in {places[1]}"
            problems.append(Problem(text, path, "write the column with one type, and the states again"))
    for column, meaning in first.keys.items():
        if other.keys.get(column, meaning) != meaning:
            text = f"drift's slices by {column.strip('@')} are not the same in {places[0]} and {places[1]}"
            problems.append(Problem(text, path, "write the states with the constants of one"))
    if first.weight != other.weight:
        problems.append(Problem(f"{places[0]} and {places[1]} weigh rows by other columns", path))
    if problems:
        raise ConfigError(problems)
