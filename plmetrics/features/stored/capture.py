"""Capture of the state of a run: its sums, the counts of its scores, and its constants."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.exact_sums import integer_parts
from plmetrics.core.hashing import unit_hash
from plmetrics.core.threads import steps
from plmetrics.engine.aggregate.aggregation import Aggregates, needs_rows
from plmetrics.engine.aggregate.row_plan import BLOCK as ROW_BLOCK
from plmetrics.engine.aggregate.totals import centres_of, moments, summed_in
from plmetrics.engine.order.score_bins import UNIT_SPAN
from plmetrics.engine.order.sparse_grid import SparseGridCounts
from plmetrics.engine.prepare.constants import pinned_keys
from plmetrics.engine.prepare.slices import every_key
from plmetrics.engine.request import Request, TableView, unit_column
from plmetrics.engine.run_plan import RunPlan, units_of_rows
from plmetrics.engine.streaming import collected_frame
from plmetrics.features.protocol import CountedRows
from plmetrics.features.registry import features_of
from plmetrics.features.stored.grids import ends_rows, grids_digest, key_content, write_ends, write_grids
from plmetrics.features.stored.sparse_counts import KEYS, pieces_of, slot_pieces, summarise_part, total_of
from plmetrics.features.stored.support import names_rows, resamples_totals
from plmetrics.states.moments import CENTRE, Moment
from plmetrics.states.scores.grid.run_grids import Cuts, ModelGrid, cuts_of, usual_cuts
from plmetrics.states.scores.sliced_scores import CLASSES, Binning
from plmetrics.states.state_format import BLOCK, BLOCKS, CELL, Builder, Part, frame_text, number_cells
from plmetrics.table.prediction_columns import UNIT

if TYPE_CHECKING:
    from plmetrics.core.ops import Array
    from plmetrics.states.bin_sums import BinSums
    from plmetrics.states.scores.grid.grid_tally import BinKind
    from plmetrics.states.scores.grid.run_grids import Grids
    from plmetrics.table.slice_keys import SliceKey
    from plmetrics.table.slices import Cube
    from plmetrics.table.source import Source

    Pieces = tuple[pl.DataFrame, int | None]
    """Rows of sparse counts, and their total."""

BAD = "bad"
_WHOLE = np.zeros(1, dtype=np.uint64)
_SLICES_AT_ONCE = 64


def capture(
    plan: RunPlan,
    frames: Sequence[pl.DataFrame],
    aggregated: Aggregates,
    source: Source,
    of_features: Mapping[str, Any],
    bins: BinSums | None = None,
) -> tuple[dict[str, Any], pl.DataFrame]:
    """The fields of the head of a run's state, before it has a name and a file, and its table.

    `frames` are the sums of each cube by the values of its keys, see `sum_cubes`, `aggregated` the same as
    estimates read them, and `bins` the sums by bins as they were added.
    """
    bound, builder = plan.request.view, Builder()
    _sums(builder, plan, frames)
    _slices(builder, plan)
    if bins is not None:
        from plmetrics.states.bin_sums import write_bins

        write_bins(builder, bins.frames)
    grids = plan.grids
    if needs_rows(plan):
        grids = _scores(builder, plan, aggregated)
        write_grids(builder, grids)
    units = _units(builder, plan, aggregated)
    if plan.request.suite.task == "ranking":
        queries = pl.DataFrame({BLOCKS: [query_hashes(bound)]}, schema={BLOCKS: pl.List(pl.UInt64)})
        builder.add(Part("queries"), queries)
    view, captured = rows_of(plan), {}
    for feature in features_of(bound.suite):
        counted = CountedRows(plan.request, view, source, of_features.get(feature.key, {}))
        captured[feature.key] = feature.capture(counted, builder)
    fields = {
        **_head_of_run(plan),
        "constants": constants_content(plan, keys_from_data(plan), grids, of_features),
        "parts": tuple(builder.parts),
        "layout": builder.layout(),
        "hashed": units is None,
        "units": units or (),
        **{key: content for key, content in captured.items() if content is not None},
    }
    return fields, builder.table()


def _head_of_run(plan: RunPlan) -> dict[str, Any]:
    """The fields of the head on the rows, columns and blocks of a state."""
    bound, rows = plan.request.view, plan.rows
    uncertainty = bound.suite.uncertainty
    schema = plan.view.schema if rows.pairs is not None else None
    return {
        "schema": frame_text(pl.DataFrame(schema=bound.schema)),
        "queries_schema": "" if schema is None else frame_text(pl.DataFrame(schema=schema)),
        "rows": {
            "read": rows.read,
            "zero_weight": rows.zero_weight,
            "dropped": dict(rows.dropped),
            "pairs_read": rows.pairs,
            "units": units_of_rows(plan.request, rows),
            "fitted": rows.fitted,
        },
        "sets": tuple(tuple(part.columns) for part in plan.view.sets),
        "blocks": None if uncertainty is None else uncertainty.blocks,
        "modulus": None if plan.blocks is None else plan.blocks.modulus,
        "typed": typed_columns(bound),
        "text_units": _text_units(bound),
        "by_row": plan.request.unit_rows and names_rows(bound.suite),
    }


def rows_of(plan: RunPlan) -> TableView:
    """Rows as they are in the data, on the slices of the run; that of a ranking is of queries."""
    if plan.rows.pairs is None:
        return plan.view
    bound = plan.request.view
    keys = {column: key_content(key) for column, key in keys_from_data(plan).items()}
    return bound.with_keys(pinned_keys(bound.roles.keys, keys, bound.schema))


def typed_columns(bound: TableView) -> tuple[str, ...]:
    """Columns with one required type in additive states: units, and those of slices."""
    labels = [key.label for key in bound.roles.keys if key.kind != "predicate"]
    units = [name for name in (unit_column(bound.suite),) if name is not None]
    return tuple(dict.fromkeys(name for name in (*labels, *units) if name in bound.schema))


def _text_units(bound: TableView) -> bool:
    """Whether units are named by hashes of texts."""
    name = unit_column(bound.suite)
    if name is None:
        return False
    dtype = bound.schema[name]
    return not (dtype.is_integer() or dtype.is_temporal() or dtype == pl.Boolean)


def keys_from_data(plan: RunPlan) -> dict[str, Any]:
    """Keys with edges or values from the data."""
    waiting = {key.column for key in plan.request.view.roles.keys if key.waits}
    return {key.column: key for key in plan.view.roles.keys if key.column in waiting}


def _sums(builder: Builder, plan: RunPlan, frames: Sequence[pl.DataFrame]) -> None:
    """The cells of each cube, and their sums."""
    sets_of_cubes = [sorted({plan.number_of(part) for part in cube.sets}) for cube in plan.cubes]
    absent = [n for n in range(len(plan.view.sets)) if not any(n in numbers for numbers in sets_of_cubes)]
    for index, (cube, frame) in enumerate(zip(plan.cubes, frames, strict=True)):
        keys, sets = list(cube.columns), tuple(sets_of_cubes[index])
        frame = _with_centres(plan, cube, frame)  # noqa: PLW2901
        if index == 0 and absent:
            frame, more = _with_absent(plan, frame, absent)  # noqa: PLW2901
            keys, sets = [*keys, *more], tuple(sorted([*sets, *absent]))
        cells = _cells(plan, frame, keys) if keys else pl.DataFrame(height=1)
        cells = cells.with_row_index(CELL)
        builder.add(Part("cells", sets), cells)
        sums = frame.drop(BAD, strict=False).rename({ROW_BLOCK: BLOCK}, strict=False)
        sums = number_cells(sums, cells)
        order = [name for name in (CELL, BLOCK) if name in sums.columns]
        builder.add(Part("sums", sets), sums.select(*order, pl.exclude(order)).sort(order))


def _cells(plan: RunPlan, frame: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Cells of the sums, and those without any valid row."""
    cells = frame.select(keys)
    request, columns = plan.request, plan.request.suite.columns
    counts_all = request.counts_every_row and columns.weight is None and columns.unit is None
    if request.suite.data.missing != "error" and not counts_all:
        every = collected_frame(every_key(plan.view, plan.table).select(keys).unique())
        cells = pl.concat([cells, every], how="vertical_relaxed")
    return cells.unique().sort(keys, nulls_last=True)


