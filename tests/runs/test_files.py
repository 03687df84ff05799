"""Files that are written by several at once, through links, and after a crash."""

import errno
import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from plmetrics.core.errors import EnvironmentFault
from plmetrics.runs.files import create, environment_faults, make_directory, remove_temporary, write_atomic

DAY = 24 * 60 * 60


def test_threads_never_tear_a_file(tmp_path: Path) -> None:
    path = tmp_path / "latest.json"
    contents = [bytes([number]) * 50_000 for number in range(8)]
    write_atomic(path, contents[0])
    with ThreadPoolExecutor(8) as pool:
        writers = [pool.submit(write_atomic, path, content) for content in contents * 12]
        torn = []
        while not all(writer.done() for writer in writers):
            torn += [] if path.read_bytes() in contents else [1]
        assert [writer.exception() for writer in writers if writer.exception()] == []
    assert not torn
    assert [file.name for file in tmp_path.iterdir()] == ["latest.json"]


@pytest.mark.parametrize("links", [True, False])
def test_of_writers_of_one_file_the_first_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    """So no manifest is written over by a second run of its interval, also where there are no links."""

    def refuse(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    if not links:
        monkeypatch.setattr("os.link", refuse)
    path = tmp_path / "000001.json"
    contents = [bytes([number]) * 1000 for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        created = list(pool.map(create, [path] * 8, contents))
    assert sum(created) == 1
    assert path.read_bytes() == contents[created.index(True)]
    assert not create(path, b"later")
    assert path.read_bytes() == contents[created.index(True)]
    assert [file.name for file in tmp_path.iterdir()] == ["000001.json"]


@pytest.mark.parametrize("token", ["0123456789abcdef", None])
def test_no_link_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, token: str | None) -> None:
    """Neither under the name of old, which everybody can tell, nor under that of today."""
    victim, folder = tmp_path / "victim", tmp_path / "runs"
    victim.write_text("mine")
    folder.mkdir()
    name = f".latest.json.{os.getpid()}.tmp" if token is None else f".{token}.tmp"
    (folder / name).symlink_to(victim)
    if token is None:
        write_atomic(folder / "latest.json", b"{}")
        assert not (folder / "latest.json").is_symlink()
    else:
        monkeypatch.setattr("secrets.token_hex", lambda _: token)
        with pytest.raises(FileExistsError):
            write_atomic(folder / "latest.json", b"{}")
        assert (folder / name).is_symlink()
    assert victim.read_text() == "mine"


def test_a_file_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomic(tmp_path / "x", b"x")
    assert list(tmp_path.iterdir()) == []


def test_others_may_read_what_the_umask_allows(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        write_atomic(tmp_path / "x", b"x")
    finally:
        os.umask(before)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o644


def test_temporary_files_go_once_they_are_a_day_old(tmp_path: Path) -> None:
    names = [".0123456789abcdef.tmp", ".0123456789abcde0.tmp", ".note.tmp", "0123456789abcdef.tmp"]
    for name in names:
        (tmp_path / name).touch()
        if name != names[1]:
            os.utime(tmp_path / name, (0, time.time() - DAY - 60))
    remove_temporary(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(names[1:])


@pytest.mark.skipif(os.name == "nt", reason="it has no such files")
@pytest.mark.parametrize("name", ["pipe", "link", "/dev/stdout"])
def test_devices_and_pipes_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Also where they may be replaced: with /dev/null gone a machine is of no use."""
    monkeypatch.setattr("os.replace", lambda *_: pytest.fail("it was replaced"))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    with pytest.raises(OSError, match="a device or a pipe"):
        write_atomic(tmp_path / name, b"x")
    assert {path.name for path in tmp_path.iterdir()} == {"pipe", "link"}


@pytest.mark.parametrize("target", ["gone", "link"])
def test_a_link_that_leads_nowhere_is_no_folder(tmp_path: Path, target: str) -> None:
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(FileNotFoundError, match="a link that leads nowhere"):
        make_directory(tmp_path / "link" / "runs")


def test_a_folder_that_is_absent_is_named_not_the_temporary_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as refusal:
        write_atomic(tmp_path / "nowhere" / "report.html", b"x")
    assert refusal.value.filename == str(tmp_path / "nowhere")


def test_a_folder_in_the_way_is_named_and_not_the_temporary_file(tmp_path: Path) -> None:
    (tmp_path / "page.html").mkdir()
    for folder in (tmp_path / "page.html", Path(), Path("/")):
        with pytest.raises(IsADirectoryError) as refused:
            write_atomic(folder, b"")
        assert refused.value.filename == str(folder)


@pytest.mark.parametrize("write", [write_atomic, create])
def test_an_error_of_a_full_disk_names_the_folder(tmp_path, monkeypatch, write):
    """The system names no file where it refuses its content."""

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    words = f"it cannot be written: {re.escape(str(tmp_path))}: no space left on device\n    free some space"
    with pytest.raises(EnvironmentFault, match=words), environment_faults("it cannot be written"):
        write(tmp_path / "file", b"content")
    assert not list(tmp_path.iterdir())
