"""Columns that a suite reads: runs of them alone are runs of the whole table."""

from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import plmetrics as plm
from plmetrics.engine.binding.columns_read import columns_to_fetch
from plmetrics.suite.arguments import suite_from_arguments

ROWS = 240
TABLE = (
    pl.DataFrame({"n": pl.int_range(ROWS, eager=True)})
    .with_columns(
        y=pl.col("n") % 3 % 2,
        p=pl.col("n") * 37 % ROWS / ROWS,
        q=pl.col("n") * 91 % ROWS / ROWS,
        p_a=pl.lit(0.25),
        p_b=pl.lit(0.75),
        Label=pl.when(pl.col("n") % 3 > 0).then(pl.lit("a")).otherwise(pl.lit("b")),
        g=(pl.col("n") % 4).cast(pl.String),
        h=pl.col("n") % 5,
        w=pl.col("n") % 2 + 1,
        day=pl.date(2026, 1, 1) + pl.duration(days=pl.col("n") // 24),
        other=pl.col("n") * 2,
    )
    .with_columns(pl.col("n").alias('a "b"'), (pl.col("h") > 2).alias("two words"), ident=pl.col("n"))
)
BINARY: dict[str, Any] = {"label": "y", "models": {"p": "p"}, "metrics": ["roc_auc", "brier"]}


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("suite", "columns"),
    [
        (BINARY, "y p"),
        ({**BINARY, "models": ["p", "q"], "compare": "p", "weight": "w"}, "y p q w"),
        ({**BINARY, "slices": {"late": {"expression": "h + other > 20"}}}, "y p h other"),
        ({**BINARY, "where": '"two words"'}, "y p two words"),
        ({**BINARY, "derive": {"twice": "2 * h"}, "slices": ["twice"]}, "y p h"),
        ({**BINARY, "metrics": [{"name": "cost", "mean": "h * score", "where": "n > 9"}]}, "n y p h"),
        ({**BINARY, "calibrate": {"method": "isotonic", "fit_on": "w = 1"}}, "y p w"),
        ({**BINARY, "leakage": {"keys": ["ident"], "duplicates": True}}, "y p ident"),
        ({**BINARY, "leakage": {"attributes": ["h"]}}, "y p h"),
        ({**BINARY, "leakage": {"attributes": True, "level": "warn"}}, "*"),
        ({**BINARY, "find_slices": {"columns": ["g", "h"], "metric": "brier"}}, "y p g h"),
        ({**BINARY, "drift": {"where": "day < DATE '2026-01-05'", "columns": ["h"]}}, "y p h day"),
        ({"label": "Label", "models": {"p": {"proba": "p_"}}, "task": "multiclass"}, "p p_a p_b Label"),
        ({**BINARY, "models": {"p": "absent"}}, "*"),
        ({**BINARY, "slices": {"g": {"expression": "gg = '1'"}}}, "*"),
    ],
)
def test_runs_of_the_columns_alone(suite, columns):
    chosen = columns_to_fetch(suite_from_arguments(TABLE, **suite), TABLE.schema)
    quoted = ['a "b"'] if columns != "*" else []
    assert sorted(chosen) == sorted(TABLE.columns if columns == "*" else [*names(columns), *quoted])
    if columns != "*":
        rows = TABLE.select(chosen)
        results = [plm.evaluate(table, reproducible=True, **suite) for table in (TABLE, rows)]
        for key, table in results[0].tables.items():
            if table is not None:
                assert_frame_equal(table, results[1].tables[key])


def names(columns: str) -> list[str]:
    return ["two words", *columns.split()[:-2]] if columns.endswith("two words") else columns.split()
