"""Tables in a bucket whose units, states and results lie there, too: the same bytes on every runner."""

import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from runners.conftest import ROWS, table
from runners.test_units import SUITE
from table.storage.s3_server import BUCKET, S3Server, unavailable

import plmetrics as plm
from plmetrics.core.errors import UnitsMissingError

FILES = 12


def put(store: S3Server, number: int, frame: pl.DataFrame) -> None:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    store.put(f"table/part-{number:02}.parquet", buffer.getvalue())


@pytest.fixture
def suite(tmp_path: Path, store: S3Server) -> Path:
    rows = table()
    for number, part in enumerate(np.array_split(np.arange(ROWS), FILES)):
        put(store, number, rows[part.tolist()])
    file = tmp_path / "fleet.yaml"
    places = {"data": {"path": f"s3://{BUCKET}/table"}, "output": {"directory": f"s3://{BUCKET}/runs"}}
    file.write_text(yaml.safe_dump({**SUITE, **places, "name": "fleet", "slices": {"region": "region"}}))
    return file


def hashes(result: plm.Result) -> dict[str, str]:
    """A hash of the bytes of each table in the run folder."""
    folder: Any = result.folder
    names = ("metrics", "comparisons")
    return {name: hashlib.sha256((folder / f"{name}.parquet").read_bytes()).hexdigest() for name in names}


def states(store: S3Server) -> set[str]:
    listed = store.client.list_objects_v2(Bucket=BUCKET, Prefix="runs/fleet/unit-states/")["Contents"]
    return {entry["Key"] for entry in listed if entry["Key"].endswith(".state")}


@pytest.mark.slow
def test_a_bucket_has_the_same_bytes_on_every_runner(suite: Path, store: S3Server) -> None:
    expected = hashes(plm.run(suite))
    assert hashes(plm.run(suite, on="inline")) == expected
    first = states(store)
    assert len(first) == FILES
    put(store, 5, table()[:7])
    replaced = hashes(plm.run(suite))
    store.requests.clear()
    assert hashes(plm.run(suite, on="processes:2")) == replaced != expected
    assert len(states(store) - first) == len(first - states(store)) == 1
    written = [path for method, path in store.requests if method == "PUT" and path.endswith(".state")]
    assert len(written) == 1


@pytest.mark.slow
def test_units_of_a_scheduler_in_a_bucket(suite: Path, store: S3Server) -> None:
    from plmetrics.api.shards.plans import unit_states, units

    expected = plm.run(suite)
    folder, plan = f"s3://{BUCKET}/counted", f"s3://{BUCKET}/fleet.plan"
    assert len(units(suite, plan=plan)) == FILES
    store.losses.append(unavailable(2, "counted", "PUT"))
    paths = [path for shard in ("1/2", "2/2") for path in unit_states(suite, folder, shard=shard, plan=plan)]
    assert len({str(path) for path in paths}) == FILES
    merged = plm.merge(folder, output=f"s3://{BUCKET}/merged")
    assert merged.metrics.equals(expected.metrics)
    assert str(merged.folder).startswith(f"s3://{BUCKET}/merged/fleet/")
    store.client.delete_object(Bucket=BUCKET, Key=str(paths[0]).removeprefix(f"s3://{BUCKET}/"))
    with pytest.raises(UnitsMissingError, match="1 of 12 planned units is missing"):
        plm.merge(folder)
