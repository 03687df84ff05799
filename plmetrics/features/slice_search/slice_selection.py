"""The search for slices: candidates in one part of the units, and their confirmation in the other.

The searched part chooses, so its estimates are optimistic: the largest of many differences is large by chance, too.
What it chose is estimated anew on units that had no say in the choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.ops import Array
from plmetrics.core.results import FOUND_SLICES_SCHEMA
from plmetrics.core.slice_texts import quote
from plmetrics.core.threads import batches
from plmetrics.features.slice_search.search_plan import Crossing, SearchPlan, SearchStates
from plmetrics.features.slice_search.search_scan import search_plan, search_states
from plmetrics.features.slice_search.search_section import FindSlices
from plmetrics.features.slice_search.slice_contrasts import Contrast, Sums, contrast
from plmetrics.inference.comparisons.correction import adjust
from plmetrics.suite.model import Suite
from plmetrics.suite.sections.uncertainty import Uncertainty
from plmetrics.table.source import Source

Name = frozenset[tuple[int, int]]
"""A slice: numbers of columns with the codes that they have in it."""

_SLICES_AT_ONCE = 512


@dataclass(frozen=True, slots=True)
class Candidate:
    """Prominent slice of a model in the searched part: the place of its sums, and its contrast."""

    model: str
    crossing: Crossing
    place: int
    rank: float
    searched: float

    @property
    def name(self) -> Name:
        """Identity of the slice."""
        codes = self.crossing.codes[self.place]
        return frozenset(
            (column, int(code)) for column, code in zip(self.crossing.columns, codes, strict=True)
        )

    @property
    def of_column(self) -> dict[int, int]:
        """Its code in each of its columns."""
        return dict(self.name)

    @property
    def depth(self) -> int:
        """Number of columns of the crossing."""
        return len(self.crossing.columns)


@dataclass(frozen=True, slots=True)
class Search:
    """A search: its models and their states."""

    spec: FindSlices
    states: SearchStates
    overall: Sums
    models: tuple[str, ...]

    @classmethod
    def of(cls, spec: FindSlices, states: SearchStates, models: Sequence[str]) -> Search:
        """A search for some models in the states of all rows."""
        return cls(spec, states, states.overall().by_block(0, 1), tuple(models))

    def part(self, sums: Sums, *, confirms: bool) -> Sums:
        """The blocks of one part of the units."""
        blocks = self.states.blocks
        blocks_of_part = slice(blocks, None) if confirms else slice(0, blocks)
        return {name: column[:, blocks_of_part] for name, column in sums.items()}

    def against(self, model: str, part: Sums, complement: Sums, *, confirms: bool) -> Contrast:
        """Slices against the remainder of an enclosing part."""
        here, there = (self.part(sums, confirms=confirms) for sums in (part, complement))
        scattered, population = self.states.centres_differ, self.states.populations[model]
        return contrast(self.spec.metric, model, population, here, there, scattered=scattered)

    def rests(self, model: str, crossing: Crossing, first: int, sums: Sums) -> Sums:
        """Complements of the slices of a crossing from `first` on, from their sums."""
        if crossing.rests is None:
            return without(self.overall, sums, f"{self.states.populations[model]}n")
        return crossing.rests.by_block(first, first + len(next(iter(sums.values()))))

    def complements(self, model: str, outer: Sequence[Candidate | None], inner: Sequence[Candidate]) -> Sums:
        """Complements of slices in others, or in all rows."""
        if self.states.centres_differ:
            rests = [
                self.states.outside(
                    inner_slice.of_column, {} if outer_slice is None else outer_slice.of_column
                )
                for outer_slice, inner_slice in zip(outer, inner, strict=True)
            ]
            return concatenate_sums(rests)
        outer_slice = concatenate_sums(
            [self.overall if inner_slice is None else sums_of([inner_slice]) for inner_slice in outer]
        )
        return without(outer_slice, sums_of(inner), f"{self.states.populations[model]}n")


def without(total: Sums, part: Sums, rows: str) -> Sums:
    """Sums less those of a part; exactly 0 in blocks without a remainder, despite rounding."""
    nothing = total[rows] == part[rows]
    with np.errstate(over="ignore", invalid="ignore"):
        return {name: np.where(nothing, 0.0, total[name] - column) for name, column in part.items()}


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """Outcome of a search: the numbers of tested and prominent slices in the searched part, and the candidates."""

    tested: int
    stood_out: int
    candidates: tuple[Candidate, ...]


def candidates(search: Search) -> SearchOutcome:
    """Slices worse than the rest in the searched part, the most important of each model first.

    A slice is tested that has at least its share of `min_rows` there. It stands out if its one-sided p value, corrected
    for all slices and models tested, is at most `level`. Of these a crossed slice is kept only where those that hold
    it do not explain it: it must be worse, too, than what else is in each kept slice that holds it, by p values
    corrected for all crossed slices of its depth. What is kept is ordered by difference x sqrt(share of the weight),
    and `largest` slices of each model go on.
    """
    spec = search.spec
    tested = [part for crossing in search.states.crossings() for part in _tested_slices(search, crossing)]
    if not tested:
        return SearchOutcome(0, 0, ())
    p = np.concatenate([part.p for part in tested])
    corrected = np.split(adjust(p, spec.correction), np.cumsum([len(part.p) for part in tested])[:-1])
    standing_out = [
        candidate
        for part, q in zip(tested, corrected, strict=True)
        for candidate in part.candidates(q <= spec.level)
    ]
    selected: list[Candidate] = []
    for depth in range(1, spec.depth + 1):
        selected += _residual_candidates(
            search, [candidate for candidate in standing_out if candidate.depth == depth], selected
        )
    chosen: list[Candidate] = []
    for model in search.models:
        of_model = [candidate for candidate in selected if candidate.model == model]
        chosen += sorted(of_model, key=lambda one: (-one.rank, one.depth, sorted(one.name)))[: spec.largest]
    return SearchOutcome(len(p), len(selected), tuple(chosen))


@dataclass(frozen=True, slots=True, eq=False)
class _TestedSlices:
    """Slices of a crossing with a p value for a model, and their contrasts in the searched part."""

    model: str
    crossing: Crossing
    place: NDArray[np.int64]
    p: Array
    rank: Array
    searched: Array

    def candidates(self, chosen: NDArray[np.bool_]) -> Iterator[Candidate]:
        """Selected candidates."""
        for index in np.flatnonzero(chosen):
            values = (float(part[index]) for part in (self.rank, self.searched))
            yield Candidate(self.model, self.crossing, int(self.place[index]), *values)


def _tested_slices(search: Search, crossing: Crossing) -> Iterator[_TestedSlices]:
    """The slices of a crossing with enough rows, for each model."""
    least = search.spec.min_rows * search.spec.share
    for first in range(0, crossing.sums.slices, _SLICES_AT_ONCE):
        last = min(first + _SLICES_AT_ONCE, crossing.sums.slices)
        sums = crossing.sums.by_block(first, last)
        for model in search.models:
            contrast = search.against(model, sums, search.rests(model, crossing, first, sums), confirms=False)
            index = np.flatnonzero((contrast.rows >= least) & np.isfinite(contrast.p))
            rank = contrast.worse * np.sqrt(contrast.share)
            difference = contrast.value - contrast.complement
            yield _TestedSlices(
                model, crossing, first + index, contrast.p[index], rank[index], difference[index]
            )


def _residual_candidates(
    search: Search, candidates: Sequence[Candidate], selected: Sequence[Candidate]
) -> list[Candidate]:
    """Slices worse than the remainder of each enclosing selected slice."""
    by_name = {(candidate.model, candidate.name): candidate for candidate in selected}
    pairs = [
        (number, parent)
        for number, candidate in enumerate(candidates)
        for name in _holding(candidate.name)
        if (parent := by_name.get((candidate.model, name))) is not None
    ]
    p = np.full(len(candidates), np.nan)
    for together in batches(pairs, _SLICES_AT_ONCE):
        for model in search.models:
            of_model = [(number, parent) for number, parent in together if parent.model == model]
            if of_model:
                inner = [candidates[number] for number, _ in of_model]
                complement = search.complements(model, [candidate for _, candidate in of_model], inner)
                p_values = search.against(model, sums_of(inner), complement, confirms=False).p
                np.fmax.at(p, [number for number, _ in of_model], np.where(np.isnan(p_values), 1.0, p_values))
    corrected = adjust(p, search.spec.correction)
    return [
        candidate
        for candidate, q in zip(candidates, corrected, strict=True)
        if np.isnan(q) or q <= search.spec.level
    ]


def _holding(name: Name) -> Iterator[Name]:
    """Enclosing slices of fewer columns."""
    for size in range(1, len(name)):
        yield from map(frozenset, combinations(sorted(name), size))


def sums_of(slices: Sequence[Candidate]) -> Sums:
    """The sums of some slices, in both parts, `[slice, block]`."""
    return concatenate_sums(
        [candidate.crossing.sums.by_block(candidate.place, candidate.place + 1) for candidate in slices]
    )


def concatenate_sums(parts: Sequence[Sums]) -> Sums:
    """Sums of slices below those of others."""
    return {name: np.concatenate([sums[name] for sums in parts]) for name in parts[0]}


def searched_slices(suite: Suite, source: Source) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The table `found_slices` of a suite, and the entry of the search in the record."""
    plan = search_plan(suite, source)
    return slices_of_states(suite.uncertainty, plan, search_states(plan))


