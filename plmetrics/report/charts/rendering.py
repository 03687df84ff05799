"""Specifications of charts as SVG and PNG, in a process of their own."""

from __future__ import annotations

import atexit
import base64
import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from plmetrics.core.errors import EnvironmentFault, Problem, os_message

EXTRA = "report"
_WORKER = Path(__file__).with_name("worker.py")


class RenderingFault(EnvironmentFault):
    """The renderer refused a chart, or its process ended."""

    title = "the chart cannot be drawn"


def require(*modules: str, needed_for: str = "a chart") -> None:
    """Check the import of modules of the extra `report`.

    Raises:
        EnvironmentFault: one cannot; the extra is named.
    """
    if not all(map(_is_there, modules)):
        raise EnvironmentFault.missing_extra(EXTRA, needed_for)


def is_installed() -> bool:
    """Whether charts can be drawn and rendered."""
    return all(map(_is_there, ("altair", "vl_convert")))


def start_renderer() -> None:
    """Start the renderer of charts ahead of the first one: it takes as long as a small run."""
    if is_installed():
        RENDERER.start()


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        # A finder that refuses a module, or a module that was put in place of it.
        return False


class Renderer:
    """Renderer process of charts, started with the first one and again after its end."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._lock = threading.Lock()

    def render(self, specification: dict[str, Any], form: str, scale: float = 1.0) -> bytes:
        """The image of a complete specification; `form` is svg or png.

        Raises:
            EnvironmentFault: the extra is not installed.
            RenderingFault: the renderer refused it.
        """
        require("vl_convert")
        job = {"specification": json.dumps(specification, allow_nan=False), "form": form, "scale": scale}
        with self._lock:
            answer = self._ask(json.dumps(job).encode() + b"\n")
        if "error" in answer:
            raise RenderingFault(Problem(f"the renderer refused it: {answer['error']}"))
        return base64.b64decode(answer["image"])

    def start(self) -> None:
        """Start the process ahead of the first chart; errors of the process are reported by the chart."""
        with self._lock, suppress(RenderingFault):
            self._running()

    def _ask(self, line: bytes) -> dict[str, str]:
        process = self._running()
        try:
            _stream(process.stdin).write(line)
            _stream(process.stdin).flush()
            answer = _stream(process.stdout).readline()
        except BrokenPipeError:
            answer = b""
        except BaseException:
            # An interrupt: the answer, when it comes, would be taken for that of the next chart.
            self.close()
            raise
        if not answer:
            self.close()
            return {"error": "its process ended"}
        parsed: dict[str, str] = json.loads(answer)
        return parsed

    def _running(self) -> subprocess.Popen[bytes]:
        """The process; a fork of this one starts its own, since two cannot share the pipes."""
        if self._process is not None and self._owner == os.getpid() and self._process.poll() is not None:
            self.close()
        if self._process is None or self._owner != os.getpid():
            command = [sys.executable, "-P", str(_WORKER)]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env=environment,
                )
            except OSError as error:
                raise RenderingFault(Problem(f"its process does not start: {os_message(error)}")) from error
            self._owner = os.getpid()
        return self._process

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None and self._owner == os.getpid():
            for stream in (process.stdin, process.stdout):
                with suppress(BrokenPipeError):
                    _stream(stream).close()
            process.terminate()
            process.wait()


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


RENDERER = Renderer()
atexit.register(RENDERER.close)
