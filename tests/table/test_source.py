import gzip
import re
from hashlib import blake2b
from pathlib import Path

import polars as pl
import polars.selectors as cs
import pytest
from polars.testing import assert_frame_equal

from plmetrics.core.errors import AbsentDataError, ConfigError, DataError
from plmetrics.core.hashing import mix_int
from plmetrics.core.rowsql import compile_row
from plmetrics.table.opening import open_source
from plmetrics.table.source import ROW_KEY, Source, SourceFile

IN_MEMORY = 'fillcolor="0.0 0.3 1.0"'
KINDS = {"arrow": "ipc", "csv.gz": "csv"}
ROWS = pl.DataFrame({"y": [0, 1, 1, 0, 1], "s": [0.1, 0.9, 0.8, 0.3, 0.5], "id": [10, 11, 12, 13, 14]})


def write(path: Path, frame: pl.DataFrame) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    writers = {".csv": frame.write_csv, ".arrow": frame.write_ipc, ".ndjson": frame.write_ndjson}
    if path.suffix in writers:
        writers[path.suffix](path)
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(frame.write_csv().encode()))
    else:
        frame.write_parquet(path, row_group_size=2)


def write_three(root: Path, ending: str, folders: tuple[str, ...] = ("", "", "")) -> None:
    """15 rows in three files, `id` from 10 to 314."""
    for number, folder in enumerate(folders, start=1):
        frame = ROWS.with_columns(pl.col("id") + 100 * (number - 1))
        write(root / "scores" / folder / f"{number}.{ending}", frame)


def expected_keys(name: str, rows: int) -> list[int]:
    start = int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big")
    return [mix_int(start + row) for row in range(rows)]


def keys(source: Source, *filters: pl.Expr) -> dict[int, int]:
    frame = source.with_row_key().filter(*filters).select("id", ROW_KEY).collect()
    return dict(frame.iter_rows())


def test_a_parquet_file(root):
    write(root / "scores" / "a.parquet", ROWS)
    source = open_source("scores/a.parquet")
    size = (root / "scores" / "a.parquet").stat().st_size
    assert source.files == (SourceFile(str(root / "scores" / "a.parquet"), "a.parquet", size, rows=5),)
    assert (source.kind, source.rows) == ("parquet", 5)
    assert source.schema == ROWS.schema
    assert_frame_equal(source.frame.collect(), ROWS)


def test_a_csv_file(root):
    write(root / "a.csv", ROWS)
    source = open_source(root / "a.csv")
    assert (source.kind, source.rows, source.files[0].rows) == ("csv", None, None)
    assert source.schema == ROWS.schema
    assert_frame_equal(source.frame.collect(), ROWS)


@pytest.mark.parametrize("ending", ["parquet", "pq", "csv", "csv.gz", "arrow", "ndjson"])
@pytest.mark.parametrize("data", ["scores", "scores/*", ["scores/3.{}", "scores/1.{}", "scores/2.{}"]])
def test_several_files_are_one_table_in_order_of_their_names(root, ending, data):
    write_three(root, ending)
    paths = data if isinstance(data, str) else [path.format(ending) for path in data]
    source = open_source(paths)
    assert [file.name for file in source.files] == [f"{number}.{ending}" for number in (1, 2, 3)]
    assert source.rows == (None if ending in {"csv", "csv.gz", "ndjson"} else 15)
    assert source.frame.collect()["id"].to_list() == [10, 11, 12, 13, 14, *range(110, 115), *range(210, 215)]


def test_paths_may_be_mixed_and_start_at_the_base(root):
    write_three(root, "parquet")
    source = open_source(("1.parquet", Path("3.parquet")), base=root / "scores")
    assert source.frame.collect()["id"].to_list() == [*range(10, 15), *range(210, 215)]


