"""Run folders to read: one that was written, and others made from it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

import plmetrics as plm

SUITE: dict[str, Any] = {
    "name": "nightly",
    "data": {"path": "day.csv"},
    "columns": {"label": "y"},
    "models": {"m": "p"},
    "metrics": ["accuracy"],
    "gates": [{"metric": "accuracy", "at_least": 0.6}],
}
Forge = Callable[..., Path]


def write_day(folder: Path, right: int, rows: int = 20) -> None:
    """A day on which so many predictions of the rows are right."""
    truth = [row % 2 for row in range(rows)]
    scores = [float(y if row < right else 1 - y) for row, y in enumerate(truth)]
    pl.DataFrame({"y": truth, "p": scores}).write_csv(folder / "day.csv")


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder as a run leaves it."""
    folder = tmp_path_factory.mktemp("written")
    write_day(folder, 18)
    (folder / "s.yaml").write_text(yaml.safe_dump(SUITE))
    found = plm.run(folder / "s.yaml").folder
    assert found is not None
    return found


@pytest.fixture
def forge(written: Path, tmp_path: Path) -> Forge:
    """Make a run folder of a suite's runs: by the second it ended at, its data, and keys of its record."""

    def make(second: int, data: str = "a", name: str | None = None, **changes: Any) -> Path:
        run_id = f"20201120T0200{second:02}Z-4fa1c2"
        folder = tmp_path / "nightly" / (name or run_id)
        shutil.copytree(written, folder)
        record = json.loads((folder / "run.json").read_text())
        record |= {"run_id": run_id, "finished": f"2020-11-20T02:00:{second:02}.000Z"}
        record["files"] = [{"path": "day.csv", "bytes": 9, "rows": None, "digest": data}]
        (folder / "run.json").write_text(json.dumps(record | changes))
        return folder

    return make
