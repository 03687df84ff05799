"""Many models: the best first by one metric in place of columns, and counts in place of blocks of differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl
from rich.text import Text

from plmetrics.core.names import printable
from plmetrics.inference.comparisons.readings import READINGS
from plmetrics.report.layout import Column, align, fitting, heading, join_blocks, remarks, table_or_stack
from plmetrics.report.leaderboard import ranking_board
from plmetrics.report.numbers import ValueText, comparison_estimate, plural, row_estimate
from plmetrics.report.sections.differences import (
    MOST_PAIRS,
    leading_scale,
    on_all_rows,
    pairs,
    reading_text,
    usual_tests,
)
from plmetrics.report.sections.overall import MOST_MODELS, metric_label

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

SHOWN, METRICS = 20, 6
_UNTESTED = "without a test"


def ranking(summary: Summary, width: int) -> list[Text]:
    """Row per model, the best first by the first metric with a better side; none of few models."""
    rows = summary.overall.rows(named=True)
    values = {(metric_label(row), row["model"]): row_estimate(row) for row in rows}
    if len({model for _, model in values}) <= MOST_MODELS:
        return []
    labels, board = ranking_board(summary)
    ordered = board["model"].to_list()
    lines = heading(f"{summary.subjects} by {labels[0]}", width=width)
    columns, cells = fitting(*_board(summary, board.head(SHOWN), labels[:METRICS], values), width)
    lines += table_or_stack(columns, cells, width)
    missing = len(labels) - 1 - sum(column.optional for column in columns)
    words = []
    if len(ordered) > SHOWN:
        last = printable(ordered[-1])
        words.append(
            f"and {plural(len(ordered) - SHOWN, summary.subject)} more in metrics.parquet, {last} the last"
        )
    if missing:
        words.append(f"{plural(missing, 'metric')} more in metrics.parquet")
    return lines + remarks(words, width)


def _board(
    summary: Summary,
    board: pl.DataFrame,
    metrics: list[str],
    values: Mapping[tuple[str, str], ValueText],
) -> tuple[list[Column], list[list[Text]]]:
    """Columns and rows of the table of models; metrics behind the first are optional."""
    models, absent = board["model"].to_list(), ValueText("")
    ranks = [Text("-" if rank is None else str(rank)) for rank in board["rank"]]
    first, *others = [align([values.get((metric, model), absent) for model in models]) for metric in metrics]
    columns = [Column(summary.subject), Column("rank", "right"), Column(metrics[0])]
    cells: list[list[Text]] = [[Text(printable(model)) for model in models], ranks, first]
    if board["rank"].is_null().all():
        del columns[1], cells[1]
    baseline, against = _against(summary.comparisons, metrics[0])
    if baseline is not None:
        columns.append(Column(f"to {printable(baseline)}"))
        cells.append([against.get(model, Text()) for model in models])
    columns += [Column(printable(metric), optional=True) for metric in metrics[1:]]
    return columns, list(map(list, zip(*cells, *others, strict=True)))


def _against(comparisons: pl.DataFrame, metric: str) -> tuple[str | None, Mapping[str, Text]]:
    """Difference of each model to the baseline in a metric, with a single baseline."""
    rows = leading_scale(usual_tests(comparisons)).filter(
        pl.col("class").is_null(), contrast="model", slice_set="overall", metric=metric
    )
    if rows["baseline"].n_unique() != 1:
        return None, {}
    texts = {}
    for row in rows.iter_rows(named=True):
        texts[row["model"]] = Text(f"{comparison_estimate(row).value} {reading_text(row)}".rstrip())
    return str(rows["baseline"][0]), texts


def counted_differences(summary: Summary, width: int) -> list[Text]:
    """Row per metric: the number of models with each kind of difference to their baselines; none of few models."""
    contrasts = {"model": "Differences of models", "run": "Differences from the earlier run"}
    return join_blocks(_counts(pairs(summary, key), title, width) for key, title in contrasts.items())


def _counts(parts: Sequence[pl.DataFrame], title: str, width: int) -> list[Text]:
    if len(parts) <= MOST_PAIRS:
        return []
    counts: dict[str, Counter[str]] = {}
    compared = on_all_rows(leading_scale(pl.concat(parts)))
    for row in compared.iter_rows(named=True):
        counts.setdefault(metric_label(row), Counter())[row["reading"] or _UNTESTED] += 1
    words = [word for word in (*READINGS, _UNTESTED) if any(part[word] for part in counts.values())]
    cells = [
        [Text(metric), *(Text(str(part[word]) if part[word] else "") for word in words)]
        for metric, part in counts.items()
    ]
    remark = f"{plural(compared.select('model', 'baseline').n_unique(), 'comparison')}, each in comparisons.parquet"
    columns = [Column("metric"), *(Column(word, "right") for word in words)]
    return heading(title, remark, width) + table_or_stack(columns, cells, width)
