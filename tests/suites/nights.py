"""A growing table of small days, and a suite that evaluates them one by one."""

import shutil
import warnings
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

import plmetrics as plm
from plmetrics.api.result import Result
from plmetrics.core.errors import PlmetricsError
from plmetrics.features.nights.manifests import Manifest, Manifests
from plmetrics.runs.failure import failure_of, verdict_exit_code

FIRST = date(2026, 3, 1)

SUITE: dict[str, Any] = {
    "name": "nightly",
    "data": {"path": "scores"},
    "interval": {"partition": "day"},
    "columns": {"label": "y"},
    "models": {"old": "old", "new": "new"},
    "metrics": ["roc_auc", "brier", "accuracy"],
    "slices": {"region": "region"},
    "uncertainty": False,
    "output": {"directory": "runs"},
    "gates": [{"metric": "roc_auc", "at_least": 0.75}],
}

FILES: dict[str, Any] = {"metrics": ["brier"], "gates": None, "slices": None}
"""Changes to the suite where files are looked at, not numbers."""


def day(number: int) -> str:
    """The name of a day, counted from the first."""
    return (FIRST + timedelta(days=number)).isoformat()


def rows(number: int, height: int = 60, *, bad: bool = False) -> pl.DataFrame:
    """The rows of a day: scores that order labels well, or no better than chance."""
    draw = np.random.default_rng([number, bad])
    y = np.arange(height) % 3 == 0
    shift = 0.0 if bad else 2.5
    scores = {name: 1 / (1 + np.exp(-draw.normal(shift * (y - 0.4)))) for name in ("old", "new")}
    return pl.DataFrame({"y": y.astype(int), **scores, "region": draw.choice(["n", "s"], height)})


@dataclass(frozen=True)
class Nights:
    """A folder with a suite and its days."""

    folder: Path

    @property
    def suite(self) -> Path:
        return self.folder / "nightly.yaml"

    @property
    def home(self) -> Path:
        return self.folder / "runs" / "nightly"

    @property
    def manifests(self) -> Manifests:
        return Manifests(self.home)

    def write_suite(self, **changes: Any) -> None:
        """Write the suite, with some keys of it changed, or left out where they are None."""
        content = {key: value for key, value in {**SUITE, **changes}.items() if value is not None}
        self.suite.write_text(yaml.safe_dump(content, sort_keys=False))

    def partition(self, number: int) -> Path:
        return self.folder / "scores" / f"day={day(number)}" / "part.parquet"

    def write(self, number: int, frame: pl.DataFrame | None = None, **options: Any) -> None:
        """Write the rows of a day."""
        self.partition(number).parent.mkdir(parents=True, exist_ok=True)
        (rows(number, **options) if frame is None else frame).write_parquet(self.partition(number))

    def remove(self, number: int) -> None:
        shutil.rmtree(self.partition(number).parent)

    def run(self, number: int, **options: Any) -> Result:
        return plm.run(self.suite, interval=day(number), **options)

    def exit_code(self, number: int, **options: Any) -> int:
        """The exit code of a night."""
        try:
            return verdict_exit_code(self.run(number, **options).verdict)
        except PlmetricsError as error:
            return failure_of(error).exit_code

    def current(self, number: int) -> Manifest | None:
        return self.manifests.current(day(number))

    def runs(self) -> set[str]:
        """The run folders in sight."""
        names = {"intervals", "constants"}
        return {path.name for path in self.home.iterdir() if path.is_dir() and path.name[0] != "."} - names


@pytest.fixture(autouse=True)
def quiet() -> Any:
    """Let no warning of a night be an error, in the modules that import this."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", plm.PlmetricsWarning)
        yield


@pytest.fixture
def nights(tmp_path: Path) -> Nights:
    """Days 0 to 9 and a suite without references."""
    growing = Nights(tmp_path)
    growing.write_suite()
    for number in range(10):
        growing.write(number)
    return growing
