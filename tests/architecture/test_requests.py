"""A request is bound once: what later stages learn of the rows stands beside it."""

import ast
import re
from pathlib import Path

import polars as pl
import pytest

import plmetrics
from plmetrics.engine.binding.bind import bind
from plmetrics.engine.prepare.preparation import prepare
from plmetrics.suite.arguments import suite_from_arguments
from plmetrics.table.opening import open_source

PACKAGE = Path(plmetrics.__file__).parent
BINDING = "engine/binding/bind.py"
OTHERS = ("splits.split_request import", "from urllib.request")
"""What modules import that have requests of another kind."""
MAKER = re.compile(r"\b(Request|replace)\b")
ROWS = 40
TABLE = pl.DataFrame({"row": range(ROWS)}).select(
    y=pl.col("row") % 3 == 0,
    p=(pl.col("row") * 7 % 11) / 11,
    animal=pl.Series(["cat", "dog", "emu", "fox"] * (ROWS // 4)),
    guess=pl.Series(["cat", "dog", "fox", "fox"] * (ROWS // 4)),
    query=pl.col("row") // 5,
    grade=pl.col("row") % 4,
    old=pl.col("row") < 20,
)
LEARNING = {
    "calibrators and a baseline": {
        "label": "y",
        "models": "p",
        "metrics": ["log_loss"],
        "calibrate": {"method": "platt", "fit_on": "old"},
        "baseline": True,
    },
    "classes": {
        "task": "multiclass",
        "label": "animal",
        "models": {"m": {"prediction": "guess"}},
        "metrics": ["recall"],
    },
    "edges and values of slices": {
        "label": "y",
        "models": "p",
        "metrics": ["recall"],
        "slices": {"by_score": {"column": "p", "quantiles": 3}, "animals": {"column": "animal", "top": 2}},
    },
    "queries": {
        "task": "ranking",
        "label": "grade",
        "models": "p",
        "query": "query",
        "metrics": ["ndcg"],
        "baseline": True,
    },
}


@pytest.mark.parametrize("asked", LEARNING.values(), ids=LEARNING)
def test_what_the_rows_tell_leaves_the_request_as_it_was_bound(asked: dict[str, object]) -> None:
    request = bind(suite_from_arguments(**asked), open_source(TABLE))
    plan = prepare(request)
    assert plan.request is request
    assert request.suite is plan.view.suite
    assert request.models == plan.table.models


@pytest.mark.slow
def test_only_binding_makes_requests() -> None:
    makers = {}
    texts = {path: path.read_text() for path in PACKAGE.rglob("*.py")}
    for path, text in texts.items():
        if any(other in text for other in OTHERS) or not MAKER.search(text):
            continue
        calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
        made = [call.lineno for call in calls if _name(call.func) == "Request" or _rewrites(call)]
        makers[path.relative_to(PACKAGE).as_posix()] = made
    assert [name for name, lines in makers.items() if lines] == [BINDING]


def test_a_rewrite_is_recognised() -> None:
    for text in (
        "replace(request, read=x)",
        "dataclasses.replace(run.request)",
        "replace(self.bound, read=x)",
    ):
        (statement,) = ast.parse(text).body
        assert isinstance(statement, ast.Expr)
        assert isinstance(statement.value, ast.Call)
        assert _rewrites(statement.value)


def _rewrites(call: ast.Call) -> bool:
    """Whether a call makes another request of one."""
    return _name(call.func) == "replace" and bool(call.args) and _name(call.args[0]) in {"request", "bound"}


def _name(node: ast.expr) -> str:
    """The last part of a dotted name."""
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
