import json
import shutil
import string
import struct
import sys
from datetime import date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from plmetrics.core.errors import ConfigError, DataError, EnvironmentFault
from plmetrics.table.formats import delta
from plmetrics.table.opening import open_source
from plmetrics.table.source import ROW_KEY

pytest.importorskip("deltalake")

from deltalake import DeltaTable, Field, write_deltalake
from deltalake.schema import PrimitiveType

ROWS = pl.DataFrame({"y": [0, 1, 1], "s": [0.1, 0.9, 0.5], "g": ["a", None, "b/ =%ü"], "k": [1, 2, 2]})
DAYS = ROWS.with_columns(d=pl.Series([date(2026, 1, 1), date(2026, 1, 2), None]))


pytestmark = pytest.mark.usefixtures("root")


def write(frame: pl.DataFrame, **keywords: Any) -> DeltaTable:
    write_deltalake("t", frame, **keywords)
    return DeltaTable("t")


def refused(data: Any = "t", kind: type[Exception] = DataError) -> str:
    with pytest.raises(kind) as caught:
        open_source(data)
    return str(caught.value)


def spoil_rows(path: Path) -> None:
    """Overwrite all of a parquet file but its footer."""
    data = path.read_bytes()
    footer = int.from_bytes(data[-8:-4], "little") + 8
    path.write_bytes(data[:4] + bytes(len(data) - footer - 4) + data[-footer:])


def edit_log(version: int, **changes: Any) -> None:
    """Change the actions of one version."""
    path = Path(f"t/_delta_log/{version:020}.json")
    actions = [json.loads(line) for line in path.read_text().splitlines()]
    for action in actions:
        for name, change in changes.items():
            if name in action:
                action[name] |= change
    path.write_text("\n".join(json.dumps(action) for action in actions))


@pytest.mark.parametrize("data", ["t", "t/", Path("t")])
def test_a_table(data):
    write(ROWS)
    source = open_source(data)
    assert (source.kind, source.rows, source.schema) == ("delta", 3, ROWS.schema)
    assert_frame_equal(source.frame.collect(), ROWS)


@pytest.mark.exhaustive
@pytest.mark.parametrize("keys", [["g"], ["k"], ["d"], ["d", "g"], ["y", "k", "g"]])
@pytest.mark.parametrize("above", ["", "run=7"])
def test_a_partitioned_table(root, keys, above):
    write(DAYS, partition_by=keys)
    if above:
        shutil.move("t", root / above / "t")
    source = open_source(Path(above) / "t")
    for frame in (source.frame, source.with_row_key().drop(ROW_KEY)):
        assert_frame_equal(frame.select(DAYS.columns).collect(), DAYS, check_row_order=False)


def test_a_partition_whose_folder_says_something_else_has_the_value_of_the_log():
    times = ROWS.with_columns(t=pl.lit(datetime(2026, 1, 1, 12, 30)))
    write(times, partition_by=["t"])
    source = open_source("t")
    assert_frame_equal(source.frame.select(times.columns).collect(), times)
    assert source.with_row_key().collect()["t"].to_list() == times["t"].to_list()


def test_only_the_partitions_that_a_filter_asks_for_are_read():
    write(DAYS, partition_by=["d"])
    source = open_source("t")
    for file in source.files:
        if "d=2026-01-02" not in file.path:
            spoil_rows(Path(file.path))
    for frame in (source.frame, source.with_row_key()):
        assert frame.filter(pl.col("d") == date(2026, 1, 2)).collect()["s"].to_list() == [0.9]
    with pytest.raises(pl.exceptions.ComputeError):
        source.frame.collect()


def test_row_keys_do_not_depend_on_later_files():
    write(ROWS, partition_by=["k"])
    before = open_source("t").with_row_key().collect()
    write(ROWS.with_columns(y=2), mode="append")
    after = open_source("t").with_row_key()
    assert_frame_equal(after.filter(pl.col("y") < 2).collect(), before, check_row_order=False)
    assert after.collect()[ROW_KEY].n_unique() == 6


def test_files_that_are_no_longer_part_of_the_table_are_not_read():
    table = write(ROWS)
    table.delete("y = 0")
    assert open_source("t").frame.collect()["y"].to_list() == [1, 1]
    write(ROWS.with_columns(y=7), mode="overwrite")
    assert open_source("t").frame.collect()["y"].to_list() == [7, 7, 7]


def test_a_column_that_came_later_is_null_before():
    write(ROWS)
    write(ROWS.with_columns(n=pl.lit(5, pl.Int64)), mode="append", schema_mode="merge")
    rows = open_source("t").frame.collect()
    assert rows["n"].to_list().count(None) == 3
    assert rows.schema == {**ROWS.schema, "n": pl.Int64}


def test_a_column_that_no_file_has_yet_is_null():
    fields = [Field("later", PrimitiveType("double"), nullable=True)]
    write(ROWS).alter.add_columns(fields)
    source = open_source("t")
    assert source.schema == {**ROWS.schema, "later": pl.Float64}
    assert source.frame.collect()["later"].null_count() == source.rows


def test_a_file_that_is_gone():
    (name,) = (Path(uri).name for uri in write(ROWS).file_uris())
    (Path("t") / name).unlink()
    assert refused() == (
        f"t/{name}: no such file, but the table names it\n"
        "    restore the file, or repair the table: DeltaTable.repair() takes lost files out of the log"
    )


