"""What a split gives back: a table in memory, a plan, or a file."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.engine.faults import reading

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.table.source import Source

ENDINGS = (".parquet", ".csv")


def given_back(source: Source, rows: pl.LazyFrame) -> pl.DataFrame | pl.LazyFrame:
    """A DataFrame where the table was in memory, else the plan."""
    in_memory = source.kind == "frame" and source.rows is not None
    return rows.collect() if in_memory else rows


def check_output(output: Path, source: Source) -> None:
    """See that a table can be written to a file.

    Raises:
        ConfigError: the format is unknown, or the file is part of what is read.
    """
    if output.suffix.lower() not in ENDINGS:
        msg = f"'{output}' does not say its format"
        raise ConfigError(Problem(msg, ("output",), f"end the name in {' or '.join(ENDINGS)}"))
    if any(Path(file.path).resolve() == output.resolve() for file in source.files):
        raise ConfigError(Problem(f"'{output}' is part of the data", ("output",), "write to another file"))


def write_table(source: Source, rows: pl.LazyFrame, output: Path) -> None:
    """Write rows to a file as they stream by, under a temporary name until all are there.

    Raises:
        DataError: the source cannot be read.
        OSError: the system refuses to write.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    temporary = output.with_name(f".{output.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb"):
            pass
        with reading(source):
            if output.suffix.lower() == ".csv":
                rows.sink_csv(temporary)
            else:
                rows.sink_parquet(temporary)
        os.replace(temporary, output)  # noqa: PTH105
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