@pytest.mark.parametrize("lazy", [False, True])
def test_a_polars_frame(lazy):
    source = open_source(ROWS.lazy() if lazy else ROWS)
    assert (source.kind, source.files) == ("frame", ())
    assert source.rows == (None if lazy else 5)
    assert source.schema == ROWS.schema
    assert_frame_equal(source.frame.collect(), ROWS)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, "dict is not a prediction table"),
        (2.5, "float is not a prediction table"),
        (None, "NoneType is not a prediction table"),
        ([], "the list of paths is empty"),
        ([ROWS, "a.csv", 1], "a list must hold paths only, but this one holds int, polars.dataframe"),
    ],
)
def test_anything_else_is_refused_with_what_is_accepted(data, words):
    with pytest.raises(ConfigError, match=re.escape(words)) as caught:
        open_source(data)
    assert "accepted: a Polars DataFrame or LazyFrame; a path, address, glob or folder" in str(caught.value)


@pytest.mark.parametrize("scan", [pl.scan_parquet, pl.scan_csv])
def test_a_lazy_frame_over_an_absent_file(scan):
    with pytest.raises(DataError, match=r"^the table cannot be read: .*gone\.parquet") as caught:
        open_source(scan("gone.parquet", **({"schema": None} if scan is pl.scan_csv else {})))
    assert isinstance(caught.value.__cause__, FileNotFoundError)


def test_a_lazy_frame_whose_plan_is_wrong():
    with pytest.raises(DataError, match=r"^the table cannot be read: .*nope") as caught:
        open_source(ROWS.lazy().select("nope"))
    assert isinstance(caught.value.__cause__, pl.exceptions.ColumnNotFoundError)


@pytest.mark.parametrize("name", ["@@row", "@@path", "@@shift", "@@hash", "@@mine"])
def test_reserved_column_names(name):
    with pytest.raises(DataError, match=f"column '{name}': the name is reserved"):
        open_source(ROWS.rename({"id": name}))


def test_row_keys_of_files_are_a_hash_of_name_and_row_number(root):
    write_three(root, "parquet")
    found = keys(open_source("scores"))
    expected = [key for number in (1, 2, 3) for key in expected_keys(f"{number}.parquet", 5)]
    assert found == dict(zip([*range(10, 15), *range(110, 115), *range(210, 215)], expected, strict=True))


def test_row_keys_of_a_frame_are_a_hash_of_the_row_number():
    expected = dict(zip(range(10, 15), [mix_int(row) for row in range(5)], strict=True))
    assert keys(open_source(ROWS)) == keys(open_source(ROWS.lazy())) == expected


@pytest.mark.parametrize("data", [ROWS, "scores", "scores/1.csv"])
def test_the_row_key_is_the_last_column(root, data):
    write_three(root, "csv")
    frame = open_source(data).with_row_key()
    assert frame.collect_schema() == pl.Schema({**ROWS.schema, ROW_KEY: pl.UInt64})


def test_columns_whose_names_are_patterns_of_names(root):
    """They stand in the table as others do, and are not taken for all of its columns."""
    frame = pl.DataFrame({"y": [0, 1], "^.*$": [2, 3], "*": [4, 5]})
    frame.write_parquet(root / "odd.parquet")
    for data in (frame, "odd.parquet"):
        found = open_source(data).with_row_key().collect()
        assert found.drop(cs.by_name(ROW_KEY)).equals(frame)


@pytest.mark.exhaustive
@pytest.mark.parametrize("ending", ["parquet", "csv", "csv.gz", "arrow", "ndjson"])
def test_row_keys_do_not_depend_on_other_files_or_the_order_of_paths(root, ending):
    write_three(root, ending)
    together = keys(open_source("scores"))
    assert len(set(together.values())) == 15
    paths = [f"scores/{number}.{ending}" for number in (3, 1, 2)]
    assert keys(open_source(paths)) == together
    assert keys(open_source(paths[:2])).items() <= together.items()
    alone = [keys(open_source(path)) for path in paths]
    assert alone[0] | alone[1] | alone[2] == together