def test_a_truncated_file():
    (uri,) = write(ROWS).file_uris()
    Path(uri).write_bytes(Path(uri).read_bytes()[:100])
    assert refused().startswith(f"t/{Path(uri).name}: truncated or not a parquet file")


def test_a_table_without_rows():
    write(ROWS)
    DeltaTable("t").delete()
    assert refused() == "t: a Delta table without rows"


@pytest.mark.parametrize("text", [None, "", "{"])
def test_a_log_that_cannot_be_read(root, text):
    (root / "t" / "_delta_log").mkdir(parents=True)
    if text is not None:
        (root / "t" / "_delta_log" / f"{0:020}.json").write_text(text)
    assert refused().startswith("t: a Delta table that cannot be read: ")


@pytest.mark.parametrize("keys", [[], ["k"]])
def test_columns_that_have_other_names_in_the_files(keys):
    names = {name: f"col-{place}" for place, name in enumerate(ROWS.columns)}
    write(ROWS.rename(names), partition_by=[names[key] for key in keys] or None)
    schema = json.loads(DeltaTable("t").schema().to_json())
    for field in schema["fields"]:
        logical = next(name for name, stored in names.items() if stored == field["name"])
        number = int(field["name"][-1]) + 1
        mapping = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": field["name"]}
        field |= {"name": logical, "metadata": mapping}
    edit_log(
        0,
        protocol={"minReaderVersion": 2, "minWriterVersion": 5},
        metaData={
            "configuration": {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "4"},
            "schemaString": json.dumps(schema),
            "partitionColumns": keys,
        },
    )
    source = open_source("t")
    assert dict(source.schema) == dict(ROWS.schema)
    assert_frame_equal(source.frame.collect().sort("s"), ROWS.sort("s"), check_column_order=False)
    assert source.with_row_key().collect()[ROW_KEY].n_unique() == 3


def deletion_vector(rows: list[int]) -> dict[str, Any]:
    """A vector that stands in the log, by the protocol: a magic number and 64-bit roaring bitmaps, in Z85."""
    roaring = pytest.importorskip("pyroaring")
    body = struct.pack("<iqi", 1681511377, 1, 0) + roaring.BitMap(rows).serialize()
    size = len(body)
    body += bytes(-size % 4)
    marks = string.digits + string.ascii_lowercase + string.ascii_uppercase + ".-:+=^!/*?&<>()[]{}@%$#"
    words = struct.unpack(f">{len(body) // 4}I", body)
    text = "".join(marks[word // 85**power % 85] for word in words for power in (4, 3, 2, 1, 0))
    return {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": size, "cardinality": len(rows)}


@pytest.mark.parametrize("keys", [[], ["k"]])
def test_rows_that_are_marked_as_deleted_are_not_there(keys):
    write(ROWS, partition_by=keys or None, configuration={"delta.enableDeletionVectors": "true"})
    before = open_source("t").with_row_key().collect()
    rows = [0, 2] if not keys else [1]
    path = Path("t/_delta_log/00000000000000000000.json")
    actions = [json.loads(line) for line in path.read_text().splitlines()]
    next(
        action["add"]
        for action in actions[::-1]
        if "add" in action and '"numRecords":1,' not in action["add"]["stats"]
    )["deletionVector"] = deletion_vector(rows)
    path.write_text("\n".join(map(json.dumps, actions)))
    source = open_source("t")
    retained = ROWS[[1]] if not keys else ROWS[[0, 1]]
    assert source.rows == retained.height
    assert_frame_equal(source.frame.collect().sort("s"), retained.sort("s"), check_column_order=False)
    after = source.with_row_key().collect()
    assert_frame_equal(after.sort("s"), before.join(retained, on="s", how="semi").sort("s"))
    assert sum(file.live_rows for file in source.files) == retained.height
    for part in source.of_each_file():
        assert part.rows == part.frame.collect().height
        row = source.frame.collect()["s"].to_list().index(part.frame.collect()["s"][-1])
        assert source.place(row).startswith(f"row {part.rows - 1} of t/" if keys else f"row {row}")


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("a%20b/x=1%252F/p.parquet", "/t/a b/x=1%2F/p.parquet"),
        ("/other/p.parquet", "/other/p.parquet"),
        ("file:///other/p%20q.parquet", "/other/p q.parquet"),
    ],
)
def test_where_the_files_of_the_log_are(path, place):
    assert delta._place(path, "/t") == place


def test_its_files_are_not_to_be_named_themselves(root):
    write(ROWS, partition_by=["k"])
    words = "is a Delta table, whose folder may hold files that it has dropped"
    for data in ("t/*/*.parquet", "t/k=1", str(root)):
        assert refused(data) == f"t: {words}\n    name the table's folder itself, and nothing else"


def test_a_table_stands_alone():
    write(ROWS)
    ROWS.write_parquet("a.parquet")
    message = refused(["a.parquet", "t"], ConfigError)
    assert "t is a Delta table, which stands alone, not in a list" in message


def test_without_the_extra(monkeypatch):
    write(ROWS)
    monkeypatch.setitem(sys.modules, "deltalake", None)
    assert refused(kind=EnvironmentFault) == (
        "reading a Delta table needs the extra 'delta'\n    pip install 'plmetrics[delta]'"
    )
