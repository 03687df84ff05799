"""What a run makes Polars do: every collection, with the scans it makes of files and what in it does not stream."""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any
from unittest import mock

import polars as pl

from plmetrics.features.explain.passes import fallbacks, scans


@dataclass(frozen=True, slots=True)
class Collection:
    """A call that made Polars run plans over files. `where` is the outermost module of the engine or a
    feature that led to it."""

    where: str
    scans: int
    stuck: tuple[str, ...]


@contextmanager
def watched() -> Iterator[list[Collection]]:
    """The collections made inside, those of frames in memory left out."""
    made: list[Collection] = []
    patches = [
        mock.patch.object(pl, "collect_all", _watching(pl.collect_all, made, list)),
        *(
            mock.patch.object(
                pl.LazyFrame, name, _watching(getattr(pl.LazyFrame, name), made, lambda plan: [plan])
            )
            for name in ("collect", "collect_batches", "sink_parquet", "sink_csv")
        ),
    ]
    for patch in patches:
        patch.start()
    try:
        yield made
    finally:
        for patch in patches:
            patch.stop()


def _watching(
    run: Callable[..., Any], made: list[Collection], plans_of: Callable[[Any], list[pl.LazyFrame]]
) -> Callable[..., Any]:
    def watching(given: Any, *others: Any, **options: Any) -> Any:
        plans = plans_of(given)
        number = scans(plans)
        if number:
            stuck = [label for plan in plans for label in fallbacks(plan)]
            made.append(Collection(_caller(), number, tuple(stuck)))
        return run(given if len(plans) == 1 else plans, *others, **options)

    return watching


def _caller() -> str:
    """The outermost module of the engine or of a feature on the stack, else of the package."""
    frame: FrameType | None = sys._getframe(2)
    names = []
    while frame is not None:
        names.append(str(frame.f_globals.get("__name__", "")))
        frame = frame.f_back
    engine = [name for name in names if name.startswith(("plmetrics.engine.", "plmetrics.features."))]
    own = [name for name in names if name.startswith("plmetrics.")]
    return re.sub(r"^plmetrics\.(engine\.|features\.)?", "", (engine or own or names)[-1])
