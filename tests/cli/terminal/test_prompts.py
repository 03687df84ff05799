"""The dialogue of `plmetrics suggest --ask` in a pipe: answers, mistakes and the end of the input."""

import sys
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

ROWS = 300
DRAW = np.random.default_rng(5)
P = DRAW.random(ROWS)
TABLE = pl.DataFrame({"shop": np.arange(ROWS) // 10, "y": (DRAW.random(ROWS) < P).astype(int), "score": P})


@pytest.mark.parametrize(
    ("typed", "code", "task", "words"),
    [
        ("", 0, "binary", "no more answers"),
        ("\n\n\n\n", 0, "binary", "What is it for?"),
        ("6\nshop\n\n\n\n", 0, "ranking", "queries apart"),
        ("rankng\nranking\n1\n", 0, "ranking", "'rankng' is none of these: did you mean 'ranking'?"),
        ("\n\n\nasymmetric_costs\nx\n1\n5\n", 0, "binary", "'x' is no number above 0"),
    ],
)
def test_a_pipe_answers(
    invoke: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, typed: str, code: int, task: str, words: str
) -> None:
    TABLE.write_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(sys, "stdin", StringIO(typed))
    outcome = invoke("suggest", str(tmp_path / "t.parquet"), "--ask")
    assert outcome.code == code
    assert yaml.safe_load(outcome.out)["task"] == task
    assert outcome.out.startswith("# A suite")
    assert words in outcome.err


def test_an_open_question_without_an_answer_is_an_error(
    invoke: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pl.DataFrame({"a": ["p", "q"] * 9, "b": ["q", "q", "p"] * 6}).write_csv(tmp_path / "t.csv")
    monkeypatch.setattr(sys, "stdin", StringIO("binary\n"))
    outcome = invoke("suggest", str(tmp_path / "t.csv"), "--ask")
    assert (outcome.code, outcome.out) == (2, "")
    assert "--label a or --label b" in outcome.err


def test_ctrl_c_ends_it(invoke: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Interrupted(StringIO):
        def readline(self, *_: Any) -> str:
            raise KeyboardInterrupt

    TABLE.write_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(sys, "stdin", Interrupted())
    outcome = invoke("suggest", str(tmp_path / "t.parquet"), "--ask")
    assert (outcome.code, outcome.out) == (130, "")
