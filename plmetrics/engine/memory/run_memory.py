"""Estimate of the memory of a run from its sizes alone, meant to hold within a factor of two.

Of each stage: what is read at a time, what is held while it works, and what is kept for those behind it. The largest
stage is the peak. Python, Polars and what else is loaded at the start come on top.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.hashing import OWN_BLOCK_LIMIT
from plmetrics.core.threads import processors
from plmetrics.engine.aggregate.aggregation import needs_rows, sum_plans
from plmetrics.engine.aggregate.cell_sums import TERM
from plmetrics.engine.aggregate.paired_rows import reads_paired_rows
from plmetrics.engine.aggregate.row_plan import BLOCK
from plmetrics.engine.binding.columns_read import columns_read
from plmetrics.engine.memory.budget import (
    counting_room,
    separates_scans,
    sort_bytes,
    waiting_bytes,
    working_memory,
)
from plmetrics.engine.order.encoding import BATCH_ROWS
from plmetrics.engine.order.orderings import orderings, run_orderings
from plmetrics.engine.prepare.slices import most_rows
from plmetrics.engine.prepare.thresholds import NUMBERS_IN_HAND
from plmetrics.engine.run_plan import RunPlan
from plmetrics.states.arms import ARMS
from plmetrics.states.scores.coarse import DENSE_LIMIT, EXACT_REPLICATES, coarse_number, slices_at_once
from plmetrics.states.scores.grid.grid_tally import FINE_BINS
from plmetrics.states.scores.sliced_scores import CLASSES
from plmetrics.table.prediction_columns import RoleColumns

if TYPE_CHECKING:
    from plmetrics.table.slices import Cube

_NUMBER, _TEXT = 8, 16
_FLOOR = 16_000_000
"""Memory of a scan, however little it reads."""

_ROWS_IN_FLIGHT = 2_000_000
"""Rows that a processor decodes ahead, at most."""

_COPIES_OF_SUMS = 3
"""Sums as they were grouped, as columns of floats, and rolled up to slices."""

_COPIES_OF_ESTIMATES = 2
"""Replicates of an estimate as they are made, and in order."""

_COPIES_OF_ROWS = 3
"""Rows that are sorted: as they came, in order, and what is made of them."""

_FREED = 1.5
"""Memory of points, together with that of earlier sorts which the process has not given back."""

_KEPT = 3
"""Bytes a row and model that is kept as small numbers, its cell and block among them."""

_QUERY_ROW = 80
"""Bytes a row of a ranking while it is put in order, beside its columns."""

_RESULT = 1000
"""Bytes a row of `metrics` while it is made, its texts among them (980 seen at 200,000 rows and more)."""

_FEW_RESULTS = 10_000
"""Rows of `metrics` that do not count beside the libraries."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes behind memory: rows, widths of columns, entries of cubes, blocks, and by cube the columns of its sums."""

    rows: int
    width: int
    entries: Sequence[int]
    blocks: int
    sums: Sequence[Sequence[pl.Schema]]

    @classmethod
    def of(cls, plan: RunPlan) -> Sizes:
        """Sizes of a run after its first stage."""
        width = row_width(plan.request.view.schema, columns_read(plan.request))
        blocks = block_number(plan) or 1
        entries = [expected_entries(plan, cube, blocks) for cube in plan.cubes]
        return cls(plan.rows.pairs or plan.rows.read, width, entries, blocks, sum_schemas(plan))


@dataclass(frozen=True, slots=True)
class Foreseen:
    """Expected bytes by purpose, and those of the largest stage."""

    parts: Mapping[str, int]
    peak: int


def unit_number(plan: RunPlan) -> int | None:
    """Number of units of the resampling; None without intervals."""
    blocks, rows = plan.blocks, plan.rows
    if blocks is None:
        return None
    return rows.read - rows.zero_weight if blocks.units is None else int(blocks.units.sum())


def block_number(plan: RunPlan) -> int | None:
    """Number of blocks of the resampling; None without intervals."""
    if plan.blocks is None:
        return None
    if plan.blocks.keys is not None:
        return len(plan.blocks.keys)
    return plan.blocks.modulus or min(unit_number(plan) or 0, OWN_BLOCK_LIMIT)


def expected_entries(plan: RunPlan, cube: Cube, blocks: int) -> int:
    """Expected number of rows of the sums of a cube: one a row where each row is a block of its own."""
    rows = plan.rows.read
    if plan.blocks is not None and plan.request.unit_rows and plan.blocks.modulus is None:
        return rows
    return _expected_places(rows, _occurring(cube) * blocks)


