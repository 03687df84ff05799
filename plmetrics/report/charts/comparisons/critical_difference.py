"""Critical difference diagram: mean ranks of models, and groups without a significant difference by Nemenyi's test."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from plmetrics.core.errors import Problem
from plmetrics.core.results import MEAN_RANK
from plmetrics.inference.comparisons.tests.friedman import critical_difference
from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.selection import NothingToDraw, Selection
from plmetrics.report.charts.slices.panels import Texts, columns_of
from plmetrics.report.charts.slices.rows import WIDTH, Scale, add_heading, header, panel, stack_rows
from plmetrics.report.charts.texts import short
from plmetrics.report.charts.words import direction_words, level_words
from plmetrics.report.numbers import p_value, plural
from plmetrics.report.sections.differences import tested_p

_FINITE = "df=finite)"
"""How the names of tests end whose studentised range has finite degrees of freedom."""
LEAST_BLOCKS, LEAST_MODELS, MOST_MODELS = 5, 3, 20


def draw(selection: Selection) -> Figure:
    """Row per model at its mean rank, rank 1 at the left; bars below join models without a significant difference.

    Raises:
        NothingToDraw: Nemenyi's test was not asked for, or there are too few blocks or models for it.
    """
    rows = _pairs(selection)
    ranks = mean_ranks(rows)
    blocks = int(rows["n"][0])
    if blocks < LEAST_BLOCKS or not LEAST_MODELS <= ranks.height <= MOST_MODELS:
        msg = (
            f"mean ranks are drawn of {LEAST_MODELS} to {MOST_MODELS} models over {LEAST_BLOCKS} blocks and more, "
            f"not of {plural(ranks.height, 'model')} over {plural(blocks, 'block')}"
        )
        raise NothingToDraw(Problem(msg))
    freedom = "finite" if rows["test"][0].endswith(_FINITE) else "infinite"
    limit = critical_difference(ranks.height, blocks, selection.summary.level or 0.95, freedom)
    groups = cliques(ranks["rank"].to_list(), limit)
    metric, slice_set = rows["metric"][0], rows["slice_set"][0]
    over = "folds" if slice_set == "overall" else f"slices of {short(slice_set, 40)}"
    title = f"Mean ranks by {short(metric, 60)}"
    subtitle = (
        f"{plural(blocks, 'block')}: {over}; rank 1 is the best{direction_words(selection, metric)}",
        f"critical difference {limit:.2f} at {level_words(selection)}: Nemenyi's test, which corrects for all pairs",
        _omnibus(selection.summary.comparisons, metric, slice_set),
    )
    chart = _panel(ranks, groups, limit)
    return Figure(add_heading(chart, title, subtitle), rows, title, _finding(title, ranks, groups))


def _pairs(selection: Selection) -> pl.DataFrame:
    rows = selection.summary.comparisons.filter(
        pl.col("scale") == MEAN_RANK,
        pl.col("test").str.starts_with("nemenyi"),
        pl.col("difference").is_not_null(),
    )
    if rows.is_empty():
        hint = "ask for it when you evaluate: compare={'tests': [{'nemenyi': {'over': 'region'}}]}"
        raise NothingToDraw(Problem("Nemenyi's test has no result", hint=hint))
    rows = selection.metric_rows(rows)
    slice_set = rows["slice_set"][0] if selection.slice_set is None else selection.slice_set
    rows = rows.filter(slice_set=slice_set)
    if rows.is_empty():
        raise NothingToDraw(Problem(f"Nemenyi's test has no result over '{slice_set}'"))
    return rows.filter(test=rows["test"][0])


def mean_ranks(pairs: pl.DataFrame) -> pl.DataFrame:
    """The mean rank of each model, the best first, from the differences of all pairs: they sum to k (k + 1) / 2."""
    sides = [
        pairs.select("model", difference="difference"),
        pairs.select(model="baseline", difference=-pl.col("difference")),
    ]
    sums = pl.concat(sides).group_by("model", maintain_order=True).agg(pl.col("difference").sum())
    k = sums.height
    ranks = sums.select("model", rank=(k + 1) / 2 + pl.col("difference") / k)
    return ranks.sort("rank", maintain_order=True)


def cliques(ranks: Sequence[float], limit: float) -> list[tuple[int, int]]:
    """First and last place of each largest group of two or more with ranks within the limit.

    >>> cliques([1.0, 1.5, 2.6, 4.0], 1.2)
    [(0, 1), (1, 2)]
    """
    groups: list[tuple[int, int]] = []
    for first, rank in enumerate(ranks):
        last = max(place for place in range(first, len(ranks)) if ranks[place] - rank < limit)
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups


def _panel(ranks: pl.DataFrame, groups: Sequence[tuple[int, int]], limit: float) -> object:
    """The critical difference on top, a row a model, and a bar a group."""
    models = ranks.select(
        x="rank",
        t=pl.Series([short(model, 30, ranks["model"]) for model in ranks["model"]], dtype=pl.String),
        c1=pl.Series([f"{rank:.2f}" for rank in ranks["rank"]], dtype=pl.String),
        look=pl.lit("plain"),
    )
    top = pl.DataFrame({"t": ["critical difference"], "lo": [1.0], "hi": [1.0 + limit], "look": ["small"]})
    parts = [top, models]
    if groups:
        values = ranks["rank"].to_list()
        bars = pl.DataFrame(
            {
                "t": [f"{last - first + 1} models" for first, last in groups],
                "lo": [values[first] for first, _ in groups],
                "hi": [values[last] for _, last in groups],
                "look": ["overall"] * len(groups),
            }
        )
        parts += [header("not told apart"), bars]
    rows = stack_rows(*parts)
    columns, end = columns_of([Texts("c1", "mean rank", 70)], WIDTH)
    most = max(float(ranks.height), 1.0 + limit)
    return panel(rows, Scale((0.8, most + 0.2), "Mean rank (lower is better)"), columns, end=end)


def _omnibus(comparisons: pl.DataFrame, metric: str, slice_set: str) -> str:
    """Result of Friedman's test of all models, where it was asked for."""
    rows = comparisons.filter(
        pl.col("scale") == "statistic",
        pl.col("metric") == metric,
        pl.col("slice_set") == slice_set,
        pl.col("test").str.contains("^(friedman|iman_davenport)"),
    )
    if rows.is_empty():
        return ""
    row = rows.row(0, named=True)
    return f"all models: {short(row['test'].split('(')[0].replace('_', ' '))} p {p_value(tested_p(row))}"


def _finding(title: str, ranks: pl.DataFrame, groups: Sequence[tuple[int, int]]) -> str:
    names = [short(model, among=ranks["model"]) for model in ranks["model"]]
    order = ", ".join(f"{name} {rank:.2f}" for name, rank in zip(names, ranks["rank"], strict=True))
    joined = "; ".join(", ".join(names[first : last + 1]) for first, last in groups)
    return f"{title}. {order}. " + (f"Not told apart: {joined}." if joined else "All are told apart.")
