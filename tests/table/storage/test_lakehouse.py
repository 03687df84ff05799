"""Delta and Iceberg tables in a bucket, and at their versions."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from table.storage.s3_server import BUCKET

import plmetrics as plm
from plmetrics.core.errors import AbsentDataError, ConfigError, DataError
from plmetrics.table.opening import open_source

ROWS = pl.DataFrame({"y": [0, 1, 1, 0], "p": [0.1, 0.9, 0.5, 0.6], "g": ["a", "b", "b", "a"]})
TABLE = f"s3://{BUCKET}/t"


def write(path: str, frame: pl.DataFrame = ROWS, **options: object) -> None:
    library = pytest.importorskip("deltalake")
    storage = {"AWS_ALLOW_HTTP": "true", "AWS_S3_ALLOW_UNSAFE_RENAME": "true"} if "://" in path else None
    library.write_deltalake(path, frame, storage_options=storage, **options)


@pytest.mark.parametrize("keys", [None, ["g"]])
def test_a_delta_table_in_a_bucket(store, keys):
    write(TABLE, partition_by=keys)
    source = open_source(TABLE)
    assert (source.kind, source.rows, source.version) == ("delta", 4, 0)
    assert_frame_equal(source.frame.collect().sort("p"), ROWS.sort("p"), check_column_order=False)
    assert all(file.stamp for file in source.files)
    with pytest.raises(DataError, match="is a Delta table, whose folder may hold files that it has dropped"):
        open_source(f"{TABLE}/**/*.parquet")
    store.client.delete_object(Bucket=BUCKET, Key=f"t/{source.files[0].name}")
    with pytest.raises(DataError, match="no such object, but the table names it"):
        open_source(TABLE)


def test_versions_of_a_delta_table(tmp_path):
    path = str(tmp_path / "t")
    write(path)
    write(path, ROWS.with_columns(y=1 - pl.col("y")), mode="append")
    options = {"label": "y", "models": "p", "metrics": ["recall"]}
    for version, rows in ((0, 4), (1, 8), (None, 8)):
        result = plm.evaluate(path if version is None else {"path": path, "version": version}, **options)
        assert result.record["rows"]["read"] == rows
        assert result.record["table_version"] == (1 if version is None else version)
    with pytest.raises(AbsentDataError, match=r"there is no version 7\n    the present one is 1"):
        open_source({"path": path, "version": 7})
    ROWS.write_csv(tmp_path / "x.csv")
    with pytest.raises(ConfigError, match="only Delta and Iceberg tables have versions"):
        open_source({"path": str(tmp_path / "x.csv"), "version": 7})


@pytest.mark.slow
def test_an_iceberg_table_in_a_bucket(store, monkeypatch):
    pytest.importorskip("pyiceberg")
    from table.formats.test_iceberg import Folder

    monkeypatch.setattr(
        Folder, "__init__", lambda self, place: super(Folder, self).__init__("f", warehouse=place)
    )
    catalog = Folder(TABLE)
    catalog.place, catalog.table = TABLE, None
    catalog.properties |= {"s3.endpoint": store.url}
    table = catalog.create_table(("space", "t"), ROWS.to_arrow().schema)
    table.append(ROWS.to_arrow())
    first = table.current_snapshot().snapshot_id
    table.append(ROWS.to_arrow())
    source = open_source(TABLE)
    assert (source.kind, source.rows, source.version) == ("iceberg", 8, table.current_snapshot().snapshot_id)
    assert source.frame.collect().sort("p").equals(pl.concat([ROWS, ROWS]).sort("p"))
    earlier = open_source({"path": TABLE, "version": first})
    assert (earlier.rows, earlier.version) == (4, first)
    with pytest.raises(AbsentDataError, match="there is no version 5"):
        open_source({"path": TABLE, "version": 5})
