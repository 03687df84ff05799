"""DuckDB: the sums by CUBE(country, device), as SQL over the same parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.contestants.contestant import Contestant, Values

if TYPE_CHECKING:
    from pathlib import Path

MODELS = ("s0", "s1")

SUMS = """
    sum(label)::DOUBLE AS positives_{m}, sum(({m} >= 0.5)::INT)::DOUBLE AS called_{m},
    sum((({m} >= 0.5) AND label = 1)::INT)::DOUBLE AS caught_{m},
    avg(({m} - label) * ({m} - label)) AS brier_{m},
    avg(-ln(CASE WHEN label = 1 THEN {m} ELSE 1 - {m} END)) AS log_loss_{m}"""

METRICS = {
    "accuracy": "(n - positives_{m} - called_{m} + 2 * caught_{m}) / n",
    "precision": "caught_{m} / nullif(called_{m}, 0)",
    "recall": "caught_{m} / nullif(positives_{m}, 0)",
    "f1": "2 * caught_{m} / nullif(called_{m} + positives_{m}, 0)",
    "mcc": (
        "(n * caught_{m} - positives_{m} * called_{m})"
        " / nullif(sqrt(positives_{m} * called_{m} * (n - positives_{m}) * (n - called_{m})), 0)"
    ),
    "selection_rate": "called_{m} / n",
    "brier": "brier_{m}",
    "log_loss": "log_loss_{m}",
}


def query(folder: Path) -> str:
    """One grouped scan, and the metrics from its sums."""
    sums = ",".join(SUMS.format(m=model) for model in MODELS)
    metrics = ", ".join(
        f'{formula.format(m=model)} AS "{model} {metric}"'
        for model in MODELS
        for metric, formula in METRICS.items()
    )
    return f"""
        WITH sums AS (
            SELECT country, device, count(*)::DOUBLE AS n, {sums}
            FROM read_parquet('{folder}/*.parquet') GROUP BY CUBE (country, device)
        ) SELECT country, device, {metrics} FROM sums"""


def cube(folder: Path) -> Any:
    """Run the query in a database of its own, in memory."""
    import duckdb

    with duckdb.connect() as connection:
        cursor = connection.execute(query(folder))
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def values(rows: list[dict[str, Any]]) -> Values:
    """Values of the rows; an undefined one is left out."""
    found: Values = {}
    for row in rows:
        keys = [f"{key}={row[key]}" for key in ("country", "device") if row[key] is not None]
        slice_ = ", ".join(keys) or "all"
        found |= {
            f"{name} {slice_}": (value, 0.0)
            for name, value in row.items()
            if name not in ("country", "device") and value is not None
        }
    return found


DUCKDB = (
    Contestant(
        "duckdb_cube",
        "parquet; one query, the sums written out for both models, GROUP BY CUBE (country, device)",
        lambda folder: folder,
        cube,
        values,
        packages=("duckdb",),
    ),
)
