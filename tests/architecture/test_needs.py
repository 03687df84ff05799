"""How a metric is computed follows from what it declares: nobody else asks for its name, class, kind or family."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import plmetrics
from plmetrics.catalogue import registry
from plmetrics.catalogue.metric import Metric

PACKAGE = Path(plmetrics.__file__).parent
OUTSIDE = sorted(path for path in PACKAGE.rglob("*.py") if "catalogue" not in path.relative_to(PACKAGE).parts)
VARIABLES = {"metric", "leaf", "member", "m", "cls"}
ATTRIBUTES = {"metric", "subject"}
"""What variables, and attributes such as `gate.subject`, are called that hold a metric, besides those annotated so."""

UNASKED = {"name", "kind", "family", "reads", "__class__"}
"""What no decision reads of a metric."""

EXCEPTIONS = {
    ("api/catalogue.py", "cls.name"): "a table of metrics has a column of it",
    ("api/catalogue.py", "cls.family"): "the same",
    ("report/catalogue.py", "metric.name"): "a card shows it, and the advice about it",
    ("report/catalogue.py", "metric.family"): "the same",
    ("cli/metrics.py", "metric.name"): "cards are asked for by name",
    ("cli/options.py", "metric.name"): "names are completed",
    ("engine/binding/row_expressions.py", "metric.name"): "a message has it",
    ("api/catalogue.py", "getattr(cls, fact)"): "the other columns of the table",
    ("suite/sections/metrics.py", "type(metric)"): "a class that declares too little is refused by name",
    (
        "features/drift/drift_table.py",
        "self._counts.subject.kind",
    ): "no metric: a column that may drift",
}
"""By module and expression: why it may ask."""


def shown(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def classes() -> set[str]:
    """The names of all classes of metrics."""
    registry.classes()
    for path in (PACKAGE / "catalogue").rglob("*.py"):
        importlib.import_module("plmetrics." + shown(path).removesuffix(".py").replace("/", "."))
    found, waiting = {Metric.__name__}, [Metric]
    while waiting:
        below = waiting.pop().__subclasses__()
        found |= {own.__name__ for own in below if own.__module__.startswith("plmetrics.")}
        waiting += below
    return found


def annotated(tree: ast.AST, metrics: set[str]) -> set[str]:
    """The names of a module that are annotated as a metric or its class: parameters, variables and fields."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation is not None:
            names |= {node.arg} if is_annotation(node.annotation, metrics) else set()
        elif isinstance(node, ast.AnnAssign) and is_annotation(node.annotation, metrics):
            names |= {part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)}
    return names


def is_annotation(node: ast.expr, metrics: set[str]) -> bool:
    """Whether a type is a metric, its class, or one of these or None."""
    if isinstance(node, ast.BinOp):
        return is_annotation(node.left, metrics) or is_annotation(node.right, metrics)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "type":
        return is_annotation(node.slice, metrics)
    return isinstance(node, ast.Name) and node.id in metrics


def is_metric(node: ast.expr, names: set[str]) -> bool:
    """Whether an expression is a metric, by what it is called; `names` are those that are annotated so."""
    if isinstance(node, ast.Attribute):
        return node.attr in ATTRIBUTES
    return isinstance(node, ast.Name) and node.id in VARIABLES | names


def questions(tree: ast.AST, metrics: set[str]) -> Iterator[str]:
    """Where a module asks a metric for what it is."""
    names = annotated(tree, metrics)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in UNASKED and is_metric(node.value, names):
            yield ast.unparse(node)
        if isinstance(node, ast.Compare) and any(
            is_text(part, names) for part in (node.left, *node.comparators)
        ):
            yield from (ast.unparse(node) for part in node.comparators if isinstance(part, ast.Constant))
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id in {"getattr", "hasattr", "type"} and node.args and is_metric(node.args[0], names):
            yield ast.unparse(node)
        if node.func.id in {"isinstance", "issubclass"}:
            named = {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)}
            if (named & metrics) - {Metric.__name__}:
                yield ast.unparse(node)


def is_text(node: ast.expr, names: set[str]) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "text" and is_metric(node.value, names)


@pytest.fixture(scope="module")
def asked() -> set[tuple[str, str]]:
    """The modules that ask, each with what it asks."""
    metrics = classes()
    named = re.compile(rf"\b({'|'.join(VARIABLES | ATTRIBUTES | metrics)})\b")
    return {
        (shown(path), question)
        for path in OUTSIDE
        if named.search(text := path.read_text())
        for question in questions(ast.parse(text), metrics)
    }


def test_a_metric_is_asked_for_its_needs_alone(asked: set[tuple[str, str]]) -> None:
    assert asked - EXCEPTIONS.keys() == set()


def test_every_exception_is_needed(asked: set[tuple[str, str]]) -> None:
    assert EXCEPTIONS.keys() - asked == set()


@pytest.mark.parametrize(
    "line",
    [
        "metric.name == 'rmse'",
        "gate.metric.kind in JUMPS",
        "metric.text == 'roc_auc'",
        "isinstance(own, Quantile)",
        "isinstance(own, (str, QueryMetric))",
        "hasattr(leaf, 'strategy')",
        "getattr(metric, 'debias', False)",
        "type(metric)",
        "def f(judged: Metric | None): return judged.name",
        "def f(made: type[Quantile]): return made.family",
        "def f(made: Quantile): return made.text == 'p95'",
        "for inner in leaves:\n    inner: Metric\n    type(inner)",
    ],
)
def test_what_asks_otherwise_is_seen(line: str) -> None:
    assert list(questions(ast.parse(line), {"Metric", "Quantile", "QueryMetric"}))
