"""Additional tests beside the bootstrap: p values on all rows, and the number of significant slices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from rich.text import Text

from plmetrics.core.names import printable
from plmetrics.core.results import MEAN_RANK
from plmetrics.inference.tables import DELONG, TESTS
from plmetrics.report.layout import FAINT, Column, heading, remarks, table_or_stack
from plmetrics.report.numbers import Row, ValueText, count, estimate, left_out, p_value, plural
from plmetrics.report.sections.differences import adjustment, tested_p
from plmetrics.report.sections.overall import metric_label

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

_MOST = 40
_STUDENTISED = "the studentised range"
_REFUSALS = {
    "clustered": "the test takes rows as independent, and they share units, which intervals of the bootstrap know",
    "weighted": "the test counts every row once, and they have weights, which intervals of the bootstrap know",
}
_COLUMNS = [
    *map(Column, ("metric", "models", "test", "difference")),
    Column("n", "right"),
    Column("p", "right"),
]


def tests(summary: Summary, width: int) -> list[Text]:
    """A line a test of all rows or of all models together, and one for those of slices."""
    rows, in_slices = further_tests(summary)
    frame = pl.concat([rows, in_slices])
    if frame.is_empty():
        return []
    lines = heading("Tests", f"p {adjustments(summary, frame)}", width)
    if not rows.is_empty():
        cells = [_cells(row) for row in rows.head(_MOST).iter_rows(named=True)]
        lines += table_or_stack(_COLUMNS, cells, width)
    more = left_out(rows.height - _MOST, "test", "comparisons")
    return lines + remarks([*more, *slice_counts(summary, in_slices), *refusals(frame)], width)


def further_tests(summary: Summary) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Comparisons by tests beside the usual one: those of all models together, before pairs, and those in slices."""
    # DeLong's stands for the usual one, with his intervals.
    usual = [*TESTS.values(), *({DELONG} - summary.tests)]
    frame = summary.comparisons.filter(~pl.col("test").is_in(usual), pl.col("contrast") != "run")
    together = (pl.col("slice_set") == "overall") | (pl.col("contrast") == "models")
    of_all_first = frame.filter(together).sort(pl.col("model").is_not_null(), maintain_order=True)
    return of_all_first, frame.filter(~together)


def adjustments(summary: Summary, frame: pl.DataFrame) -> str:
    """The corrections of the p values in words: those of mean ranks hold for all pairs as they are.

    A test that is alone in its family, as Friedman's of a metric, has no correction.
    """
    tested = frame.filter(pl.col("p_value").is_not_null())
    ranked = tested["scale"] == MEAN_RANK
    if ranked.all() and not tested.is_empty():
        return f"adjusted by {_STUDENTISED}"
    alone = (tested.filter(~ranked)["family_size"].max() or 0) == 1
    words = "not adjusted: each alone in its family" if alone else adjustment(summary)
    return f"{words}; Nemenyi's by {_STUDENTISED}" if ranked.any() else words


def slice_counts(summary: Summary, frame: pl.DataFrame) -> list[str]:
    """The number of tests in slices with a small p value, in words; nothing without any."""
    alpha = 1 - (0.95 if summary.level is None else summary.level)
    defined = frame.filter(pl.col("p_value").is_not_null())
    if defined.is_empty():
        return []
    small = defined.filter(pl.coalesce("p_adjusted", "p_value") < alpha).height
    return [f"in slices: {count(small)} of {plural(defined.height, 'test')} with p below {alpha:.4g}"]


def refusals(frame: pl.DataFrame) -> list[str]:
    """Why tests were not made, in words, where it is the kind of the rows."""
    statuses = set(frame["status"])
    return [f"{status}: {words}" for status, words in _REFUSALS.items() if status in statuses]


def _cells(row: Row) -> list[Text]:
    effect = effect_text(row)
    return [
        Text(metric_label(row)),
        Text(printable(pair_text(row))),
        Text(printable(row["test"])),
        Text.assemble(
            effect.value, " " if effect.value and effect.interval else "", (effect.interval, FAINT)
        ),
        Text("-" if row["n"] is None else count(row["n"])),
        Text(p_value(tested_p(row))),
    ]


def pair_text(row: Row) -> str:
    """The two models of a test, or all of them."""
    return "all" if row["model"] is None else f"{row['model']} against {row['baseline']}"


def effect_text(row: Row) -> ValueText:
    """Difference, and beside it its interval, what the test counts, another scale, or the reason for its absence."""
    if row["status"] != "ok":
        return ValueText("", row["status"].replace("_", " "))
    difference = estimate(row["difference"], row["lower"], row["upper"], signed=row["scale"] != "statistic")
    suffix = {"statistic": "statistic", "mean_rank": "ranks"}.get(row["scale"], difference.interval)
    if row["test"].startswith(("mcnemar", "bayesian_signed_rank", "correlated_t")):
        suffix = row["note"] or suffix
    return ValueText(difference.value, suffix)
