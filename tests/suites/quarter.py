"""A table that grows by a day a night, what befalls it, and what a scheduler is to see of it every night.

Labels come eight mornings after their night. Rows are made anew from seeds wherever they are needed: for the files,
and for what is computed from them without the program.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl

FIRST = date(2026, 3, 9)
"""A Monday; the clocks of Berlin go forward in night 20."""

LABELS = 8
"""How many mornings after the first one of their night labels come."""

SUITE = """\
name: payments
data: {path: scores}
interval: {partition: day, every: 1d, timezone: Europe/Berlin, lookback: 2d}
labels: {mature_after: 7d}
columns: {label: fraud}
models: {champion: p_v1, challenger: p_v2}
metrics: [selection_rate, roc_auc]
slices: {country: country}
uncertainty: false
compare: {baseline: champion, run: {window: 28d}}
drift: {reference: previous, measures: [psi]}
keep: {states: 400d, runs: 9d}
output: {directory: runs}
gates:
  - {metric: roc_auc, at_least: 0.75}
  - {metric: selection_rate, within: {sd: 6, window: 28d}}
"""
SWAP = ("champion: p_v1, challenger: p_v2", "champion: p_v2, challenger: p_v3")
"""The challenger is promoted, and another one takes its place."""

NIGHTS = """
nights | exit codes | verdict      | with labels  | what happens
0-3    | 0          | inconclusive | inconclusive | fewer than eight nights make no band
4      | 5 5        |              | inconclusive | its folder comes two mornings later
5-7    | 0          | inconclusive | inconclusive | labels are immature: no gate on roc_auc is decided
8      | 0          | inconclusive | pass         | eight nights make a band
9      | 4 4        |              | pass         | its file is cut, and replaced the morning after
10     | 0          | inconclusive | pass         |
11     | 4 4        |              | pass         | a column has another name, and its own the morning after
12     | 0          | inconclusive | pass         | from here on there is a further column
13-14  | 3 3        | fail         | fail         | scores know little of labels, and are higher: the band sees it
15     | 0          | inconclusive | pass         | failed nights are no references
16     | 3 3        | fail         | fail         | a campaign, more are selected: a person accepts it
17     | 0          | inconclusive | pass         | further rows come two mornings late
18     | 0          | inconclusive | pass         |
19     | 5 5        |              |              | never comes
20-22  | 0          | inconclusive | pass         | 20 has 23 hours
23-49  | 0          | inconclusive | pass         | from 23 on the challenger is the champion
50     | 4 4        |              | pass         | its file is cut, and replaced the morning after
51-59  | 0          | inconclusive | pass         |
60-62  | 3 3        | fail         | fail         | scores know little of labels again
63-69  | 0          | inconclusive | pass         |
70     | 5 5        |              | pass         | its folder comes two mornings later
71-79  | 0          | inconclusive | pass         |
80     | 0          | inconclusive | pass         | further rows come two mornings late
81-89  | 0          | inconclusive | pass         |
"""
"""What is to be seen of every night: it follows from how its rows are made, and from nothing that the program says."""

ABSENT, LATE_FOLDER, CUT, RENAMED = {19}, {4, 70}, {9, 50}, {11}
WORSE, CAMPAIGN, LATE_ROWS = {13, 14, 60, 61, 62}, {16}, {17, 80}
WIDER, PROMOTED = 12, 23


@dataclass(frozen=True)
class Night:
    """What is to be seen of a night: the exit codes of its first morning, its verdict then, and with labels."""

    exits: tuple[int, ...]
    verdict: str | None
    in_the_end: str | None


def expected() -> list[Night]:
    """The table `NIGHTS`, a night an entry."""
    nights = []
    for line in NIGHTS.strip().splitlines()[1:]:
        span, exits, verdict, in_the_end, _ = (text.strip() for text in line.split("|"))
        first, _, last = span.partition("-")
        night = Night(tuple(map(int, exits.split())), verdict or None, in_the_end or None)
        assert int(first) == len(nights)
        nights += [night] * (int(last or first) + 1 - int(first))
    return nights


def day(number: int) -> str:
    """The name of a day, counted from the first."""
    return (FIRST + timedelta(days=number)).isoformat()


def rows(number: int, part: int = 0) -> pl.DataFrame:
    """The rows of a night with their labels; part 1 are those that come late."""
    height = 100 if part else 400
    draw = np.random.default_rng([number, part])
    y = np.arange(height) % 5 == 0
    ease, shift = (0.1, 1.4) if number in WORSE else (1.0, 0.9 if number in CAMPAIGN else 0.0)
    spread = np.sort(draw.normal(size=height) * 0.8)[draw.permutation(height)]

    def score(strength: float) -> np.ndarray:
        noise = 0.3 * draw.normal(size=height)
        return 1 / (1 + np.exp(1.2 - shift - spread - noise - 2 * ease * strength * (y - 0.2)))

    scores = {f"p_v{version}": score(0.8 + 0.2 * version) for version in (1, 2, 3)}
    country = np.where(draw.random(height) < 0.5, "de", "fr")
    return pl.DataFrame({"fraud": y.astype(int), "country": country, **scores})


def all_rows(number: int) -> pl.DataFrame:
    """The rows of a night, late ones too, once all are there."""
    return pl.concat([rows(number, part) for part in ((0, 1) if number in LATE_ROWS else (0,))])


@dataclass
class Table:
    """The hive table, which grows as morning follows morning."""

    folder: Path

    def arrive(self, morning: int) -> None:
        """Write what comes on a morning: the night before it, what is late, and labels."""
        night = morning - 1
        if night not in ABSENT | LATE_FOLDER:
            self.write(night)
        if night in CUT:
            path = self.path(night)
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        if night - 1 in CUT | RENAMED:
            self.write(night - 1, mended=True)
        if night - 2 in LATE_FOLDER:
            self.write(night - 2)
        if night - 2 in LATE_ROWS:
            self.write(night - 2, part=1)
        matured = morning - LABELS
        if matured >= 0 and matured not in ABSENT:
            for part in (0, 1) if matured in LATE_ROWS else (0,):
                self.write(matured, part, labels=True, mended=True)

    def path(self, number: int, part: int = 0) -> Path:
        return self.folder / f"day={day(number)}" / f"part-{part}.parquet"

    def write(self, number: int, part: int = 0, *, labels: bool = False, mended: bool = False) -> None:
        frame = rows(number, part)
        if not labels:
            frame = frame.with_columns(pl.lit(None, pl.Int64).alias("fraud"))
        if number in RENAMED and not mended:
            frame = frame.rename({"country": "land"})
        if number >= WIDER:
            frame = frame.with_columns(device=pl.lit("app"))
        self.path(number, part).parent.mkdir(parents=True, exist_ok=True)
        frame.write_parquet(self.path(number, part))
