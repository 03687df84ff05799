import signal
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import mmap, os, sys
import numpy  # its libraries are mapped beyond their ends
from plmetrics.cli.terminal.bus_error import explain_bus_errors

explain_bus_errors()
with open("rows.csv", "r+b") as file:
    mapped = mmap.mmap(file.fileno(), 0)
{change}
mapped[-1]
"""


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the system does not tell what is mapped")
@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (
            'os.truncate("rows.csv", 10)',
            4,
            "error: the data is not what the suite says\n  {path} changed while it was read: it was cut off\n",
        ),
        ('os.truncate("rows.csv", 10); os.remove("rows.csv")', -signal.SIGBUS, ""),
    ],
    ids=["a file that was cut", "anything else"],
)
def test_a_bus_error(tmp_path, change, code, words):
    (tmp_path / "rows.csv").write_bytes(b"1,2\n" * 10_000)
    script = SCRIPT.format(change=change)
    outcome = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert outcome.returncode == code
    assert outcome.stderr.startswith(words.format(path=tmp_path / "rows.csv"))
    assert not words or "Traceback" not in outcome.stderr