def _with_centres(plan: RunPlan, cube: Cube, frame: pl.DataFrame) -> pl.DataFrame:
    """Sums with the centres of their moments."""
    at = centres_of(plan.centres, _moments(plan, [cube]), frame).at
    absent = {f"{CENTRE}{name}": center for name, center in at.items() if not isinstance(center, np.ndarray)}
    return frame.with_columns(pl.lit(float(center)).alias(name) for name, center in absent.items())


def _with_absent(plan: RunPlan, frame: pl.DataFrame, absent: Sequence[int]) -> tuple[pl.DataFrame, list[str]]:
    """Sums with the keys of sets without rows, such as tags no row has: null everywhere."""
    more = [key.column for number in absent for key in plan.view.sets[number].keys]
    more = [name for name in dict.fromkeys(more) if name not in frame.columns]
    types = plan.table.frame.collect_schema()
    return frame.with_columns(pl.lit(None, dtype=types[name]).alias(name) for name in more), more


def _slices(builder: Builder, plan: RunPlan) -> None:
    """The slices of each set, those of one group of tags after those of another."""
    for number, part in enumerate(plan.view.sets):
        values = [slices.values for slices in plan.slices if slices.slice_set is part]
        if values:
            builder.add(Part("slices", (number,)), pl.concat(values).with_row_index(CELL))


