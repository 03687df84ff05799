"""Every status that a result table shows is explained in docs/statuses.md."""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl
import pytest
from architecture.pages import PAGES

import plmetrics as plm

EXPLAINED = set(re.findall(r"`([a-z0-9_]+)`", PAGES["docs/statuses.md"]))
COLUMNS = ("status", "interval_status", "p_status", "sd_status")

RNG = np.random.default_rng(3)
N = 120
LABEL = RNG.integers(0, 2, N)
ROWS = pl.DataFrame(
    {
        "y": LABEL,
        "good": np.clip(LABEL * 0.4 + RNG.random(N) * 0.6, 0.01, 0.99),
        "other": RNG.random(N),
        "low": np.full(N, 0.1),
        "group": np.repeat(["a", "b", "c", "d"], N // 4),
        "unit": np.arange(N) // 3,
        "weight": RNG.integers(1, 4, N).astype(float),
    }
)
BINARY: dict[str, Any] = {"label": "y", "models": ["good", "other"], "metrics": ["accuracy", "roc_auc", "ks"]}
TESTS = {"baseline": "good", "tests": ["mcnemar", "delong"]}
NAMED = {"methods": ["wilson", "delong"], "replicates": 50}

CASES: dict[str, tuple[dict[str, Any], set[str]]] = {
    "methods that do not hold": (
        {**BINARY, "uncertainty": {"method": "jackknife"}},
        {"not_smooth"},
    ),
    "no closed form": ({**BINARY, "uncertainty": {"method": "analytic"}}, {"no_analytic_form"}),
    "tests of units": (
        {**BINARY, "unit": "unit", "compare": TESTS, "uncertainty": NAMED},
        {"clustered", "not_applicable"},
    ),
    "tests of weights": (
        {**BINARY, "weight": "weight", "compare": TESTS, "uncertainty": NAMED},
        {"weighted"},
    ),
    "rests on a grid": (
        {**BINARY, "slices": ["group"], "exact": False, "compare": {"slices": {"group": "rest"}}},
        {"needs_exact"},
    ),
    "small slices": (
        {
            **BINARY,
            "slices": ["group"],
            "gates": [{"metric": "accuracy", "slices": "group", "at_least": 0, "min_positives": 100}],
        },
        {"too_few_positives"},
    ),
    "runs of other metrics": (
        {**BINARY, "compare": {"run": plm.evaluate(ROWS, label="y", models=["good"], metrics=["accuracy"])}},
        {"not_in_run"},
    ),
    "folds": (
        {**BINARY, "fold": "group", "where": "\"group\" = 'a'"},
        {"one_fold"},
    ),
    "drift of windows": (
        {
            **BINARY,
            "slices": ["group"],
            "drift": {
                "reference": ROWS.with_columns(group=pl.col("group").replace("a", "e")),
                "slices": "group",
                "columns": ["group"],
            },
        },
        {"no_rows_in_reference", "no_rows_in_current", "no_test"},
    ),
    "values that do not exist": (
        {**BINARY, "models": ["low"], "metrics": ["precision", "f1"], "uncertainty": True},
        {"zero_denominator", "undefined_value"},
    ),
}


def statuses(tables: Iterable[pl.DataFrame]) -> set[str]:
    """All words in columns of statuses."""
    columns = [table[name] for table in tables for name in COLUMNS if name in table.columns]
    return {word for column in columns for word in column.drop_nulls()} - {"ok"}


@pytest.mark.parametrize("case", CASES)
def test_statuses_of_results_are_explained(case: str) -> None:
    options, expected = CASES[case]
    found = statuses(plm.evaluate(ROWS, **options).tables.values())
    assert expected <= found
    assert found <= EXPLAINED
