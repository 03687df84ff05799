import gc
import os
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # threads of products do not wait busily
if "PYTEST_XDIST_WORKER" in os.environ:  # files run side by side: their products need no further threads
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("SKLEARN_ASSUME_FINITE", "1")  # on small tables its checks take longer than its metrics
THOROUGH = os.environ.get("PLMETRICS_SLOW") == "1"

settings.register_profile("plmetrics", deadline=None, derandomize=True, max_examples=200 if THOROUGH else 10)
settings.load_profile("plmetrics")


def pytest_configure(config: pytest.Config) -> None:
    """Files go to processes in their order, which ends with short ones: few tests may be long ones."""
    config.option.loadscopereorder = False


def pytest_sessionstart() -> None:
    """Collection creates objects that stay: the garbage collector would only read them again and again.

    No test takes the power away: files are as durable without waiting for the disk. Processes of tests still wait.
    """
    gc.disable()
    os.fsync = lambda descriptor: os.fstat(descriptor) and None


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(100_000, *gc.get_threshold()[1:])
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Iterator[None]:
    """Tests have no doctests: their modules are not read through for them."""
    collectors = yield
    return [collector for collector in collectors if not isinstance(collector, DoctestModule)]


def parameters(cases: list[pytest.Item]) -> list[tuple[int, ...]]:
    """The values of each parameter in all cases, by identity; without those that follow from another's."""
    columns: list[tuple[int, ...]] = []
    given = [tuple(id(case.callspec.params[name]) for case in cases) for name in cases[0].callspec.params]
    for column in sorted(given, key=lambda values: -len(set(values))):
        if all(len(set(zip(other, column, strict=True))) > len(set(other)) for other in columns):
            columns.append(column)
    return columns


def covering(cases: list[pytest.Item]) -> list[pytest.Item]:
    """Cases with every value of two parameters, or every pair of values of more; of one each third."""
    columns = parameters(cases)
    if len(columns) == 1:
        return cases[::3]
    size = 1 if len(columns) == 2 else 2
    shown = [set(combinations(enumerate(values), size)) for values in zip(*columns, strict=True)]
    missing, chosen = set().union(*shown), []
    while missing:
        chosen.append(max(range(len(cases)), key=lambda number: len(shown[number] & missing)))
        missing -= shown[chosen[-1]]
    return [cases[number] for number in sorted(chosen)]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of an exhaustive test all cases but the first are slow; of cases that are alike a part runs."""
    families: dict[str, list[pytest.Item]] = {}
    for item in items:
        families.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in families.values():
        if cases[0].get_closest_marker("exhaustive"):
            for case in cases[1:]:
                case.add_marker(pytest.mark.slow)
    if THOROUGH or config.option.keyword or any("[" in name for name in config.args):
        return
    alike = (cases for cases in families.values() if len(cases) > 1 and cases[0].get_closest_marker("alike"))
    omitted = {case for cases in alike for case in set(cases) - set(covering(cases))}
    items[:] = [item for item in items if item not in omitted]
    config.hook.pytest_deselected(items=list(omitted))


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the test is run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def server() -> Iterator[object]:
    """An S3 server; skips without the packages that it needs."""
    from table.storage.s3_server import S3Server

    server = S3Server()
    yield server
    server.close()


@pytest.fixture
def store(server, monkeypatch):
    """The server with an empty bucket, and its credentials in the environment."""
    server.clear()
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("POLARS_CLOUD_MAX_RETRIES", "3")
    yield server
    server.rules.clear()
    server.losses.clear()
