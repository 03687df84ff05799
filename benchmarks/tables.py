"""Seeded prediction tables, written once per size as parquet."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import polars as pl

COUNTRIES = [f"country_{index:02d}" for index in range(20)]
DEVICES = ["phone", "tablet", "desktop"]
MODELS = 2


def table(rows: int, files: int = 5, models: int = MODELS) -> Path:
    """Folder of a table with label, one score per model, country x device (60 cells), customer and age."""
    folder = Path(tempfile.gettempdir()) / "plmetrics-benchmarks" / f"{rows}-{files}-{models}"
    if folder.exists():
        return folder
    building = folder.with_name(f".{folder.name}")
    building.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(20261121)
    for index in range(files):
        part = _part(rng, rows // files, rows, models)
        part.write_parquet(building / f"part-{index:03d}.parquet", row_group_size=250_000)
    building.rename(folder)
    return folder


def _part(rng: np.random.Generator, rows: int, all_rows: int, models: int) -> pl.DataFrame:
    positive = rng.random(rows) < 0.2
    scores = {
        f"s{model}": 1 / (1 + np.exp(1 - 1.2 * positive - rng.normal(size=rows))) for model in range(models)
    }
    return pl.DataFrame(
        {
            "label": positive.astype(np.int8),
            "country": np.array(COUNTRIES)[rng.integers(0, len(COUNTRIES), rows)],
            "device": np.array(DEVICES)[rng.integers(0, len(DEVICES), rows)],
            "customer": rng.integers(0, max(all_rows // 10, 10), rows),
            "age": rng.integers(18, 90, rows),
        }
        | scores
    )
