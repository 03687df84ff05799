"""TREC files: judgements (qrels) and the runs of retrieval systems, joined into one table of query and document.

Columns are separated by any blanks. A line of judgements is `QUERY ITERATION DOCUMENT RELEVANCE`, one of a run is
`QUERY Q0 DOCUMENT RANK SCORE RUN`, where the rank and what follows the run are not read: documents are ordered by
score. What was not judged has relevance 0, and a relevance below 0 says that it was not, as in trec_eval. A document
that was judged and not retrieved has no score.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from plmetrics.core.errors import ConfigError, DataError, Problem
from plmetrics.table.files import Complaints, SourceFile, absolute, shown_path, stamp_of
from plmetrics.table.formats.compression import CompressionError, open_text
from plmetrics.table.stamps import watch_stamps

QUERY, DOCUMENT, RELEVANCE, SCORE = "query", "document", "relevance", "score"
JUDGED = "judged"
KIND = "trec"

_LINE, _TEXT, _VALUE = "@line", "@text", "@value"
_QRELS = (r"^\s*(\S+)\s+\S+\s+(\S+)\s+(\S+)\s*$", "QUERY ITERATION DOCUMENT RELEVANCE, the last a number")
_RUN = (
    r"^\s*(\S+)\s+\S+\s+(\S+)\s+\S+\s+(\S+)\s+\S+",
    "QUERY Q0 DOCUMENT RANK SCORE RUN, the score a number",
)
_SHOWN = 80


def read_trec(
    qrels: str | Path, runs: Mapping[str, str | Path], base: Path, *, complete: bool = False
) -> tuple[pl.DataFrame, int, tuple[SourceFile, ...]]:
    """The table of a file of judgements and some runs, and the files themselves.

    Queries of a run that have no judgements are left out, as trec_eval does; the number of these is given as well.
    Columns are `query`, `document`, `relevance`, `judged` and one of scores per run, null for what it did not retrieve.
    Runs go by the names of their columns. `complete` adds queries that were judged and for which no run has a document.

    Raises:
        ConfigError: a run has the name of another column.
        DataError: files are absent, empty, have malformed lines or the same query and document twice, or no query of a
            run has judgements.
        EnvironmentFault: files may not be read.
    """
    for name in runs:
        if name in {QUERY, DOCUMENT, RELEVANCE, JUDGED}:
            hint = "give the run another name"
            msg = f"'{name}' is the name of a column of the table"
            raise ConfigError(Problem(msg, ("data", "trec", "run", name), hint))
    complaints = Complaints()
    files: list[SourceFile] = []
    judged = _read_file(absolute(str(qrels), base), _QRELS, RELEVANCE, files, complaints)
    scored = {
        name: _read_file(absolute(str(path), base), _RUN, name, files, complaints)
        for name, path in runs.items()
    }
    complaints.settle()
    table = _judged_rows(judged, scored, complete=complete)
    judgements = table.join(judged, on=QUERY, how="semi")
    if judgements.is_empty():
        subject = "the run" if len(runs) == 1 else "a run"
        msg = f"{shown_path(files[0].path)} has judgements of no query of {subject}"
        raise DataError(Problem(msg, ("data", "trec"), "see that both call the queries alike"))
    return judgements, table[QUERY].n_unique() - judgements[QUERY].n_unique(), tuple(files)


def _judged_rows(judged: pl.DataFrame, runs: Mapping[str, pl.DataFrame], *, complete: bool) -> pl.DataFrame:
    keys = [QUERY, DOCUMENT]
    table = judged
    if not complete:
        queries = pl.concat([run.select(QUERY) for run in runs.values()]).unique()
        table = judged.join(queries, on=QUERY, how="semi")
    for run in runs.values():
        table = table.join(run, on=keys, how="full", coalesce=True)
    relevance = pl.col(RELEVANCE).fill_null(-1.0)
    return table.with_columns(relevance.clip(0.0), (relevance >= 0).alias(JUDGED))


def _read_file(
    path: Path, form: tuple[str, str], value: str, files: list[SourceFile], complaints: Complaints
) -> pl.DataFrame:
    """Query, document and a number of each line; nothing, and a complaint, where the file is bad."""
    nothing = pl.DataFrame(schema={QUERY: pl.String, DOCUMENT: pl.String, value: pl.Float64})
    try:
        with watch_stamps({str(path): stamp_of(path)}), open_text(str(path), encoding="utf-8-sig") as text:
            content = text.read()
    except FileNotFoundError:
        complaints.absent(path, "there is no such file")
        return nothing
    except (UnicodeDecodeError, CompressionError) as error:
        damaged = isinstance(error, CompressionError)
        complaints.add(path, str(error) if damaged else "is not text in UTF-8")
        return nothing
    except OSError as error:
        complaints.fault(path, error)
        return nothing
    lines = _split_lines(content, form[0])
    if lines.height == 0:
        complaints.add(path, "is empty")
        return nothing
    files.append(SourceFile(str(path), path.name, path.stat().st_size, lines.height))
    _complain(path, lines, form[1], complaints)
    return lines.select(QUERY, DOCUMENT, pl.col(_VALUE).alias(value))


def _split_lines(content: str, pattern: str) -> pl.DataFrame:
    """Nonblank lines with their numbers and parts, null for malformed ones."""
    text = pl.Series(_TEXT, content.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    lines = pl.DataFrame([text]).with_row_index(_LINE, offset=1)
    parts = pl.col(_TEXT).str.extract_groups(pattern).struct
    number = parts.field("3").cast(pl.Float64, strict=False)
    return lines.filter(pl.col(_TEXT).str.strip_chars() != "").with_columns(
        parts.field("1").alias(QUERY),
        parts.field("2").alias(DOCUMENT),
        pl.when(number.is_finite()).then(number).alias(_VALUE),
    )


def _complain(path: Path, lines: pl.DataFrame, form: str, complaints: Complaints) -> None:
    bad = lines.filter(pl.col(_VALUE).is_null() | pl.col(QUERY).is_null())
    if bad.height:
        line, text = bad.select(_LINE, _TEXT).row(0)
        message = f"line {line:,}: {text.strip()[:_SHOWN]!r} is not of the form {form}"
        complaints.add(path, message + _omission_note(bad.height - 1, "line"), "blanks separate the columns")
        return
    again = lines.filter(~pl.struct(QUERY, DOCUMENT).is_first_distinct())
    if again.height:
        line, query, document = again.select(_LINE, QUERY, DOCUMENT).row(0)
        first = lines.filter((pl.col(QUERY) == query) & (pl.col(DOCUMENT) == document))[_LINE][0]
        message = f"line {line:,}: query {query} has document {document} already in line {first:,}"
        complaints.add(
            path, message + _omission_note(again.height - 1, "line"), "keep one line a query and document"
        )


def _omission_note(count: int, word: str) -> str:
    if count == 0:
        return ""
    return f" (and {count:,} more {word if count == 1 else word + 's'})"


def runs_of(run: str | Path | Mapping[str, str | Path]) -> dict[str, str | Path]:
    """The runs by the name of their column; one file is the column `score`."""
    return {SCORE: run} if isinstance(run, (str, Path)) else dict(run)
