"""Whole-array work on all processors: NumPy lets go of the interpreter while it computes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from functools import cache, lru_cache, partial
from threading import Lock
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")
Items = TypeVar("Items", bound="_Sliceable")

_FEW_SHARE = 16
_SHARED_ONES = 1 << 21


def parallel_map(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """The results of a function for some items, in their order, several at a time.

    The items' work must not write to the same places. What NumPy is told to ignore here is ignored there.

    >>> parallel_map(abs, [-1, 2])
    [1, 2]
    """
    workers = min(processors(), len(items))
    if workers <= 1:
        return [function(item) for item in items]
    # An interrupt reaches the main thread alone: the limit is set and lifted in another, which nothing breaks off.
    return begin(partial(_pool_map, function, items, workers))()


def _pool_map(function: Callable[[Item], Result], items: Sequence[Item], workers: int) -> list[Result]:
    with _one_thread_a_product, ThreadPoolExecutor(workers) as pool:
        started = [pool.submit(copy_context().run, function, item) for item in items]
        return [future.result() for future in started]


def ahead(function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """The results of a function for some items, in their order, the next one computed while one is used.

    >>> list(ahead(abs, [-1, 2]))
    [1, 2]
    """
    if processors() <= 1 or len(items) <= 1:
        yield from map(function, items)
        return
    result = begin(partial(function, items[0]))
    for item in items[1:]:
        ready = result()
        result = begin(partial(function, item))
        yield ready
    yield result()


def begin(function: Callable[[], Result]) -> Callable[[], Result]:
    """Start a function in parallel; gives the function to await its result. On one processor it runs at once.

    >>> begin(lambda: 1)()
    1
    """
    if processors() <= 1:
        ready = function()
        return lambda: ready
    pool = ThreadPoolExecutor(1)
    started = pool.submit(copy_context().run, function)
    pool.shutdown(wait=False)
    return started.result


def steps(first: int, last: int, most: int) -> list[tuple[int, int]]:
    """The numbers from `first` to `last` in parts of at most so many each, on any number of processors the same.

    >>> steps(3, 8, 2)
    [(3, 5), (5, 7), (7, 8)]
    """
    return [(low, min(low + most, last)) for low in range(first, last, most)]


class _Sliceable(Protocol):
    """A list, a tuple, an array."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> Self: ...


def batches(items: Items, most: int) -> list[Items]:
    """Consecutive parts of at most so many items each.

    >>> batches("abcde", 2)
    ['ab', 'cd', 'e']
    """
    return [items[first : first + most] for first in range(0, len(items), most)]


class _ThreadsOfProducts:
    """Context of matrix products with at most so many threads each, by default one for each processor.

    The number of threads belongs to the process: the last of those that are within puts it back.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._changing = Lock()
        self._within = 0
        self._limits = ExitStack()

    def __enter__(self) -> None:
        with self._changing:
            self._within += 1
            if self._within == 1:
                _allow_change()
                most = processors() if self._most is None else self._most
                self._limits.enter_context(_libraries().limit(limits=most, user_api="blas"))

    def __exit__(self, *_: object) -> None:
        with self._changing:
            self._within -= 1
            if self._within == 0:
                _allow_change()
                self._limits.close()


def _allow_change() -> None:
    """Let this thread change numbers of threads: threadpoolctl 3.8 lets the thread alone that did so before."""
    for library in _libraries().lib_controllers:
        clear = getattr(library, "clear_controlling_thread", None)
        if clear is not None:
            clear(force=True)


_one_thread_a_product = _ThreadsOfProducts(1)
"""Of several products side by side: with all threads each they would wait for each other."""

_thread_a_processor = _ThreadsOfProducts()


@contextmanager
def within_processors() -> Iterator[None]:
    """Context of matrix products with no more threads than processors, which their library counts by the machine."""
    if processors() >= (os.cpu_count() or 1):
        yield
        return
    with _thread_a_processor:
        yield


@cache
def _libraries() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def processors() -> int:
    """Number of processors of this process: no more than Polars' threads, which a container's share of time limits."""
    import polars as pl

    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(available, pl.thread_pool_size())


def add_at(
    flat: NDArray[np.number], key: NDArray[np.signedinteger], weight: NDArray[np.number] | None
) -> None:
    """Add weights, or ones, at some keys.

    That is the product of a sparse column, a row a key, with one, added to `flat`. SciPy's loop for it takes half the
    time of `np.add.at` and lets other threads run. What many rows add to few numbers is added up before.
    """
    if not len(key):
        return
    furthest = int(np.maximum.reduce(key.view(f"u{key.itemsize}")))  # one below 0 is far above
    if furthest >= len(flat):
        msg = f"there are {len(flat):,} counts, but a key {furthest:,}"
        raise IndexError(msg)
    values = _ones(len(key), flat.dtype) if weight is None else weight.astype(flat.dtype, copy=False)
    ends, one = np.array([0, len(key)], dtype=key.dtype), np.ones(1, dtype=flat.dtype)
    is_small = len(flat) * _FEW_SHARE < len(key)
    sums = np.zeros_like(flat) if is_small else flat
    _sparse_product()(len(flat), 1, ends, key, values, one, sums)
    if is_small:
        np.add(flat, sums, out=flat)


@cache
def _sparse_product() -> Callable[..., None]:
    """Add SciPy's product of a matrix in compressed columns with a vector to an array.

    It is not among what SciPy promises to keep: without it, NumPy adds the same.
    """
    try:
        from scipy.sparse._sparsetools import csc_matvec
    except ImportError:
        return lambda _size, _columns, _ends, key, values, _vector, sums: np.add.at(sums, key, values)
    return csc_matvec


def _ones(size: int, kind: np.dtype[np.number]) -> NDArray[np.number]:
    """Array of ones, in shared memory unless it is very long."""
    return _shared_ones(kind)[:size] if size <= _SHARED_ONES else np.ones(size, dtype=kind)


@lru_cache(maxsize=2)
def _shared_ones(kind: np.dtype[np.number]) -> NDArray[np.number]:
    return np.ones(_SHARED_ONES, dtype=kind)