def _scores(builder: Builder, plan: RunPlan, aggregated: Aggregates) -> Grids:
    """The counts of scores, and the grids they were counted on."""
    passes = SparseGridCounts(plan, aggregated.block_keys)
    passes.begin(aggregated)
    write_blocks(builder, _WHOLE if plan.blocks is None else aggregated.block_keys)
    grids: dict[str, ModelGrid] = {}
    ends_of_sets: dict[tuple[int, str], pl.DataFrame] = {}
    for name in passes.orderings:
        rows: dict[tuple[int, str], list[Pieces]] = {}
        sizes: dict[tuple[int, str], tuple[int, int]] = {}
        exponents: dict[tuple[int, str], int | None] = {}
        offset: dict[int, int] = {}
        ends: dict[int, list[pl.DataFrame]] = {}
        for index, slices in enumerate(plan.slices):
            number, low_high = plan.number_of(slices), passes.ends(name, index)
            first = offset.get(number, 0)
            offset[number] = first + len(slices)
            if low_high is not None:
                ends.setdefault(number, []).append(ends_rows(low_high, first))
            for bins in passes.bin_kinds[name]:
                if bins == "ends":
                    continue
                key = number, bins_text(bins)
                exponents[key] = passes.exponent(name, bins)
                for sizes[key], piece in _pieces(passes, name, index, bins, first):
                    rows.setdefault(key, []).append(piece)
        for (number, text), parts in rows.items():
            lies, totals = pl.concat([part for part, _ in parts]), [total for _, total in parts]
            key = number, text
            part = Part("scores", (number,), name, text, sizes[key], exponent=exponents[key])
            builder.add(summarise_part(part, lies, total_of(totals)), lies)
        ends_of_sets |= {(number, name): pl.concat(parts) for number, parts in ends.items()}
        grids[name] = plan.grids[name] if plan.grids is not None else _grid(plan, passes, name)
    write_ends(builder, ends_of_sets)
    return grids


def _pieces(
    passes: SparseGridCounts, name: str, index: int, bins: BinKind, first: int
) -> Iterator[tuple[tuple[int, int], Pieces]]:
    """Numbers of bins and channels, and the counts of some slices of a set, whose slices are numbered from `first`."""
    if passes.is_sparse(name, bins):
        for low, slots in passes.slot_counts(name, index, bins):
            yield slots.shape[2:], slot_pieces(slots.slots, slots.values, slots.width, first + low)
        return
    power = passes.exponent(name, bins)
    for low, digits in passes.digits(name, index, bins):
        counts = digits[0] if power is None else integer_parts(digits, power)
        yield (counts.shape[2], counts.shape[3]), pieces_of(counts, first + low)


def _grid(plan: RunPlan, passes: SparseGridCounts, name: str) -> ModelGrid:
    """The grid of an ordering; its coarse bins, if any, follow these rows."""
    locator, equal = passes.locators[name], passes.orderings[name].equal_bins
    cuts: dict[int, list[Cuts]] = {}
    if plan.blocks is None or (equal is None and "coarse" not in passes.bin_kinds[name]):
        return ModelGrid(locator.keys, locator.edges, {}, np.zeros(0, dtype=np.int64))
    for index, slices in enumerate(plan.slices):
        part = _cuts(passes.fine(name, index), slices.values, plan.set_size(slices), equal)
        cuts.setdefault(plan.number_of(slices), []).append(part)
    of_sets = {
        number: _together(parts) for number, parts in cuts.items() if any(len(p.values) for p in parts)
    }
    usual = usual_cuts(passes.fine(name, 0)(0, 1), equal)
    return ModelGrid(locator.keys, locator.edges, of_sets, usual)


def _together(parts: Sequence[Cuts]) -> Cuts:
    return Cuts(pl.concat([part.values for part in parts]), np.concatenate([part.places for part in parts]))


