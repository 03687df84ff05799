"""Spark tables: the states that Spark makes are those of one run over the rows, in classic sessions and in Connect."""

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from runners.conftest import table
from runners.test_units import SUITE, print_of

import plmetrics as plm
from plmetrics.api.shards import spark_tables

CONNECT = all(importlib.util.find_spec(name) for name in ("grpc", "grpc_status", "google"))

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(
        importlib.util.find_spec("pyspark") is None, reason="the extra spark is not installed"
    ),
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not here"),
    pytest.mark.filterwarnings(
        "ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::ResourceWarning"
    ),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A parquet file of the table."""
    place = tmp_path_factory.mktemp("spark")
    table().write_parquet(place / "scores.parquet")
    return place


@pytest.fixture(scope="module", params=["classic", "connect"])
def session(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A session of two threads on this machine; one of Connect talks to its server, and knows no more of it."""
    from pyspark.sql import SparkSession

    if request.param == "connect" and not CONNECT:
        pytest.skip("Spark Connect needs grpcio, grpcio-status and googleapis-common-protos")
    before = dict(os.environ)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    builder = SparkSession.builder.config("spark.sql.shuffle.partitions", "3")
    if request.param == "classic":
        made = builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    else:
        made = builder.remote("local[2]").getOrCreate()
    yield made
    made.stop()
    os.environ.clear()
    os.environ.update(before)


def asked(**changes: Any) -> dict[str, Any]:
    """The suite of units as keyword arguments."""
    keys = ("models", "slices", "uncertainty", "compare", "exact", "reproducible")
    metrics = ["log_loss", "f1", "roc_auc", "precision(threshold=max(f1))"]
    return {"label": "y", "unit": "u", "metrics": metrics} | {key: SUITE[key] for key in keys} | changes


def test_states_of_spark_are_those_of_one_run(
    session: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the last bit: by row, with edges, thresholds and exponents looked up first, and whoever counts which rows."""
    one = plm.evaluate(folder / "scores.parquet", **asked())
    rows = session.read.parquet(str(folder / "scores.parquet"))
    result = plm.evaluate(rows.repartition(3), **asked())
    assert print_of(result) == print_of(one)
    assert result.warnings == one.warnings
    assert result.record["rows"] == one.record["rows"]
    monkeypatch.setattr(spark_tables, "SAMPLE", 240)
    sampled = plm.evaluate(rows, **asked(metrics=["roc_auc"], reproducible=False))
    assert any("of a sample" in warning for warning in sampled.warnings)
    for value in ("a", "b"):
        ours, exact = (
            result.metrics.filter(model=value, slice_set="overall", metric="roc_auc").row(0, named=True)
            for result in (sampled, one)
        )
        assert abs(ours["value"] - exact["value"]) <= ours["bound"] + exact["bound"]


def test_a_table_by_its_name(session: Any, folder: Path) -> None:
    rows = session.read.parquet(str(folder / "scores.parquet"))
    rows.withColumn("note", rows.region).createOrReplaceTempView("scores")
    suite = {key: value for key, value in SUITE.items() if key != "compare"}
    file = folder / "named.yaml"
    file.write_text(yaml.safe_dump(suite | {"data": {"spark": "scores"}}))
    path = folder / "path.yaml"
    path.write_text(yaml.safe_dump(suite | {"data": {"path": "scores.parquet"}}))
    assert plm.validate(file).schema["note"] == pl.String
    assert print_of(plm.run(file)) == print_of(plm.run(path))
    file.write_text(yaml.safe_dump(suite | {"data": {"spark": "elsewhere"}}))
    with pytest.raises(plm.DataError, match=r"TABLE_OR_VIEW_NOT_FOUND.*elsewhere"):
        plm.run(file)


def test_a_query_is_never_cut(session: Any, folder: Path) -> None:
    """Spark brings the rows of each query together."""
    how: dict[str, Any] = {"task": "ranking", "label": "y", "query": "u", "models": "a", "metrics": ["ndcg"]}
    one = plm.evaluate(folder / "scores.parquet", **how).metrics
    rows = session.read.parquet(str(folder / "scores.parquet")).repartition(4)
    spark = plm.evaluate(rows, **how).metrics
    assert spark["value"].item() == pytest.approx(one["value"].item(), rel=1e-12)
    assert spark["n"].to_list() == one["n"].to_list()


def test_what_is_wrong_with_rows_keeps_its_class(session: Any, folder: Path) -> None:
    rows = session.read.parquet(str(folder / "scores.parquet"))
    with pytest.raises(plm.DataError, match=r"neither 0 nor 1.* of a batch of Spark \(counted from 0\)"):
        plm.evaluate(rows.selectExpr("y + 1 AS y", "a"), label="y", models="a", metrics=["f1"])
    with pytest.raises(plm.DataError, match="no rows"):
        plm.evaluate(rows.where("y > 1"), label="y", models="a", metrics=["f1"])
    with pytest.raises(plm.ConfigError, match="have no names"):
        plm.evaluate(rows, label="y", models="a", metrics=["f1"], uncertainty=True)
    with pytest.raises(plm.ConfigError, match="no other runner"):
        plm.evaluate(rows, label="y", models="a", metrics=["f1"], on="inline")


def test_a_column_that_is_not_there_is_named(session: Any, folder: Path) -> None:
    rows = session.read.parquet(str(folder / "scores.parquet"))
    with pytest.raises(plm.DataError, match="'score'"):
        plm.evaluate(rows, label="y", models="score", metrics=["f1"])
    with pytest.raises(plm.DataError, match="several columns of the name 'a'"):
        plm.evaluate(rows.select("*", "a"), label="y", models="b", metrics=["f1"])
    with pytest.raises(plm.DataError, match="AMBIGUOUS_REFERENCE"):
        plm.evaluate(
            rows.withColumn("other", rows.a).toDF(*[*rows.columns, "A"]),
            label="y",
            models="a",
            metrics=["f1"],
        )


def test_names_with_dots_and_classes_that_nobody_names(session: Any, folder: Path) -> None:
    """`mapInArrow` looks for a column `a.b` as the field b of a; classes are looked up in all rows."""
    scores = pl.read_parquet(folder / "scores.parquet").select("u", pl.col("region").alias("region.`name`"))
    frame = scores.with_columns(call=pl.col("region.`name`").shift(1, fill_value="north"))
    how: dict[str, Any] = {
        "task": "multiclass",
        "label": "region.`name`",
        "models": "call",
        "metrics": ["f1"],
    }
    one = plm.evaluate(frame, **how).metrics
    rows = session.createDataFrame(frame.to_arrow()).repartition(3)
    assert plm.evaluate(rows, **how).metrics.equals(one)
