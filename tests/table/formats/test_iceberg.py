import json
import sys
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import plmetrics as plm
from plmetrics.core.errors import ConfigError, DataError, EnvironmentFault
from plmetrics.table.formats import iceberg
from plmetrics.table.formats.lakehouse import Listing
from plmetrics.table.opening import open_source
from plmetrics.table.source import ROW_KEY

pytest.importorskip("pyiceberg")

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestWriterV2,
    write_manifest_list,
)
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update import AddSnapshotUpdate, SetSnapshotRefUpdate
from pyiceberg.typedef import Record
from pyiceberg.types import StringType

ROWS = pl.DataFrame({"y": [0, 1, 1], "s": [0.1, 0.9, 0.5], "g": ["a", None, "b"]})


class Folder(MetastoreCatalog):
    """A catalog of one table in a folder."""

    def __init__(self, place: Path) -> None:
        super().__init__("folder", warehouse=str(place))
        self.place = place
        self.table: Table | None = None

    def create_table(self, identifier: Any, schema: Any, **keywords: Any) -> Table:
        staged = self._create_staged_table(identifier, schema, location=str(self.place), **keywords)
        self._write_metadata(staged.metadata, staged.io, staged.metadata_location)
        self.table = staged
        return Table(staged.name(), staged.metadata, staged.metadata_location, staged.io, self)

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        staged = self._update_and_stage_table(self.table, table.name(), requirements, updates)
        self._write_metadata(staged.metadata, staged.io, staged.metadata_location)
        self.table = staged
        return CommitTableResponse(metadata=staged.metadata, metadata_location=staged.metadata_location)


for method in Folder.__abstractmethods__:
    setattr(Folder, method, lambda *_: None)
Folder.__abstractmethods__ = frozenset()


@pytest.fixture
def table(root: Path) -> Table:
    arrow = ROWS.to_arrow()
    made = Folder(root / "t").create_table(("space", "t"), arrow.schema)
    made.append(arrow)
    return made


def refused(data: Any = "t", kind: type[Exception] = DataError) -> str:
    with pytest.raises(kind) as caught:
        open_source(data)
    return str(caught.value)


@pytest.mark.parametrize("data", ["t", "t/", "t/metadata/*latest"])
def test_a_table(table, data):
    latest = Path(table.metadata_location.removeprefix("file://"))
    source = open_source(latest if data.endswith("latest") else data)
    assert (source.kind, source.rows, source.schema) == ("iceberg", 3, ROWS.schema)
    assert_frame_equal(source.frame.collect(), ROWS)
    assert [file.name.split("/")[0] for file in source.files] == ["data"]


def test_an_older_snapshot_by_its_metadata_file(table):
    before = table.metadata_location
    table.append(ROWS.to_arrow())
    assert open_source("t").rows == 6
    assert open_source(before.removeprefix("file://")).rows == 3


def test_row_keys_do_not_depend_on_later_files(table):
    before = open_source("t").with_row_key().collect()
    table.append(ROWS.with_columns(y=2).to_arrow())
    after = open_source("t").with_row_key()
    assert_frame_equal(after.filter(pl.col("y") < 2).collect(), before, check_row_order=False)
    assert after.collect()[ROW_KEY].n_unique() == 6


def test_rows_that_were_deleted_are_not_there(table):
    table.delete("y = 0")
    assert open_source("t").frame.collect()["y"].to_list() == [1, 1]
    table.overwrite(ROWS.with_columns(y=7).to_arrow())
    assert open_source("t").frame.collect()["y"].to_list() == [7, 7, 7]


def test_a_column_that_came_later_is_null_before(table):
    new = ROWS.with_columns(n=5)
    with table.update_schema() as update:
        update.union_by_name(new.to_arrow().schema)
    table.append(new.to_arrow())
    assert open_source("t").frame.collect()["n"].to_list().count(None) == 3


def test_a_column_that_no_file_has_yet_is_null(table):
    with table.update_schema() as update:
        update.union_by_name(ROWS.with_columns(later=5).to_arrow().schema)
    source = open_source("t")
    assert source.schema["later"].is_integer()
    assert source.frame.collect()["later"].null_count() == source.rows


