"""Fields of an Iceberg table, which have ids: the names of its columns in files of other schemas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

_FIELD_ID = b"PARQUET:field_id"


@dataclass(frozen=True, slots=True)
class FieldNames:
    """The names of a table's fields at a snapshot by their ids, and the ids by name in files that state none."""

    names: Mapping[int, str]
    mapping: Mapping[str, int]

    @classmethod
    def of(cls, table: Any, snapshot: int | None) -> FieldNames:
        """Those of a table at a snapshot, the present one if none is named.

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
        """The names that columns of the table have in a file where these are others, None where it lacks them."""
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