def _occurring(cube: Cube) -> int:
    """Largest number of nonempty cells: the observed crossings, times those of other keys."""
    number, covered = 1, set[str]()
    for part in cube.sets:
        columns = set(part.slice_set.columns)
        if part.slice_set.is_predicate or part.slice_set.is_tagged or columns & covered:
            continue
        covered |= columns
        number *= max(1, part.occurring.height)
    for code in cube.codes:
        if code.key.column not in covered:
            number *= max(1, len(code.values))
    return min(number, cube.cells)


def _expected_places(rows: int, places: int) -> int:
    """Expected number of occupied places, if rows fall into them at random.

    >>> _expected_places(10, 1_000_000), _expected_places(1_000_000, 10)
    (10, 10)
    """
    return math.ceil(-places * math.expm1(-rows / places))


def count_sums(schema: pl.Schema, cubes: Sequence[Cube]) -> int:
    """Number of sums and counts of a plan's schema beside its keys, or of its columns for each row."""
    terms = sum(name.startswith(TERM) for name in schema)
    if terms:
        return terms
    keys = {BLOCK, *(name for cube in cubes for name in cube.columns)}
    return sum(name not in keys for name in schema)


def sum_schemas(plan: RunPlan) -> list[list[pl.Schema]]:
    """Columns of the sums of each cube, by plan: built once, since many metrics make large plans."""
    return [[sums.collect_schema() for sums in of_cube] for of_cube in sum_plans(plan)]


def row_width(schema: pl.Schema, columns: Sequence[str]) -> int:
    """Bytes of a row of some columns in memory, where texts are short.

    >>> import polars as pl
    >>> row_width(pl.Schema({"y": pl.Int8(), "p": pl.Float64(), "region": pl.String()}), ["y", "p", "region"])
    32
    """
    return sum(_NUMBER if schema[name].is_numeric() else _TEXT for name in columns)


def foreseen(plan: RunPlan, sizes: Sizes) -> Foreseen:
    """Memory of a run after its first stage."""
    reading = _reading(plan, sizes)
    before = _before(plan, sizes)
    sums = _sums(plan, sizes)
    ordered = _order_bytes(plan, sizes)
    replicates = _replicates(plan, sizes)
    features, waiting = _of_features(plan)
    results = _results(plan)
    parts = {"reading": reading, **before, "sums": sums, **features, **ordered, "replicates": replicates}
    parts["tables of results"] = results
    counted = sum(features.values())
    stages = [
        reading + max(before.values(), default=0),
        reading + counted + sums * (1 + processors()) // _COPIES_OF_SUMS,
        (0 if _sorts_values(plan) else reading) + counted - waiting + sums + sum(ordered.values()),
        reading + counted - waiting + sums + replicates + results,
    ]
    return Foreseen({name: size for name, size in parts.items() if size}, max(stages))


def _reading(plan: RunPlan, sizes: Sizes) -> int:
    """Bytes of the rows in flight, with their unit numbers and hashes if rows are units."""
    numbered = plan.blocks is not None and plan.request.unit_rows
    width = sizes.width + 2 * _NUMBER * int(numbered)
    return _FLOOR + min(sizes.rows, _ROWS_IN_FLIGHT * processors()) * width


def _before(plan: RunPlan, sizes: Sizes) -> dict[str, int]:
    """Rows sorted for constants, and rows of queries."""
    request, rows = plan.request, sizes.rows
    weight = _NUMBER if request.suite.has_weights else 0
    parts: dict[str, int] = {}
    if plan.rows.pairs is not None:
        size = rows * (_NUMBER * (2 + len(request.models)) + _QUERY_ROW)
        parts["rows of queries"] = min(size, working_memory(request.suite))
    if any(key.kind == "bins" and key.number for key in plan.view.roles.keys):
        parts["rows that slices are cut by"] = (
            _COPIES_OF_ROWS * min(rows, most_rows(plan.view)) * (_NUMBER + weight)
        )
    if request.chooses_thresholds:
        parts["rows that thresholds are chosen on"] = rows * _NUMBER * NUMBERS_IN_HAND
    if plan.rows.fitted:
        width = _NUMBER * (2 + len(request.models))
        parts["rows that calibrators are fitted on"] = _COPIES_OF_ROWS * plan.rows.fitted * width
    return parts


def _sorts_values(plan: RunPlan) -> bool:
    """Whether numbers of rows are sorted in memory: read rows are gone then, and counts take less."""
    return bool(plan.request.values) and plan.exact and plan.order.way == "rows"


def _of_features(plan: RunPlan) -> tuple[dict[str, int], int]:
    """Counts of features, and the rows waiting for the slowest of them; and the latter by themselves."""
    counts = {f"counts of {key}": getattr(counting, "bytes", 0) for key, counting in plan.countings.items()}
    waiting = 0
    if counts and not separates_scans(plan.view):
        waiting = counts["rows that wait for slower counts"] = waiting_bytes(plan.view)
    return counts, waiting


