"""Limits: every floor and every run works on the flagship's table, and ratios are of the sums of their floors."""

import pytest

from benchmarks import limits
from benchmarks.contestants.floors import CONTESTANTS, Keys, Products
from benchmarks.limits import LIMITS, limits_section, measure_limits
from benchmarks.tables import tables


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with tables(tmp_path_factory.mktemp("tables"), keep=True) as made:
        yield made.table(3000, 2, 4, "scores")


def test_floors_count_every_key_of_every_row_and_multiply_every_slice(folder, monkeypatch):
    monkeypatch.setattr("benchmarks.contestants.floors.SLICE_COUNT", 2)
    assert Keys(5)(folder) == 15_000
    assert Products()(folder) == 2 * 1000 * 1000 * 252 * 2 * 4


@pytest.mark.exhaustive
@pytest.mark.parametrize("contestant", [each for each in CONTESTANTS if each.name.startswith("limit")])
def test_runs_are_those_of_the_flagship(contestant, folder):
    found = contestant.work(folder)
    assert found.metrics["slice"].n_unique() > 4
    assert found.metrics["model"].n_unique() == 4
    assert found.metrics["lower"].is_not_null().any() == (contestant.name == "limit_replicates")


def test_rounds_alternate_and_ratios_are_of_all_floors(monkeypatch, tmp_path):
    ran = []

    def worker(name, _):
        ran.append(name)
        return {"processor": 2.0 + len(ran) // len(CONTESTANTS)}

    monkeypatch.setattr(limits, "run_worker", worker)
    with tables(tmp_path, keep=False) as made:
        seconds = measure_limits(made, 1000, rounds=3)
    names = [contestant.name for contestant in CONTESTANTS]
    assert ran == 3 * names
    assert set(seconds) == set(names)
    text = limits_section(
        seconds | {"floor_rows": 1.0, "floor_first_keys": 0.5, "limit_order": 6.0}, 1000, 3, "here"
    )
    assert "| order | the same, and one key a row and model counted | 1.50 | 6.00 | 4.0 |" in text
    assert all(f"| {limit.stage} |" in text for limit in LIMITS)
