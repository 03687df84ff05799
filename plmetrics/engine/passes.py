"""The third stage: one scan that aggregates every cube, and brings the rows that ordered metrics need."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.core.errors import DataError, PlmetricsError, Problem
from plmetrics.core.exact_sums import exact_columns, fixed_sums
from plmetrics.engine.paired import pair_sums
from plmetrics.engine.request import INDEX
from plmetrics.states.sums import SumsState, Total, as_tuple
from plmetrics.table.checks import data_error, findings
from plmetrics.table.predicted import part_column, score_column
from plmetrics.table.roles import (
    LABEL,
    TREATMENT,
    UNIT,
    VALID,
    WEIGHT,
    unchecked_table,
    valid_column,
)
from plmetrics.table.units import block_key, row_digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from plmetrics.catalogue.metric import Metric
    from plmetrics.engine.prepare import Prepared
    from plmetrics.engine.request import Request
    from plmetrics.states.sums import Atom, RowValue
    from plmetrics.table.checks import Check
    from plmetrics.table.slices import Cube

_ADDED = "@added|"
_OF_MODELS = ("@score|", "@valid|", "@value|", "@class|")
BLOCK = "@block"
POSITIVE = "@positive"
TREATED = "@treated"
NUMBER = "@number"
DIGEST = "@digest"
AGGREGATES_PER_NODE = 400


@dataclass(frozen=True, slots=True)
class Aggregated:
    """What the scan brought: the sums of each cube, the rows for ordered metrics, and the blocks that occur.

    `digests` are words that tell the units of each block from others, None where nobody asked for them.
    """

    sums: tuple[SumsState, ...]
    rows: pl.DataFrame | None
    block_keys: NDArray[np.uint64]
    units: NDArray[np.int64]
    used: dict[str, int]
    digests: NDArray[np.uint64] | None = None


def aggregate(prepared: Prepared, *, digested: bool = False) -> Aggregated:
    """Run the scan; `digested` says whether to bring digests of the units.

    Raises:
        DataError: rows failed a check, and the suite says that is an error.
        PlmetricsError: rows in do not equal rows used and dropped: a bug.
    """
    frames, rows = summed(prepared, digested=digested)
    made = aggregated(prepared, frames, rows)
    return replace(made, digests=_digests(prepared, frames[0])) if digested else made


def summed(prepared: Prepared, *, digested: bool = False) -> tuple[list[pl.DataFrame], pl.DataFrame | None]:
    """Run the scan: the sums of each cube by the values of its keys, and the rows for ordered metrics.

    Raises:
        DataError: rows failed a check, and the suite says that is an error.
    """
    from plmetrics.engine.counted import rows_and_counts, tells_counts

    wanted = needs_rows(prepared) and prepared.exact and prepared.order.way == "rows"
    if wanted and tells_counts(prepared):
        frames, rows = rows_and_counts(prepared)
    else:
        frames, rows = _collected(prepared, wanted=wanted, digested=digested)
    if rows is not None and prepared.request.suite.reproducible:
        rows = rows.sort(rows.columns)
    refuse_bad(prepared, frames[0])
    return frames, rows


def _collected(
    prepared: Prepared, *, wanted: bool, digested: bool
) -> tuple[list[pl.DataFrame], pl.DataFrame | None]:
    """The sums of each cube and, if wanted, the rows, from one scan."""
    plans = sum_plans(prepared, digested=digested)
    flat = [plan for group in plans for plan in group]
    collected = pl.collect_all([*flat, rows_plan(prepared)] if wanted else flat)
    rows = collected.pop() if wanted else None
    parts = iter(collected)
    return [_side_by_side([next(parts) for _ in group]) for group in plans], rows


def aggregated(prepared: Prepared, frames: Sequence[pl.DataFrame], rows: pl.DataFrame | None) -> Aggregated:
    """What a scan brought, or what saved states hold of several, as the stages behind it read it.

    Raises:
        DataError: no rows are left.
        PlmetricsError: rows in do not equal rows used and dropped: a bug.
    """
    keys, units = _block_keys(prepared, frames[0])
    states = tuple(
        _state(prepared, cube, frame, keys) for cube, frame in zip(prepared.cubes, frames, strict=True)
    )
    used = _conserve(prepared, states[0])
    return Aggregated(states, rows, keys, units, used)


def needs_rows(prepared: Prepared) -> bool:
    """Whether an ordered metric or a curve needs the rows themselves."""
    suite = prepared.request.suite
    return bool(prepared.request.scores or prepared.request.ranks or suite.curves)


def sum_plans(prepared: Prepared, *, digested: bool = False) -> list[list[pl.LazyFrame]]:
    """Per cube the plans that aggregate it, at most so many aggregates each."""
    frame = prepared.table.frame
    keys: list[pl.Expr] = []
    if prepared.blocks is not None:
        keys.append(block_key(pl.col(UNIT), prepared.blocks.modulus).alias(BLOCK))
    beside: list[pl.Expr] = []
    if digested and prepared.blocks is not None and prepared.blocks.digests is None:
        beside += row_digests(prepared.request)
    return [
        [
            frame.with_columns(values).group_by([*map(pl.col, cube.columns), *keys]).agg(chunk)
            for values, chunk in _chunks(prepared, cube, [] if index else beside)
        ]
        for index, cube in enumerate(prepared.cubes)
    ]


def _chunks(
    prepared: Prepared, cube: Cube, beside: Sequence[pl.Expr]
) -> Iterator[tuple[list[pl.Expr], list[pl.Expr]]]:
    """What is aggregated in a cube, in parts that one node of a plan can take; and what must be known of rows before.

    A value that is added in several ways is a column first: else it would be computed for each.
    """
    held = totals(prepared, summed_in(prepared, cube))
    fixed = prepared.fixed
    exact = {one.name: one.value for one in held if one.name in fixed and one.value is not None}
    summed = [*_aggregates(prepared, held), *beside]
    for first in range(0, len(summed), AGGREGATES_PER_NODE):
        chunk = summed[first : first + AGGREGATES_PER_NODE]
        read = {name for part in chunk for name in part.meta.root_names()}
        yield (
            [value.alias(f"{_ADDED}{name}") for name, value in exact.items() if f"{_ADDED}{name}" in read],
            chunk,
        )


def summed_in(prepared: Prepared, cube: Cube) -> list[Metric]:
    """The metrics with sums that a slice set of the cube asks for."""
    needed = prepared.request.suite.needed(*(part.slice_set.name for part in cube.sets))
    return [metric for metric in needed if metric.atoms()]


def rows_plan(
    prepared: Prepared, models: Sequence[str] | None = None, beside: Sequence[str] = ()
) -> pl.LazyFrame:
    """Scores, class, values, weight, cell and block of every row: what one sort per model works on.

    Columns of the prediction table may be brought `beside` them.
    """
    request = prepared.request
    models = request.models if models is None else models
    columns: list[pl.Expr] = []
    if request.orders_scores:
        columns += [_unsigned_zero(score_column(model)) for model in models]
        if request.roles.treatment is None:
            columns.append((pl.col(LABEL) == 1).alias(POSITIVE))
        else:
            columns += [pl.col(LABEL), (pl.col(TREATMENT) == 1).alias(TREATED)]
    if request.reads_pairs:
        columns += [pl.col(LABEL), *(pl.col(score_column(model)) for model in models)]
    for value in request.values:
        columns += [value.build(prepared.row_of(m)).alias(value_column(m, value)) for m in models]
        if value.positive is not None:
            columns += [value.positive(prepared.row_of(m)).alias(class_column(m, value)) for m in models]
    if request.roles.weight is not None:
        columns.append(pl.col(WEIGHT))
    if request.suite.data.missing == "drop_per_model":
        columns += [pl.col(valid_column(model)) for model in models]
    for index, cube in enumerate(prepared.cubes):
        if cube.codes:
            dtype = pl.UInt32 if cube.cells < 1 << 32 else pl.Int64
            columns.append(cube.cell().cast(dtype).alias(cell_column(index)))
    if prepared.blocks is not None:
        columns.append(block_key(pl.col(UNIT), prepared.blocks.modulus).alias(BLOCK))
    return prepared.table.frame.select(*columns, *beside)


def _unsigned_zero(name: str) -> pl.Expr:
    """-0.0 as 0.0: equal scores must have equal bits before they are sorted."""
    return pl.when(pl.col(name) == 0).then(0.0).otherwise(pl.col(name)).alias(name)


def value_column(model: str, value: RowValue) -> str:
    """The column of a number of each row of a model."""
    return f"@value|{model}|{value.key}"


def class_column(model: str, value: RowValue) -> str:
    """The column that says which rows of a value are of its positive class."""
    return f"@class|{model}|{value.key}"


def cell_column(index: int) -> str:
    """The column of a cube's cell."""
    return f"@cell|{index}"


