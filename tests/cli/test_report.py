"""Reports in Markdown and of slice sets, from the command line, and what a long run says meanwhile."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import plmetrics as plm

SUITE = """
name: nightly
data: {path: day.parquet}
columns: {label: y}
models: {old: p, new: q}
metrics: [roc_auc, log_loss]
slices: {region: region, tier: tier}
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    row = pl.int_range(120, eager=True)
    regions = pl.when(row % 3 == 0).then(pl.lit("a|b")).otherwise(pl.lit("c"))
    frame = pl.DataFrame({"y": row % 2, "p": row % 7 / 7, "q": row % 11 / 11, "tier": row % 4})
    frame.with_columns(region=regions).write_parquet(tmp_path / "day.parquet")
    file = tmp_path / "nightly.yaml"
    file.write_text(SUITE)
    return file


def test_markdown_is_that_of_the_result(invoke: Any, suite: Path) -> None:
    run = invoke("run", str(suite), "--format", "markdown")
    runs = suite.parent / "runs" / "nightly"
    again = invoke("report", str(runs), "--format", "markdown")
    assert run.code == again.code == 0
    assert run.out == again.out
    assert run.out == plm.load(runs).to_markdown()
    assert run.out.startswith("## DONE nightly\n")


@pytest.mark.slow
def test_slices_that_are_asked_for(invoke: Any, suite: Path) -> None:
    plain = invoke("run", str(suite)).out
    run = invoke("run", str(suite), "--slices", "region").out
    runs = suite.parent / "runs" / "nightly"
    both = invoke("report", str(runs), "--slices", "tier", "--slices", "region").out
    assert "Slices of" not in plain
    assert "Slices of region" in run
    assert "Slices of tier" not in run
    assert both.index("Slices of tier") < both.index("Slices of region")
    metrics = plm.load(runs).metrics.filter(slice_set="region")
    section = run[run.index("Slices of region") :]
    for text, model, value, n in (
        metrics.filter(metric="log_loss").select("slice", "model", "value", "n").rows()
    ):
        lines = section.splitlines()
        (start,) = [number for number, line in enumerate(lines) if line.strip().startswith(text)]
        (line,) = [line for line in lines[start : start + 2] if f" {model} " in line]
        words = line.split()
        assert str(n) in words
        assert float(words[-1]) == pytest.approx(value, abs=0.001)


def test_a_slice_set_that_is_not_there(invoke: Any, suite: Path) -> None:
    outcome = invoke("run", str(suite), "--slices", "regoin")
    assert outcome.code == 2
    assert "unknown slice set 'regoin'" in outcome.err
    assert "did you mean 'region'?" in outcome.err
    assert not (suite.parent / "runs").exists(), "it is said before the run takes its time"
    invoke("run", str(suite))
    again = invoke("report", str(suite.parent / "runs" / "nightly"), "--slices", "regoin")
    assert (again.code, again.out) == (2, "")


def test_readouts_are_no_reports(invoke: Any, suite: Path) -> None:
    outcome = invoke("readout", str(suite), "--format", "markdown")
    assert outcome.code == 2


def test_long_stages_say_which_model_is_at_work(suite: Path) -> None:
    words: list[str] = []
    plm.run(suite, progress=words.append)
    assert [word for word in words if word.startswith("order")] == [
        "order",
        "order: model 1 of 2, 120 rows",
        "order: model 2 of 2, 120 rows",
    ]
    assert set(plm.load(suite.parent / "runs" / "nightly").record["timings"]) >= {
        "prepare",
        "aggregate",
        "order",
    }
    assert not [name for name in plm.load(suite.parent / "runs" / "nightly").record["timings"] if ":" in name]
