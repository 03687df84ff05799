"""Write the made-up table that nightly.yaml reads: python make_scores.py FOLDER FIRST_DAY DAYS [BAD_DAY]."""

import sys
from datetime import date, timedelta
from pathlib import Path

import polars as pl


def main(folder: str, first: str, days: str, bad: str = "") -> None:
    """Write a file for each day; the scores of a bad day know nothing of its labels."""
    for number in range(int(days)):
        day = date.fromisoformat(first) + timedelta(days=number)
        row = pl.int_range(600)
        chance = [(row.hash(seed=10 * day.toordinal() + i) % 1000 + 0.5) / 1000 for i in range(4)]
        label = (chance[0] < 0.3).cast(pl.Int8)
        known = pl.lit(0.0 if day.isoformat() == bad else 1.0)
        scores = {
            name: 0.2 + 0.25 * known * label + 0.5 * chance[i]
            for i, name in ((1, "p_champion"), (2, "p_challenger"))
        }
        region = pl.when(chance[3] < 0.5).then(pl.lit("north")).otherwise(pl.lit("south"))
        table = pl.select(customer=row, region=region, label=label, **scores)
        file = Path(folder) / f"day={day}" / "part-0.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        table.write_parquet(file)


if __name__ == "__main__":
    main(*sys.argv[1:])
