"""The sums that metrics of a cube need, as expressions and as columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.engine.aggregate.row_plan import BLOCK
from plmetrics.states.moments import CENTRE, Centres, Moment
from plmetrics.states.sums import EVERY, POSITIVE_ROWS, Total, as_tuple, null_non_finite
from plmetrics.table.predicted import part_column, score_column
from plmetrics.table.roles import (
    LABEL,
    VALID,
    valid_column,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from plmetrics.catalogue.metric import Metric
    from plmetrics.engine.prepared import Prepared
    from plmetrics.states.sums import Atom, Rows
    from plmetrics.table.slices import Cube


_ADDED = "@added|"


def summed_in(prepared: Prepared, cube: Cube) -> list[Metric]:
    """The metrics with sums that a slice set of the cube asks for."""
    needed = prepared.request.suite.needed(*(part.slice_set.name for part in cube.sets))
    return [metric for metric in needed if metric.atoms()]


def totals(prepared: Prepared, metrics: Sequence[Metric]) -> list[Total]:
    """The sums and counts of some metrics, of every model, by name."""
    request, weight = prepared.request, prepared.table.weight
    apart, every = request.suite.data.missing == "drop_per_model", request.counts_every_row
    shared = pl.col(VALID) if every and not apart else None
    valid = {model: pl.col(valid_column(model)) if apart else shared for model in request.models}
    out: list[Total] = []
    for prefix, mask in [(f"{model}|", mask) for model, mask in valid.items()] if apart else [("", shared)]:
        out += _counts(prefix, mask, weight, binary=request.roles.binary)
    if every:
        out += _counts(EVERY, None, weight, binary=False)
    out += atom_totals(prepared, metrics, {model: prepared.row_of(model) for model in request.models})
    for model, baseline in request.pairs:
        differs = _differ(prepared, model, baseline)
        if apart:
            same_rows = pl.col(valid_column(model)) == pl.col(valid_column(baseline))
            differs = ~same_rows | (differs if every else differs & pl.col(valid_column(model)))
        out.append(Total.count(f"{model}|differs|{baseline}", differs))
    if request.suite.compare is not None and request.suite.compare.tests:
        from plmetrics.engine.aggregate.paired_rows import pair_sums

        out += pair_sums(prepared, metrics)
    for section in request.suite.sections.values():
        out += section.totals(prepared.table, every=every)
    if apart or every:
        out.append(Total("rows", pl.len().cast(pl.Int64)))
    if request.suite.data.missing == "error":
        out.append(Total.count("bad", ~pl.col(VALID)))
    return out


def atom_totals(prepared: Prepared, metrics: Sequence[Metric], rows: Mapping[str, Rows]) -> Iterator[Total]:
    """The sums of the atoms of some metrics, on the rows of each model."""
    request, weight = prepared.request, prepared.table.weight
    apart, every = request.suite.data.missing == "drop_per_model", request.counts_every_row
    shared = pl.col(VALID) if every and not apart else None
    asking = [metric for metric in metrics if every and metric.every_row]
    checked = atoms([metric for metric in metrics if metric not in asking])
    masses = {atom.about.mass for atom in checked.values() if atom.about is not None}
    for model, row in rows.items():
        valid = pl.col(valid_column(model)) if apart else shared
        for atom in checked.values():
            if weight is not None or atom.rest_of is None or atom.key in masses:
                yield atom.total(f"{model}|{atom.key}", row, weight, valid)
        for atom in atoms(asking).values():
            yield atom.total(f"{model}|{atom.key}", null_non_finite(row), weight)


def _differ(prepared: Prepared, model: str, baseline: str) -> pl.Expr:
    """Whether two models say different things of a row: models of different parts always do."""
    models = prepared.request.roles.models
    model_parts, baseline_parts = models[model].parts, models[baseline].parts
    unequal = pl.Expr.ne_missing if prepared.request.counts_every_row else pl.Expr.ne
    if models[model].single and models[baseline].single:
        return unequal(pl.col(score_column(model)), pl.col(score_column(baseline)))
    if model_parts != baseline_parts:
        return pl.lit(value=True)
    return pl.any_horizontal(
        unequal(pl.col(part_column(model, part)), pl.col(part_column(baseline, part))) for part in model_parts
    )


def atoms(metrics: Sequence[Metric]) -> dict[str, Atom]:
    """The different atoms of some metrics, by key, and those that others are the rest of."""
    atoms_of_metrics = [
        atom for metric in metrics for part in metric.atoms().values() for atom in as_tuple(part)
    ]
    others = [atom.rest_of[1] for atom in atoms_of_metrics if atom.rest_of is not None]
    return {atom.key: atom for atom in (*atoms_of_metrics, *others)}


def moments(prepared: Prepared, metrics: Sequence[Metric]) -> dict[str, Moment]:
    """The columns of some metrics that are moments about centres."""
    weight = "n" if prepared.table.weight is None else "weight"
    return {
        f"{model}|{atom.key}": Moment(
            tuple(f"{model}|{key}" for key in atom.about.values),
            f"{prefix}{weight}" if atom.about.mass is None else f"{model}|{atom.about.mass}",
            tuple(f"{model}|{key}" for key in atom.about.alone),
        )
        for model, prefix in prepared.populations().items()
        for atom in atoms(metrics).values()
        if atom.about is not None
    }


def centres_of(prepared: Prepared, moments_of_sums: Mapping[str, Moment], frame: pl.DataFrame) -> Centres:
    """The centres that moments are about: of each entry where its sums say so, else those of the run."""
    at: dict[str, NDArray[np.float64] | float] = {}
    for name in dict.fromkeys(name for moment in moments_of_sums.values() for name in moment.centres):
        model, key = name.split("|", 1)
        column = f"{CENTRE}{name}"
        shared = prepared.centres[model].get(key, 0.0)
        at[name] = frame[column].to_numpy() if column in frame.columns else shared
    return Centres(at, moments_of_sums)


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
            if weight is not None and name == "positives":
                out.append(Total.count(f"{prefix}{POSITIVE_ROWS}", mask))
    return out


def cells_of(cube: Cube, frame: pl.DataFrame) -> NDArray[np.int64]:
    """The cell of each entry of a cube."""
    cell = frame.select(cube.cell().alias("cell"))["cell"].to_numpy()
    return cell if len(cell) == frame.height else np.zeros(frame.height, dtype=np.int64)


def sums_of(prepared: Prepared, cube: Cube, frame: pl.DataFrame) -> dict[str, NDArray[np.float64]]:
    """The sums of each entry of a cube."""
    others = [*cube.columns, BLOCK, DIGEST, *(name for name in frame.columns if name.startswith(CENTRE))]
    return summed_columns(prepared, summed_in(prepared, cube), frame.drop(others, strict=False))


def summed_columns(
    prepared: Prepared, metrics: Sequence[Metric], frame: pl.DataFrame
) -> dict[str, NDArray[np.float64]]:
    """The columns of a state, from those that were aggregated: what follows from others is completed."""
    columns = {column.name: column.cast(pl.Float64).to_numpy() for column in prepared.addition.totals(frame)}
    _derive(columns)
    _complete(prepared, metrics, columns)
    return columns


def _derive(columns: dict[str, NDArray[np.float64]]) -> None:
    """Without weights: the weight of a row is 1, and what is not positive is negative."""
    for name in [name for name in columns if name == "n" or name.endswith("|n")]:
        prefix = name[:-1]
        if f"{prefix}weight" not in columns:
            columns[f"{prefix}weight"] = columns[name]
        if f"{prefix}positives" in columns and f"{prefix}negatives" not in columns:
            columns[f"{prefix}negatives"] = columns[name] - columns[f"{prefix}positives"]
            columns[f"{prefix}{POSITIVE_ROWS}"] = columns[f"{prefix}positives"]


def _complete(prepared: Prepared, metrics: Sequence[Metric], columns: dict[str, NDArray[np.float64]]) -> None:
    """Without weights: counts that are what is left of a total."""
    for model, prefix in prepared.populations().items():
        for atom in atoms(metrics).values():
            if atom.rest_of is not None and f"{model}|{atom.key}" not in columns:
                total, other = atom.rest_of
                columns[f"{model}|{atom.key}"] = columns[f"{prefix}{total}"] - columns[f"{model}|{other.key}"]


DIGEST = "@digest"