def partitioned_table(folder):
    made = Folder(folder).create_table(("space", "t"), ROWS.to_arrow().schema)
    with made.update_spec() as update:
        update.add_identity("g")
    made.append(ROWS.to_arrow())
    return made


def test_a_partitioned_table(root):
    partitioned_table(root / "t")
    source = open_source("t")
    assert len(source.files) == 3
    assert_frame_equal(source.frame.collect(), ROWS, check_row_order=False)


def test_renamed_columns(table):
    before = open_source("t").with_row_key().collect()
    with table.update_schema() as update:
        update.rename_column("s", "score")
    table.append(ROWS.rename({"s": "score"}).with_columns(y=pl.lit(2, pl.Int64)).to_arrow())
    source = open_source("t")
    assert source.schema.names() == ["y", "score", "g"]
    assert_frame_equal(
        source.frame.collect().sort("y", "score"),
        pl.concat([ROWS, ROWS.with_columns(y=2)], how="vertical_relaxed")
        .rename({"s": "score"})
        .sort("y", "score"),
    )
    keys = source.with_row_key().collect()
    assert keys[ROW_KEY].n_unique() == 6
    assert_frame_equal(keys.filter(pl.col("y") < 2), before.rename({"s": "score"}))
    result = plm.evaluate("t", label="y", models="score", where="y < 2", metrics=["roc_auc"])
    assert result.metrics["value"].to_list() == [1.0]
    assert result.record["table_version"] == table.current_snapshot().snapshot_id


def test_columns_that_change_places(table):
    """Names that are exchanged, and one that is dropped and comes back: ids alone tell the columns."""
    other = ROWS.with_columns(t=pl.col("s") + 1)
    with table.update_schema() as update:
        update.union_by_name(other.to_arrow().schema)
    table.append(other.to_arrow())
    with table.update_schema() as update:
        update.rename_column("s", "x").rename_column("t", "s")
    with table.update_schema() as update:
        update.rename_column("x", "t").delete_column("g")
    with table.update_schema() as update:
        update.add_column("g", StringType())
    table.append(pl.DataFrame({"y": [5], "t": [7.0], "s": [8.0], "g": ["new"]}).to_arrow())
    rows = open_source("t").frame.select("y", "t", "s", "g").collect().sort("y", "t", "s", nulls_last=True)
    expected = pl.DataFrame(
        {
            "y": [0, 0, 1, 1, 1, 1, 5],
            "t": [0.1, 0.1, 0.5, 0.5, 0.9, 0.9, 7.0],
            "s": [1.1, None, 1.5, None, 1.9, None, 8.0],
            "g": [None] * 6 + ["new"],
        }
    )
    assert_frame_equal(rows, expected)


def test_an_earlier_snapshot_has_the_names_of_its_time(table):
    first = table.current_snapshot().snapshot_id
    with table.update_schema() as update:
        update.rename_column("s", "score")
    table.append(ROWS.rename({"s": "score"}).to_arrow())
    source = open_source({"path": "t", "version": first})
    assert (source.version, source.schema.names()) == (first, ["y", "s", "g"])
    assert_frame_equal(source.frame.collect(), ROWS)


def test_files_without_ids(root):
    """Those of other programs, whose names the table's name mapping explains."""
    made = Folder(root / "t").create_table(("space", "t"), ROWS.to_arrow().schema)
    ROWS.write_parquet("other.parquet")
    made.add_files([str(root / "other.parquet")])
    with made.update_schema() as update:
        update.rename_column("s", "score")
    assert_frame_equal(open_source("t").frame.collect(), ROWS.rename({"s": "score"}))


def test_a_file_that_is_gone(table):
    path = Path(open_source("t").files[0].path)
    path.unlink()
    assert refused().startswith(f"{path.relative_to(Path.cwd())}: no such file, but the table names it")


def test_a_truncated_file(table):
    path = Path(open_source("t").files[0].path)
    path.write_bytes(path.read_bytes()[:100])
    assert refused().startswith(f"{path.relative_to(Path.cwd())}: truncated or not a parquet file")


