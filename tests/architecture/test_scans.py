"""How often runs read their files, and that nothing they do falls back: told by `explain`, and watched."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from architecture.watching import Collection, watched
from hypothesis import given, settings
from suites.sections import with_sections

import plmetrics as plm
from plmetrics.api.inspection import bound_suite
from plmetrics.core.errors import DataError
from plmetrics.features.explain.explanation import explain

CONFIGS = Path(__file__).parents[2] / "configs"
STAGES = {"binding": "prepare", "slice_search": "search", "aggregate.paired_rows": "tests"}
"""The stages of folders and modules that are not called like one."""

SCANS = {
    "slices": {"prepare": 2, "aggregate": 1},
    "binary": {"prepare": 4, "aggregate": 1},
    "custom": {"prepare": 1, "aggregate": 1},
    "drift": {"prepare": 1, "aggregate": 1},
    "forecast": {"prepare": 3, "aggregate": 1},
    "find_slices": {"aggregate": 1, "search": 2},
    "ranking": {"prepare": 2},
    "trec": {},
}
"""How often a stage reads the files at most: more is a scan that was not shared."""


def by_stage(made: list[Collection]) -> Counter[str]:
    found: Counter[str] = Counter()
    for each in made:
        folder = each.where.partition(".")[0]
        found[STAGES.get(each.where) or STAGES.get(folder, folder)] += each.scans
    return found


def ran(suite: Path, output: Path) -> list[Collection]:
    few = {"uncertainty.replicates": 10} if "uncertainty:" in suite.read_text() else {}
    with watched() as made:
        plm.run(suite, output=output, set=few)
    return list(made)


def agrees(suite: Path, made: list[Collection]) -> None:
    """Whether `explain` tells what was seen; a ranking's queries are made while it is prepared."""
    told: Counter[str] = Counter()
    more = set()
    with bound_suite(suite) as request:
        passes = explain(request).passes
    for part in passes:
        stage = "prepare" if part.stage == "rank" else part.stage
        told[stage] += part.scans
        more |= {stage} if part.at_least else set()
    seen = by_stage(made)
    if told["aggregate"] and not seen["aggregate"]:  # rows that are counted on a grid tell the sums
        told["order"] += told.pop("aggregate")
    for stage in {*told, *seen}:
        assert seen[stage] == told[stage] or (stage in more and seen[stage] > told[stage]), (told, seen)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SCANS)
def test_scans_of_a_suite(tmp_path: Path, name: str) -> None:
    suite = CONFIGS / f"{name}.yaml"
    made = ran(suite, tmp_path)
    assert dict(by_stage(made)) == SCANS[name]
    assert not [each for each in made if each.stuck]
    agrees(suite, made)


@pytest.mark.slow
@settings(max_examples=max(4, settings.default.max_examples // 10))
@given(made=with_sections())
def test_scans_of_any_suite(
    made: tuple[dict[str, Any], pl.DataFrame], tmp_path_factory: pytest.TempPathFactory
) -> None:
    suite, table = made
    folder = tmp_path_factory.mktemp("scans")
    table.write_parquet(folder / "table.parquet")
    file = folder / "suite.yaml"
    file.write_text(yaml.safe_dump(suite, sort_keys=False))
    try:
        collected = ran(file, folder / "runs")
    except DataError:
        return
    assert not [each for each in collected if each.stuck]
    agrees(file, collected)


def scans_of_table(folder: Path, table: pl.DataFrame, keys: dict[str, Any]) -> list[Collection]:
    """The scans of a suite of two models, in agreement with `explain`."""
    table.write_parquet(folder / "table.parquet")
    suite = {"name": "scans", "data": {"path": "table.parquet"}, "columns": {"label": "y"}}
    file = folder / "suite.yaml"
    file.write_text(yaml.safe_dump(suite | {"models": {"p": "p", "q": "q"}} | keys))
    made = ran(file, folder / "runs")
    agrees(file, made)
    return made


@pytest.mark.parametrize("memory", ["50KB", "1GB"])
def test_units_are_counted_by_one_scan_however_short_memory_is(tmp_path: Path, memory: str) -> None:
    units = pl.DataFrame({"y": [0, 1] * 500, "p": [0.2, 0.6] * 500, "u": range(1000), "g": ["a", "b"] * 500})
    suite = {
        "columns": {"label": "y", "unit": "u"},
        "models": {"p": "p"},
        "metrics": ["brier"],
        "memory": memory,
    }
    suite |= {"slices": {"g": "g"}, "uncertainty": {"replicates": 10}}
    made = scans_of_table(tmp_path, units, suite)
    assert by_stage(made)["prepare"] == (2 if memory == "50KB" else 1)  # of their own, or with the slices
    assert not [each for each in made if each.stuck]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "asked",
    [
        {"metrics": ["average_precision"]},
        {"metrics": ["roc_auc", "ece"]},
        {"metrics": ["roc_auc"], "curves": ["roc", "reliability"]},
        {"metrics": ["roc_auc", "ece"], "exact": False},
    ],
)
def test_scores_that_are_read_by_points_or_on_a_grid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any]
) -> None:
    monkeypatch.setattr("plmetrics.engine.memory.budget.POINT_ROWS", 10)
    frame = pl.DataFrame(
        {"y": [0, 1] * 500, "p": [0.2, 0.6] * 500, "q": [0.3, 0.1] * 500, "g": ["a", "b"] * 500}
    )
    made = scans_of_table(tmp_path, frame, {"slices": {"g": "g"}} | asked)
    assert by_stage(made)["order"] > 0 or asked.get("exact") is False  # on a grid sums come with the rows


@pytest.mark.parametrize(
    "asked",
    [
        {"task": "uplift", "columns": {"label": "y", "treatment": "t"}, "metrics": ["qini"]},
        {"task": "multiclass", "models": {"p": {"proba": {"0": "p", "1": "q"}}}, "metrics": ["roc_auc"]},
        {"task": "regression", "metrics": ["median_absolute_error"]},
    ],
    ids=lambda asked: asked["task"],
)
def test_orders_of_arms_classes_and_errors_that_are_read_in_ranges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any]
) -> None:
    monkeypatch.setattr("plmetrics.engine.memory.budget.POINT_ROWS", 10)
    rng = np.random.default_rng(1)
    p = rng.random(2000).round(3)
    frame = pl.DataFrame({"y": [0, 1] * 1000, "t": [0, 0, 1, 1] * 500, "p": p, "q": 1 - p})
    made = scans_of_table(tmp_path, frame, {"exact": True, "memory": "200KB"} | asked)
    assert by_stage(made)["order"] > 2 * len(asked.get("models", "pq"))


def test_a_scan_that_is_not_shared_is_seen(tmp_path: Path) -> None:
    pl.DataFrame({"x": [1.0, 2.0]}).write_parquet(tmp_path / "x.parquet")
    rows = pl.scan_parquet(tmp_path / "x.parquet")
    with watched() as made:
        pl.collect_all([rows.filter(pl.col("x") > 1.5), rows.filter(pl.col("x") < 1.5)])
        rows.select(pl.col("x").median()).collect()
        pl.DataFrame({"x": [2.0, 1.0]}).sort("x")
    assert [each.scans for each in made] == [2, 1]
    assert [bool(each.stuck) for each in made] == [False, True]
