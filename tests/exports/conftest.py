"""Runs to export: one with gates of every verdict, and names that no format expects."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from exports.examples import MARIADB, POSTGRES, SUITE, server_database, write_rows

import plmetrics as plm
from plmetrics.api.inspection import load_result
from plmetrics.exports.protocol import EndedRun


@pytest.fixture
def suite_file(tmp_path: Path) -> Callable[..., Path]:
    """Writes rows and a suite with a section `output`, and returns the suite's file."""

    def write(output: dict[str, Any], **changes: Any) -> Path:
        write_rows(tmp_path)
        file = tmp_path / "suite.yaml"
        file.write_text(yaml.safe_dump(SUITE | {"output": output} | changes))
        return file

    return write


@pytest.fixture(scope="session")
def ended(tmp_path_factory: pytest.TempPathFactory) -> EndedRun:
    """A run that is complete."""
    folder = tmp_path_factory.mktemp("ended")
    write_rows(folder)
    (folder / "suite.yaml").write_text(yaml.safe_dump(SUITE))
    place = plm.run(folder / "suite.yaml").folder
    assert place is not None
    result = load_result(place)
    suite = dict(result.record["suite"])
    return EndedRun(
        name="credit", base=folder, folder=place, record=result.record, suite=suite, result=result
    )


@pytest.fixture(scope="session")
def failed(tmp_path_factory: pytest.TempPathFactory) -> EndedRun:
    """A run that failed."""
    record = {
        "run_id": "20261120T020000Z-4fa1c2",
        "status": "failed",
        "started": "2026-11-20T02:00:00.000Z",
        "finished": "2026-11-20T02:00:01.500Z",
        "seconds": 1.5,
        "exit_code": 4,
        "error": "DataError",
        "message": "the data is not what the suite says: day.csv: cut\x00 <off>",
        "problems": [
            {"message": "cut\x00 <off>", "where": "suite.yaml:2:3", "hint": "write it again", "path": []}
        ],
    }
    place = tmp_path_factory.mktemp("failed") / "credit" / record["run_id"]
    return EndedRun(
        name="credit", base=place, folder=place, record=record, suite={"data": {"path": "day.csv"}}
    )


@pytest.fixture(params=["sqlite", "postgresql", "mariadb"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of an empty database; of one that a server has, a part that is removed afterwards."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'results.db'}"
        return
    yield from server_database(POSTGRES if request.param == "postgresql" else MARIADB)


@pytest.fixture
def postgres() -> Iterator[str]:
    """The address of an empty schema of PostgreSQL."""
    yield from server_database(POSTGRES)
