"""The readout of an experiment as a chart: effects of arms with their intervals and p values."""

from __future__ import annotations

from typing import Any

import polars as pl

from plmetrics.core.errors import Problem
from plmetrics.features.experiment.experiment_section import TASK
from plmetrics.report.charts.figure import Figure
from plmetrics.report.charts.panels import column_of_panels
from plmetrics.report.charts.rendering import require
from plmetrics.report.charts.selection import NothingToDraw, Selection, check_names
from plmetrics.report.charts.slices.estimate_texts import estimate_texts, minus
from plmetrics.report.charts.slices.panels import Texts, headed_panel
from plmetrics.report.charts.slices.rows import add_heading, look_where, with_marks
from plmetrics.report.charts.texts import short
from plmetrics.report.charts.words import first_facts
from plmetrics.report.numbers import count, level_text, number, p_value, plural, signed_percent
from plmetrics.report.slice_names import with_slice_names

MOST_ROWS = 60
_MISMATCH = "sample_ratio_mismatch"


def draw(selection: Selection) -> Figure:
    """The readout of a run: of all slice sets, or of one; outcomes stand in the place of models."""
    summary = selection.summary
    table = summary.tables[TASK]
    choices = {"outcome": selection.models, "slice_set": selection.slice_set, "slice": selection.slices}
    for column, asked in choices.items():
        if asked is not None:
            names = [asked] if isinstance(asked, str) else list(asked)
            check_names(column, names, table[column])
            ratio = pl.col("test") == "sample_ratio"
            table = table.filter(ratio | pl.col(column).is_in(names))
    return readout_chart(table, level=summary.levels[TASK])


def readout_chart(readout: pl.DataFrame, *, level: float = 0.95) -> Figure:
    """Draw the table of `plmetrics.readout`: a panel an outcome, a row an arm and slice, around no effect.

    Args:
        readout: the table.
        level: the level that it was read at, of intervals and tests.

    Returns:
        A figure: to look at, to save, or to go on with as an Altair chart.

    Raises:
        ConfigError: the table is none of `plmetrics.readout`, or has no effect.
        EnvironmentFault: the extra `report` is not installed.

    >>> import polars as pl, plmetrics as plm
    >>> bought = [1] * 30 + [0] * 270 + [1] * 45 + [0] * 255
    >>> frame = pl.DataFrame({"variant": ["A"] * 300 + ["B"] * 300, "bought": bought})
    >>> table = plm.readout(frame, outcome="bought", arm="variant", control="A")
    >>> plm.readout_chart(table).frame.select("arm", pl.col("difference").round(4)).rows()
    [('B', 0.05)]
    """
    require("altair", needed_for="a chart")

    if not {"outcome", "arm", "control", "difference", "test"} <= set(readout.columns):
        raise NothingToDraw(Problem("the table is not one of plmetrics.readout"))
    rows = readout.filter(pl.col("test") != "sample_ratio")
    if rows.is_empty():
        raise NothingToDraw(Problem("the readout has no effect"))
    shown = _first_of_outcomes(rows)
    (named,) = with_slice_names(shown)
    parts = named.partition_by("outcome", maintain_order=True)
    panels = [_panel(part, level, titled=place == 0) for place, part in enumerate(parts)]
    more = rows.height - shown.height
    notes = (f"{plural(more, 'more row')} in the table",) if more else ()
    title = f"Effects against {short(str(rows['control'][0]), 60)}"
    subtitle = (_ratio(readout), f"hollow grey: adjusted p of {number(round(1 - level, 9))} or more", *notes)
    chart = column_of_panels(panels)
    return Figure(add_heading(chart, title, subtitle), shown, title, _finding(title, named), notes)


def _first_of_outcomes(rows: pl.DataFrame) -> pl.DataFrame:
    """As many rows as there is room for: all rows of every outcome before any slice, then as many slices of each."""
    place = pl.int_range(pl.len()).over("outcome") // pl.col("arm").n_unique()
    first = rows.with_row_index("@row").sort(place, "@row").head(MOST_ROWS)
    return first.sort("@row").drop("@row")


def _ratio(readout: pl.DataFrame) -> str:
    """Sample ratio in words: a mismatch stands before everything else."""
    rows = readout.filter(test="sample_ratio")
    if rows.is_empty():
        return ""
    row = rows.row(0, named=True)
    if row["status"] == _MISMATCH:
        return f"sample ratio mismatch (p {p_value(row['p_value'])}): nothing else should be trusted"
    return f"sample ratio as planned (p {p_value(row['p_value'])})"


def _panel(part: pl.DataFrame, level: float, *, titled: bool) -> Any:
    records = [row | {"interval_status": "not_requested"} for row in part.rows(named=True)]
    texts = {
        "t": [_label(row) for row in records],
        "c0": [f"{count(row['units'] or 0)} / {count(row['units_control'] or 0)}" for row in records],
        "c1": estimate_texts(records, "difference", signed=True),
        "c2": ["" if row["lift"] is None else minus(signed_percent(row["lift"])) for row in records],
        "c3": [p_value(row["p_value"]) for row in records],
        "c4": [p_value(row["p_adjusted"]) for row in records],
    }
    clear = pl.coalesce("p_adjusted", "p_value") < 1 - level
    drawn = with_marks(part, "difference", look_where("difference", clear, "plain", "unclear"), texts)
    columns = (
        Texts("c0", "units / control", 110),
        Texts("c1", f"difference [{level_text(level)} interval]", 172, "left"),
        Texts("c2", "lift", 52),
        Texts("c3", "p", 46),
        Texts("c4", "adjusted p", 64),
    )
    return headed_panel(short(str(part["outcome"][0]), 60), drawn, columns, titled=titled)


def _label(row: dict[str, Any]) -> str:
    if row["slice"] == "all":
        return short(row["arm"], 30)
    return f"{short(row['slice'], 18)}, {short(row['arm'], 12)}"


def _finding(title: str, rows: pl.DataFrame) -> str:
    whole = rows.filter(slice_set="overall")
    words = [
        f"{row['outcome']}, {_label(row)}: {number(row['difference'], signed=True)} "
        f"(adjusted p {p_value(row['p_adjusted'])})"
        for row in (rows if whole.is_empty() else whole).rows(named=True)
        if row["difference"] is not None
    ]
    return f"{title}. {first_facts(words)}."
