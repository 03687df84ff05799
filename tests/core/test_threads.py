"""Work on all processors."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from threading import Event, Thread

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from plmetrics.core import threads
from plmetrics.core.threads import add_at, ahead, parallel_map


def product_threads() -> set[int]:
    np.ones((2, 2)) @ np.ones((2, 2))
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_processors(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(threads, "processors", lambda: 2)
    with threadpool_limits(2, "blas"):
        yield


@pytest.mark.parametrize("number", [0, 1, 2, 30])
def test_results_come_in_the_order_of_the_items(number: int) -> None:
    squares = [item * item for item in range(number)]
    assert parallel_map(lambda item: item * item, range(number)) == squares
    assert list(ahead(lambda item: item * item, range(number))) == squares


def test_products_take_one_thread_each_and_all_of_them_again_afterwards() -> None:
    before = product_threads()
    assert before == {2}
    nested = parallel_map(lambda _: parallel_map(lambda _: product_threads(), [0, 1]), [0, 1])
    assert {threads for part in nested for found in part for threads in found} == {1}
    assert product_threads() == before


def test_a_share_of_the_machine_limits_the_threads_of_products(monkeypatch: pytest.MonkeyPatch) -> None:
    before = product_threads()
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(threads, "processors", lambda: 1)
    with threads.within_processors():
        assert product_threads() == {1}
        assert parallel_map(lambda _: product_threads(), [0, 1]) == [{1}, {1}]
    assert product_threads() == before
    monkeypatch.setattr(threads, "processors", lambda: 2)
    with threads.within_processors():
        assert product_threads() == before


def test_there_are_no_more_processors_than_threads_of_polars() -> None:
    script = "import os; from plmetrics.core.threads import processors; print(processors(), os.cpu_count())"
    for most in (1, 64):
        environment = os.environ | {"POLARS_MAX_THREADS": str(most)}
        answer = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, check=True
        )
        number, machine = map(int, answer.stdout.split())
        assert number == min(most, machine)


def test_threads_are_put_back_after_an_error() -> None:
    before = product_threads()
    with pytest.raises(ZeroDivisionError):
        parallel_map(lambda item: 1 // item, [1, 0])
    assert product_threads() == before


def test_threads_are_put_back_by_the_last_of_several_callers_that_live_on() -> None:
    before = product_threads()
    first_begun, second_begun, first_ended, done = (Event() for _ in range(4))

    def first() -> None:
        parallel_map(lambda _: first_begun.set() or second_begun.wait(9), [0, 1])
        first_ended.set()
        done.wait(9)

    def second() -> None:
        first_begun.wait(9)
        parallel_map(lambda _: second_begun.set() or first_ended.wait(9), [0, 1])

    callers = [Thread(target=call) for call in (first, second)]
    for caller in callers:
        caller.start()
    callers[1].join()
    found = product_threads()
    done.set()
    callers[0].join()
    assert found == before


def test_an_interrupt_while_threads_are_limited_leaves_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    before, libraries, signals = product_threads(), threads._libraries(), [signal.SIGINT]

    def interrupted() -> object:
        while signals:
            os.kill(os.getpid(), signals.pop())
            time.sleep(0.1)
        return libraries

    monkeypatch.setattr(threads, "_libraries", interrupted)
    handler = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # which a process in the background lacks
    try:
        with pytest.raises(KeyboardInterrupt):
            parallel_map(abs, [1, 2])
    finally:
        signal.signal(signal.SIGINT, handler)
    time.sleep(0.5)
    assert product_threads() == before
    monkeypatch.undo()
    assert parallel_map(lambda _: product_threads(), [0, 1]) == [{1}, {1}]


def test_warnings_that_are_silenced_here_are_silenced_there() -> None:
    with np.errstate(divide="ignore"):
        found = parallel_map(lambda item: np.ones(1) / item, [np.zeros(1), np.ones(1)])
    assert found[0] == np.inf
    assert found[1] == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("keys", [0, 3, 5000])
@pytest.mark.parametrize("weighted", [False, True])
def test_what_comes_with_keys_is_added_to_what_is_there(
    dtype: type, size: int, keys: int, weighted: bool
) -> None:
    draw = np.random.default_rng(size + keys)
    key = draw.integers(0, size, keys).astype(np.int32)
    values = draw.integers(1, 9, keys).astype(dtype) if weighted else np.ones(keys, dtype)
    flat = draw.integers(0, 9, size).astype(dtype)
    wanted = flat.tolist()
    for place, value in zip(key.tolist(), values.tolist(), strict=True):
        wanted[place] += value
    add_at(flat, key, values if weighted else None)
    assert flat.dtype == dtype
    assert flat.tolist() == wanted


def test_keys_are_added_where_scipy_has_no_such_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.sparse._sparsetools", None)
    threads._sparse_product.cache_clear()
    flat = np.array([1.0, 2.0, 3.0])
    add_at(flat, np.array([2, 0, 2], dtype=np.int32), np.array([0.5, 4.0, 1.0]))
    threads._sparse_product.cache_clear()
    assert flat.tolist() == [5.0, 2.0, 4.5]


def test_whole_numbers_wrap_around() -> None:
    flat = np.array([2**63 - 1], dtype=np.int64)
    add_at(flat, np.zeros(2, dtype=np.int32), np.array([1, 1], dtype=np.int64))
    assert flat[0] == -(2**63) + 1


@pytest.mark.parametrize("key", [-1, 10])
def test_a_key_outside_of_the_counts_is_refused(key: int) -> None:
    keys = np.array([0, 3, 9, 9, 1, 2, key], dtype=np.int32)
    with pytest.raises(IndexError):
        add_at(np.zeros(10), keys, None)
