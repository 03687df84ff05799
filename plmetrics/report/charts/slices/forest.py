"""Forest of slices: the value of a metric in each slice with its interval, beside that of all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.marks import MOST_SERIES
from plmetrics.report.charts.slices.estimate_texts import estimate_texts
from plmetrics.report.charts.slices.panels import SlicePanel, Texts, headings, side_by_side, size_texts
from plmetrics.report.charts.slices.readings import slice_tests
from plmetrics.report.charts.slices.rows import add_heading, text_columns
from plmetrics.report.charts.slices.slice_choice import (
    FEW_UNITS,
    KEYS,
    chosen_slices,
    group_by_set,
    largest,
    look_of_slices,
    shown_words,
    with_classes,
    with_slice_labels,
)
from plmetrics.report.charts.texts import short
from plmetrics.report.charts.words import direction_words, first_facts, level_words
from plmetrics.report.numbers import count, omission, plural

if TYPE_CHECKING:
    from plmetrics.report.charts.selection import Selection

_LETTER = 6.0
_ROWS = pl.col("look").ne_missing("header")


def draw(selection: Selection) -> Figure:
    """A row a slice, by set and value, a panel a model; the diamond and the band on top are all rows."""
    table = selection.metric_rows(selection.of_models(selection.summary.metrics))
    slices = chosen_slices(selection, table)
    metric: str = table["metric"][0]
    tests = slice_tests(selection.summary, metric)
    models: list[str] = slices["model"].unique(maintain_order=True).to_list()
    shown = models[:MOST_SERIES]
    first = slices.filter(model=shown[0]).unique(KEYS, keep="first", maintain_order=True)
    order = group_by_set(with_slice_labels(largest(first)), "value")
    parts = [_rows(table.filter(model=model), order, tests.filter(model=model)) for model in shown]
    if metric in selection.summary.totals:
        parts = [_without_total(part) for part in parts]
    title = f"{short(metric, 60)} by slice" + (f": {short(shown[0], 60)}" if len(models) == 1 else "")
    notes = omission(len(models) - len(shown), "model", "metrics")
    subtitle = (
        "; ".join(
            filter(
                None,
                [
                    shown_words(order.filter(_ROWS).height, first.height),
                    "sorted by value",
                    _overall_words(parts),
                ],
            )
        ),
        _legend(selection, parts, tests),
        _omission_words(parts, tests.filter(pl.col("model").is_in(shown)), slices),
        *notes,
    )
    drawn = pl.concat(parts).filter(_ROWS)
    return Figure(
        add_heading(_chart(selection, metric, shown, parts), title, subtitle),
        drawn.select(selection.summary.metrics.columns),
        title,
        _finding(title, drawn, tests, direction_words(selection, metric)),
        notes,
    )


def _rows(table: pl.DataFrame, order: pl.DataFrame, tests: pl.DataFrame) -> pl.DataFrame:
    """Rows of a model, that of all rows first; columns of the table beside the drawn ones."""
    unique = table.unique(KEYS, keep="first", maintain_order=True)
    whole = unique.filter(slice_set="overall").with_columns(t=pl.lit("All rows"), look=pl.lit("overall"))
    whole = with_classes(whole)
    rows = order.join(unique, on=KEYS, how="left", nulls_equal=True, maintain_order="left").join(
        tests.select(*KEYS, "reading"), on=KEYS, how="left", nulls_equal=True, maintain_order="left"
    )
    rows = rows.with_columns(look=pl.coalesce("look", look_of_slices("value", "blocks")))
    rows = pl.concat([whole, rows], how="diagonal").with_columns(
        k=pl.int_range(pl.len()), x="value", lo="lower", hi="upper"
    )
    return _with_texts(rows)


def _without_total(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows without a mark for all rows, where these add up to it."""
    marks = [
        pl.when(pl.col("look").ne_missing("overall")).then(name).alias(name) for name in ("x", "lo", "hi")
    ]
    return rows.with_columns(marks)


