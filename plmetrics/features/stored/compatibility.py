"""Compatibility of states to add: equal meaning, equal constants, and no common rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from plmetrics.core.errors import ConfigError, DataError, Problem
from plmetrics.core.hashing import same_words
from plmetrics.engine.request import unit_column
from plmetrics.engine.streaming import frames_of
from plmetrics.features.registry import features_in
from plmetrics.features.stored.alignment import StateReference, tables
from plmetrics.features.stored.stored_state import differences, suite_of
from plmetrics.states.state_format import BLOCKS, PART, Head, frame_of

_ONE_SUITE = (
    "merge states of one suite, whose name and paths may differ; plmetrics backfill --force counts intervals of an "
    "earlier suite again"
)
_SAME = "write them with the constants of one: "
_ONE_TYPE = "write the column with one type, or derive one, as CAST(x AS VARCHAR) does; and the states again"
_LISTED = 5


class NotAdding(ConfigError):  # noqa: N818
    """Error of states with different meanings or constants."""

    title = "the states do not add"


class Overlap(DataError):  # noqa: N818
    """Error of states with common rows: these would count twice."""

    title = "the states share rows"


def check_compatible(states: Sequence[StateReference]) -> None:
    """Check states, at least one, for equal meaning and constants.

    Raises:
        NotAdding: they do not; the message names two of them and what differs.
    """
    first = states[0]
    for other in states[1:]:
        pair = f"{first.place} and {other.place}"
        if other.head.fingerprint != first.head.fingerprint:
            suites = suite_of(first.head), suite_of(other.head)
            reason = ", ".join(differences(*suites)) or "the versions they were written with"
            msg = f"{pair} are states of different suites: they differ in {reason}"
            raise NotAdding(Problem(msg, hint=_ONE_SUITE))
        differing = list(constant_differences(first.head.constants, other.head.constants))
        if differing:
            text = "; ".join(differing[:_LISTED]) + (
                f"; and {len(differing) - _LISTED} more" if len(differing) > _LISTED else ""
            )
            of_file = isinstance(first.table, Path)
            way = (
                f"plmetrics state SUITE --constants {first.place}"
                if of_file
                else "plm.state(..., constants=STATE)"
            )
            raise NotAdding(Problem(f"{pair} have other constants: {text}", hint=f"{_SAME}{way}"))
        _check_versions(first, other)
        _check_features(first, other)
    schemas = {state.head.schema: state for state in reversed(states)}
    check_types(
        (state.place, frame_of(text).schema, state.head.typed) for text, state in reversed(schemas.items())
    )


def constant_differences(left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[str]:
    """Differences of two states' constants, in words."""
    words = {"centres": "the centre", "thresholds": "the threshold"}
    if left.get("moments") and right.get("moments"):
        del words["centres"]
    elif left.get("moments") or right.get("moments"):
        yield "one was written by an earlier version, whose moments are all about one centre"
    for kind, word in words.items():
        for model in left[kind]:
            for key, value, other in _differing(left[kind], right[kind], model):
                yield f"{word} of {key} for model '{model}' is {value} and {other}"
    if left["classes"] != right["classes"]:
        yield f"the classes are {left['classes']} and {right['classes']}"
    for _, key, other in _differing(left, right, "keys"):
        what = "quantile edges" if key["kind"] == "bins" else "values of the top"
        edges = (other or {}).get("edges")
        yield f"the {what} of column '{key['label']}' are {key['edges']} and {edges}"
    yield from (
        f"the exponent of the sum '{name}' (reproducible) is {exponent} and {other}"
        for name, exponent, other in _differing(left, right, "exponents")
    )
    yield from (
        f"the ends of the histogram of scores of model '{model}' are {span} and {other}"
        for model, span, other in _differing(left, right, "score_spans")
    )
    yield from (f"the calibrator of model '{model}'" for model, *_ in _differing(left, right, "calibrators"))
    if left.get("baseline") != right.get("baseline"):
        yield f"what the built-in baseline gives is {left.get('baseline')} and {right.get('baseline')}"
    yield from (
        f"what {feature} has looked up in the rows: bins, values and centres"
        for feature, *_ in _differing(left, right, "features")
    )
    binned = dict.fromkeys(name.partition("|")[0] for name, *_ in _differing(left, right, "bin_edges"))
    if binned:
        yield f"the bins that curves are drawn from (models {', '.join(binned)})"
    if left["grid"] != right["grid"]:
        models = dict.fromkeys(name.split("|")[0] for name in (left["grid"] or {"keys": {}})["keys"])
        yield f"the grid that scores are counted on (models {', '.join(models)})"


def _differing(
    left: Mapping[str, Any], right: Mapping[str, Any], kind: str
) -> Iterator[tuple[str, Any, Any]]:
    """Entries of a kind with another value in the second state: names and both values, None where it has none."""
    there = right.get(kind, {})
    for name, value in left.get(kind, {}).items():
        if there.get(name) != value:
            yield name, value, there.get(name)


def _check_versions(first: StateReference, other: StateReference) -> None:
    """Hashes of units must come from the same functions; those of texts are Polars' own."""
    left, right = first.head.versions, other.head.versions
    same = same_words(_unit_type(first.head), [left["hash"], right["hash"]])
    if not same or (first.head.text_units and left["polars"] != right["polars"]):
        msg = (
            f"{first.place} and {other.place} name units by other hashes: they were written by other versions"
        )
        writers = [
            f"plmetrics {version['plmetrics']} with polars {version['polars']}" for version in (left, right)
        ]
        hint = "write the states again with one version"
        raise NotAdding(Problem(f"{msg} ({' and '.join(writers)})", hint=hint))


