"""Sums of the metrics of a cube, as expressions and as columns."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.core.errors import PlmetricsError
from plmetrics.core.ops import Array, Codes
from plmetrics.engine.aggregate.row_plan import BLOCK, POSITIVE
from plmetrics.states.moments import CENTRE, Centres, Moment
from plmetrics.states.sums import EVERY, POSITIVE_ROWS, SCORED, Total, as_tuple, null_non_finite, sum_column
from plmetrics.table.checks import SCORED as IN_SCORED
from plmetrics.table.checks import VALID, bad_rows, scored_column, valid_column
from plmetrics.table.prediction_columns import part_column, score_column

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.engine.request import Request
    from plmetrics.engine.run_plan import RunPlan
    from plmetrics.states.sums import Atom, Rows
    from plmetrics.table.slices import Cube, KeyCodes

_ROWS = "rows"
DIGEST = "@digest"
CELL = "@cell"
_FROM_ROWS = {"n": pl.len(), "positives": pl.col(POSITIVE).sum(), "bad": (~pl.col(VALID)).sum()}
"""The totals that the columns of rows tell."""


def summed_in(plan: RunPlan, cube: Cube) -> list[Metric]:
    """Metrics with sums in a slice set of the cube."""
    needed = plan.request.suite.state_metrics(*(part.slice_set.name for part in cube.sets))
    return [metric for metric in needed if metric.atoms()]


def totals(plan: RunPlan, metrics: Sequence[Metric]) -> list[Total]:
    """The sums and counts of some metrics, of every model, by name."""
    request, weight = plan.request, plan.table.weight
    apart, every = request.suite.per_model, request.counts_every_row
    valid = _valid_rows(request)
    out: list[Total] = []
    rows = {model: plan.row_of(model) for model in request.models}
    for model in rows if apart else [request.models[0]]:
        prefix, row = f"{model}|" if apart else "", rows[model]
        out += _counts(prefix, valid[model], row.weight, row.label if plan.view.roles.binary else None)
    if request.reads_every_row:
        out += _counts(EVERY, None, weight)
        if plan.weighs_apart:
            masks, prefixes = weight_masks(plan), plan.every_populations()
            for model, row in rows.items():
                out += _counts(prefixes[model], masks[model], row.weight)
    scored = score_masks(plan.request)
    for model, prefix in unique_prefixes(plan.scored_populations()).items():
        out += _counts(prefix, scored[model], weight)
    out += atom_totals(plan, metrics, rows)
    for model, baseline in request.pairs:
        differs = _differ(plan, model, baseline)
        if apart:
            same_rows = pl.col(valid_column(model)) == pl.col(valid_column(baseline))
            differs = ~same_rows | (differs if every else differs & pl.col(valid_column(model)))
        out.append(Total.count(f"{model}|differs|{baseline}", differs))
    if request.suite.compare is not None and request.suite.compare.tests:
        from plmetrics.engine.aggregate.paired_rows import pair_sums

        out += pair_sums(plan, metrics)
    for section in request.suite.sections.values():
        out += section.totals(plan.table, every=every)
    if apart or every:
        out.append(Total.rows(_ROWS))
    if request.suite.data.missing == "error":
        out.append(Total.count("bad", bad_rows(unlabelled=request.awaits_labels)))
    return out


def atom_totals(plan: RunPlan, metrics: Sequence[Metric], rows: Mapping[str, Rows]) -> Iterator[Total]:
    """The sums of the atoms of some metrics, on the rows of each model."""
    valid = _valid_rows(plan.request)
    asking = [metric for metric in metrics if plan.request.counts_every_row and metric.every_row]
    checked = [metric for metric in metrics if metric not in asking]
    scored, positive = score_masks(plan.request), weight_masks(plan)
    of_scored = plan.scored_populations()
    for model, row in rows.items():
        for population, members in by_population(plan, checked, model):
            of_all = population == of_scored.get(model)
            mask, role = (scored[model], of_scored_rows(row)) if of_all else (valid[model], row)
            sums = atoms(members)
            masses = {atom.about.mass for atom in sums.values() if atom.about is not None}
            for atom in sums.values():
                if row.weight is not None or atom.complement_of is None or atom.key in masses:
                    yield atom.total(sum_column(model, atom.key, population), role, row.weight, mask)
        for atom in atoms(asking).values():
            yield atom.total(f"{model}|{atom.key}", null_non_finite(row), row.weight, positive[model])


def _valid_rows(request: Request) -> dict[str, pl.Expr | None]:
    """Masks of the rows that each model is evaluated on; None where these are all that are scanned."""
    if request.suite.per_model:
        return {model: pl.col(valid_column(model)) for model in request.models}
    return dict.fromkeys(request.models, pl.col(VALID) if request.counts_every_row else None)


def by_population(plan: RunPlan, metrics: Sequence[Metric], model: str) -> Iterator[tuple[str, list[Metric]]]:
    """Metrics by the prefix of their counts: those without a label have more rows than others."""
    label_free = plan.request.label_free
    yield plan.populations()[model], [metric for metric in metrics if metric.text not in label_free]
    scored = plan.scored_populations()
    if scored:
        yield scored[model], [metric for metric in metrics if metric.text in label_free]


def _by_model(
    plan: RunPlan, metrics: Sequence[Metric], populations: Mapping[str, str] | None
) -> Iterator[tuple[str, str, Sequence[Metric]]]:
    """The models, the prefixes of the counts behind metrics of each, and these metrics."""
    if populations is not None:
        yield from ((model, prefix, metrics) for model, prefix in populations.items())
        return
    for model in plan.request.models:
        yield from ((model, *part) for part in by_population(plan, metrics, model))


def of_scored_rows(rows: Rows) -> Rows:
    """Roles of rows without labels, with centres of their own if those are far apart."""
    scored = {
        key.removeprefix(SCORED): value for key, value in rows.centres.items() if key.startswith(SCORED)
    }
    return replace(rows, centres={**rows.centres, **scored})


def unique_prefixes(prefixes: Mapping[str, str]) -> dict[str, str]:
    """A model of each prefix, with it."""
    models = {prefix: model for model, prefix in prefixes.items()}
    return {model: prefix for prefix, model in models.items()}


def score_masks(request: Request) -> dict[str, pl.Expr | None]:
    """Masks of valid rows by model, irrespective of the label; None for all, where bad ones are an error."""
    models, missing = request.models, request.suite.data.missing
    if missing == "error":
        return dict.fromkeys(models)
    apart = missing == "drop_per_model"
    return {model: pl.col(scored_column(model) if apart else IN_SCORED) for model in models}


def weight_masks(plan: RunPlan) -> dict[str, pl.Expr | None]:
    """Masks of rows with a positive weight by model, valid or not; None for all, where models share their weights."""
    weights = {model: plan.row_of(model).weight for model in plan.request.models}
    if not plan.weighs_apart:
        return dict.fromkeys(weights)
    return {
        model: None if weight is None else weight.is_finite() & (weight > 0)
        for model, weight in weights.items()
    }


def _differ(plan: RunPlan, model: str, baseline: str) -> pl.Expr:
    """Whether two models say different things of a row: models of different parts always do."""
    roles, models = plan.view.roles, plan.view.roles.models
    if any(of(model) != of(baseline) for of in (roles.label_of, roles.weight_of)):
        return pl.lit(value=True)
    model_parts, baseline_parts = models[model].parts, models[baseline].parts
    unequal = pl.Expr.ne_missing if plan.request.counts_every_row else pl.Expr.ne
    if models[model].single and models[baseline].single:
        return unequal(pl.col(score_column(model)), pl.col(score_column(baseline)))
    if model_parts != baseline_parts:
        return pl.lit(value=True)
    return pl.any_horizontal(
        unequal(pl.col(part_column(model, part)), pl.col(part_column(baseline, part))) for part in model_parts
    )


def atoms(metrics: Sequence[Metric]) -> dict[str, Atom]:
    """Distinct atoms of some metrics by key, and the atoms they are complements in."""
    atoms_of_metrics = [
        atom for metric in metrics for part in metric.atoms().values() for atom in as_tuple(part)
    ]
    others = [atom.complement_of[1] for atom in atoms_of_metrics if atom.complement_of is not None]
    return {atom.key: atom for atom in (*atoms_of_metrics, *others)}


def moments(
    plan: RunPlan, metrics: Sequence[Metric], populations: Mapping[str, str] | None = None
) -> dict[str, Moment]:
    """Moments of some metrics about centres; `populations` as for `summed_columns`."""
    out: dict[str, Moment] = {}
    for model, prefix, members in _by_model(plan, metrics, populations):
        mass = f"{prefix}{'n' if plan.view.roles.weight_of(model) is None else 'weight'}"
        for atom in atoms(members).values():
            if atom.about is not None:
                out[sum_column(model, atom.key, prefix)] = Moment(
                    tuple(sum_column(model, key, prefix) for key in atom.about.values),
                    mass if atom.about.mass is None else sum_column(model, atom.about.mass, prefix),
                    tuple(sum_column(model, key, prefix) for key in atom.about.alone),
                )
    return out


def centres_of(
    centres: Mapping[str, Mapping[str, float]], moments_of_sums: Mapping[str, Moment], frame: pl.DataFrame
) -> Centres:
    """Centres of moments: of each entry if its sums have them, else those of the run."""
    at: dict[str, Array | float] = {}
    summed = frozenset(frame.columns)
    for name in dict.fromkeys(name for moment in moments_of_sums.values() for name in moment.centres):
        model, key = name.split("|", 1)
        column = f"{CENTRE}{name}"
        shared = centres[model].get(key.removeprefix(SCORED), 0.0)
        at[name] = frame[column].to_numpy() if column in summed else shared
    return Centres(at, moments_of_sums)


def _counts(
    prefix: str, valid: pl.Expr | None, weight: pl.Expr | None, label: pl.Expr | None = None
) -> list[Total]:
    """Rows and their weight, and of a binary label both classes."""
    name = f"{prefix}n"
    out = [Total.rows(name) if valid is None else Total.count(name, valid)]
    if weight is not None:
        out.append(Total.masses(f"{prefix}weight", weight, valid))
    classes = {} if label is None else {"positives": label == 1, "negatives": label == 0}
    for name, member in classes.items():
        mask = member if valid is None else member & valid
        if weight is not None:
            out.append(Total.masses(f"{prefix}{name}", weight, mask))
        if name == "positives":
            out.append(Total.count(f"{prefix}{name if weight is None else POSITIVE_ROWS}", mask))
    return out


def count_columns(plan: RunPlan, sums: pl.DataFrame) -> list[str]:
    """Columns with the numbers of rows behind the metrics of some model."""
    populations = plan.populations(), plan.scored_populations(), plan.every_populations()
    prefixes = sorted({prefix for of_model in populations for prefix in of_model.values()})
    names = frozenset(sums.columns)
    return [f"{prefix}n" for prefix in prefixes if f"{prefix}n" in names]


def check_codes(cube: Cube, sums: pl.DataFrame, counts: Sequence[str]) -> None:
    """Check the keys of sums against the values with codes: rows of others would count in the slice of null.

    Raises:
        PlmetricsError: rows that one of the `counts` counts have another value.
    """
    absent = {part.key.column: _lacks_code(part) for part in cube.codes if part.key.column in sums.columns}
    occurring = sums.select(value.any().alias(name) for name, value in absent.items())
    for name in (column.name for column in occurring if column.any()):
        rows = sums.filter(absent[name] & pl.any_horizontal(pl.col(count) > 0 for count in counts))
        if rows.height:
            label = next(part.key.label for part in cube.codes if part.key.column == name)
            msg = f"rows went astray: no slice was listed for {label} = {rows[name][0]!r}"
            raise PlmetricsError(msg)


def _lacks_code(part: KeyCodes) -> pl.Expr:
    """Whether a value has no code of its own: it has that of null, or one outside the range."""
    code = part.expression()
    return pl.col(part.key.column).is_not_null() & ((code < 0) | (code >= part.size - 1))


def row_count(columns: Container[str]) -> str:
    """Name of the column with the number of rows: `rows` if some may have no label, else `n`."""
    return _ROWS if _ROWS in columns else "n"


def cells_of(cube: Cube, frame: pl.DataFrame) -> Codes:
    """The cell of each entry of a cube, from its keys unless it is there."""
    if CELL in frame.columns:
        return frame[CELL].to_numpy()
    cell = frame.select(cube.cell().alias("cell"))["cell"].to_numpy()
    return cell if len(cell) == frame.height else np.zeros(frame.height, dtype=np.int64)


def sums_of(plan: RunPlan, cube: Cube, frame: pl.DataFrame) -> dict[str, Array]:
    """The sums of each entry of a cube."""
    centres = [name for name in frame.columns if name.startswith(CENTRE)]
    sums = frame.drop(*cube.columns, CELL, BLOCK, DIGEST, *centres, strict=False)
    return summed_columns(plan, summed_in(plan, cube), sums)


def summed_columns(
    plan: RunPlan,
    metrics: Sequence[Metric],
    frame: pl.DataFrame,
    populations: Mapping[str, str] | None = None,
) -> dict[str, Array]:
    """Columns of a state from its aggregates, with derived ones.

    `populations` are the prefixes of the counts by model, where others were counted than the run does.
    """
    columns = {column.name: column.cast(pl.Float64).to_numpy() for column in plan.addition.totals(frame)}
    _derive(columns)
    for prefix in plan.every_populations().values():
        for name in ("n", "weight"):
            # States of earlier versions have one count of all rows for all models.
            if f"{EVERY}{name}" in columns:
                columns.setdefault(f"{prefix}{name}", columns[f"{EVERY}{name}"])
    _complete(_by_model(plan, metrics, populations), columns)
    return columns


def _derive(columns: dict[str, Array]) -> None:
    """Derived columns without weights: rows have weight 1, and all but the positive are negative."""
    for name in [name for name in columns if name == "n" or name.endswith("|n")]:
        prefix = name[:-1]
        if f"{prefix}weight" not in columns:
            columns[f"{prefix}weight"] = columns[name]
        if f"{prefix}positives" in columns and f"{prefix}negatives" not in columns:
            columns[f"{prefix}negatives"] = columns[name] - columns[f"{prefix}positives"]
            columns[f"{prefix}{POSITIVE_ROWS}"] = columns[f"{prefix}positives"]


def _complete(by_model: Iterable[tuple[str, str, Sequence[Metric]]], columns: dict[str, Array]) -> None:
    """Derived counts without weights: complements in a total."""
    for model, prefix, members in by_model:
        for atom in atoms(members).values():
            name = sum_column(model, atom.key, prefix)
            if atom.complement_of is not None and name not in columns:
                total, other = atom.complement_of
                columns[name] = columns[f"{prefix}{total}"] - columns[sum_column(model, other.key, prefix)]


def tells_counts(plan: RunPlan) -> bool:
    """Whether rows for ordered metrics contain all counts of a run: rows without weight, in one cell."""
    request = plan.request
    if request.suite.has_weights or plan.view.roles.treatment is not None or not request.orders_scores:
        return False
    if plan.blocks is not None or any(cube.columns for cube in plan.cubes) or len(plan.cubes) > 1:
        return False
    sums = totals(plan, summed_in(plan, plan.cubes[0]))
    return all(total.name in _FROM_ROWS for total in sums)


def counted_columns(plan: RunPlan) -> list[str]:
    """Columns for counts beside those of rows for ordered metrics."""
    return [VALID] if plan.request.suite.data.missing == "error" else []


def counted_rows(plan: RunPlan, rows: pl.DataFrame) -> tuple[list[pl.DataFrame], pl.DataFrame]:
    """The sums of the one cube, and the rows for ordered metrics."""
    names = [total.name for total in totals(plan, summed_in(plan, plan.cubes[0]))]
    counts = rows.select(_FROM_ROWS[name].cast(pl.Int64).alias(name) for name in names)
    return [counts], rows.drop(counted_columns(plan))
