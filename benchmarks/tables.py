"""Seeded prediction tables as parquet, in a folder that is deleted afterwards unless it is to be kept."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from benchmarks.corner_tables import corner_table
from benchmarks.task_tables import TASK_TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 20261121
COUNTRIES = pl.Series([f"country_{index:02d}" for index in range(20)])
DEVICES = pl.Series(["phone", "tablet", "desktop"])
ROW_GROUP = 250_000
CLASSES = 20
DOCUMENTS = 100
TEXTS = {"segment": 5, "country": 20, "city": 60, "device": 3}
"""Columns of texts of a table of attributes, with their numbers of values."""

CELLS = (10, 30, 100, 300, 1000, 3000, 10_000)
"""Numbers of values of the columns of a table of cells."""

NUMBERS = ("age", "income", "tenure", "balance")


class Tables:
    """The tables of one call, each written once."""

    def __init__(self, folder: Path) -> None:
        """Take the folder they lie in."""
        self.folder = folder
        self.used: set[Path] = set()

    def table(self, rows: int, files: int, models: int, kind: str = "scores") -> Path:
        """Folder of a table.

        scores: label, a score per model, country x device (60 cells), customer (one in ten rows); classes: the true
        class and the called one; attributes: label, a score per model, four texts and four numbers; queries: query,
        document, relevance and a score that differs within each query; forecasts: a number as label, and a forecast of
        it and of nine of its quantiles, with the cells and customers of scores; cells: scores with columns of 10 to
        10,000 cells; `corners TASK`: what the metrics of a task read. Others are in `task_tables`.
        """
        folder = self.folder / f"{kind.replace(' ', '-')}-{rows}-rows-{files}-files-{models}-models"
        self.used.add(folder)
        if not folder.exists():
            _write(folder, rows, files, models, kind)
        return folder


@contextmanager
def tables(cache: Path | None, *, keep: bool) -> Iterator[Tables]:
    """Tables under `cache`, else under TMPDIR; those that were used are deleted at the end unless `keep`."""
    if cache is not None:
        cache.mkdir(parents=True, exist_ok=True)
    folder = cache or Path(tempfile.mkdtemp(prefix="plmetrics-benchmarks-"))
    made = Tables(folder)
    try:
        yield made
    finally:
        if not keep:
            for used in (*made.used, folder / "bytecode"):
                shutil.rmtree(used, ignore_errors=True)
            if cache is None:
                shutil.rmtree(folder, ignore_errors=True)


def _write(folder: Path, rows: int, files: int, models: int, kind: str) -> None:
    """Write the parts beside the folder and rename, so that a folder that exists is complete."""
    building = folder.with_name(f".{folder.name}")
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir()
    rng = np.random.default_rng(SEED)
    edges = np.linspace(0, rows, files + 1).astype(int)
    for index, size in enumerate(np.diff(edges)):
        if kind.startswith("corners "):
            part = corner_table(kind.removeprefix("corners "), int(size), rng)
        elif kind == "classes":
            part = _classes(rng, int(size))
        elif kind == "attributes":
            part = _attributes(rng, int(size), models=models)
        elif kind == "cells":
            part = _cells(rng, int(size), customers=max(rows // 10, 10), models=models)
        elif kind == "queries":
            part = _queries(rng, int(edges[index]), int(size))
        elif kind == "forecasts":
            part = _forecasts(rng, int(size), customers=max(rows // 10, 10))
        elif kind in TASK_TABLES:
            part = TASK_TABLES[kind](rng, int(edges[index]), int(size))
        else:
            part = _part(rng, int(size), customers=max(rows // 10, 10), models=models)
        part.write_parquet(building / f"part-{index:03d}.parquet", row_group_size=ROW_GROUP)
    building.rename(folder)


def _classes(rng: np.random.Generator, rows: int) -> pl.DataFrame:
    """Seven in ten calls are right."""
    truth = rng.integers(0, CLASSES, rows)
    called = np.where(rng.random(rows) < 0.7, truth, rng.integers(0, CLASSES, rows))
    return pl.DataFrame({"class": truth.astype(np.int16), "called": called.astype(np.int16)})


def _attributes(rng: np.random.Generator, rows: int, models: int) -> pl.DataFrame:
    """Values of a text differ in how frequent they are; no slice is worse than another."""
    texts = {}
    for name, number in TEXTS.items():
        values = pl.Series([f"{name}_{index:02d}" for index in range(number)])
        drawn = rng.choice(number, rows, p=np.arange(1, number + 1) / (number * (number + 1) / 2))
        texts[name] = values.gather(drawn.astype(np.uint32))
    numbers: dict[str, Any] = {name: rng.normal(size=rows) for name in NUMBERS}
    numbers["age"] = rng.integers(18, 90, rows)
    scores = _part(rng, rows, customers=10, models=models).drop("country", "device", "customer")
    return pl.DataFrame(texts | numbers).hstack(scores)


def _queries(rng: np.random.Generator, first: int, rows: int) -> pl.DataFrame:
    """One relevant document a query at least; scores are 32-bit numbers, as trec_eval holds them."""
    row = first + np.arange(rows)
    place = row % DOCUMENTS
    relevance = np.where(place == 0, 1, rng.choice([0, 0, 0, 0, 0, 0, 0, 1, 2], rows))
    order = rng.permuted(np.broadcast_to(np.arange(DOCUMENTS), (-(-rows // DOCUMENTS), DOCUMENTS)), axis=1)
    score = (order.ravel()[:rows] + 0.5 * rng.random(rows)) / DOCUMENTS
    return pl.DataFrame(
        {
            "query": (row // DOCUMENTS).astype(np.int32),
            "document": place.astype(np.int32),
            "relevance": relevance.astype(np.int8),
            "score": score.astype(np.float32).astype(np.float64),
        }
    )


def _forecasts(rng: np.random.Generator, rows: int, customers: int) -> pl.DataFrame:
    """Quantiles are those of the noise about the forecast, a little too close together."""
    centre = rng.gamma(2.0, 50.0, rows)
    spread = np.linspace(-1.2, 1.2, 9)
    quantiles = {f"q{10 * (place + 1)}": centre + 20.0 * far for place, far in enumerate(spread)}
    cells = _part(rng, rows, customers, models=0).drop("label")
    held = {"label": centre + 20.0 * rng.normal(size=rows), "s0": centre} | quantiles
    return pl.DataFrame(held).hstack(cells)


def _cells(rng: np.random.Generator, rows: int, customers: int, models: int) -> pl.DataFrame:
    cells = {f"cell_{number}": rng.integers(0, number, rows) for number in CELLS}
    return pl.DataFrame(cells).hstack(_part(rng, rows, customers, models).drop("country", "device"))


def _part(rng: np.random.Generator, rows: int, customers: int, models: int) -> pl.DataFrame:
    positive = rng.random(rows) < 0.2
    scores = {
        f"s{model}": 1 / (1 + np.exp(1 - (1.2 + 0.1 * model) * positive - rng.normal(size=rows)))
        for model in range(models)
    }
    return pl.DataFrame(
        {
            "label": positive.astype(np.int8),
            "country": COUNTRIES.gather(rng.integers(0, len(COUNTRIES), rows)),
            "device": DEVICES.gather(rng.integers(0, len(DEVICES), rows)),
            "customer": rng.integers(0, customers, rows),
        }
        | scores
    )