def _aggregates(prepared: Prepared, held: Sequence[Total]) -> list[pl.Expr]:
    """Sums and counts; beside those that are to be exact, whole numbers."""
    out: list[pl.Expr] = []
    fixed = prepared.fixed
    for one in held:
        if one.value is None or one.name not in fixed:
            out.append(one.sum.alias(one.name))
            continue
        value = pl.col(f"{_ADDED}{one.name}")
        out += [value.sum().alias(one.name), *fixed_sums(one.name, value, prepared.exponents[one.name])]
    return out


def totals(prepared: Prepared, metrics: Sequence[Metric]) -> list[Total]:
    """The sums and counts of some metrics, of every model, by name."""
    request, weight = prepared.request, prepared.table.weight
    apart = request.suite.data.missing == "drop_per_model"
    out: list[Total] = []
    for prefix, valid in (
        [(f"{model}|", pl.col(valid_column(model))) for model in request.models] if apart else [("", None)]
    ):
        out += _counts(prefix, valid, weight, binary=request.roles.binary)
    for model in request.models:
        valid = pl.col(valid_column(model)) if apart else None
        rows = prepared.row_of(model)
        for atom in atoms(metrics).values():
            if weight is not None or atom.rest_of is None:
                out.append(atom.total(f"{model}|{atom.key}", rows, weight, valid))
    for model, baseline in request.pairs:
        differs = _differ(prepared, model, baseline)
        if apart:
            same_rows = pl.col(valid_column(model)) == pl.col(valid_column(baseline))
            differs = ~same_rows | (differs & pl.col(valid_column(model)))
        out.append(Total.count(f"{model}|differs|{baseline}", differs))
    out += pair_sums(prepared, metrics)
    if apart:
        out.append(Total("rows", pl.len().cast(pl.Int64)))
    if request.suite.data.missing == "error":
        out.append(Total.count("bad", ~pl.col(VALID)))
    return out


