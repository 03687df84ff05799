"""Work on all processors."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from plmetrics.core import threads
from plmetrics.core.threads import ahead, parallel_map


def product_threads() -> set[int]:
    np.ones((2, 2)) @ np.ones((2, 2))
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "processors", lambda: 2)


@pytest.mark.parametrize("number", [0, 1, 2, 30])
def test_results_come_in_the_order_of_the_items(number: int) -> None:
    squares = [item * item for item in range(number)]
    assert parallel_map(lambda item: item * item, range(number)) == squares
    assert list(ahead(lambda item: item * item, range(number))) == squares


def test_products_take_one_thread_each_and_all_of_them_again_afterwards() -> None:
    before = product_threads()
    nested = parallel_map(lambda _: parallel_map(lambda _: product_threads(), [0, 1]), [0, 1])
    assert {threads for part in nested for found in part for threads in found} == {1}
    assert product_threads() == before


def test_threads_are_put_back_after_an_error() -> None:
    before = product_threads()
    with pytest.raises(ZeroDivisionError):
        parallel_map(lambda item: 1 // item, [1, 0])
    assert product_threads() == before


def test_warnings_that_are_silenced_here_are_silenced_there() -> None:
    with np.errstate(divide="ignore"):
        found = parallel_map(lambda item: np.ones(1) / item, [np.zeros(1), np.ones(1)])
    assert found[0] == np.inf
    assert found[1] == 1
