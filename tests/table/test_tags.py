"""Tags of rows: groups of tags that no row has two of, and their order in results."""

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import brier_score_loss, roc_auc_score

import plmetrics as plm
from plmetrics.table.slice_keys import TAG_SEPARATOR, SliceKey, TagMembers, tag_text
from plmetrics.table.slices import Slices, SliceSet
from plmetrics.table.tags import in_result_order, result_order, tag_groups

NAMES = [f"t{number}" for number in range(60)]


def tagged(rows: int = 2000, seed: int = 0) -> pl.DataFrame:
    """Up to four tags a row, of 60 of which some are rare."""
    rng = np.random.default_rng(seed)
    share = np.arange(1, len(NAMES) + 1) / (len(NAMES) * (len(NAMES) + 1) / 2)
    sizes = rng.integers(0, 5, rows)
    return pl.DataFrame(
        {
            "label": rng.integers(0, 2, rows),
            "score": rng.random(rows).round(3),
            "tags": [rng.choice(NAMES, size, p=share).tolist() for size in sizes],
        },
        schema_overrides={"tags": pl.List(pl.String)},
    )


def test_no_two_tags_of_a_group_are_in_one_combination() -> None:
    combinations = [set(row) for row in tagged(200)["tags"].to_list() if row]
    groups = tag_groups(pl.Series([TAG_SEPARATOR.join(sorted(tags)) for tags in combinations]))
    assert sorted(tag for group in groups for tag in group) == sorted(set().union(*combinations))
    for group in groups:
        assert group.is_sorted()
        assert all(len(tags & set(group)) <= 1 for tags in combinations)
    assert len(groups) < len(NAMES) / 2


def test_a_row_with_every_tag_puts_each_into_a_group_of_its_own() -> None:
    groups = tag_groups(pl.Series([TAG_SEPARATOR.join(NAMES), "t1", None]))
    assert sorted(group.to_list() for group in groups) == sorted([name] for name in NAMES)


def test_texts_of_rows_have_each_tag_once_and_in_order() -> None:
    rows = [["b", "a", "b"], ["a", "b"], [None, "b", "a"], [""], ["", "a"], [None], [], None, ["a, b", "é"]]
    frame = pl.DataFrame({"tags": rows * 3}, schema={"tags": pl.List(pl.String)})
    expected = [
        TAG_SEPARATOR.join(sorted({tag for tag in row or () if tag is not None}))
        if any(tag is not None for tag in row or ())
        else None
        for row in rows * 3
    ]
    assert (
        frame.lazy().select(tag_text(pl.col("tags"))).collect(engine="streaming")["tags"].to_list()
        == expected
    )
    numbers = pl.DataFrame({"tags": [[10, 9, 10], None]}).select(tag_text(pl.col("tags")))
    assert numbers["tags"].to_list() == [TAG_SEPARATOR.join(("10", "9")), None]


def test_without_tags_there_are_no_groups() -> None:
    assert tag_groups(pl.Series([None, None], dtype=pl.String)) == []


def test_tags_that_no_combination_has_are_in_none() -> None:
    members = TagMembers.of(pl.Series([TAG_SEPARATOR.join(tags) for tags in ("ac", "b", "cd")] + [None]))
    assert members.numbers_among(pl.Series(["", "a", "bb", "d", "e"])).tolist() == [1, -1, 3, -1]
    assert members.numbers_among(pl.Series(["c"])).tolist() == [0, -1, 0, -1]
    nothing = TagMembers.of(pl.Series([None], dtype=pl.String))
    assert nothing.numbers_among(pl.Series(["a"])).tolist() == [-1]


def test_nothing_that_polars_will_drop_is_called() -> None:
    frame = tagged(200)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        plm.evaluate(frame, label="label", models=["score"], metrics=["brier"], slices={"tags": "tags"})
    assert not [warning for warning in told if issubclass(warning.category, DeprecationWarning)]


@pytest.mark.slow
def test_values_of_many_overlapping_tags() -> None:
    frame = tagged()
    result = plm.evaluate(
        frame, label="label", models=["score"], metrics=["roc_auc", "brier", "n"], slices={"tags": "tags"}
    )
    rows = result.metrics.filter(slice_set="tags")
    here = {tag: frame.filter(pl.col("tags").list.contains(tag)) for tag in NAMES}
    judged: dict[str, dict[str, Any]] = {
        tag: {
            "roc_auc": roc_auc_score(part["label"], part["score"]) if part["label"].n_unique() == 2 else None,
            "brier": brier_score_loss(part["label"], part["score"]),
            "n": part.height,
        }
        for tag, part in here.items()
        if part.height
    }
    assert rows["slice"].unique(maintain_order=True).to_list() == [f"tags={tag}" for tag in sorted(judged)]
    for slice_text, metric, value in rows.select("slice", "metric", "value").iter_rows():
        expected = judged[slice_text.removeprefix("tags=")][metric]
        assert (value is None) == (expected is None)
        assert value is None or np.isclose(value, expected, rtol=1e-12)


def test_each_tag_is_held_against_those_before_it() -> None:
    frame = pl.DataFrame(
        {
            "label": [0, 1, 1, 0, 1, 0],
            "score": [0.2, 0.7, 0.4, 0.3, 0.9, 0.6],
            "tags": [["a", "c"], ["b", "c"], ["a"], ["b"], ["c"], ["a", "b"]],
        }
    )
    result = plm.evaluate(
        frame,
        label="label",
        models=["score"],
        metrics=["brier"],
        slices={"tags": "tags"},
        uncertainty={"replicates": 50},
        compare={"slices": {"tags": ["pairs"]}},
    )
    error = (frame["label"] - frame["score"]) ** 2
    mean = {tag: error.filter(frame["tags"].list.contains(tag)).mean() for tag in "abc"}
    compared = result.comparisons.select("slice", "baseline", "difference").rows()
    assert [row[:2] for row in compared] == [("tags=b", "tags=a"), ("tags=c", "tags=a"), ("tags=c", "tags=b")]
    for later, earlier, difference in compared:
        assert np.isclose(difference, mean[later[-1]] - mean[earlier[-1]])


def test_rows_of_tags_are_put_in_the_order_of_their_set() -> None:
    def part(name: str, kind: Any, *values: str) -> Slices:
        key = SliceKey(name, name, pl.col(name), kind)
        return Slices(SliceSet(name, (key,)), pl.DataFrame({name: values}, schema={name: pl.String}))

    parts = [part("g", "column", "z", "y"), part("t", "tags", "b", "d"), part("t", "tags", "a", "c")]
    order = result_order(parts)
    assert order is not None
    assert order.tolist() == [0, 1, 4, 2, 5, 3]
    assert result_order(parts[:1]) is None
    table = pl.DataFrame(
        {
            "model": ["m"] * 6 + ["o"] * 2,
            "slice_set": ["g", "g", "t", "t", "t", "t", "t", "t"],
            "slice": ["g=z", "g=y", "t=b", "t=d", "t=a", "t=c", "t=b", "t=a"],
        }
    )
    ordered = in_result_order(table, parts, "model")
    assert ordered["slice"].to_list() == ["g=z", "g=y", "t=a", "t=b", "t=c", "t=d", "t=a", "t=b"]
    assert ordered.columns == table.columns
