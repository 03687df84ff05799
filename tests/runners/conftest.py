"""Every runner, open for a module; a table of units, and its result in one run."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from plmetrics.runners.choice import runner_of
from plmetrics.runners.protocol import Runner

RUNNERS = [
    "inline",
    "processes",
    pytest.param("dask", marks=pytest.mark.slow),
    pytest.param("ray", marks=pytest.mark.ray),
]
TESTS = str(Path(__file__).parents[1])
ROWS = 480


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """The address of a Dask cluster on this machine; it gives up all units of a worker that dies."""
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    import dask

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    failures = dask.config.set({"distributed.scheduler.allowed-failures": 0})
    with failures, distributed.LocalCluster(**options) as cluster:
        yield cluster.scheduler_address


@contextmanager
def open_runner(name: str, request: pytest.FixtureRequest) -> Iterator[Runner]:
    """A runner, on a cluster of this machine where it needs one."""
    if name == "ray":
        pytest.importorskip("ray", reason="the extra ray is not installed")
        os.environ["PYTHONPATH"] = os.pathsep.join([TESTS, os.environ.get("PYTHONPATH", "")])
    names = {"processes": "processes:2", "dask": "dask:"}
    on = names.get(name, name) + (request.getfixturevalue("scheduler") if name == "dask" else "")
    with runner_of(on, cpus=1) as runner:
        yield runner


@pytest.fixture(scope="module")
def runners(request: pytest.FixtureRequest) -> Iterator[Callable[[str], Runner]]:
    """Runners by name, each opened once."""
    opened: dict[str, Runner] = {}
    with ExitStack() as stack:

        def runner(name: str) -> Runner:
            if name not in opened:
                opened[name] = stack.enter_context(open_runner(name, request))
            return opened[name]

        yield runner


@pytest.fixture(params=RUNNERS)
def runner(request: pytest.FixtureRequest, runners: Callable[[str], Runner]) -> Runner:
    return runners(request.param)


@pytest.fixture(params=[name for name in RUNNERS if name != "inline"])
def remote(request: pytest.FixtureRequest, runners: Callable[[str], Runner]) -> Runner:
    """A runner whose workers are other processes."""
    return runners(request.param)


def table() -> pl.DataFrame:
    """Rows of two models, whose floats do not add up exactly."""
    rng = np.random.default_rng(7)
    label = rng.random(ROWS) < 0.4
    return pl.DataFrame(
        {
            "y": label.astype(int),
            "a": np.clip(rng.normal(0.4 + 0.2 * label, 0.2), 0.0, 1.0),
            "b": np.clip(rng.normal(0.4 + 0.1 * label, 0.2), 0.0, 1.0),
            "region": rng.choice(["north", "south", "east"], ROWS),
            "size": rng.lognormal(size=ROWS),
            "u": rng.integers(0, ROWS // 4, ROWS),
        }
    )


def write_files(folder: Path, files: int) -> None:
    """The rows in some files."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = table()
    for number, part in enumerate(np.array_split(np.arange(ROWS), files)):
        rows[part.tolist()].write_parquet(folder / f"part-{number:02}.parquet")