def _differ(prepared: Prepared, model: str, baseline: str) -> pl.Expr:
    """Whether two models say different things of a row: models of different parts always do."""
    models = prepared.request.roles.models
    one, other = models[model].parts, models[baseline].parts
    if models[model].single and models[baseline].single:
        return pl.col(score_column(model)) != pl.col(score_column(baseline))
    if one != other:
        return pl.lit(value=True)
    return pl.any_horizontal(
        pl.col(part_column(model, part)) != pl.col(part_column(baseline, part)) for part in one
    )


def atoms(metrics: Sequence[Metric]) -> dict[str, Atom]:
    """The different atoms of some metrics, by key, and those that others are the rest of."""
    own = [atom for metric in metrics for part in metric.atoms().values() for atom in as_tuple(part)]
    others = [atom.rest_of[1] for atom in own if atom.rest_of is not None]
    return {atom.key: atom for atom in (*own, *others)}


def _counts(prefix: str, valid: pl.Expr | None, weight: pl.Expr | None, *, binary: bool) -> list[Total]:
    every = pl.len() if valid is None else valid.sum()
    out = [Total(f"{prefix}n", every.cast(pl.Int64))]
    if weight is not None:
        out.append(Total.masses(f"{prefix}weight", weight, valid))
    if binary:
        members = [("positives", pl.col(LABEL) == 1)]
        if weight is not None:
            members.append(("negatives", pl.col(LABEL) == 0))
        for name, member in members:
            mask = member if valid is None else member & valid
            out.append(
                Total.count(f"{prefix}{name}", mask)
                if weight is None
                else Total.masses(f"{prefix}{name}", weight, mask)
            )
    return out