def _sums(run_plan: RunPlan, sizes: Sizes) -> int:
    numbers = sum(n * k for n, k in zip(sizes.entries, _columns_of_sums(run_plan, sizes), strict=True))
    return _COPIES_OF_SUMS * numbers * _NUMBER


def _columns_of_sums(run_plan: RunPlan, sizes: Sizes) -> list[int]:
    """Number of sums of each cube."""
    return [sum(count_sums(schema, run_plan.cubes) for schema in schemas) for schemas in sizes.sums]


def _replicates(plan: RunPlan, sizes: Sizes) -> int:
    """The weights of the blocks, the estimates that are kept in all replicates, and those of sums of some slices."""
    request, uncertainty = plan.request, plan.request.suite.uncertainty
    if uncertainty is None or not uncertainty.may_resample:
        return 0
    replicates, models, summed = uncertainty.replicates, len(request.models), len(request.sums)
    kept = models * (len(request.leaves) - (0 if uncertainty.keep else summed)) * sum(map(len, plan.slices))
    columns = max(_columns_of_sums(plan, sizes), default=0)
    at_once = columns * (sizes.blocks + replicates) + _COPIES_OF_ESTIMATES * replicates * models * summed
    slices = max(len(part) for part in plan.slices)
    at_once *= min(slices, slices_at_once(columns, sizes.blocks, replicates))
    return _NUMBER * (replicates * (sizes.blocks + _COPIES_OF_ESTIMATES * kept) + at_once)


def _results(plan: RunPlan) -> int:
    """The table `metrics`, where slices are many."""
    suite = plan.request.suite
    rows = sum(len(part) for part in plan.slices) * len(plan.request.models) * len(suite.metrics)
    return _RESULT * rows if rows > _FEW_RESULTS else 0


def _order_bytes(plan: RunPlan, sizes: Sizes) -> dict[str, int]:
    """Memory for the order of rows: sorted rows, or counts on a grid."""
    parts: dict[str, int] = {}
    if reads_paired_rows(plan):
        parts["rows that tests rank"] = (
            _COPIES_OF_ROWS * sizes.rows * _NUMBER * (1 + len(plan.request.models))
        )
    if not needs_rows(plan):
        return parts
    request, order = plan.request, plan.order
    uncertainty = request.suite.uncertainty
    by_block = uncertainty is not None and sizes.rows * uncertainty.replicates > EXACT_REPLICATES
    if plan.exact and order.way == "rows":
        parts["sorted rows"] = sort_bytes(request, sizes.rows, len(plan.cubes))
        if by_block and not request.values:
            parts["scores by block"] = min(_coarse(plan, sizes) * 2, DENSE_LIMIT * _NUMBER * 2)
        return parts
    if plan.exact:
        parts["points of scores"] = int(_FREED * order.bytes)
    if uncertainty is not None or not plan.exact:
        room = counting_room(request.suite, beside_points=plan.exact)
        parts["scores on a grid"] = min(_fine(plan), room)
        columns = len(orderings(request))
        numbers = sizes.rows * _KEPT * (1 + columns)
        width = _NUMBER * (2 * columns + 2)
        parts["a batch of rows"] = min(min(sizes.rows, BATCH_ROWS) * width, room)
        if by_block or uncertainty is not None:
            parts["rows as small numbers"] = numbers if numbers <= room // 2 else 0
            parts["scores by block"] = min(_coarse(plan, sizes), room)
    return parts


def _fine(plan: RunPlan) -> int:
    """Fine bins of every ordering by cell, or by slice where cells are many more."""
    members = min(sum(cube.cells for cube in plan.cubes), sum(len(part) for part in plan.slices) * 4)
    every = run_orderings(plan)
    bins = len(every) * FINE_BINS * _channels(plan.view.roles)
    for ordering in every:
        if ordering.across is not None:
            from plmetrics.states.joint_counts import joint_bins, joint_shape

            fine = joint_bins(areas=ordering.of_areas)
            bins += math.prod(joint_shape("joint", fine, fine, areas=ordering.of_areas))
    return members * bins * _NUMBER


def _coarse(plan: RunPlan, sizes: Sizes) -> int:
    """Coarse bins of a model by slice and block, in single precision."""
    return sum(
        len(part)
        * sizes.blocks
        * coarse_number(plan.set_size(part))
        * _channels(plan.view.roles)
        * _NUMBER
        // 2
        for part in plan.slices
    )


def _channels(roles: RoleColumns) -> int:
    """Counts of a bin: of two classes, or of two arms with their outcomes."""
    return len(CLASSES if roles.treatment is None else ARMS)
