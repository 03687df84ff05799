import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # threads of products do not wait busily
if "PYTEST_XDIST_WORKER" in os.environ:  # files run side by side: their products need no further threads
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("SKLEARN_ASSUME_FINITE", "1")  # on small tables its checks take longer than its metrics
THOROUGH = os.environ.get("PLMETRICS_SLOW") == "1"

settings.register_profile("plmetrics", deadline=None, derandomize=True, max_examples=200 if THOROUGH else 15)
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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of an exhaustive test all cases but the first are slow."""
    seen: set[str] = set()
    for item in items:
        if item.get_closest_marker("exhaustive"):
            name = item.nodeid.partition("[")[0]
            if name in seen:
                item.add_marker(pytest.mark.slow)
            seen.add(name)


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