def _unit_type(head: Head) -> pl.DataType:
    """Type of the units of a state; rows are named by whole numbers."""
    name = unit_column(suite_of(head))
    return pl.UInt64() if name is None else frame_of(head.schema).schema[name]


def check_types(tables: Iterable[tuple[str, pl.Schema, Sequence[str]]]) -> None:
    """Check the types of columns of slices and of the unit; a column of nulls alone is of any.

    Args:
        tables: the place of each state or table, its schema, and the names of these columns.

    Raises:
        NotAdding: a column is of two types.
    """
    types: dict[str, tuple[pl.DataType | None, str]] = {}
    for place, schema, typed in tables:
        for name in typed:
            dtype = schema.get(name)
            if dtype == pl.Null:
                continue
            first, home = types.setdefault(name, (dtype, place))
            if dtype != first:
                msg = f"column '{name}' is of type {first} in {home} and {dtype} in {place}"
                raise NotAdding(Problem(msg, hint=_ONE_TYPE))


def _check_features(first: StateReference, other: StateReference) -> None:
    try:
        for feature in features_in(first.head.suite):
            feature.check_states(first, other)
    except ConfigError as error:
        raise NotAdding(list(error.problems)) from error


def check_complete(states: Sequence[StateReference]) -> None:
    """Refuse states with the counts of drift alone where metrics are needed.

    Raises:
        DataError: a state is what a run keeps for the drift of later ones.
    """
    for state in states:
        if state.head.drift is not None and not state.head.numbers("cells"):
            msg = f"{state.place} holds what drift counts, and no metrics: a run keeps it as a later one's reference"
            raise DataError(Problem(msg, hint="take states that plmetrics state has written"))


def check_disjoint_rows(states: Sequence[StateReference], *, allow_overlap: bool) -> None:
    """Check states for disjoint rows.

    Raises:
        Overlap: a file, a state or a query is in two of them; the message names both.
    """
    if not allow_overlap:
        check_once(states)
    if any(state.head.by_row for state in states):
        _names_apart(states)
    if len(states) > 1 and states[0].head.suite.get("task") == "ranking":
        _queries_apart(states)


def check_once(states: Sequence[StateReference]) -> None:
    """Check against duplicate states and files.

    Raises:
        Overlap: it is in two of them; the message names both.
    """
    hint = "leave one out (a month holds the states of its days); --allow-overlap takes both all the same"
    homes: dict[str, str] = {}
    for state in states:
        for content in state.head.states or (state.content,):
            if content and content in homes:
                message = _same_state(homes[content], state.place)
                raise Overlap(Problem(f"{message}, whose rows would count twice", hint=hint))
            homes[content] = state.place
    for key, message in (("path", "was read for"), ("digest", "has the content of a file that was read for")):
        places: dict[Any, str] = {}
        for state in states:
            for file in state.head.files:
                place = file.get(key) if key == "path" or file["rows"] != 0 else None
                if place is not None and place in places:
                    msg = f"{file['path']} {message} {places[place]} and for {state.place}: its rows would count twice"
                    raise Overlap(Problem(msg.replace("of a file that was", "of one that was"), hint=hint))
                if place is not None:
                    places[place] = state.place


def _same_state(first: str, second: str) -> str:
    if first == second:
        return f"{first} is named twice, perhaps by itself and as one of a folder"
    return f"{first} and {second} hold the same state"


def _names_apart(states: Sequence[StateReference]) -> None:
    """Rows as units are named by their file: two files of one name would share them."""
    homes: dict[str, tuple[str, str]] = {}
    for state in states:
        for file in state.head.files:
            path, place = homes.setdefault(file["name"], (file["path"], state.place))
            if path != file["path"]:
                msg = f"{path} ({place}) and {file['path']} ({state.place}) are both called {file['name']}"
                hint = (
                    "without columns.unit rows go by the name of their file: name a unit, or give files names of "
                    "their own and write the states again"
                )
                raise Overlap(Problem(f"{msg}, so that their rows cannot be told apart", hint=hint))


def _queries_apart(states: Sequence[StateReference]) -> None:
    """The rows of a query must be in one state: its metrics do not add."""
    lists = []
    for state in states:
        number = state.head.number("queries")
        if number is None:
            msg = f"{state.place} was merged by an earlier version, which left out what queries are in it"
            raise NotAdding(Problem(msg, hint="merge its states again"))
        rows = tables([state]).filter(pl.col(PART) == number).select(pl.col(BLOCKS).explode().drop_nulls())
        lists.append(rows)
    hashes_of_states = [frame.to_series().to_numpy() for frame in frames_of(lists)]
    every, counts = np.unique(np.concatenate(hashes_of_states), return_counts=True)
    twice = every[counts > 1]
    if not len(twice):
        return
    homes: dict[int, list[str]] = defaultdict(list)
    for state, hashes in zip(states, hashes_of_states, strict=True):
        for query in np.intersect1d(hashes, twice[:1]).tolist():
            homes[query].append(state.place)
    first, second, *_ = next(iter(homes.values()))
    subject = "1 query has" if len(twice) == 1 else f"{len(twice):,} queries have"
    msg = f"{subject} rows in more than one state, such as in {first} and {second}"
    raise Overlap(Problem(msg, hint="a query's metrics need all its rows: split the data between queries"))
