"""Identities of slice keys."""

import polars as pl
import pytest

import plmetrics as plm


def test_a_bar_in_a_column_is_none_of_its_identity():
    table = pl.DataFrame({"y": [0, 1, 1], "p": [0.1, 0.8, 0.6], "a": ["u", "v", "v"], "a|5": ["k", "l", "m"]})
    slices = {"3": {"column": "a", "top": 5, "exclude": ["u"]}, "rest": {"column": "a|5", "top": 3}}
    found = plm.evaluate(table, label="y", models="p", metrics=["accuracy"], slices=slices).metrics
    assert found["slice"].to_list() == ["all", "a=v", "a|5=k", "a|5=l", "a|5=m"]


def test_a_condition_that_is_called_like_its_set_bears_that_name():
    table = pl.DataFrame({"y": [0, 1, 1], "p": [0.1, 0.8, 0.6]})
    slices = {"tail": {"where": {"tail": "p > 0.5", "true": "p > 0.7"}}, "top": {"where": "p > 0.7"}}
    metrics = plm.evaluate(table, label="y", models="p", metrics=["accuracy"], slices=slices).metrics
    assert metrics["slice"].to_list() == ["all", "tail=tail", "tail=true", "top=true"]
    assert metrics["n"].to_list() == [3, 2, 1, 1]


@pytest.mark.parametrize("dtype", [pl.List(pl.Null), pl.List(pl.String), pl.Array(pl.String, 2)])
def test_tags_of_lists_of_any_kind(dtype):
    tags = [["u", "v"], ["v", None], None] if dtype.inner != pl.Null else [[], [], None]
    table = pl.DataFrame({"y": [0, 1, 1], "p": [0.1, 0.8, 0.6], "t": pl.Series(tags, dtype=dtype)})
    metrics = plm.evaluate(table, label="y", models="p", metrics=["accuracy"], slices=["t"]).metrics
    sizes = dict(metrics.select("slice", "n").rows())
    assert sizes == {"all": 3, **({} if dtype.inner == pl.Null else {"t=u": 1, "t=v": 2})}
