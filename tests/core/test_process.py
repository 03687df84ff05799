"""What the command line sets in its process, and a library does not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import gc, os
import plmetrics.api.inspection
from plmetrics.core.process import original_environment, is_ours, take_over
import atexit
atexit.register(lambda: print(gc.get_freeze_count() > 0))
before = gc.get_threshold()
{}
names = "OPENBLAS_THREAD_TIMEOUT", "PYDANTIC_DISABLE_PLUGINS"
print(is_ours(), gc.get_threshold() == before, *map(os.environ.get, names))
print(*map(original_environment().get, names))
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("call", "environment", "expected"),
    [
        ("", {}, ["False True None None", "None None", "False"]),
        ("take_over()", {}, ["True False 4 __all__", "None None", "True"]),
        ("take_over()", {"OPENBLAS_THREAD_TIMEOUT": "20"}, ["True False 20 __all__", "20 None", "True"]),
    ],
)
def test_only_the_command_line_sets_its_process_up(
    call: str, environment: dict[str, str], expected: list[str]
) -> None:
    set_by_us = {"OPENBLAS_THREAD_TIMEOUT", "PYDANTIC_DISABLE_PLUGINS"}
    others = {name: value for name, value in os.environ.items() if name not in set_by_us}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(call)],
        env=others | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == expected


FORK = """
import os
import polars as pl, plmetrics as plm

rows = pl.DataFrame({"y": [0, 1] * 9, "p": [0.2, 0.7] * 9})


def evaluate():
    return plm.evaluate(rows, label="y", models="p", metrics=["n"]).metrics["value"].item()


def forked():
    child = os.fork()
    if child == 0:
        try:
            print(evaluate(), flush=True)
        except plm.EnvironmentFault as error:
            print(error.problems[0].hint, flush=True)
        os._exit(0)
    os.waitpid(child, 0)


{}
forked()
"""
SPAWN = 'start it by spawn or forkserver: multiprocessing.get_context("spawn")'
LINUX = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads have names on Linux only")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
@pytest.mark.parametrize(
    ("before", "words"),
    [("evaluate()", SPAWN), pytest.param("pl.thread_pool_size()", SPAWN, marks=LINUX), ("", "18.0")],
)
def test_a_process_that_is_forked_after_an_evaluation_is_refused(before: str, words: str) -> None:
    """Also after any use of Polars' threads; one without them starts its own."""
    script = FORK.replace("{}", before)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines() == [words]
