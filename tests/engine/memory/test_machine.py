"""Memory that a process may take: the machine's, or less in a container."""

import ctypes
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from plmetrics.engine.memory import machine
from plmetrics.engine.memory.budget import machine_budget

UNLIMITED = "9223372036854771712\n"


@pytest.mark.parametrize(
    ("groups", "limits", "least"),
    [
        ("0::/pod/job\n", {"pod/job/memory.max": "max\n", "pod/memory.max": "1500000000\n"}, 1_500_000_000),
        ("0::/\n", {"memory.max": "1000000000\n"}, 1_000_000_000),
        ("4:memory:/docker/1\n1:cpu:/\n", {"memory/memory.limit_in_bytes": "900000000"}, 900_000_000),
        ("9:cpu,memory:/a\n0::/\n", {"memory/a/memory.limit_in_bytes": "800000000"}, 800_000_000),
        ("4:memory:/a\n", {"memory/a/memory.limit_in_bytes": UNLIMITED}, None),
        ("1:cpu:/a\n", {"memory/memory.limit_in_bytes": "1"}, None),
        ("0::/../../other\n", {"memory.max": "max"}, None),
        (None, {}, None),
    ],
)
def test_a_container_may_take_less_than_the_machine_has(monkeypatch, tmp_path, groups, limits, least):
    monkeypatch.setattr(machine, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(machine, "_MOUNT", tmp_path / "mount")
    if groups is not None:
        Path(tmp_path / "groups").write_text(groups)
    for name, limit in limits.items():
        file = tmp_path / "mount" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(limit)
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert machine.machine_memory() == (least or whole)
    assert machine_budget() == pytest.approx(0.6 * (least or whole), abs=1)


def test_the_memory_of_a_machine_with_windows(monkeypatch):
    class Kernel:
        @staticmethod
        def GlobalMemoryStatusEx(status):
            assert status[0] == 64  # its own size, without which Windows fills nothing in
            status[1] = 8_000_000_000

    monkeypatch.delattr(os, "sysconf")
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(ctypes, "windll", SimpleNamespace(kernel32=Kernel), raising=False)
    assert machine.machine_memory() == 8_000_000_000
