"""Costs are fitted back from work of known cost; fleets and merges are simulated as arithmetic says."""

import math

import numpy as np
import pytest

from benchmarks import simulate
from benchmarks.cost_suites import fitted_suites, random_suites
from benchmarks.costs import errors, fitted, fitted_states, stage_rows
from benchmarks.every_task import SUITES
from benchmarks.simulate import Fleet, UnitCost, counted_by, merge_seconds
from benchmarks.task_tables import TASK_TABLES
from plmetrics.features.explain.work import Costs

KNOWN = {"cells of numbers": 2e-8, "rows by sum": 5e-9, "scores in memory, sorted": 6e-8, "never slow": 0.0}


def observation(name: str, rng: np.random.Generator) -> dict:
    rows = float(rng.integers(100_000, 3_000_000))
    work = [
        ["start", "run", 1.0],
        ["prepare", "cells of numbers", rows],
        ["aggregate", "cells of numbers", 3 * rows],
        ["aggregate", "rows by sum", rows * float(rng.integers(1, 40))],
        ["order", "scores in memory, sorted", rows * float(rng.integers(1, 5))],
        ["order", "never slow", rows * float(rng.integers(1, 9))],
    ]
    timings: dict[str, float] = {}
    for stage, kind, number in work[1:]:
        timings[stage] = timings.get(stage, 0.0) + number * KNOWN[kind]
    return {"name": name, "work": work, "timings": timings, "total": sum(timings.values())}


def test_known_costs_are_fitted_back():
    rng = np.random.default_rng(1)
    found = [observation(str(place), rng) for place in range(12)]
    seconds = fitted(found)
    assert seconds == pytest.approx(KNOWN, rel=1e-6, abs=1e-15)
    assert all(
        expected == pytest.approx(taken) for _, expected, taken in errors(found, {"run": 1.0, **seconds})
    )


def test_stages_that_are_told_together_are_one():
    one = {
        "work": [["rank", "rows of queries", 10.0], ["prepare", "rows of queries", 5.0]],
        "timings": {"prepare": 2.0, "intervals": 1.0, "tests": 3.0},
    }
    assert stage_rows([one]) == [({"rows of queries": 15.0}, 2.0)]


def test_costs_of_states_are_fitted_back():
    found = [
        {
            "states": number,
            "sums": size,
            "scores": scores,
            "write": 0.05 * (size + scores),
            "add": number * (0.004 + 0.03 * size + 0.2 * scores),
        }
        for number in (4, 16, 48)
        for size, scores in ((0.2, 0.0), (0.2, 1.0), (3.0, 0.0), (3.0, 7.0))
    ]
    assert fitted_states(found) == pytest.approx(
        {
            "megabytes of states written": 0.05,
            "megabytes of sums merged": 0.03,
            "megabytes of scores merged": 0.2,
            "states merged": 0.004,
        }
    )


def test_random_suites_are_the_same_again_and_none_is_fitted():
    drawn = list(random_suites(12, 3))
    assert drawn == list(random_suites(12, 3)) != list(random_suites(12, 4))
    assert not {cost.name for cost in drawn} & {cost.name for cost in fitted_suites()}
    assert {task.table for task in SUITES.values()} <= set(TASK_TABLES)


def test_workers_without_delays_take_whole_rounds():
    quiet, rng = Fleet(4, spread=0.0, slow=0.0, lost=0.0), np.random.default_rng(0)
    made = counted_by(quiet, 2.5, 10, rng)
    assert (made.seconds, made.lost) == (math.ceil(10 / 4) * 2.5, 0)
    assert made.busy == pytest.approx(10 * 2.5 / (4 * 7.5))


@pytest.mark.slow
def test_delays_are_of_the_laws_that_are_stated():
    rng, units = np.random.default_rng(0), 200_000
    alone = counted_by(Fleet(1, spread=0.0, slow=0.0, lost=0.1), 1.0, units, rng)
    # A geometric number of losses of mean 1/9, each half an attempt on average.
    assert alone.lost / units == pytest.approx(1 / 9, rel=0.02)
    assert alone.seconds / units == pytest.approx(1 + 0.5 / 9, rel=0.005)
    noisy = counted_by(Fleet(1, spread=0.3, slow=0.0, lost=0.0), 1.0, units, rng)
    assert noisy.seconds / units == pytest.approx(math.exp(0.3**2 / 2), rel=0.01)
    slow = counted_by(Fleet(1, spread=0.0, slow=0.02, lost=0.0), 1.0, units, rng)
    # The mean of Pareto's law from 2 on is 6: 1 + 0.02 * 5, with heavy tails.
    assert 1.05 < slow.seconds / units < 1.35


def test_a_tree_takes_rounds_and_one_process_takes_all(monkeypatch):
    known = {"states merged": 0.01, "megabytes of sums merged": 0.02, "megabytes of scores merged": 0.1}
    known["megabytes of states written"] = 0.05
    for place in ("states", "work"):
        monkeypatch.setattr(f"plmetrics.features.explain.{place}.costs", lambda: Costs("m", "d", known, {}))
    monkeypatch.setattr(simulate, "STORE_SPEED", 10e6)
    each = 0.01 + 2 * 0.02 + 3 * 0.1 + 0.5
    cost = UnitCost(1.0, 5e6, 3e6)
    assert merge_seconds(1000, cost) == pytest.approx(1000 * each)
    assert merge_seconds(1000, cost, fan_in=10) == pytest.approx(3 * (10 * each + 5 * 0.05 + 0.5))
