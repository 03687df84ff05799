"""One suite of tests for all runners: what each does with tasks, whatever these are."""

import os
import time
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread

import pytest

import plmetrics as plm
from plmetrics.core import process
from plmetrics.runners.choice import PoolRunner, runner_of
from plmetrics.runners.executors import ExecutorBackend
from plmetrics.runners.protocol import Crash, Receipt, Runner, RunnerTask
from plmetrics.runners.worker import answer, receipt_of

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""Clusters leave sockets to the garbage collector."""


def jobs(*texts: str) -> list[RunnerTask]:
    return [RunnerTask(f"unit {text}", text) for text in texts]


@pytest.mark.exhaustive
def test_many_tiny_units(runner: Runner) -> None:
    texts = [str(number) for number in range(100)]
    receipts = list(runner.map("runners.samples:double", jobs(*texts)))
    assert sorted(receipts, key=str) == sorted((Receipt(f"unit {t}", t * 2) for t in texts), key=str)


def test_no_units(runner: Runner) -> None:
    assert list(runner.map("runners.samples:double", [])) == []


def test_five_megabytes(runner: Runner) -> None:
    (receipt,) = runner.map("runners.samples:large", jobs("x"))
    assert receipt == Receipt("unit x", "x" * 5_000_000)


def test_an_error_keeps_its_class(runner: Runner) -> None:
    with pytest.raises(plm.DataError) as caught:
        list(runner.map("runners.samples:refuse", jobs("7")))
    assert type(caught.value) is plm.DataError
    first, second = caught.value.problems
    assert (first.message, first.path, first.hint) == ("unit 7 is bad", ("data", "path"), "write it again")
    assert second.message == "another"
    with pytest.raises(ZeroDivisionError, match="8"):
        list(runner.map("runners.samples:fail", jobs("8")))


def test_workers_that_begin_before_their_units_are_known(runner: Runner) -> None:
    """A task that is not there is told of by its call, and not by the workers that begin for it."""
    runner.begin("runners.absent:double", 2)
    assert list(runner.map("runners.samples:double", jobs("5"))) == [Receipt("unit 5", "55")]
    with pytest.raises(ModuleNotFoundError, match="absent"):
        list(runner.map("runners.absent:double", jobs("6")))


def test_units_after_an_error(runner: Runner) -> None:
    """An error ends its map, and not the runner."""
    with pytest.raises(plm.DataError):
        list(runner.map("runners.samples:refuse", jobs("1", "2", "3")))
    assert list(runner.map("runners.samples:double", jobs("4"))) == [Receipt("unit 4", "44")]


@pytest.mark.exhaustive
def test_a_worker_that_is_killed_is_replaced(remote: Runner, tmp_path: Path) -> None:
    died = str(tmp_path / "died")
    receipts = list(remote.map("runners.samples:die_once", [RunnerTask(name, died) for name in "abc"]))
    assert sorted(receipts, key=str) == [Receipt(name, died) for name in "abc"]


@pytest.mark.slow
def test_poison_is_named_and_harms_no_other(remote: Runner) -> None:
    outcomes = list(remote.map("runners.samples:die", jobs("a", "poison", "b", "c")))
    (crash,) = [outcome for outcome in outcomes if isinstance(outcome, Crash)]
    assert crash.name == "unit poison"
    assert {outcome.name for outcome in outcomes} == {"unit a", "unit b", "unit c", "unit poison"}


def test_a_worker_that_was_forked_after_an_evaluation_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_evaluating", os.getpid() + 1)
    with pytest.raises(plm.EnvironmentFault, match="was forked from one that has evaluated"):
        receipt_of(answer("runners.samples:double", "x"))


def test_threads_of_a_worker(remote: Runner) -> None:
    (receipt,) = remote.map("runners.samples:threads", jobs("x"))
    assert receipt == Receipt("unit x", "1")


@pytest.mark.slow
def test_processes_say_how_they_ended() -> None:
    with runner_of("processes:1") as runner:
        (crash,) = runner.map("runners.samples:die", jobs("poison"))
    assert crash == Crash("unit poison", 4, "its process was ended by signal 9 (SIGKILL)")


@pytest.mark.slow
def test_cancellation_ends_what_is_running(tmp_path: Path) -> None:
    runner = runner_of("processes:2")
    receipts = runner.map("runners.samples:begin_and_wait", jobs(*[str(tmp_path)] * 5))
    with ThreadPoolExecutor(1) as other:
        waiting = other.submit(next, receipts)
        while len(list(tmp_path.glob("*.pid"))) < 2:
            time.sleep(0.01)
        runner.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
        assert waiting.exception() is not None or isinstance(waiting.result(), Crash)
    begun = [int(file.stem) for file in tmp_path.glob("*.pid")]
    assert len(begun) == 2
    for number in begun:
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)


class Counting:
    """A backend whose calls are over when the test says so."""

    window = 3
    retries = 2

    def __init__(self) -> None:
        self.most = self.submitted = 0
        self.flying: list[Future[str]] = []

    def submit(self, task: str, text: str) -> Future[str]:
        future: Future[str] = Future()
        self.flying = [other for other in self.flying if not other.done()] + [future]
        self.most = max(self.most, len(self.flying))
        self.submitted += 1
        if len(self.flying) == self.window or text == "last":
            self.end(self.flying)
        return future

    def end(self, futures: list[Future[str]]) -> None:
        for future in futures:
            future.set_result('{"receipt": "done"}')

    def is_crash(self, error: BaseException) -> bool:
        return isinstance(error, ConnectionError)

    def close(self, *, cancel: bool) -> None:
        self.cancel = cancel


def test_no_more_units_are_in_flight_than_the_window_has_room_for() -> None:
    backend = Counting()
    receipts = list(PoolRunner(backend).map("any", jobs(*"abcdefgh", "last")))
    assert len(receipts) == 9
    assert backend.most == 3


def test_calls_that_a_pool_cancels_in_its_queue_end_the_map() -> None:
    """As when a runner is closed in one thread while another has just handed it the next unit."""
    release, outcome = Event(), SimpleQueue[BaseException]()

    def first_receipt() -> None:
        try:
            next(receipts)
        except CancelledError as error:
            outcome.put(error)

    with ThreadPoolExecutor(1) as busy:
        busy.submit(release.wait)
        receipts = PoolRunner(ExecutorBackend(busy)).map("runners.samples:double", jobs("1", "2"))
        Thread(target=first_receipt, daemon=True).start()
        while busy._work_queue.qsize() < 2:
            time.sleep(0.01)
        busy.shutdown(wait=False, cancel_futures=True)
        try:
            outcome.get(timeout=30)
        finally:
            release.set()


class Dying(Counting):
    window = 1

    def end(self, futures: list[Future[str]]) -> None:
        for future in futures:
            future.set_exception(ConnectionError("gone") if self.submitted < 3 else ValueError("bad"))


def test_only_crashes_are_tried_again() -> None:
    backend = Dying()
    with pytest.raises(ValueError, match="bad"):
        list(PoolRunner(backend).map("any", jobs("last")))
    assert backend.submitted == 3


class Sharing(Counting):
    """A backend whose calls share a worker: those that are in flight beside poison die with it."""

    retries = 1
    window = 2

    def submit(self, task: str, text: str) -> Future[str]:
        future: Future[str] = Future()
        self.flying = [other for other in self.flying if not other.done()] + [future]
        if text == "poison":
            for other in self.flying:
                other.set_exception(ConnectionError("gone"))
        elif len(self.flying) == self.window or text in {"b", "c"}:
            self.end(self.flying)
        elif self.submitted:
            self.end([future])
        self.submitted += 1
        return future


def test_no_unit_is_blamed_for_what_another_did() -> None:
    outcomes = list(PoolRunner(Sharing()).map("any", jobs("a", "poison", "b", "c")))
    assert [outcome.name for outcome in outcomes if isinstance(outcome, Crash)] == ["unit poison"]
    assert {outcome.name for outcome in outcomes if isinstance(outcome, Receipt)} == {
        "unit a",
        "unit b",
        "unit c",
    }


def test_any_executor() -> None:
    with ThreadPoolExecutor(2) as executor:
        with runner_of(executor) as runner:
            assert list(runner.map("runners.samples:double", jobs("1"))) == [Receipt("unit 1", "11")]
        assert executor.submit(int, "3").result() == 3


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["threads", "processes:0", "processes:many", "inline:2", "dask"])
def test_runners_that_there_are_not(name: str) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(plm.ConfigError) as caught:
        runner_of(name)
    assert caught.value.problems[0].hint