def slices_of_states(
    uncertainty: Uncertainty | None, plan: SearchPlan, states: SearchStates
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The table `found_slices`, and the entry of the search in the record, from its states."""
    search = Search.of(plan.spec, states, plan.models)
    outcome = candidates(search)
    table = found_slices(search, outcome, 0.95 if uncertainty is None else uncertainty.level)
    return table, {
        "possible": plan.slices,
        "tested": outcome.tested,
        "stood_out": outcome.stood_out,
        "candidates": table.height,
        "confirmed": int(table["confirmed"].sum()),
        "values": {column.label: list(column.texts) for column in plan.columns},
    }


def found_slices(search: Search, outcome: SearchOutcome, level: float) -> pl.DataFrame:
    """The table `found_slices`: the candidates in the other part of the units.

    Returns:
        A row per candidate, models in suite order and the most important first. `value`, `rest`, `difference` (value -
        rest), its interval and `p_value` come from the confirming part alone, `searched` is the difference in the
        searched part. `p_value` is one-sided; `p_adjusted` is corrected for the candidates, and `confirmed` where it is
        at most the section's level. `status` is why there is no difference or, beside one, no test. The note names a
        crossed slice without which a listed one is no longer worse.
    """
    spec, rows, reports = search.spec, outcome.candidates, []
    for model in search.models:
        of_model = [candidate for candidate in rows if candidate.model == model]
        if of_model:
            reports += [
                (candidate, _confirmation(search, model, of_model), place)
                for place, candidate in enumerate(of_model)
            ]
    p = np.array([contrast.p[place] for _, contrast, place in reports], dtype=np.float64)
    adjusted = adjust(p, spec.correction)
    family, because = int(np.isfinite(p).sum()), _because(search, rows)
    lines = [
        _row(search, candidate, contrast, place, level)
        | {
            "p_adjusted": _number(q),
            "family_size": family,
            "note": because.get((candidate.model, candidate.name)),
        }
        for (candidate, contrast, place), q in zip(reports, adjusted, strict=True)
    ]
    table = pl.DataFrame(lines, schema=FOUND_SLICES_SCHEMA, orient="row")
    return table.with_columns(confirmed=(pl.col("p_adjusted") <= spec.level).fill_null(value=False))


def _confirmation(search: Search, model: str, of_model: Sequence[Candidate]) -> Contrast:
    complement = search.complements(model, [None] * len(of_model), of_model)
    return search.against(model, sums_of(of_model), complement, confirms=True)


def _because(search: Search, rows: Sequence[Candidate]) -> dict[tuple[str, Name], str]:
    """Note on a slice no worse, in the confirming part, outside an inner one."""
    notes: dict[tuple[str, Name], str] = {}
    for row in rows:
        parts = [part for part in rows if part.model == row.model and part.name > row.name]
        if not parts:
            continue
        rests = search.complements(row.model, [row] * len(parts), parts)
        complement = search.complements(row.model, [None] * len(parts), [row] * len(parts))
        p = search.against(row.model, rests, complement, confirms=True).p
        explains = [part for part, p_value in zip(parts, p, strict=True) if not p_value <= search.spec.level]
        if explains:
            notes[row.model, row.name] = f"not worse without {_text(search, explains[0])}"
    return notes


def _values(search: Search, candidate: Candidate) -> list[dict[str, str | None]]:
    columns = search.states.columns
    return [
        {"column": columns[column].label, "value": columns[column].values[code]}
        for column, code in sorted(candidate.name)
    ]


def _text(search: Search, candidate: Candidate) -> str:
    named = [(search.states.columns[column], code) for column, code in sorted(candidate.name)]
    return ", ".join(f"{quote(column.label)}={column.texts[code]}" for column, code in named)


def _row(
    search: Search, candidate: Candidate, contrast: Contrast, place: int, level: float
) -> dict[str, Any]:
    value, reference = contrast.value[place], contrast.complement[place]
    difference, half = value - reference, contrast.half_width(level)[place]
    return dict.fromkeys(FOUND_SLICES_SCHEMA) | {
        "model": candidate.model,
        "metric": search.spec.metric.text,
        "slice": _text(search, candidate),
        "slice_values": _values(search, candidate),
        "depth": candidate.depth,
        "value": _number(value),
        "rest": _number(reference),
        "difference": _number(difference),
        "lower": _number(difference - half),
        "upper": _number(difference + half),
        "std_error": _number(contrast.std_error[place]),
        "p_value": _number(contrast.p[place]),
        "searched": candidate.searched,
        "n": int(contrast.rows[place]),
        "share": _number(contrast.share[place]),
        "status": str(contrast.status[place]),
    }


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