@pytest.mark.exhaustive
@pytest.mark.parametrize("ending", ["parquet", "csv", "csv.gz", "arrow", "ndjson"])
@pytest.mark.parametrize("folders", [("", "", ""), ("g=a", "g=b", "g=b"), ("x=1/g=a", "x=2/g=a", "x=2/g=b")])
@pytest.mark.parametrize("root_name", ["plain", "run=7/data"])
def test_row_keys_do_not_depend_on_filters(root, ending, folders, root_name):
    write_three(root / root_name, ending, folders)
    source = open_source(f"{root_name}/scores")
    everything = keys(source)
    filters = [pl.col("y") == 1, pl.col("id") > 111, pl.col("id") == 213, pl.col("s") < 0.4]
    if "g" in source.schema:
        filters += [pl.col("g") == "b", (pl.col("g") == "a") & (pl.col("y") == 0)]
    for condition in filters:
        kept = set(source.frame.filter(condition).collect()["id"])
        assert 0 < len(kept) < 15
        assert keys(source, condition) == {row: everything[row] for row in kept}


def test_row_keys_with_an_empty_file_in_between(root):
    write(root / "scores" / "1.csv", ROWS)
    write(root / "scores" / "2.csv", ROWS.clear())
    write(root / "scores" / "3.csv", ROWS.with_columns(pl.col("id") + 100))
    expected = expected_keys("1.csv", 5) + expected_keys("3.csv", 5)
    assert keys(open_source("scores")) == dict(zip([*range(10, 15), *range(110, 115)], expected, strict=True))


def test_row_keys_do_not_depend_on_where_the_data_are(root):
    write_three(root / "here", "parquet")
    write_three(root / "there" / "deep", "parquet")
    assert keys(open_source("here/scores")) == keys(open_source("there/deep/scores"))


@pytest.mark.slow
def test_row_keys_with_many_batches(root):
    """More rows than a reader hands over at once, in files of different length."""
    for number, rows in enumerate((70_000, 1, 150_000), start=1):
        ids = pl.int_range(rows, eager=True).alias("id") + 1_000_000 * number
        write(root / "csv" / f"{number}.csv", ids.to_frame())
        ids.to_frame().write_parquet(root / f"{number}.parquet", row_group_size=30_000)
        ids.to_frame().write_ipc(root / f"{number}.arrow", record_batch_size=30_000)
        ids.to_frame().write_ndjson(root / f"{number}.ndjson")
    for data, ending in (
        ("csv", "csv"),
        ("*.parquet", "parquet"),
        ("*.arrow", "arrow"),
        ("*.ndjson", "ndjson"),
    ):
        found = keys(open_source(data))
        assert len(set(found.values())) == len(found) == 220_001
        assert [found[1_000_000 + row] for row in range(70_000)] == expected_keys(f"1.{ending}", 70_000)
        assert found[2_000_000] == expected_keys(f"2.{ending}", 1)[0]
        assert [found[3_000_000 + row] for row in range(150_000)] == expected_keys(f"3.{ending}", 150_000)


@pytest.mark.exhaustive
@pytest.mark.parametrize("ending", ["parquet", "csv", "csv.gz", "arrow", "ndjson"])
@pytest.mark.parametrize("folders", [("", "", ""), ("g=a", "g=b", "g=b")])
def test_tables_of_files_stream(root, ending, folders):
    write_three(root, ending, folders)
    source = open_source("scores")
    for frame in (source.frame, source.with_row_key()):
        plan = frame.filter(pl.col("y") == 1).group_by("y").agg(pl.all().max())
        graph = plan.show_graph(engine="streaming", plan_stage="physical", raw_output=True)
        assert f"multi-scan[{KINDS.get(ending, ending)}]" in graph
        assert graph.count("multi-scan") == 1
        assert IN_MEMORY not in graph


def test_nothing_is_read_before_it_is_collected(root):
    """Footers tell everything: the rows may be garbage."""
    path = root / "a.parquet"
    write(path, ROWS)
    data = path.read_bytes()
    footer = int.from_bytes(data[-8:-4], "little") + 8
    path.write_bytes(data[:4] + bytes(len(data) - footer - 4) + data[-footer:])
    source = open_source("a.parquet")
    source.with_row_key()
    assert (source.rows, source.schema) == (5, ROWS.schema)
    with pytest.raises(pl.exceptions.ComputeError):
        source.frame.collect()


