"""Nights of a growing table: one alone, one with earlier ones behind it, and windows of states."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from benchmarks.contestants.contestant import Contestant, Values
from benchmarks.contestants.ours import CELL, SUMS, facts_of, models

if TYPE_CHECKING:
    from pathlib import Path

FIRST = date(2025, 1, 1)
YEAR, FEW = 365, 29
"""So many nights have a result; of a table for a warm-up, the fewest that a window of 28 days and its night need."""

FEW_ROWS = 100_000
WINDOW = {"compare.run": {"window": "28d"}}


@dataclass(frozen=True, slots=True)
class Year:
    """The suite of a growing table, the folder of its runs, and the last day that has a result."""

    suite: Path
    runs: Path
    last: date

    @property
    def window(self) -> str:
        """The 28 days up to the last one, half-open."""
        end = self.last + timedelta(days=1)
        return f"{end - timedelta(days=28)}/{end}"


def year(folder: Path) -> Year:
    """Folders of days whose files are those of the table, again and again, and the result of each day.

    They lie in the table's folder and go with it; the next contestant finds them there.
    """
    import polars as pl
    import yaml

    import plmetrics as plm
    from plmetrics.api.nights.backfill import backfill

    files = sorted(folder.glob("*.parquet"))
    rows = pl.scan_parquet(files).select(pl.len()).collect().item()
    days = [FIRST + timedelta(days=number) for number in range(YEAR if rows > FEW_ROWS else FEW)]
    home = folder / "nights"
    made = Year(home / "nights.yaml", home / "runs", days[-1])
    if made.runs.exists():
        return made
    for number, day in enumerate(days):
        place = home / "table" / f"day={day}"
        place.mkdir(parents=True)
        os.link(files[number % len(files)], place / "part.parquet")
    suite = {
        "name": "nights",
        "data": {"path": "table"},
        "interval": {"partition": "day", "every": "1d"},
        "keep": {"states": "400d"},
        "columns": {"label": "label", "unit": "customer"},
        "models": models(2),
        "metrics": ["roc_auc", *SUMS],
        "slices": CELL,
        "uncertainty": {"replicates": 200, "seed": 7},
        "output": {"directory": "runs"},
    }
    made.suite.write_text(yaml.safe_dump(suite), encoding="utf-8")
    backfill(made.suite, str(days[0]), str(days[-1] + timedelta(days=1)), jobs=os.cpu_count() or 1)
    assert plm.history(made.runs / "nights", metrics=["brier"], last=1)["status"].to_list()[0] == "current"
    return made


def plain(place: Year) -> Any:
    """The last day as a table of its own, without intervals and without a state."""
    import plmetrics as plm

    whole = {"interval": None, "keep": None, "name": "plain"}
    return plm.run(place.suite, set=whole | {"data.path": f"table/day={place.last}/part.parquet"})


def night(place: Year) -> Any:
    """The last day as a night, with its state and its manifest."""
    import plmetrics as plm

    return plm.run(place.suite, interval=str(place.last), force=True)


def night_against_window(place: Year) -> Any:
    """The last day, and each value against the 28 days before it."""
    import plmetrics as plm

    return plm.run(place.suite, interval=str(place.last), set=WINDOW, force=True)


def window(place: Year) -> dict[str, Any]:
    """The states of 28 days, read, checked and added."""
    from benchmarks.contestants.states import sum_of_states
    from plmetrics.features.nights.span import states_of_span

    files, _ = states_of_span(place.runs / "nights", place.window)
    return sum_of_states(files)


def values_of_night(result: Any) -> Values:
    """Overall values of the night."""
    overall = result.metrics.filter(status="ok", slice_set="overall")
    names = (f"{model} {metric}" for model, metric in overall.select("model", "metric").iter_rows())
    bounds = overall["bound"].fill_null(0.0)
    return dict(zip(names, zip(overall["value"], bounds, strict=True), strict=True))


_SUITE = "2 models, ROC AUC and six sums in 60 cells, 200 replicates"

CONTESTANTS = (
    Contestant("plain", f"parquet of a day; {_SUITE}, as a run", year, plain, values_of_night, facts_of),
    Contestant("night", "the same as a night, behind a year", year, night, values_of_night, facts_of),
    Contestant(
        "night_against_window",
        "the same, and every value against the 28 days before",
        year,
        night_against_window,
        values_of_night,
        facts_of,
    ),
    Contestant("window", "states of 28 of 365 days, as one state", year, window),
)
