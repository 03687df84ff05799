import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from plmetrics.core.results import GATES_SCHEMA, METRICS_SCHEMA, TABLES


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


Invoke = Callable[..., Outcome]


@cache
def command_line(of_call: Callable[..., Any], *name: str) -> Any:
    """The command line of a call of a command, put together once for all tests."""
    from typer.main import get_command

    return get_command(of_call(name))


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Invoke:
    """Run the command line in this process, which has no terminal, and no progress however slow the machine is."""
    from plmetrics.cli import app
    from plmetrics.cli.terminal import progress

    of_call = app._of_call
    monkeypatch.setattr(app, "_of_call", lambda words: command_line(of_call, *words[:1]))
    monkeypatch.setattr(progress, "_FIRST", float("inf"))
    monkeypatch.delenv("COLUMNS", raising=False)

    def call(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["plmetrics", *arguments])
        with pytest.raises(SystemExit) as stopped:
            app.main()
        code = stopped.value.code
        captured = capsys.readouterr()
        return Outcome(int(code or 0), captured.out, captured.err)

    return call


def make_result(verdict: str = "pass", folder: Path | None = None, **changes: Any) -> SimpleNamespace:
    def row(schema: pl.Schema, **values: Any) -> pl.DataFrame:
        return pl.DataFrame([{name: values.get(name) for name in schema}], schema=schema)

    place = {"model": "m", "slice_set": "overall", "slice": "all", "metric": "roc_auc"}
    gate = {"gate": "roc_auc >= 0.8", "level": "fail", "rule": ">= 0.8", "observed": 0.75, "status": "ok"}
    suite = SimpleNamespace(
        name="nightly",
        uncertainty=None,
        compare=None,
        metrics=[
            SimpleNamespace(text="roc_auc", direction="higher", additive=False, rises_with_prevalence=False)
        ],
        models={"m": None},
        slices={},
        curves=(),
        gates=(1,),
        sections={},
    )
    keys = {
        **{name: schema.to_frame() for name, schema in TABLES.items()},
        "metrics": row(
            METRICS_SCHEMA, **place, value=0.75, interval_status="not_requested", n=9, status="ok"
        ),
        "gates": row(GATES_SCHEMA, **place, **gate, verdict=verdict)
        if verdict != "none"
        else GATES_SCHEMA.to_frame(),
        "others": {},
        "verdict": verdict,
        "suite": suite,
        "record": {"run_id": "20261120T020000Z-4fa1c2", "rows": {"read": 9}},
        "folder": folder,
    }
    given = keys | changes
    return SimpleNamespace(tables={name: given[name] for name in TABLES}, **given)


@pytest.fixture
def result() -> Callable[..., SimpleNamespace]:
    return make_result


@pytest.fixture
def api_run(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], list[tuple[Any, dict[str, Any]]]]:
    """Replace `api.run` by one that returns, or raises, what is given; hands back its calls."""

    def replace(outcome: Any) -> list[tuple[Any, dict[str, Any]]]:
        calls: list[tuple[Any, dict[str, Any]]] = []

        def run(path: Any, **keywords: Any) -> Any:
            calls.append((path, keywords))
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

        monkeypatch.setattr("plmetrics.api.evaluation.run", run)
        return calls

    return replace
