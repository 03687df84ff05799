"""Coverage of a plan by states: the missing units, and the note on them in a result."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from plmetrics.core.errors import CallError, Problem, UnitsMissingError
from plmetrics.core.names import is_address
from plmetrics.core.results import Json, gate_table
from plmetrics.features.shards.unit_plan import PLAN, Unit, UnitPlan, read_plan
from plmetrics.runs.files import place_of
from plmetrics.table.files import shown_path

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.features.stored.alignment import StateReference
    from plmetrics.table.storage.places import Place

_SHOWN = 10
_GATE = "units of the plan"
_HINT = "plmetrics state SUITE --unit ID writes one; --allow-missing leaves them out"


@dataclass(slots=True)
class UnitCoverage:
    """Coverage of a plan by some states.

    `present` and `planned` are in rows, or in what stands for them; `missing` are units in words, `units` how many were
    planned. `plan` is the digest of the plan, where there is one alone. `least` is the share that a result may rest on.
    """

    present: float = 0.0
    planned: float = 0.0
    missing: list[str] = field(default_factory=list)
    units: int = 0
    warnings: list[str] = field(default_factory=list)
    plan: str | None = None
    least: float = 1.0

    @property
    def share(self) -> float:
        """Covered share of the rows; less than 1 with any missing unit, however small it is."""
        share = self.present / self.planned if self.planned else 0.0
        return min(share, 1.0 - 1e-9) if self.missing else 1.0

    def head(self) -> Mapping[str, Json]:
        """Entry in the head of the merged state."""
        return {"missing": self.missing, "share": self.share, "units": self.units, "plan": self.plan}

    def words(self) -> list[str]:
        """Warnings."""
        if not self.missing:
            return self.warnings
        some = "; ".join(self.missing[:_SHOWN])
        more = f" and {len(self.missing) - _SHOWN} more" if len(self.missing) > _SHOWN else ""
        msg = f"{_count(self)} missing, the result rests on {self.share:.1%} of the rows: {some}{more}"
        return [msg, *self.warnings]

    def gates(self) -> pl.DataFrame:
        """The row of the gate on it, where units are missing."""
        row = {
            "gate": _GATE,
            "level": "fail",
            "metric": "coverage",
            "slice_set": "overall",
            "slice": "all",
            "rule": f">= {self.least:g}",
            "at_least": self.least,
            "observed": self.share,
            "verdict": "pass" if self.share >= self.least else "fail",
            "status": "ok",
            "note": f"{_count(self)} missing",
        }
        return gate_table([row])


def _count(coverage: UnitCoverage) -> str:
    number = len(coverage.missing)
    return f"{number:,} of {coverage.units:,} units {'is' if number == 1 else 'are'}"


def planned_states(
    states: Sequence[StateReference], plan: Place | None, least: float, *, allow_missing: bool
) -> tuple[list[StateReference], UnitCoverage]:
    """States to merge, without those of units of earlier plans; and the missing ones.

    Each folder of units has its plan beside them; shards that wrote to folders of their own have the same plan in each.
    `plan` takes the place of those that lie beside their states; `least` is the share of the rows that the result may
    rest on.

    Raises:
        ConfigError: there is no plan of some units.
        UnitsMissingError: units are missing; they are named.
    """
    coverage = UnitCoverage(least=least)
    chosen = [state for state in states if _unit_of(state) is None]
    merged: dict[str | None, list[StateReference]] = defaultdict(list)
    for state in chosen:
        merged[(state.head.plan or {}).get("plan")].append(state)
    folders: dict[Place | None, list[StateReference]] = defaultdict(list)
    for state in states:
        if _unit_of(state) is not None:
            folders[None if plan is not None else _folder_of(state)].append(state)
    plans: dict[str, tuple[UnitPlan, list[StateReference]]] = {}
    for folder, of_units in folders.items():
        of_folder = read_plan(plan or _plan_file(folder, of_units))
        plans.setdefault(of_folder.digest, (of_folder, []))[1].extend(of_units)
    digests = {*plans, *merged}
    coverage.plan = digests.pop() if len(digests) == 1 else None
    for digest, (of_folders, of_units) in plans.items():
        chosen += _add_units(coverage, of_folders, of_units, merged.pop(digest, ()))
    for state in merged.pop(None, ()):
        _count_rows(coverage, [state])
    for of_plan_alone in merged.values():
        _count_rows(coverage, of_plan_alone)
    if coverage.missing and folders and not allow_missing:
        raise missing_units(coverage.missing, coverage.units)
    return chosen, coverage


def missing_units(
    missing: Sequence[str], units: int, reasons: str = "", hint: str = _HINT
) -> UnitsMissingError:
    """Error with the names of units."""
    number = len(missing)
    head = f"{number:,} of {units:,} planned units {'is' if number == 1 else 'are'} missing{reasons}"
    problems = [Problem(head, hint=hint), *(Problem(f"unit {text}") for text in missing[:_SHOWN])]
    return UnitsMissingError(
        [*problems, *([Problem(f"and {number - _SHOWN} more")] if number > _SHOWN else [])]
    )


def of_plan(plan: UnitPlan, missing: Sequence[Unit], least: float) -> UnitCoverage:
    """Missing units of a plan."""
    size, lost = plan.size[0], sum(map(plan.size_of, missing))
    texts = [unit.text for unit in missing]
    return UnitCoverage(size - lost, size, texts, len(plan.units), least=least)


def _unit_of(state: StateReference) -> str | None:
    unit: str | None = (state.head.plan or {}).get("unit")
    return unit


def _folder_of(state: StateReference) -> Place | None:
    if is_address(state.place):
        return place_of(state.place).parent
    return state.table.resolve().parent if isinstance(state.table, Path) else None


def _plan_file(folder: Place | None, states: Sequence[StateReference]) -> Place:
    """Plan file beside the states of its units."""
    if folder is None or not (folder / PLAN).is_file():
        msg = f"{states[0].place} is the state of a unit, and there is no {PLAN} beside it"
        hint = "name the plan with --plan FILE: it says whether units are missing"
        raise CallError(Problem(msg, hint=hint))
    return folder / PLAN


def _add_units(
    coverage: UnitCoverage, plan: UnitPlan, states: Sequence[StateReference], merged: Sequence[StateReference]
) -> list[StateReference]:
    """States of a plan's units; notes missing units, also in merged states of that plan."""
    ids = {unit.id for unit in plan.units}
    chosen = [state for state in states if _unit_of(state) in ids]
    there = {_unit_of(state) for state in chosen}
    lacks = _missing_everywhere(merged)
    missing = [unit for unit in plan.units if unit.id not in there and (not merged or unit.text in lacks)]
    of_units = of_plan(plan, missing, 1.0)
    coverage.present += of_units.present
    coverage.planned += of_units.planned
    coverage.missing += of_units.missing
    coverage.units += of_units.units
    old = [state for state in states if _unit_of(state) not in ids]
    if old:
        places = f"{shown_path(old[0].place)}{f' and {len(old) - 1} more' if len(old) > 1 else ''}"
        coverage.warnings.append(f"{places}: of units of an earlier plan, and left out")
    return chosen


def _count_rows(coverage: UnitCoverage, states: Sequence[StateReference]) -> None:
    """Number of states outside units, but possibly merged without some; several are of one plan."""
    rows, first = sum(state.head.rows["read"] for state in states), states[0].head
    plan = first.plan or {}
    coverage.present += rows
    coverage.planned += first.rows["read"] / plan["share"] if plan.get("share") else rows
    coverage.missing += _missing_everywhere(states)
    coverage.units += plan.get("units", 0)


def _missing_everywhere(states: Sequence[StateReference]) -> list[str]:
    """Units missing in every one of some merged states, in words."""
    first, *others = [(state.head.plan or {}).get("missing", ()) for state in states] or [()]
    return [unit for unit in first if all(unit in other for other in others)]
