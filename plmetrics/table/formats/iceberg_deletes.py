"""Deleted rows of an Iceberg table, by position or by equality of some columns.

Fields have ids, which give the names of columns in files of other schemas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import polars as pl

from plmetrics.table.formats.parquet import common_type
from plmetrics.table.storage.objects import at_once, open_binary

if TYPE_CHECKING:
    import pyarrow as pa

_FIELD_ID = b"PARQUET:field_id"

_DATA, _POSITIONS, _EQUALITY = range(3)
_POSITION = {"file_path": pl.String(), "pos": pl.Int64()}
_NUMBER = "@@number"


@dataclass(frozen=True, slots=True)
class FieldNames:
    """Names of a table's fields at a snapshot by their ids, and the ids by name in files without them."""

    names: Mapping[int, str]
    mapping: Mapping[str, int]

    @classmethod
    def of(cls, table: Any, snapshot: int | None) -> FieldNames:
        """The deletes of a table at a snapshot, the present one if none is named.

        Files without ids are those of other programs; the table's name mapping says what they name, and its schemas
        do where it has none: the youngest that has a name.
        """
        fields = table.scan(snapshot_id=snapshot).projection().fields
        mapping = table.metadata.name_mapping()
        if mapping is not None:
            ids = {name: field.field_id for field in mapping for name in field.names}
        else:
            schemas = sorted(table.metadata.schemas, key=lambda schema: schema.schema_id)
            ids = {field.name: field.field_id for schema in schemas for field in schema.fields}
        return cls({field.field_id: field.name for field in fields}, ids)

    def stored_names(self, schema: pa.Schema) -> dict[str, str | None]:
        """Differing names of the table's columns in a file, None for absent ones."""
        in_file = self.columns_by_id(schema)
        return {
            name: in_file.get(field_id)
            for field_id, name in self.names.items()
            if in_file.get(field_id) != name
        }

    def columns_by_id(self, schema: pa.Schema) -> dict[int, str]:
        """The columns of a file by the ids of their fields."""
        ids = [(field.metadata or {}).get(_FIELD_ID) for field in schema]
        if any(text is not None for text in ids):
            return {int(text): name for text, name in zip(ids, schema.names, strict=True) if text is not None}
        return {self.mapping[name]: name for name in schema.names if name in self.mapping}


def is_data(entry: Any) -> bool:
    """Whether an entry of a manifest is a data file, and not one of deletes."""
    return int(entry.data_file.content) == _DATA


def file_place(file: Any) -> str:
    """The path or address of a file."""
    return _place(file.file_path)


def deleted_rows(
    table: Any, entries: Sequence[Any], data: Mapping[str, Any], fields: FieldNames
) -> dict[str, pl.Series]:
    """Numbers of the deleted rows by the path of their data file.

    A delete file is about data files that are not younger than it; one of values is about those that are older, and of
    its partition, if it has one. `entries` are those of the manifests of a snapshot, `data` of these the data files, by
    path.
    """
    kinds = {kind: [entry for entry in entries if int(entry.data_file.content) == kind] for kind in range(3)}
    by_number = _positions(table, kinds[_POSITIONS], data)
    by_value = _equal_rows(kinds[_EQUALITY], data, fields)
    rows = {path: [part[path] for part in (by_number, by_value) if path in part] for path in data}
    return {path: pl.concat(parts).unique().sort() for path, parts in rows.items() if parts}


def _positions(table: Any, deletes: Sequence[Any], data: Mapping[str, Any]) -> dict[str, pl.Series]:
    if not deletes:
        return {}
    parts = at_once(lambda entry: _named_rows(table, entry.data_file), deletes)
    ages = [entry.sequence_number or 0 for entry in deletes]
    deleted = pl.concat(part.with_columns(age=pl.lit(age)) for part, age in zip(parts, ages, strict=True))
    by_path = deleted.partition_by("file_path", as_dict=True)
    by_place = {_place(str(path)): rows for (path,), rows in by_path.items()}
    return {
        place: rows.filter(pl.col("age") >= (data[place].sequence_number or 0))["pos"]
        for place, rows in by_place.items()
        if place in data
    }


def _named_rows(table: Any, file: Any) -> pl.DataFrame:
    """Paths and row numbers in one delete file."""
    if str(file.file_format.value) == "PARQUET":
        with open_binary(file_place(file)) as stream:
            return pl.read_parquet(stream, columns=list(_POSITION)).cast(pl.Schema(_POSITION))
    from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
    from pyiceberg.table.puffin import PuffinFile

    with table.io.new_input(file.file_path).open() as opened:
        vectors = deletion_vectors_from_puffin_file(PuffinFile(opened.read()))
    frames = (
        pl.DataFrame({"pos": pl.Series(vector.to_vector().to_pylist(), dtype=pl.Int64)}).select(
            file_path=pl.lit(vector.referenced_data_file), pos="pos"
        )
        for vector in vectors
    )
    return pl.concat([pl.DataFrame(schema=_POSITION), *frames])


def _equal_rows(deletes: Sequence[Any], data: Mapping[str, Any], fields: FieldNames) -> dict[str, pl.Series]:
    deletes = sorted(deletes, key=_keys)
    values = at_once(lambda entry: _values(file_place(entry.data_file), _keys(entry), fields), deletes)
    pairs = list(zip(deletes, values, strict=True))

    def rows_of(path: str) -> pl.Series | None:
        about = [pair for pair in pairs if _is_about(pair[0], data[path])]
        parts = [
            _matching_rows(
                _values(path, keys, fields), pl.concat([frame for _, frame in group], how="vertical_relaxed")
            )
            for keys, group in groupby(about, lambda pair: _keys(pair[0]))
        ]
        return pl.concat(parts) if parts else None

    answers = zip(data, at_once(rows_of, data) if pairs else [], strict=False)
    return {path: rows for path, rows in answers if rows is not None}


def _keys(entry: Any) -> tuple[int, ...]:
    """Ids of the key columns of a delete file."""
    return tuple(sorted(entry.data_file.equality_ids or ()))


def _is_about(delete: Any, entry: Any) -> bool:
    if (entry.sequence_number or 0) >= (delete.sequence_number or 0):
        return False
    partition = delete.data_file.partition
    if partition is None or not len(partition):
        return True
    pair = (delete.data_file, entry.data_file)
    return len({file.spec_id for file in pair}) == 1 and bool(pair[0].partition == pair[1].partition)


def _matching_rows(rows: pl.DataFrame, values: pl.DataFrame) -> pl.Series:
    """Numbers of the rows with keys in delete files; null is equal to null."""
    types = {name: common_type(rows.schema[name], dtype) or dtype for name, dtype in values.schema.items()}
    numbered = rows.cast(pl.Schema(types)).with_row_index(_NUMBER)
    matching = numbered.join(values.cast(pl.Schema(types)), on=list(types), how="semi", nulls_equal=True)
    return matching[_NUMBER].cast(pl.Int64)


def _values(path: str, keys: tuple[int, ...], fields: FieldNames) -> pl.DataFrame:
    """Columns of a file by the ids of their fields; absent ones are null."""
    import pyarrow.parquet as pq

    with open_binary(path) as stream:
        file = pq.ParquetFile(stream)
        names = fields.columns_by_id(file.schema_arrow)
        table = file.read([names[key] for key in keys if key in names])
    nothing = pl.repeat(None, len(table), dtype=pl.Null)
    columns = [table[names[key]] if key in names else nothing for key in keys]
    return pl.DataFrame({str(key): column for key, column in zip(keys, columns, strict=True)})


def _place(path: str) -> str:
    return urlsplit(path).path if path.startswith("file:") else path
