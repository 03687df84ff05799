"""Rows of MySQL and MariaDB as Arrow batches: their values come as texts, and columns of these are cast."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from plmetrics.core.errors import DataError, Problem, needs_extra

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

_BATCH = 50_000
_TIMEOUT = 10
_SESSION = ("SET SESSION TRANSACTION READ ONLY", "SET time_zone = '+00:00'")
_STATES = {
    **dict.fromkeys((1064, 1149), "42601"),
    **dict.fromkeys((1054, 1060, 1146, 1305), "42000"),
    **dict.fromkeys((1142, 1143), "42501"),
    **dict.fromkeys((1292, 1365, 1411, 1690), "22000"),
    1792: "25006",
}
"""The SQLSTATE of errors by their number, which is all that the driver tells: of the query, of rights, of values."""


@contextmanager
def mysql_batches(address: str, query: str) -> Iterator[pa.RecordBatchReader]:
    """The rows of a query, read as they come; times of the type TIMESTAMP are in UTC.

    Raises:
        EnvironmentFault: an extra is not installed.
        DataError: a column has values that its type does not.
    """
    with needs_extra("database", "reading from MySQL"):
        import pyarrow as pa
        import pymysql
        from pymysql.cursors import SSCursor
        from sqlalchemy import make_url
    url = make_url(address).set(drivername="mysql+pymysql")
    arguments = url.get_dialect()().create_connect_args(url)[1]
    options = {"connect_timeout": _TIMEOUT, **arguments, "conv": _converters(), "cursorclass": SSCursor}
    try:
        with closing(pymysql.connect(**options)) as connection, connection.cursor() as cursor:
            for statement in _SESSION:
                cursor.execute(statement)
            cursor.execute(query)
            schema = pa.schema([(name, _type(code)) for name, code, *_ in cursor.description])
            yield pa.RecordBatchReader.from_batches(schema, _batches(cursor, schema))
    except pymysql.MySQLError as error:
        number, *words = error.args or (0,)
        error.sqlstate, error.args = _STATES.get(int(number)), tuple(words)
        raise


def _converters() -> dict[Any, Any]:
    """Converters of the driver: numbers of bits, and none of other values, which are cast."""
    from pymysql.constants import FIELD_TYPE
    from pymysql.converters import encoders

    return {**encoders, FIELD_TYPE.BIT: lambda bits: str(int.from_bytes(bits, "big"))}


def _type(code: int) -> pa.DataType:
    """The type of a column; whatever is no number and no date stays a text."""
    import pyarrow as pa
    from pymysql.constants import FIELD_TYPE as OF

    whole = (OF.TINY, OF.SHORT, OF.INT24, OF.LONG, OF.LONGLONG, OF.YEAR, OF.BIT)
    types = {
        **dict.fromkeys(whole, pa.int64()),
        **dict.fromkeys((OF.DOUBLE, OF.DECIMAL, OF.NEWDECIMAL), pa.float64()),
        OF.FLOAT: pa.float32(),
        **dict.fromkeys((OF.DATE, OF.NEWDATE), pa.date32()),
        **dict.fromkeys((OF.DATETIME, OF.TIMESTAMP), pa.timestamp("us")),
        OF.NULL: pa.null(),
    }
    return types.get(code, pa.string())


def _batches(cursor: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    while rows := cursor.fetchmany(_BATCH):
        columns = zip(schema, zip(*rows, strict=True), strict=True)
        yield pa.record_batch([_column(field, values) for field, values in columns], schema=schema)


def _column(field: pa.Field, values: Sequence[str | bytes | None]) -> pa.Array:
    """The values of a column, which come as texts.

    Raises:
        DataError: its type does not hold one of them, such as the date 0000-00-00.
    """
    import pyarrow as pa

    try:
        return pa.array(values).cast(field.type)
    except pa.ArrowInvalid as error:
        msg = f"column '{field.name}' has a value that cannot be read: {error}"
        hint = "leave it out of the query, or CAST it to a number or a text"
        raise DataError(Problem(msg, ("data", "query"), hint)) from error