def test_a_condition_on_folders_leaves_out_their_files(tmp_path):
    """For formats whose scan does not; row keys and rows stay those of the filtered whole."""
    for region, rows in (("north", 3), ("south", 4), ("west", 5)):
        folder = tmp_path / f"region={region}"
        folder.mkdir()
        pl.DataFrame({"y": range(rows)}).write_csv(folder / "part.csv")
    source = open_source(tmp_path)
    condition = pl.col("region").is_in(["north", "west"])
    fewer = source.in_folders(condition, ["region"])
    assert [file.name for file in fewer.files] == ["region=north/part.csv", "region=west/part.csv"]
    assert_frame_equal(
        fewer.with_row_key().collect(),
        source.with_row_key().filter(condition).collect(),
        check_row_order=False,
    )
    assert "region=south" not in fewer.frame.explain()
    assert source.in_folders(pl.col("region") == "east", ["region"]) is source
    assert source.in_folders(pl.col("y") > 1, ["y"]) is source
    assert source.in_folders(pl.col("region").cast(pl.Int64) > 1, ["region"]) is source


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "ndjson"])
def test_files_in_folders_that_a_condition_rules_out_are_not_looked_at(tmp_path, ending):
    """Rows, row keys and types are those of the whole table, whatever lies in the other folders."""
    for day, rows in (("1", 3), ("2", 4), ("unknown", 5), ("4", 6)):
        folder = tmp_path / f"day={day}"
        folder.mkdir()
        frame = pl.DataFrame({"y": range(rows)})
        write = {"parquet": frame.write_parquet, "arrow": frame.write_ipc, "ndjson": frame.write_ndjson}
        write.get(ending, frame.write_csv)(folder / f"part.{ending}")
    whole = open_source(tmp_path).with_row_key().filter(pl.col("day") == "2", pl.col("y") > 1).collect()
    (tmp_path / "day=1" / f"part.{ending}").write_bytes(b"")
    (tmp_path / "day=4" / f"part.{ending}").write_bytes(b"\xff\x00 damaged")
    (tmp_path / "day=1" / "part.tmp").write_bytes(b"x")
    where = "y > 1 AND day = '2'"
    source = open_source(tmp_path, where=where)
    assert [file.name for file in source.files] == [f"day=2/part.{ending}"]
    assert_frame_equal(source.with_row_key().filter(compile_row(where).expr).collect(), whole)
    for other in (None, "y > 1", "day = '2' OR y > 1"):
        with pytest.raises(DataError, match="is empty"):
            open_source(tmp_path, where=other)


def test_a_condition_that_no_partition_satisfies_reads_nothing(tmp_path):
    for day in ("2026-03-01", "2026-03-30"):
        (tmp_path / f"day={day}").mkdir()
        (tmp_path / f"day={day}" / "part.parquet").write_bytes(b"damaged")
    where = "day = DATE '2026-03-10'"
    with pytest.raises(AbsentDataError, match=f"no partition satisfies where: {where}") as caught:
        open_source(tmp_path, where=where)
    assert caught.value.problems[0].hint == "the files hold day from 2026-03-01 to 2026-03-30"


def test_computed_columns_are_steps_of_those_that_read_no_other_of_their_step():
    """Of 2,000 columns a step each took 360 MB, in place of 150."""
    values = {
        "a": pl.col("x") + 1,
        "b": pl.col("x") * 3,
        "c": pl.col("a") * pl.col("b"),
        "self": pl.col("c") - 1,
    }
    source = open_source(pl.DataFrame({"x": [1, 2]})).with_columns(values, dict.fromkeys(values, pl.Int64()))
    assert source.frame.explain(optimized=False).count("WITH_COLUMNS") == 3
    assert source.frame.collect().rows() == [(1, 2, 3, 6, 5), (2, 3, 6, 18, 17)]
    assert source.frame.collect_schema() == source.schema