def _side_by_side(parts: list[pl.DataFrame]) -> pl.DataFrame:
    if len(parts) == 1:
        return parts[0]
    keys = [name for name in parts[0].columns if name in parts[1].columns]
    ordered = [part.sort(keys, nulls_last=True) for part in parts]
    return pl.concat([ordered[0], *(part.drop(keys) for part in ordered[1:])], how="horizontal")


def refuse_bad(prepared: Prepared, frame: pl.DataFrame) -> None:
    """Say what is wrong with the rows, if the sums of a cube counted bad ones.

    Raises:
        DataError: they did.
    """
    if "bad" not in frame.columns or not frame["bad"].sum():
        return
    raise bad_values(prepared.request, prepared.table.checks, prepared.rows.read)


def bad_values(request: Request, checks: Sequence[Check], rows: int) -> DataError:
    """What the checks of so many rows found."""
    return data_error(findings(checks, _second_look(request, checks)), rows=rows, place=request.source.place)


def _second_look(request: Request, checks: Sequence[Check]) -> dict[str, object]:
    """Per check: how many rows fail, the first of them and the value there."""
    named = dict.fromkeys(check.column for check in checks)
    raw = request.numbered().with_columns(pl.col(name).alias(f"@raw|{name}") for name in named)
    keep = [INDEX, *(f"@raw|{name}" for name in named)]
    frame = unchecked_table(raw, request.schema, request.roles, keep=keep)
    present = (pl.col(WEIGHT) != 0).fill_null(value=True) if request.roles.weight else pl.lit(value=True)
    summary: list[pl.Expr] = []
    for index, check in enumerate(checks):
        bad = pl.col(check.column_name) & present
        summary += [
            bad.sum().cast(pl.Int64).alias(f"{index}|count"),
            pl.col(INDEX).filter(bad).first().cast(pl.Int64).alias(f"{index}|row"),
            (pl.col(f"@raw|{check.column}") if check.shown is None else check.shown)
            .filter(bad)
            .first()
            .alias(f"{index}|value"),
        ]
    return frame.select(summary).collect().row(0, named=True)


def _block_keys(prepared: Prepared, frame: pl.DataFrame) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    blocks = prepared.blocks
    if blocks is None:
        return np.zeros(1, dtype=np.uint64), np.ones(1, dtype=np.int64)
    if blocks.keys is not None and blocks.units is not None:
        return blocks.keys, blocks.units
    rows = pl.col("n" if "n" in frame.columns else "rows").sum()
    counted = frame.lazy().group_by(BLOCK).agg(rows.alias("n")).sort(BLOCK).collect()
    return counted[BLOCK].to_numpy(), counted["n"].to_numpy()


def row_digests(request: Request) -> list[pl.Expr]:
    """What tells rows that are units from others of the same places: their labels, unless positives are counted."""
    roles = request.roles
    counted = roles.binary and roles.weight is None and roles.missing != "drop_per_model"
    return [] if counted else [row_digest(pl.col(UNIT), pl.col(LABEL)).sum().alias(DIGEST)]


def _digests(prepared: Prepared, frame: pl.DataFrame) -> NDArray[np.uint64] | None:
    """The digests of the blocks' units, in the order of their keys."""
    if prepared.blocks is None or not prepared.request.unit_rows:
        return None if prepared.blocks is None else prepared.blocks.digests
    name = next((name for name in (DIGEST, "positives") if name in frame.columns), None)
    if name is None:
        return None
    added = frame.lazy().group_by(BLOCK).agg(pl.col(name).cast(pl.UInt64).sum()).sort(BLOCK).collect()
    return added[name].to_numpy()


