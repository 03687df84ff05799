"""Runs that end in the middle: nothing of them is left but the record of the failure."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import plmetrics as plm

ROWS, FILES = 8_000, 4
SUITE = """
name: stopped
task: binary
data: {path: rows}
columns: {label: y, unit: u}
models: {a: a, b: b}
metrics: [roc_auc, ks, brier]
slices: {g: g}
uncertainty: {replicates: 20}
exact: true
memory: 300MB
output: {directory: runs}
"""

BEFORE_POLARS = """
from plmetrics.cli.terminal.signals import end_on_signals
end_on_signals()
"""

STOPPED = (
    BEFORE_POLARS
    + """
import os, signal, sys, time
from plmetrics.engine import run_plan
from plmetrics.engine.memory import budget
from plmetrics.engine.memory.budget import OrderPlan
from plmetrics.engine.order import by_ranges as ranges

passes, own = [], ranges.add_range

def stopped(work):
    passes.append(work)
    if len(passes) == 2:
        STOP
    own(work)

budget.POINT_ROWS = 1_000
ranges.add_range = stopped
run_plan.order_plan = lambda *_: OrderPlan("points", 1, 3, 6, 0)
sys.argv = ["plmetrics", "run", "suite.yaml"]
from plmetrics.cli.app import main
sys.exit(main())
"""
)
STOPS = {"raise MemoryError": 6, "raise ZeroDivisionError": 1}
STOPS |= {f"os.kill(os.getpid(), {number}); time.sleep(20)": 128 + number for number in (1, 2, 15)}

LOADING = """
import signal, sys

class Interrupt:
    def find_spec(name, *_):
        if name == NAME:
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupt)
sys.argv = ["plmetrics", "metrics"]
from plmetrics.__main__ import main
sys.exit(main())
"""


@pytest.fixture
def place(tmp_path):
    """A suite, its table in several files, and a folder for what is temporary."""
    (tmp_path / "rows").mkdir()
    (tmp_path / "temporary").mkdir()
    draw = np.random.default_rng(0)
    for number in range(FILES):
        pl.DataFrame(
            {
                "y": draw.integers(0, 2, ROWS),
                "a": draw.random(ROWS),
                "b": draw.random(ROWS),
                "u": draw.integers(0, 300, ROWS),
                "g": draw.choice(["x", "y"], ROWS),
            }
        ).write_parquet(tmp_path / "rows" / f"part-{number}.parquet", row_group_size=1_000)
    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")
    return tmp_path


def ended(place, script):
    """The exit code of a process in that place, and what it said."""
    temporary = {name: str(place / "temporary") for name in ("TMPDIR", "POLARS_TEMP_DIR")}
    temporary["PYTHONPATH"] = str(Path(plm.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=place,
        env=os.environ | temporary,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def assert_only_a_record_is_left(place, code):
    left = {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}
    (run,) = [path for path in (place / "runs" / "stopped").iterdir() if path.is_dir()]
    ours = {f"runs/stopped/{run.name}/{name}" for name in ("README.md", "run.json")}
    ours |= {"runs/stopped/latest.json"}
    assert left == {"suite.yaml", *(f"rows/part-{number}.parquet" for number in range(FILES)), *ours}
    record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    assert (record["status"], record["exit_code"]) == ("failed", code)


@pytest.mark.exhaustive
@pytest.mark.parametrize("module", ["typer", "plmetrics.cli.run", "pydantic", "polars"])
def test_a_command_that_is_stopped_while_its_modules_load(place, module):
    assert ended(place, LOADING.replace("NAME", repr(module))) == (130, "interrupted\n")


@pytest.mark.slow
@pytest.mark.parametrize(("stop", "code"), STOPS.items())
def test_a_run_that_is_stopped_between_its_passes(place, stop, code):
    found, said = ended(place, STOPPED.replace("STOP", stop))
    assert found == code, said
    assert "Traceback" not in said or code == 1
    assert_only_a_record_is_left(place, code)


@pytest.mark.slow
def test_a_scan_is_ended_by_a_scheduler(place):
    """Its signal comes while the query engine is at work, and nothing of Python's runs."""
    script = f"""{BEFORE_POLARS}
import os, signal, sys, threading
import polars as pl
from plmetrics.engine import run_plan

def endless(*_):
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
    numbers = pl.LazyFrame(dict(x=range(10**6)))
    numbers.join(numbers, how="cross").select(pl.col("x").sum()).collect(engine="streaming")

run_plan.order_plan = endless
sys.argv = ["plmetrics", "run", "suite.yaml"]
from plmetrics.cli.app import main
sys.exit(main())
"""
    code, words = ended(place, script)
    assert (code, words.splitlines()[-1]) == (143, "ended by SIGTERM")
    assert_only_a_record_is_left(place, code)


@pytest.mark.slow
def test_a_file_that_turns_out_unreadable(place):
    broken = place / "rows" / "part-2.parquet"
    content = bytearray(broken.read_bytes())
    middle = len(content) // 2
    content[4:middle] = bytes(middle - 4)  # the footer stays, so that only reading the rows finds it
    broken.write_bytes(bytes(content))
    script = "import sys; sys.argv = ['plmetrics', 'run', 'suite.yaml']\n"
    script += "from plmetrics.cli.app import main; sys.exit(main())"
    code, said = ended(place, script)
    assert code == 4, said
    assert "part-2.parquet" in said
    assert "Traceback" not in said
    assert_only_a_record_is_left(place, 4)
