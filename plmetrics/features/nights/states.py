"""States of intervals, for windows of several intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from plmetrics.core.errors import ConfigError, DataError, Problem
from plmetrics.features.nights.manifests import Manifests
from plmetrics.features.stored.alignment import StateReference
from plmetrics.features.stored.compatibility import NotAdding, check_compatible, constant_differences
from plmetrics.features.stored.state_files import StateFault, state_bytes
from plmetrics.features.stored.state_of_rows import state_of_rows
from plmetrics.features.stored.stored_state import stored_state
from plmetrics.features.stored.support import countable
from plmetrics.runs.files import create, environment_faults, make_directory, sizes_in, write_atomic
from plmetrics.runs.reading import removed_files
from plmetrics.runs.record import fingerprint

if TYPE_CHECKING:
    from plmetrics.features.stored.state_of_rows import Stage
    from plmetrics.runs.reading import StoredRun
    from plmetrics.states.state_format import Head
    from plmetrics.suite.model import Suite
    from plmetrics.table.source import Source
    from plmetrics.table.storage.places import Place

STATE = "interval.state"
"""The file in a run folder that holds what several intervals add up."""

CONSTANTS = "constants"
"""The folder of the states whose constants others share."""

_ABSENT = ("interval", "keep", "drift", "leakage", "find_slices", "cross_validation")

_WITHOUT = (
    "windows and keep.states add states of intervals: compare with previous and leave keep.states out, or "
    "evaluate it in a suite of its own"
)


@dataclass(frozen=True, slots=True)
class IntervalState:
    """State of an interval, the content of its file, and warnings on its shared constants."""

    reference: StateReference
    content: bytes
    warnings: tuple[str, ...] = ()


def state_suite(suite: Suite) -> Suite:
    """Suite of a window of intervals: its values and the comparisons of its models and slices.

    Raises:
        ConfigError: it asks for what no state carries.
    """
    changes: dict[str, Any] = {"gates": (), "curves": ()}
    changes["sections"] = {key: part for key, part in suite.sections.items() if key not in _ABSENT}
    compare = suite.compare
    if compare is not None:
        alone = compare.model_copy(update={"run": None, "reference": "accepted", "decompose": {}})
        changes["compare"] = alone if compare.baseline or compare.pairs or compare.slices else None
    try:
        return countable(suite.model_copy(update=changes))
    except ConfigError as error:
        raise ConfigError([replace(problem, hint=_WITHOUT) for problem in error.problems]) from None


def constants_file(home: Place, suite: Suite) -> Place:
    """State with the constants for the next interval of a suite, if it exists."""
    identity = fingerprint(state_suite(suite))
    file = constants_path(home, identity)
    return file if file.is_file() else constants_path(home, identity, labelled=False)


def constants_path(home: Place, identity: str, *, labelled: bool = True) -> Place:
    """Path of the state with the shared constants of a fingerprint.

    What is chosen by labels, as the grid of scores, needs some: until an interval has them, others share constants
    without, and are counted again once their labels are there.
    """
    return home / CONSTANTS / f"{identity[:16]}{'' if labelled else '.unlabelled'}.state"


def lacks_constants(home: Place, run: str, suite: Suite) -> bool:
    """Whether the state of a run was counted before there were constants of labelled rows, and there are some now."""
    identity = fingerprint(state_suite(suite))
    shared = _state_of(constants_path(home, identity), identity)
    state = _state_of(home / run / STATE, identity)
    if shared is None or state is None:
        return False
    return any(True for _ in constant_differences(shared.head.constants, state.head.constants))


def constants_of_states(home: Place, names: Iterable[str]) -> Iterator[Place]:
    """Files of the constants of states below a folder."""
    for name in names:
        with suppress(DataError):
            yield constants_path(home, stored_state(home / name).head.fingerprint)


def state_of_interval(
    suite: Suite,
    source: Source,
    where: str,
    home: Place,
    stage: Stage,
    redact: Callable[[Head], Head],
    *,
    labelled: bool,
) -> IntervalState:
    """State of the rows of an interval, made with the shared constants of the suite's intervals.

    The first interval makes them; where two do so at once, the second one counts again with those of the first. Where
    their file is damaged, or all such files are gone, they are those of the last state that was made with them; where
    none is left, new ones are made: there is nothing that the state must add to. Both are warnings. `redact` takes out
    of a head what is not to be written. Where the rows are `labelled`, others may share constants that are chosen by
    labels. Where columns are of other types than those of the constants, the state stands alone, with a warning.
    """
    asked = state_suite(suite)
    identity = fingerprint(asked)
    file = constants_path(home, identity)
    if not labelled and not file.is_file():
        file = constants_path(home, identity, labelled=False)

    def counted(constants: StateReference | None) -> IntervalState:
        head, table = state_of_rows(asked, source, constants, stage, where)
        head = redact(head)
        content, digest = state_bytes(head, table)
        return IntervalState(StateReference(head, table, "the state of this interval", digest), content)

    shared, words = _state_of(file, identity), list[str]()
    if shared is None and (file.is_file() or not sizes_in(file.parent)):
        with environment_faults("the damaged constants of states cannot be replaced"):
            shared = _restore(home, file, identity, words)
    if shared is None:
        first = counted(None)
        with environment_faults("the constants of states cannot be written"):
            make_directory(file.parent)
            if create(file, first.content):
                return replace(first, warnings=tuple(words))
        shared = stored_state(file)
    try:
        state = counted(shared)
    except NotAdding as error:
        words.append(f"the state of this interval does not add to others: {error.problems[0].message}")
        state = counted(None)
    return replace(state, warnings=tuple(words))


def _state_of(file: Place, identity: str) -> StateReference | None:
    """The state of a fingerprint in a file; None where it is absent, damaged or of another one."""
    with suppress(StateFault):
        state = stored_state(file)
        return state if state.head.fingerprint == identity else None
    return None


def _restore(home: Place, file: Place, identity: str, words: list[str]) -> StateReference | None:
    """State of the last interval with the same constants, in place of a damaged file.

    Without such a state the file is removed. Only rows that have their labels tell that constants are of labelled ones.
    `words` is told what was done.
    """
    manifests, shown = Manifests(home), f"{CONSTANTS}/{file.name}"
    condition = "damaged" if file.is_file() else "gone"
    labelled = file == constants_path(home, identity)
    for manifest in map(manifests.current, reversed(manifests.interval_keys())):
        if manifest is None or labelled == (manifest.awaits_labels or manifest.lacks_labels):
            continue
        place = home / manifest.run / STATE
        state = _state_of(place, identity)
        if state is not None:
            make_directory(file.parent)
            write_atomic(file, place.read_bytes())
            words.append(f"{shown} was {condition}: it is taken from the state of {manifest.interval}")
            return state
    if file.is_file():
        file.unlink()
        words.append(f"{shown} was damaged, and no state was made with it: a new one is made")
    return None


def absence_of_state(folder: Place) -> str:
    """Reason for the absence of a state in a run folder."""
    if STATE in removed_files(folder):
        return "it has no state any more: it was older than keep.states"
    return "it has no state: its suite did not ask for keep.states"


def alike_states(suite: Suite) -> Callable[[StoredRun], StateReference]:
    """Reader of the states of runs, as long as they add to earlier ones, and have the constants of labels.

    Raises:
        DataError: a run has none that adds; so does what is returned.
        ConfigError: likewise.
    """
    expected = fingerprint(state_suite(suite))
    states: dict[str, StateReference] = {}

    def read(run: StoredRun) -> StateReference:
        path = run.folder / STATE
        if not path.is_file():
            raise DataError(Problem(absence_of_state(run.folder), hint="add keep: {states: 400d}"))
        state = stored_state(path)
        if state.head.fingerprint != expected:
            msg = "the suite asked for something else then; plmetrics backfill --force evaluates it again"
            raise DataError(msg)
        if not states:
            shared = _state_of(constants_path(run.folder.parent, expected), expected)
            states.update({} if shared is None else {shared.head.schema: shared})
        try:
            check_compatible([*states.values(), state])
        except NotAdding as error:
            msg = "its state does not add to others; plmetrics backfill --force evaluates it again"
            raise DataError(msg) from error
        states.setdefault(state.head.schema, state)
        return state

    return read
