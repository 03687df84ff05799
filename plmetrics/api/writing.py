"""Tables with new columns, written to files as they stream by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def write_split(data: str, output: Path, method: str, arguments: Mapping[str, Any]) -> None:
    """Write a table with the columns of a split to a file, `.parquet` or `.csv`.

    Args:
        data: a file, folder or glob.
        output: where to.
        method: the name of a function in `plmetrics.api.splits`.
        arguments: those of the function.

    Raises:
        ConfigError: an argument is wrong, or the file is part of the data or of an unknown format.
        DataError: the data cannot be read, or do not have what is asked for.
        EnvironmentFault: the system refuses to write.
    """
    from plmetrics.api import splits
    from plmetrics.engine.splits.table import check_output, write_table
    from plmetrics.runs.files import environment_faults
    from plmetrics.table.source import open_source

    source = open_source(data)
    check_output(output, source)
    rows = getattr(splits, method)(source, **arguments)
    with environment_faults("the table cannot be written"):
        write_table(source, rows.lazy(), output)
