"""What is compared: contestants, the number of rows, and the ratios that are aimed at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """`of` / `to` in seconds must be at most `most`."""

    of: str
    to: str
    most: float


@dataclass(frozen=True, slots=True)
class Scenario:
    """Contestants that do comparable work on one table."""

    name: str
    rows: int
    contestants: tuple[str, ...]
    targets: tuple[Target, ...]
    what: str


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            "sums",
            5_000_000,
            ("scan", "sums"),
            (Target("sums", "scan", 3.0),),
            "six sums metrics x 2 models x 60 cells against a bare scan of the same columns",
        ),
        Scenario(
            "auc",
            5_000_000,
            ("sklearn_auc", "auc_overall"),
            (Target("auc_overall", "sklearn_auc", 1 / 6),),
            "exact ROC AUC of one model, from parquet, against scikit-learn on columns in memory",
        ),
        Scenario(
            "slices",
            5_000_000,
            ("fairlearn_auc", "auc_by_cell"),
            (Target("auc_by_cell", "fairlearn_auc", 1 / 30),),
            "exact ROC AUC and Brier of one model in 60 cells, against fairlearn's MetricFrame",
        ),
        Scenario(
            "bootstrap",
            5_000_000,
            ("everything", "everything_with_intervals"),
            (Target("everything_with_intervals", "everything", 2.2),),
            "10 metrics x 2 models x 61 slices, 1000 replicates by customer against none",
        ),
        Scenario(
            "small",
            600,
            ("everything", "everything_with_intervals"),
            (),
            "the same on 600 rows: seconds after import",
        ),
    )
}