def _cuts(fine: Callable[[int, int], Array], values: pl.DataFrame, size: int, equal: int | None) -> Cuts:
    """Cuts of the nonempty slices of a set of so many; `fine` gives counts of some slices on fine bins."""
    occupied, places = [], []
    for few in steps(0, max(len(values), 1), _SLICES_AT_ONCE):
        counts = fine(*few)
        occupied.append(counts[..., : len(CLASSES)].sum(axis=(1, 2)) > 0)
        places.append(cuts_of(counts, size, equal))
    if not values.width:
        return Cuts(values, np.concatenate(places))
    there = np.concatenate(occupied)
    return Cuts(values.filter(pl.Series(there)), np.concatenate(places)[there])


def bins_text(bins: BinKind) -> str:
    """Name of a kind of bins in a state."""
    if isinstance(bins, Binning):
        channels = " distances" if bins.distances else "" if bins.scores else " classes"
        span = "" if bins.span == UNIT_SPAN else f" from {bins.span[0]!r} to {bins.span[1]!r}"
        return f"{bins.strategy} {bins.bins}{channels}{span}{' closed below' if bins.closed_below else ''}"
    return bins


def write_blocks(builder: Builder, keys: NDArray[np.uint64]) -> None:
    """Add the part of the blocks of score counts."""
    builder.add(Part("blocks"), pl.DataFrame({KEYS: [keys.astype("<u8").tobytes()]}))


def blocks_in(rows: pl.DataFrame) -> NDArray[np.uint64]:
    """Blocks in the part of some rows."""
    return np.frombuffer(rows[KEYS][0], dtype="<u8")


def _units(builder: Builder, plan: RunPlan, aggregated: Aggregates) -> tuple[int, ...] | None:
    """The number of units in each block; None where their hashes are listed. Rows are counted anyway."""
    if plan.blocks is None or plan.request.unit_rows:
        return ()
    keys, modulus = aggregated.block_keys, plan.blocks.modulus
    if modulus is not None and not resamples_totals(plan.request.suite):
        counts = np.zeros(modulus, dtype=np.int64)
        counts[keys.astype(np.int64)] = aggregated.units
        return tuple(counts.tolist())
    if modulus is not None:
        units = collected_frame(plan.sum_rows.select(pl.col(UNIT).drop_nulls().unique().sort()))
        keys = units[UNIT].to_numpy()
    builder.add(Part("units"), pl.DataFrame({BLOCKS: [keys]}, schema={BLOCKS: pl.List(pl.UInt64)}))
    return None


def query_hashes(bound: TableView) -> Any:
    """The hashes of all queries of a ranking, ascending."""
    name = bound.suite.columns.query
    assert name is not None
    hashed = unit_hash(pl.col(name), bound.schema[name]).drop_nulls().unique().sort()
    return collected_frame(bound.raw.select(hashed.alias(UNIT)))[UNIT].to_numpy()


def feature_constants(request: Request, source: Source) -> dict[str, Any]:
    """Shared constants of features from the rows, by key; as a file of them would be read."""
    constants = {
        feature.key: feature.constants(request, source)
        for feature in features_of(request.suite)
        if feature.shares_constants
    }
    content: dict[str, Any] = json.loads(json.dumps(constants))
    return content


def constants_content(
    plan: RunPlan,
    waiting: Mapping[str, SliceKey],
    grids: Grids | None,
    of_features: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """Constants of a run, JSON-able; `waiting` are the keys with edges or values from its data."""
    request = plan.request
    spans = {model: list(span) for model, span in plan.score_spans.items()}
    return {
        "centres": {model: dict(values) for model, values in plan.centres.items()},
        "moments": {name: asdict(moment) for name, moment in _moments(plan, plan.cubes).items()},
        "thresholds": plan.finite_thresholds,
        "classes": list(request.classes),
        "keys": {column: key_content(key) for column, key in waiting.items()},
        "exponents": dict(plan.addition.exponents),
        "grid": None if grids is None else grids_digest(grids),
        **({"score_spans": spans} if spans else {}),
        **_edges_content(plan.bin_edges),
        **({"features": dict(of_features)} if of_features else {}),
        **plan.added,
    }


def _edges_content(bin_edges: Mapping[str, NDArray[np.float64]]) -> dict[str, Any]:
    """Edges of bins of curves, if there are some."""
    if not bin_edges:
        return {}
    from plmetrics.states.bin_sums import edges_text

    return {"bin_edges": edges_text(bin_edges)}


def _moments(plan: RunPlan, cubes: Sequence[Cube]) -> dict[str, Moment]:
    """Columns of moments with centres by cell; none where states must have those of the run."""
    if plan.request.arithmetic.any_order:
        return {}
    return moments(plan, [metric for cube in cubes for metric in summed_in(plan, cube)])
