"""What a run would do, beside what it then does."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.engine.aggregate.aggregation import aggregate
from plmetrics.engine.binding.bind import bind
from plmetrics.engine.inquiry import constant_question
from plmetrics.engine.memory.run_memory import Foreseen, Sizes, foreseen, sum_schemas
from plmetrics.engine.prepare.preparation import prepare
from plmetrics.features.explain.explanation import Explanation, explain
from plmetrics.suite.arguments import suite_from_arguments
from plmetrics.table.opening import open_source

ROWS = 600


def table(rows: int = ROWS) -> pl.DataFrame:
    draw = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "y": draw.integers(0, 2, rows),
            "p": draw.random(rows),
            "q": draw.random(rows),
            "w": draw.integers(0, 3, rows).astype(float),
            "u": draw.integers(0, 50, rows),
            "g": draw.choice(["a", "b", "c"], rows),
            "h": draw.choice(["x", "y"], rows),
            "unused": draw.random(rows),
        }
    )


ASKED: dict[str, Any] = {
    "label": "y",
    "models": {"one": "p", "two": "q"},
    "metrics": ["roc_auc", "recall", "brier"],
    "slices": {"g": "g", "gh": ["g", "h"], "high": {"where": "p > 0.5"}},
    "uncertainty": {"replicates": 20},
    "compare": "one",
    "min_rows": 5,
}


def explained(data: Any, *, look: bool = True, **changes: Any) -> Explanation:
    asked = {**ASKED, **changes}
    return explain(bind(suite_from_arguments(**asked), open_source(data)), data=look)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "changes", [{}, {"unit": "u"}, {"weight": "w"}, {"uncertainty": None}, {"exact": False}]
)
def test_it_foretells_the_result(changes: dict[str, Any]) -> None:
    found = explained(table(), **changes)
    result = plm.evaluate(table(), **{**ASKED, **changes})
    assert found.estimates == result.metrics.height
    assert found.comparisons == result.comparisons.height
    assert found.rows == result.record["rows"]["read"]
    blocks = result.record["constants"]["blocks"]
    assert found.units == (None if blocks is None else blocks["units"])
    assert {part.name: part.slices for part in found.sets} == {
        name: len(texts) for name, texts in result.record["constants"]["slices"].items()
    }
    assert found.exact == (result.record["constants"]["ordered_metrics"] == "exact")
    assert found.streams


def test_columns_that_are_read() -> None:
    assert explained(table()).source.columns == ("y", "p", "q", "g", "h")
    found = explained(table(), slices=None, unit="u", weight="w", where="h = 'x'")
    assert found.source.columns == ("y", "p", "q", "w", "u", "h")
    assert explained(table(), slices=None, unit="u", uncertainty=None).source.columns == ("y", "p", "q")


def test_one_cube_serves_several_sets() -> None:
    (cube,) = explained(table()).cubes
    assert set(cube.sets) == {"overall", "g", "gh", "high"}
    # Three values and null, two values and null, true, false and null.
    assert cube.cells == 4 * 3 * 3
    assert cube.entries == min(cube.cells * cube.blocks, ROWS)


@pytest.mark.parametrize(
    ("metrics", "stages"), [(["recall"], 2), (["roc_auc"], 3), (["recall", "roc_auc"], 3)]
)
def test_passes(metrics: list[str], stages: int) -> None:
    found = explained(table(), metrics=metrics)
    assert [part.stage for part in found.passes] == ["prepare", "aggregate", "order"][:stages]
    assert found.passes[1].plans == len(found.cubes)
    assert ("sorted rows" in found.memory) == (stages == 3)


@pytest.mark.parametrize(("metrics", "words"), [(["ece"], "columns in bins"), (["ece", "roc_auc"], "sorts")])
def test_scores_in_bins_are_not_sorted(metrics: list[str], words: str) -> None:
    order = explained(table(), metrics=metrics, slices=None, uncertainty=None, compare=None).passes[-1]
    assert (order.stage, order.does) == ("order", f"2 {words} in memory, 1 a model; rows come with the sums")


def test_columns_that_thresholds_are_chosen_by_are_read_before(tmp_path: Path) -> None:
    table().write_parquet(tmp_path / "t.parquet")
    found = explained(str(tmp_path / "t.parquet"), slices={"h": "h"}, metrics=["recall(threshold=max(f1))"])
    assert (found.passes[0].stage, found.passes[0].columns) == ("prepare", 3)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"unit": "u"},
        {"uncertainty": None},
        {"uncertainty": {"replicates": 20, "blocks": 7}, "unit": "h"},
        {"slices": {"g": "g", "u": {"column": "u", "bins": [10, 30]}}, "uncertainty": None},
        {"slices": {"gh": ["g", "h"], "h": {"column": "h", "top": 1}}, "unit": "u"},
    ],
)
def test_entries_are_about_those_of_the_sums(changes: dict[str, Any]) -> None:
    asked = suite_from_arguments(**{**ASKED, **changes})
    request = bind(asked, open_source(table()))
    held = [len(state.cell) for state in aggregate(prepare(request), constant_question({}))[0].sums]
    told = [cube.entries for cube in explain(request).cubes]
    assert len(told) == len(held)
    assert all(made / 2 <= said <= made * 2 for said, made in zip(told, held, strict=True)), (told, held)


def test_sums_of_several_plans_are_those_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    request = bind(suite_from_arguments(**ASKED), open_source(table()))
    one = explain(request).state
    monkeypatch.setattr("plmetrics.engine.streaming.AGGREGATES_PER_NODE", 2)
    assert explain(request).state == one


def foretold(rows: int, *, blocks: int = 50, **changes: Any) -> Foreseen:
    """The memory of a run that was prepared on few rows, as if it had others."""
    plan = prepare(bind(suite_from_arguments(**{**ASKED, **changes}), open_source(table())))
    counted = replace(plan, rows=replace(plan.rows, read=rows))
    entries = [min(cube.cells * blocks, rows) for cube in plan.cubes]
    return foreseen(counted, Sizes(rows, 40, entries, blocks, sum_schemas(plan)))


def test_memory_of_sums_does_not_grow_with_rows() -> None:
    few, many = (foretold(rows, metrics=["recall"]) for rows in (10_000_000, 1_000_000_000))
    assert (few.parts, few.peak) == (many.parts, many.peak)
    assert "sorted rows" not in few.parts


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"metrics": ["corp_miscalibration"], "weight": "w"}, "sorted rows"),
        ({"metrics": ["roc_auc"], "weight": "w"}, "points of scores"),
        ({"metrics": ["roc_auc"]}, "points of scores"),
        ({"metrics": ["recall(threshold=max(f1))"]}, "rows that thresholds are chosen on"),
        ({"compare": {"baseline": "one", "tests": ["delong"]}, "weight": None}, "rows that tests rank"),
    ],
)
def test_memory_of_rows_that_are_held_grows_with_them(changes: dict[str, Any], part: str) -> None:
    few, more = (foretold(rows, **changes) for rows in (4_000_000, 8_000_000))
    assert more.parts[part] == pytest.approx(2 * few.parts[part], rel=1e-6)
    assert few.peak < more.peak


@pytest.mark.slow
def test_drift_scans_once_for_each_column_where_memory_has_no_room_for_rows_that_wait(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("plmetrics.features.drift.counts.EXACT_VALUES", 0)  # values are counted, not sorted
    rows, file = 200_000, tmp_path / "rows.parquet"
    draw = np.random.default_rng(1)
    columns = {name: draw.integers(0, 9, rows) for name in ("month", "x", "z")}
    pl.DataFrame(
        {"y": draw.integers(0, 2, rows), "p": draw.integers(0, 9, rows) / 10, **columns}
    ).write_parquet(file)
    drift = {"where": "month < 4", "columns": ["x", "z"]}
    asked = {"label": "y", "models": {"m": "p"}, "metrics": ["brier"], "where": "month > 3", "drift": drift}
    tight, ample = (
        explain(bind(suite_from_arguments(**asked, memory=memory), open_source(file)))
        for memory in (10**7, 10**9)
    )
    scans = [next(part.scans for part in told.passes if part.stage == "aggregate") for told in (tight, ample)]
    assert scans == [5, 1], "the sums, and score, label, x and z by themselves; or all of these in one scan"
    assert "rows that wait for slower counts" in ample.memory
    assert "rows that wait for slower counts" not in tight.memory
    assert ample.memory["counts of drift"] == tight.memory["counts of drift"] > 0
    one, other = (plm.evaluate(file, **asked, memory=memory) for memory in (10**7, 10**9))
    assert one.drift.equals(other.drift)


def test_memory_of_counts_by_block_grows_with_blocks() -> None:
    few, more = (foretold(4_000_000, blocks=blocks, exact=False) for blocks in (100, 200))
    assert more.parts["scores by block"] == 2 * few.parts["scores by block"]
    assert more.parts["replicates"] > few.parts["replicates"]
    assert few.parts["scores on a grid"] == more.parts["scores on a grid"]


def test_replicates_of_sums_are_there_for_some_slices_at_a_time() -> None:
    """40,000 slices in 200 replicates were told as 1.5 GB, and took 0.75; what is kept grows with slices."""
    few, more = (_of_slices(slices) for slices in (1_000, 2_000))
    assert more["replicates"] == few["replicates"]
    few, more = (_of_slices(slices, keep=True) for slices in (1_000, 2_000))
    assert more["replicates"] - few["replicates"] == 1_000 * 100 * 8 * 2


def _of_slices(slices: int, **uncertainty: Any) -> Mapping[str, int]:
    rows = np.arange(10_000)
    frame = pl.DataFrame({"y": rows // slices % 2, "p": rows % 3 / 3, "g": rows % slices})
    asked = {"label": "y", "models": "p", "metrics": ["recall"], "slices": {"g": "g"}}
    resampled = {"replicates": 100, "blocks": 10, **uncertainty}
    return explained(frame, **asked, uncertainty=resampled, compare=None).memory


def test_aggregates_grow_with_models_and_metrics() -> None:
    few, more = (explained(table(), metrics=metrics) for metrics in (["recall"], ["recall", "brier"]))
    one = explained(table(), metrics=["recall", "brier"], models={"one": "p"}, compare=None)
    assert one.passes[1].aggregates < few.passes[1].aggregates + 2
    assert few.passes[1].aggregates < more.passes[1].aggregates


def test_without_a_look_at_the_data(tmp_path: Path) -> None:
    table().write_parquet(tmp_path / "t.parquet")
    found = explained(str(tmp_path / "t.parquet"), look=False)
    assert {part.name: part.slices for part in found.sets} == {
        "overall": 1,
        "g": None,
        "gh": None,
        "high": None,
    }
    assert (found.rows, found.units, found.estimates, found.cubes) == (None, None, None, ())
    assert (found.source.rows, found.source.files) == (ROWS, 1)
    assert found.source.bytes == (tmp_path / "t.parquet").stat().st_size


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("where", "pruned"),
    [(None, 0), ("day = 2", 2), ("day >= 2", 1), ("p > 0.5", None), ("day = 2 AND p > 0.5", None)],
)
def test_files_that_where_rules_out(tmp_path: Path, where: str | None, pruned: int | None) -> None:
    for day in (1, 2, 3):
        folder = tmp_path / f"day={day}"
        folder.mkdir()
        table(50).write_parquet(folder / "part.parquet")
    found = explained(str(tmp_path), where=where)
    assert (found.source.files, found.source.pruned) == (3, pruned)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ()),
        ({"uncertainty": None}, ("compare without uncertainty",)),
        ({"min_rows": 0}, ("min_rows is not set",)),
        ({"uncertainty": {"replicates": 100_000}, "compare": None}, ()),
        ({"exact": False}, ("counted on a grid",)),
        ({"unit": "few"}, ("only 3 units (few)",)),
        ({"missing": "drop", "label": "holes"}, ("missing: drop leaves out 6 of 600 rows",)),
    ],
)
def test_advice(changes: dict[str, Any], words: tuple[str, ...]) -> None:
    rows = pl.int_range(ROWS)
    frame = table().with_columns(few=rows % 3, holes=pl.when(rows % 100 > 0).then(pl.col("y")))
    found = explained(frame, **changes).advice
    assert len(found) == len(words)
    assert all(word in said for word, said in zip(words, found, strict=True))


def test_advice_on_many_replicates() -> None:
    frame = table().with_columns(many=pl.int_range(ROWS) % 400)
    found = explained(frame, slices={"many": "many"}, uncertainty={"replicates": 100_000}, unit="u")
    (said,) = found.advice
    assert said.startswith("2,406 estimates x 100,000 replicates")


def test_a_scan_for_labels_near_the_positive_one_has_its_words() -> None:
    rows = table().with_columns(y=pl.when(pl.col("y") == 1).then(pl.lit("yes")).otherwise(pl.lit("no")))
    asked: dict[str, Any] = {"label": "y", "models": "p", "metrics": ["brier"], "positive": "yes"}
    told = explain(bind(suite_from_arguments(**asked), open_source(rows)), data=True)
    (stage,) = (part for part in told.passes if part.stage == "prepare")
    assert stage.does == "labels near the positive one"


def test_results_of_many_slices_count() -> None:
    frame = table(12_000).with_columns(id=pl.int_range(12_000) // 2)
    asked = {"label": "y", "models": {"m": "p"}, "metrics": ["brier", "log_loss"], "slices": "id"}
    told = explain(bind(suite_from_arguments(**asked), open_source(frame)))
    size = plm.evaluate(frame, **asked).metrics.estimated_size()
    assert size < told.memory["tables of results"] < 20 * size
    assert told.peak is not None
    assert told.peak >= told.memory["tables of results"]