def test_a_table_without_rows(root):
    Folder(root / "t").create_table(("space", "t"), ROWS.to_arrow().schema)
    assert refused() == "t: an Iceberg table without rows"


@pytest.mark.parametrize(
    "text", ["", "{}", "[1", json.dumps({"format-version": 2, "table-uuid": str(uuid.UUID(int=7))})]
)
def test_metadata_that_cannot_be_read(root, text):
    path = root / "t" / "metadata" / "v1.metadata.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert refused().startswith("t/metadata/v1.metadata.json: an Iceberg table that cannot be read: ")


def test_metadata_that_is_not_there(root):
    assert refused("t/metadata/v1.metadata.json") == "t/metadata/v1.metadata.json: no such file or folder"


def test_its_files_are_not_to_be_named_themselves(table):
    assert refused("t/data").startswith(
        "t: is an Iceberg table, whose folder may hold files that it has dropped"
    )
    assert refused("t/data/*.parquet").startswith("t: is an Iceberg table")


def test_a_table_stands_alone(table):
    assert "t is an Iceberg table, which stands alone, not in a list" in refused(["t", "t"], ConfigError)


@pytest.mark.parametrize("module", ["pyiceberg.table", "pyarrow"])
def test_without_the_extra(table, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    assert refused(kind=EnvironmentFault) == (
        "reading an Iceberg table needs the extra 'iceberg'\n    pip install 'plmetrics[iceberg]'"
    )


def test_files_that_are_not_parquet_are_refused(table):
    file = SimpleNamespace(file_format=SimpleNamespace(value="ORC"))
    with pytest.raises(DataError, match="t: some of its files are ORC, not parquet"):
        iceberg._refuse_other_formats([SimpleNamespace(data_file=file)], "t")


def test_rows_that_delete_files_name_are_not_there(table):
    before = open_source("t").with_row_key().collect()
    path = next(iter(table.scan().plan_files())).file.file_path
    commit_deletes(table, pl.DataFrame({"file_path": [path, path, "gone.parquet"], "pos": [0, 2, 1]}))
    source = open_source("t")
    assert source.rows == 1
    assert_frame_equal(source.frame.collect(), ROWS[[1]])
    assert_frame_equal(source.with_row_key().collect(), before[[1]])


def test_rows_of_equal_values_are_not_there(table):
    before = open_source("t")
    values = pl.DataFrame({"y": [1, 1, 7], "g": [None, "x", "a"]}, schema={"y": pl.Int32, "g": pl.String})
    commit_deletes(table, values, keys={"y": 1, "g": 3})
    table.append(ROWS.to_arrow())
    source = open_source("t")
    assert (source.rows, sorted(file.live_rows for file in source.files)) == (5, [2, 3])
    assert_frame_equal(source.frame.collect().sort("y", "s"), pl.concat([ROWS[[0, 2]], ROWS]).sort("y", "s"))
    with_keys = before.with_row_key().collect()
    assert set(with_keys[ROW_KEY][[0, 2]]) <= set(source.with_row_key().collect()[ROW_KEY])
    assert open_source({"path": "t", "version": before.version}).rows == 3


def test_both_kinds_of_deletes_after_a_column_was_renamed(table):
    path = next(iter(table.scan().plan_files())).file.file_path
    with table.update_schema() as update:
        update.rename_column("s", "score")
    commit_deletes(table, pl.DataFrame({"score": [0.9]}), keys={"score": 2})
    commit_deletes(table, pl.DataFrame({"file_path": [path], "pos": [1]}))
    commit_deletes(table, pl.DataFrame({"file_path": [path], "pos": [0]}))
    assert open_source("t").frame.collect().rows() == [(1, 0.5, "b")]
    result = plm.evaluate("t", label="y", models="score", metrics=["recall"])
    assert result.record["rows"]["read"] == 1


def test_deletes_of_a_partition_are_of_its_files_alone(root):
    made = partitioned_table(root / "t")
    commit_deletes(made, pl.DataFrame({"y": [1]}), keys={"y": 1}, partition=Record("b"))
    assert open_source("t").frame.collect().sort("s").rows() == [(0, 0.1, "a"), (1, 0.9, None)]


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_was_appended_and_deleted(tmp_path_factory, data):
    """Appends, equality and position deletes in any order leave what a list of rows says they do."""
    place = tmp_path_factory.mktemp("t")
    table = Folder(place).create_table(("space", "t"), pa.schema([("y", pa.int64()), ("s", pa.float64())]))
    left: list[tuple[int, float]] = []
    for step in range(data.draw(st.integers(1, 5))):
        if step == 0 or data.draw(st.booleans()):
            new = [
                (data.draw(st.integers(0, 3)), step + row / 8) for row in range(data.draw(st.integers(1, 5)))
            ]
            table.append(pl.DataFrame(new, schema=["y", "s"], orient="row").to_arrow())
            left += new
        else:
            value = data.draw(st.integers(0, 3))
            commit_deletes(table, pl.DataFrame({"y": [value]}), keys={"y": 1})
            left = [row for row in left if row[0] != value]
    frame = open_source(str(place)).frame.collect()
    assert sorted(frame.rows()) == sorted(left)


def commit_deletes(
    table: Table, rows: pl.DataFrame, keys: dict[str, int] | None = None, partition: Record | None = None
) -> None:
    """Add a delete file, which the library does not write: of values where it has keys, by column their ids."""
    metadata, io = table.metadata, table.io
    number, snapshot = metadata.last_sequence_number + 1, metadata.new_snapshot_id()
    path = f"{metadata.location}/data/delete-{snapshot}.parquet"
    arrow = rows.to_arrow()
    ids = keys or {"file_path": 2147483546, "pos": 2147483545}
    fields = [field.with_metadata({"PARQUET:field_id": str(ids[field.name])}) for field in arrow.schema]
    with io.new_output(path).create() as stream:
        pq.write_table(arrow.cast(pa.schema(fields)), stream)
    file = DataFile.from_args(
        content=DataFileContent.EQUALITY_DELETES if keys else DataFileContent.POSITION_DELETES,
        file_path=path,
        file_format=FileFormat.PARQUET,
        partition=partition or Record(),
        record_count=rows.height,
        file_size_in_bytes=1,
        equality_ids=list(keys.values()) if keys else None,
    )
    file.spec_id = table.spec().spec_id
    entry = ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, snapshot_id=snapshot, data_file=file)
    output = io.new_output(f"{metadata.location}/metadata/deletes-{snapshot}.avro")
    with DeleteManifest(table.spec(), table.schema(), output, snapshot, "null") as writer:
        writer.add_entry(entry)
    parent = table.current_snapshot()
    manifests = io.new_output(f"{metadata.location}/metadata/list-{snapshot}.avro")
    with write_manifest_list(2, manifests, snapshot, parent.snapshot_id, number, "null") as names:
        names.add_manifests([*parent.manifests(io), writer.to_manifest_file()])
    added = Snapshot(
        snapshot_id=snapshot,
        parent_snapshot_id=parent.snapshot_id,
        sequence_number=number,
        timestamp_ms=metadata.last_updated_ms + 1,
        manifest_list=manifests.location,
        summary=Summary(Operation.DELETE),
        schema_id=metadata.current_schema_id,
    )
    reference = SetSnapshotRefUpdate(ref_name="main", type="branch", snapshot_id=snapshot)
    table._do_commit((AddSnapshotUpdate(snapshot=added), reference), ())


class DeleteManifest(ManifestWriterV2):
    """A manifest of delete files."""

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


def test_a_partition_column_that_stands_in_the_metadata_only(table, monkeypatch):
    """As in tables that were made over files of another tool: it would be null otherwise."""
    monkeypatch.setattr(iceberg, "_metadata_columns", lambda _: frozenset({"y", "day"}))
    monkeypatch.setattr(
        iceberg,
        "Listing",
        lambda *given, **more: Listing(
            *given[:2], pl.Schema({**given[2], "day": pl.Date()}), *given[3:], **more
        ),
    )
    assert refused().endswith(": column 'day' stands in the table's metadata only")
