"""Tasks for runners: what their workers import."""

import json
import os
import signal
import time
from pathlib import Path

from plmetrics.core.errors import DataError, Problem


def double(text: str) -> str:
    return text * 2


def large(text: str) -> str:
    return text * 5_000_000


def refuse(text: str) -> str:
    raise DataError([Problem(f"unit {text} is bad", ("data", "path"), "write it again"), Problem("another")])


def fail(text: str) -> str:
    raise ZeroDivisionError(text)


def threads(_: str) -> str:
    return os.environ["POLARS_MAX_THREADS"]


def begin_and_wait(text: str) -> str:
    """Leaves a file with the number of its process, and takes long."""
    (Path(text) / f"{os.getpid()}.pid").touch()
    time.sleep(60)
    return text


def die_once(text: str) -> str:
    """Ends its process as `kill -9` does, unless it has done so before: `text` names a file that tells."""
    _die_unless(Path(text))
    return text


def die(text: str) -> str:
    """Ends its process if the text says so."""
    if text == "poison":
        os.kill(os.getpid(), signal.SIGKILL)
    return text


def unit_killed_once(text: str) -> str:
    """The task of units, in the midst of which one worker is killed."""
    from plmetrics.features.shards.unit_states import write_unit

    _die_unless(Path(json.loads(text)["output"]) / "killed")
    return write_unit(text)


def unit_of_poison(text: str) -> str:
    """The task of units, which kills its worker where a file has `poison` in its name."""
    from plmetrics.features.shards.unit_plan import read_plan
    from plmetrics.features.shards.unit_states import write_unit

    job = json.loads(text)
    if "poison" in read_plan(Path(job["plan"])).unit(job["unit"]).text:
        os.kill(os.getpid(), signal.SIGKILL)
    return write_unit(text)


def _die_unless(file: Path) -> None:
    try:
        file.open("x").close()
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)
