import faulthandler
import gc
import os
import sys
from collections.abc import Iterator

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # threads of products do not wait busily
if (
    "PYTEST_XDIST_WORKER" in os.environ
):  # files of tests run side by side: their products need no further threads
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
TIMEOUT = 1200  # seconds; a test that waits for ever ends its process with the stacks of all threads
THOROUGH = os.environ.get("PLMETRICS_SLOW") == "1"
STDERR = pytest.StashKey[int]()

settings.register_profile("plmetrics", deadline=None, derandomize=True, max_examples=200 if THOROUGH else 15)
settings.load_profile("plmetrics")


def pytest_configure(config: pytest.Config) -> None:
    """Files go to processes in their order, which ends with short ones: few tests may be long ones."""
    config.option.loadscopereorder = False
    config.stash[STDERR] = os.dup(sys.stderr.fileno())  # before output of tests is captured


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Watchdog of `faulthandler`, which waits outside of the interpreter; a thread of Python costs 0.4 ms a test."""
    faulthandler.dump_traceback_later(TIMEOUT, file=item.config.stash[STDERR], exit=True)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


def pytest_sessionstart() -> None:
    """Collection creates objects that stay: the garbage collector would only read them again and again.

    No test takes the power away: files are as durable without waiting for the disk. Processes of tests still wait.
    """
    gc.disable()
    os.fsync = lambda descriptor: os.fstat(descriptor) and None


def pytest_collection_finish() -> None:
    gc.freeze()
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
