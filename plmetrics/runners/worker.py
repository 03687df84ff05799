"""Worker side of a runner. It is imported before Polars, to limit its threads."""

from __future__ import annotations

import base64
import gc
import json
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any, cast

from plmetrics.core.names import function_of
from plmetrics.core.process import refuse_fork

THREADS = "POLARS_MAX_THREADS"


def call(task: str, text: str) -> str:
    """Call a task by its name, `module:function`."""
    return str(function_of(task)(text))


def _limit(threads: int | None) -> None:
    """Let Polars have at most so many threads, where it has not begun yet."""
    if threads is not None and "polars" not in sys.modules:
        os.environ[THREADS] = str(threads)


def answer(task: str, text: str, threads: int | None = None) -> str:
    """JSON of a call's result, or of its error: an error of ours arrives as itself from any worker."""
    try:
        _limit(threads)
        refuse_fork()  # which starts Polars
        return json.dumps({"receipt": call(task, text)})
    except BaseException as error:
        return error_answer(error)


def error_answer(error: BaseException) -> str:
    """The JSON of an error."""
    return json.dumps({"error": _encode(error), "trace": "".join(traceback.format_exception(error))})


def call_on_batches(batches: Iterator[Any], task: str, text: str, threads: int) -> Iterator[Any]:
    """Call a task on the batches of a Spark partition: Spark imports this module before Polars is."""
    _limit(threads)
    yield from cast("Iterator[Any]", function_of(task)(batches, text))


def serve() -> None:
    """Answer the calls on stdin, a line each, until its end; other printed text goes to stderr.

    A line with a task alone is no call: its module is imported, which takes longer than a small unit.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started it ends it
    over: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: _end(over, number))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    for line in sys.stdin.buffer:
        content = json.loads(line)
        if "text" not in content:
            with suppress(Exception):  # the call will tell
                import_module(content["task"].partition(":")[0])
            continue
        text = answer(**content)
        if over:
            return
        answers.write(text.encode() + b"\n")
        answers.flush()
    gc.freeze()  # the process ends: nothing is looked for in its memory before


def _end(over: list[int], number: int) -> None:
    """Stop the running call as an error does, so that half-written files are removed."""
    over.append(number)
    sys.exit(1)


def receipt_of(text: str) -> str:
    """Receipt of a call, from its answer.

    Raises:
        BaseException: its error, caused by the words of its traceback.
    """
    content = json.loads(text)
    if "error" in content:
        error: BaseException = pickle.loads(base64.b64decode(content["error"]))
        raise error from RuntimeError(content["trace"])
    receipt: str = content["receipt"]
    return receipt


def _encode(error: BaseException) -> str:
    try:
        content = pickle.dumps(error)
        pickle.loads(content)
    except Exception:
        content = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
    return base64.b64encode(content).decode()