def _with_texts(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the texts of their sizes, `c0`, and values, `c1`; headers have none."""
    texts = iter(estimate_texts(rows.filter(_ROWS).rows(named=True)))
    values = [None if look == "header" else next(texts) for look in rows["look"]]
    sizes = [None if n is None else count(n) for n in rows["n"]]
    return rows.with_columns(**text_columns({"c0": sizes, "c1": values}))


def _chart(selection: Selection, metric: str, shown: Sequence[str], parts: Sequence[pl.DataFrame]) -> object:
    intervals = any(part["lower"].is_not_null().any() for part in parts)
    level = f"{level_words(selection)} interval"
    name, better = short(metric, 40), direction_words(selection, metric)
    panels = []
    for heading, rows in zip(headings(shown), parts, strict=True):
        whole = rows.filter(look="overall")
        ends = whole.select("x", "lo", "hi").row(0) if whole.height == 1 else (None, None, None)
        band = None if ends[1] is None or ends[2] is None else (ends[1], ends[2])
        panels.append(SlicePanel(rows, heading, ends[0], band))
    texts = (
        size_texts(parts),
        Texts("c1", f"value [{level}]" if intervals else "value", _room(parts), "left"),
    )
    one_unit = not any(one.unit_by_model for one in selection.summary.definitions if one.text == metric)
    return side_by_side(
        panels,
        f"{name}{better}" + (f", {level}" if intervals else ""),
        texts,
        short_axis=name,
        reasons="c1",
        one_unit=one_unit,
    )


def _room(parts: Sequence[pl.DataFrame]) -> float:
    longest = max((len(text or "") for part in parts for text in part["c1"]), default=0)
    return max(60.0, _LETTER * longest)


def _overall_words(parts: Sequence[pl.DataFrame]) -> str:
    wholes = parts[0].filter(look="overall").rows(named=True)
    if len(wholes) != 1 or wholes[0]["x"] is None:
        return ""
    whole = wholes[0]
    return "dashed line: all rows" if whole["lo"] is None else "dashed line and band: all rows"


def _legend(selection: Selection, parts: Sequence[pl.DataFrame], tests: pl.DataFrame) -> str:
    looks = {look for part in parts for look in part["look"].unique()}
    words = []
    if "worse" in looks:
        reference = "the rest" if tests["contrast"][0] == "rest" else "all rows"
        words.append(f"orange square: worse than {reference} ({test_words(tests)})")
    elif tests.is_empty():
        words.append("no slice is tested (compare.slices)")
    if "small" in looks:
        known = any(part["blocks"].is_not_null().any() for part in parts)
        units = "units" if known else selection.summary.row_word
        words.append(f"hollow grey: fewer than {FEW_UNITS} {units}")
    return "; ".join(words)


def _omission_words(parts: Sequence[pl.DataFrame], tests: pl.DataFrame, slices: pl.DataFrame) -> str:
    keys = ["model", *KEYS]
    worse = tests.filter(pl.col("reading") == "worse").join(slices, on=keys, how="semi", nulls_equal=True)
    hidden = worse.join(pl.concat(parts), on=keys, how="anti", nulls_equal=True).select(KEYS).n_unique()
    are = "is" if hidden == 1 else "are"
    return f"{plural(hidden, 'slice')} more {are} worse and not shown" if hidden else ""


def test_words(tests: pl.DataFrame) -> str:
    """Whether p values are adjusted."""
    return "adjusted p" if tests["p_adjusted"].is_not_null().any() else "p"


def _finding(title: str, drawn: pl.DataFrame, tests: pl.DataFrame, better: str) -> str:
    whole = drawn.filter(look="overall")
    words = [f"{title}."]
    every = whole["model"]
    words += [
        f"All rows of {short(row['model'], among=every)}: {row['c1']}." for row in whole.iter_rows(named=True)
    ]
    worse = drawn.filter(look="worse")
    slices = drawn.filter(pl.col("look") != "overall").join(
        tests, on=["model", *KEYS], how="semi", nulls_equal=True
    )
    models = slices["model"].n_unique()
    several = drawn["model"].n_unique() > 1
    if better and not slices.is_empty():
        names = first_facts(
            [
                f"{short(row['model'], among=every) + ', ' if several else ''}{short(row['slice'], 60)}: {row['c1']}"
                for row in worse.iter_rows(named=True)
            ]
        )
        each = plural(slices.select(KEYS).n_unique(), "slice")
        of = f"{count(slices.height)} values, {each} by {models} models" if several else each
        words.append(f"Worse in {worse.height} of {of}" + (f": {names}." if names else "."))
    return " ".join(words)
