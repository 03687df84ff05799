"""Duration of each stage of a run."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from plmetrics.core.errors import PlmetricsWarning

Progress = Callable[[str], None]

OfModel = TypeVar("OfModel", bound="tuple[str, object, object]")


class Stopwatch:
    """Seconds of each stage, and a word to whoever watches when one begins."""

    def __init__(self, progress: Progress | None) -> None:
        self.seconds: dict[str, float] = {}
        self._progress = progress
        self._caution = ""

    def caution(self, text: str | None) -> None:
        """Say at once, and with each stage to come, why a run may not live to its end, if there is a reason."""
        self._caution = "" if text is None else f"; {text}"
        if text is not None and self._progress is None:
            warnings.warn(text, PlmetricsWarning, stacklevel=2)

    def each_model(self, models: Iterable[OfModel], total: int, rows: int) -> Iterator[OfModel]:
        """Models as they are brought in order, with a word on each as it begins.

        The first item of each tuple is the name of a model, which may come several times.
        """
        names: list[str] = []
        for item in models:
            if item[0] not in names:
                names.append(item[0])
                if self._progress is not None:
                    self._progress(f"order: model {len(names)} of {total}, {rows:,} rows{self._caution}")
            yield item

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage."""
        if self._progress is not None:
            self._progress(f"{name}{self._caution}")
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = round(time.perf_counter() - start, 4)
