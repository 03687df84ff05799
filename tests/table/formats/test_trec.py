import gzip
from pathlib import Path
from typing import Any

import pytest

import plmetrics as plm
from plmetrics.table.opening import open_source

QRELS = "1 0 a 2\n1 0 b -1\n2 0 a 1\n3 0 c 1\n"
RUN = "1\tQ0  c 1 0.5 x\n1 Q0 a 9 0.25 x\n\n2 Q0 z 1 1e1 x and more\n"


def rows(tmp_path: Path, run: Any = RUN, qrels: str = QRELS, **more: Any) -> list[tuple[Any, ...]]:
    files = run if isinstance(run, dict) else {"score": run}
    (tmp_path / "qrels").write_text(qrels, newline="")
    for name, text in files.items():
        (tmp_path / name).write_text(text, newline="")
    trec = {"qrels": "qrels", "run": {name: name for name in files}, **more}
    source = open_source({"trec": trec}, tmp_path)
    return source.frame.collect().sort("query", "document").rows()


def test_judged_and_retrieved_documents_are_joined(tmp_path: Path) -> None:
    assert rows(tmp_path) == [
        ("1", "a", 2.0, 0.25, True),
        ("1", "b", 0.0, None, False),
        ("1", "c", 0.0, 0.5, False),
        ("2", "a", 1.0, None, True),
        ("2", "z", 0.0, 10.0, False),
    ]


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_line_ends_and_byte_order_marks_are_no_part_of_a_query(tmp_path: Path, ending: str) -> None:
    run, qrels = ("\ufeff" + text.replace("\n", ending) for text in (RUN, QRELS))
    assert rows(tmp_path, run, qrels) == rows(tmp_path)


def test_queries_that_the_judgements_lack_are_left_out_and_counted(tmp_path: Path) -> None:
    run = f"{RUN}8 Q0 a 1 1 x\n9 Q0 a 1 1 x\n9 Q0 b 1 2 x\n"
    for more in ({}, {"complete": True}):
        assert {query for query, *_ in rows(tmp_path, run, **more)} == {"1", "2", *("3" for _ in more)}
    source = open_source({"trec": {"qrels": "qrels", "run": "score"}}, tmp_path)
    assert source.check_rows() == ["2 queries of the runs without judgements are left out"]


def test_judgements_of_other_queries(tmp_path: Path) -> None:
    with pytest.raises(plm.DataError, match="qrels has judgements of no query of the run\n    see that both"):
        rows(tmp_path, "q1 Q0 a 1 1 x\n")


def test_complete_brings_judged_queries_without_results(tmp_path: Path) -> None:
    assert rows(tmp_path, complete=True)[-1] == ("3", "c", 1.0, None, True)


def test_runs_share_rows(tmp_path: Path) -> None:
    found = rows(tmp_path, {"one": RUN, "two": "1 Q0 a 1 3 y\n3 Q0 c 1 2 y\n"})
    assert found[0] == ("1", "a", 2.0, 0.25, 3.0, True)
    assert found[-1] == ("3", "c", 1.0, None, 2.0, True)


def test_compressed_runs(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "run.gz").write_bytes(gzip.compress(RUN.encode()))
    source = open_source({"trec": {"qrels": "qrels", "run": "run.gz"}}, tmp_path)
    assert source.rows == 5
    assert source.frame.collect_schema().names() == ["query", "document", "relevance", "score", "judged"]


@pytest.mark.parametrize(
    ("run", "qrels", "words"),
    [
        (
            "1 Q0 a 1 0.5\n",
            QRELS,
            ["score: line 1: '1 Q0 a 1 0.5' is not of the form QUERY Q0 DOCUMENT RANK SCORE"],
        ),
        (f"{RUN}1 Q0 d 1 high x\nx\n", QRELS, ["line 5: '1 Q0 d 1 high x'", "(and 1 more line)"]),
        (f"{RUN}1 Q0 d 1 nan x\n", QRELS, ["line 5"]),
        (f"{RUN}1 Q0 c 1 1 x\n", QRELS, ["line 5: query 1 has document c already in line 1"]),
        (RUN, f"{QRELS}1 0 a\n", ["qrels: line 5: '1 0 a'", "QUERY ITERATION DOCUMENT RELEVANCE"]),
        (RUN, f"{QRELS}1 0 a 0\n", ["qrels: line 5: query 1 has document a already in line 1"]),
        ("\n", QRELS, ["score: is empty"]),
        ("x\n", "", ["qrels: is empty", "score: line 1"]),
    ],
)
def test_bad_files_are_named_with_their_lines(tmp_path: Path, run: str, qrels: str, words: list[str]) -> None:
    with pytest.raises(plm.DataError) as caught:
        rows(tmp_path, run, qrels)
    for word in words:
        assert word in str(caught.value)


def test_absent_and_damaged_files_are_named_together(tmp_path: Path) -> None:
    (tmp_path / "run").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(plm.DataError) as caught:
        open_source({"trec": {"qrels": "nowhere", "run": "run"}}, tmp_path)
    assert "nowhere: there is no such file" in str(caught.value)
    assert "is not text in UTF-8" in str(caught.value)


@pytest.mark.parametrize(
    ("trec", "word"),
    [
        ({"qrels": "q"}, "a mapping of qrels and run"),
        ({"qrels": "q", "run": "r", "other": 1}, "a mapping of qrels and run"),
        ({"qrels": "q", "run": {"query": "r"}}, "'query' is the name of a column"),
    ],
)
def test_bad_mappings_are_refused(trec: dict[str, Any], word: str) -> None:
    with pytest.raises(plm.ConfigError, match=word):
        open_source({"trec": trec})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("task: binary\ndata: {trec: {qrels: q, run: r}}\n", ["trec files are rankings"]),
        ("task: ranking\ndata: {path: p.csv, trec: {qrels: q, run: r}}\n", ["path and trec both say"]),
        ("task: ranking\ndata: {trec: {qrel: q, run: r}}\n", ["qrel", "did you mean 'qrels'?"]),
    ],
)
def test_bad_suites_are_refused(tmp_path: Path, text: str, words: list[str]) -> None:
    suite = tmp_path / "suite.yaml"
    suite.write_text(text)
    with pytest.raises(plm.ConfigError) as caught:
        plm.run(suite)
    for word in words:
        assert word in str(caught.value)