def _state(prepared: Prepared, cube: Cube, frame: pl.DataFrame, keys: NDArray[np.uint64]) -> SumsState:
    cell = frame.select(cube.cell().alias("cell"))["cell"].to_numpy()
    if len(cell) != frame.height:
        cell = np.zeros(frame.height, dtype=np.int64)
    block = np.zeros(frame.height, dtype=np.int64)
    if BLOCK in frame.columns:
        block = np.searchsorted(keys, frame[BLOCK].to_numpy())
    numbers = frame.drop(*cube.columns, BLOCK, DIGEST, strict=False)
    held = summed_columns(prepared, summed_in(prepared, cube), numbers)
    state = SumsState(cell, block, held, len(keys))
    return state.in_order() if prepared.request.suite.reproducible else state


def summed_columns(
    prepared: Prepared, metrics: Sequence[Metric], frame: pl.DataFrame
) -> dict[str, NDArray[np.float64]]:
    """The columns of a state, from those that were aggregated: what follows from others is completed."""
    held = {
        name: column.cast(pl.Float64).to_numpy() for name, column in exact_columns(frame, prepared.exponents)
    }
    _derive(held)
    _complete(prepared, metrics, held)
    return held


def _derive(held: dict[str, NDArray[np.float64]]) -> None:
    """Without weights: the weight of a row is 1, and what is not positive is negative."""
    for name in [name for name in held if name == "n" or name.endswith("|n")]:
        prefix = name[:-1]
        if f"{prefix}weight" not in held:
            held[f"{prefix}weight"] = held[name]
        if f"{prefix}positives" in held and f"{prefix}negatives" not in held:
            held[f"{prefix}negatives"] = held[name] - held[f"{prefix}positives"]


def _complete(prepared: Prepared, metrics: Sequence[Metric], held: dict[str, NDArray[np.float64]]) -> None:
    """Without weights: counts that are what is left of a total."""
    for model, prefix in prepared.populations().items():
        for atom in atoms(metrics).values():
            if atom.rest_of is not None and f"{model}|{atom.key}" not in held:
                whole, other = atom.rest_of
                held[f"{model}|{atom.key}"] = held[f"{prefix}{whole}"] - held[f"{model}|{other.key}"]


def _conserve(prepared: Prepared, state: SumsState) -> dict[str, int]:
    rows = prepared.rows
    used: dict[str, int] = {}
    for model, prefix in prepared.populations().items():
        used[model] = round(float(state.columns[f"{prefix}n"].sum()))
        expected = rows.read - rows.zero_weight - rows.dropped[model]
        if used[model] != expected:
            msg = (
                f"rows went astray for model '{model}': {rows.read:,} read, {rows.zero_weight:,} of weight 0, "
                f"{rows.dropped[model]:,} dropped, but {used[model]:,} used"
            )
            raise PlmetricsError(msg)
    if not any(used.values()):
        raise _nothing_left(prepared)
    return used


def _nothing_left(prepared: Prepared) -> DataError:
    rows = prepared.rows
    if rows.zero_weight == rows.read:
        msg = f"no rows are left: all {rows.read:,} have weight 0"
        return DataError(Problem(msg, ("columns", "weight")))
    msg = f"no rows are left of {rows.read:,}: each has weight 0 or a value for which it is dropped"
    found = bad_values(prepared.request, prepared.table.checks, rows.read).problems
    return DataError([Problem(msg, ("data", "missing")), *(replace(problem, hint=None) for problem in found)])


def model_rows(prepared: Prepared, rows: pl.DataFrame, model: str, *own: str) -> pl.DataFrame:
    """The rows of one model, in any order, with columns of its own, such as the one they are to be ordered by."""
    if prepared.request.suite.data.missing == "drop_per_model":
        rows = rows.filter(pl.col(valid_column(model)))
    return rows.select(*own, *(name for name in rows.columns if not name.startswith(_OF_MODELS)))
