from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from plmetrics.core.errors import ConfigError, DataError, EnvironmentFault
from plmetrics.table.formats import iceberg
from plmetrics.table.formats.lakehouse import Listing
from plmetrics.table.opening import open_source
from plmetrics.table.source import ROW_KEY

pytest.importorskip("pyiceberg")

from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.table import CommitTableResponse, Table

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
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    monkeypatch.chdir(tmp_path)
    arrow = ROWS.to_arrow()
    made = Folder(tmp_path / "t").create_table(("space", "t"), arrow.schema)
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


def test_a_partitioned_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = Folder(tmp_path / "t").create_table(("space", "t"), ROWS.to_arrow().schema)
    with made.update_spec() as update:
        update.add_identity("g")
    made.append(ROWS.to_arrow())
    source = open_source("t")
    assert len(source.files) == 3
    assert_frame_equal(source.frame.collect(), ROWS, check_row_order=False)


def test_renamed_columns_are_refused(table):
    with table.update_schema() as update:
        update.rename_column("s", "score")
    assert refused() == (
        "t: columns were renamed or replaced, so that older files name them otherwise: s = score\n"
        "    rewrite the table's data files, for example with rewrite_data_files"
    )


def test_a_file_that_is_gone(table):
    path = Path(open_source("t").files[0].path)
    path.unlink()
    assert refused().startswith(f"{path.relative_to(Path.cwd())}: no such file, but the table names it")


def test_a_truncated_file(table):
    path = Path(open_source("t").files[0].path)
    path.write_bytes(path.read_bytes()[:100])
    assert refused().startswith(f"{path.relative_to(Path.cwd())}: truncated or not a parquet file")


def test_a_table_without_rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Folder(tmp_path / "t").create_table(("space", "t"), ROWS.to_arrow().schema)
    assert refused() == "t: an Iceberg table without rows"


@pytest.mark.parametrize(
    "text", ["", "{}", "[1", json.dumps({"format-version": 2, "table-uuid": str(uuid.UUID(int=7))})]
)
def test_metadata_that_cannot_be_read(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "t" / "metadata" / "v1.metadata.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert refused().startswith("t/metadata/v1.metadata.json: an Iceberg table that cannot be read: ")


def test_metadata_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
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


@pytest.mark.parametrize(("form", "words"), [("ORC", "its data files are ORC, not parquet")])
def test_what_plain_parquet_files_do_not_show_is_refused(table, form, words):
    file = SimpleNamespace(file_format=SimpleNamespace(value=form))
    with pytest.raises(DataError, match=words):
        iceberg._refuse_hidden_changes(table, [SimpleNamespace(file=file)], "t")


def test_rows_that_delete_files_name_are_not_there(table, monkeypatch):
    """The library writes no delete files, so that only its plan is changed here."""
    before = open_source("t").with_row_key().collect()
    opened = iceberg._open

    def with_deletes(metadata: str, _: Any) -> Any:
        static, (task,) = opened(metadata)
        path = task.file.file_path
        pl.DataFrame({"file_path": [path, path, "gone.parquet"], "pos": [0, 2, 1]}).write_parquet("d.parquet")
        delete = pyiceberg_file("d.parquet")
        return static, [SimpleNamespace(file=task.file, delete_files={delete})]

    monkeypatch.setattr(iceberg, "_open", with_deletes)
    source = open_source("t")
    assert source.rows == 1
    assert_frame_equal(source.frame.collect(), ROWS[[1]])
    assert_frame_equal(source.with_row_key().collect(), before[[1]])


def pyiceberg_file(path: str) -> Any:
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat

    return DataFile.from_args(
        content=DataFileContent.POSITION_DELETES, file_path=path, file_format=FileFormat.PARQUET
    )


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
