"""Slices of a run's grids, found again by their values."""

import polars as pl

from plmetrics.states.scores.grid.run_grids import matching_rows


def test_slices_are_found_by_their_values() -> None:
    values = pl.DataFrame({"@slice|age": [0.0, 1.5, float("nan")]}).sort("@slice|age")
    table = values.reverse().head(2)
    assert matching_rows(values, table).tolist() == [-1, 1, 0]
