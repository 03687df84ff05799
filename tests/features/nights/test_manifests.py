"""Manifests: written once and in full, the highest number counts, and what is torn is passed over."""

import errno
import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from plmetrics.core.durations import Duration
from plmetrics.core.errors import EnvironmentFault
from plmetrics.features.nights.calendar import Calendar
from plmetrics.features.nights.manifests import Acceptance, Manifest, Manifests
from plmetrics.runs.files import create

FIRST = Manifest(
    interval="2026-11-20",
    start="2026-11-20T00:00:00+00:00",
    end="2026-11-21T00:00:00+00:00",
    timezone="UTC",
    run="20261121T020000Z-00000a",
    verdict="pass",
    exit_code=0,
    fingerprint="f",
    data="d",
    references="r",
    rows=10,
)


@pytest.fixture
def manifests(tmp_path: Path) -> Manifests:
    return Manifests(tmp_path / "home")


def names(manifests: Manifests) -> list[str]:
    return sorted(path.name for path in (manifests.home / "intervals" / FIRST.interval).iterdir())


def test_what_is_written_comes_back(manifests: Manifests) -> None:
    accepted = Acceptance('the "file" was late', "ann", "2026-11-21T08:00:00+00:00")
    written = manifests.commit(
        replace(FIRST, files={f"{FIRST.run}/run.json": {"bytes": 3, "sha256": "x"}}, accepted=accepted)
    )
    assert written.sequence == 1
    assert manifests.current(FIRST.interval) == written
    assert manifests.interval_keys() == [FIRST.interval]
    assert names(manifests) == ["000001.json"]


def test_there_is_none_before_the_first(manifests: Manifests) -> None:
    assert manifests.interval_keys() == []
    assert manifests.current(FIRST.interval) is None
    (manifests.home / "intervals").mkdir(parents=True)
    (manifests.home / "intervals" / "README").write_text("by hand")
    assert manifests.current("README") is None


def test_the_highest_number_counts_also_beyond_six_digits(manifests: Manifests) -> None:
    for run in "ab":
        manifests.commit(replace(FIRST, run=run))
    folder = manifests.home / "intervals" / FIRST.interval
    (folder / "000002.json").rename(folder / "999999.json")
    last = manifests.commit(replace(FIRST, run="c"))
    assert last.sequence == 1_000_000
    assert [manifest.run for manifest in manifests.latest_first(FIRST.interval)] == ["c", "b", "a"]


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b'{"schema_version": 1}', b"\xff\xfe", b"[" * 100_000, b'{"accepted": 3}'],
)
def test_a_torn_manifest_is_passed_over_and_its_number_is_not_taken_again(
    manifests: Manifests, content: bytes
) -> None:
    first = manifests.commit(FIRST)
    (manifests.home / "intervals" / FIRST.interval / "000002.json").write_bytes(content)
    assert manifests.current(FIRST.interval) == first
    assert manifests.commit(replace(FIRST, run="b")).sequence == 3


@pytest.mark.parametrize(
    "change",
    [
        {"run": None}, {"run": "../../elsewhere"}, {"run": ""}, {"files": []}, {"files": {"a": 3}},
        {"files": {"a": {}}},
        {"files": {"../x": {"bytes": 1, "sha256": ""}}}, {"verdict": 3}, {"start": "2026-11-20"}, {"end": "soon"},
        {"rows": "many"}, {"accepted": {"because": 3, "by": "a", "at": "b"}}, {"accepted": []},
        {"interval": "2026-11-19"},
        {"exit_code": "0"}, {"data": None},
    ],
)  # fmt: skip
def test_a_manifest_of_another_shape_is_passed_over(manifests: Manifests, change: dict[str, object]) -> None:
    first = manifests.commit(FIRST)
    content = json.loads(replace(FIRST, sequence=2).content()) | change
    (manifests.home / "intervals" / FIRST.interval / "000002.json").write_text(json.dumps(content))
    assert manifests.current(FIRST.interval) == first


def test_keys_of_later_versions_are_read_over(manifests: Manifests) -> None:
    written = manifests.commit(FIRST)
    path = manifests.home / "intervals" / FIRST.interval / "000001.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"novelty": [1]}))
    assert manifests.current(FIRST.interval) == written


def test_writers_side_by_side_lose_none(manifests: Manifests) -> None:
    with ThreadPoolExecutor(8) as threads:
        runs = [replace(FIRST, run=f"run-{number}") for number in range(40)]
        written = list(threads.map(manifests.commit, runs))
    assert sorted(manifest.sequence for manifest in written) == list(range(1, 41))
    assert {manifest.run for manifest in manifests.latest_first(FIRST.interval)} == {run.run for run in runs}
    assert len(names(manifests)) == 40  # and no temporary file


def test_a_change_of_a_manifest_that_is_superseded_is_not_written(manifests: Manifests) -> None:
    first = manifests.commit(FIRST)
    second = manifests.commit(replace(FIRST, run="b"))
    assert manifests.change(first, verdict="fail") is None
    assert manifests.current(FIRST.interval) == second
    third = manifests.change(second, verdict="fail")
    assert third is not None
    assert manifests.current(FIRST.interval) == third == replace(second, verdict="fail", sequence=3)


def test_creation_is_exclusive(tmp_path: Path) -> None:
    assert create(tmp_path / "a", b"one")
    assert not create(tmp_path / "a", b"two")
    assert (tmp_path / "a").read_bytes() == b"one"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_creation_without_links_is_exclusive_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    assert create(tmp_path / "a", b"one")
    assert not create(tmp_path / "a", b"two")
    assert (tmp_path / "a").read_bytes() == b"one"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_full_disk_is_a_fault_of_the_environment(
    manifests: Manifests, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    manifests.commit(FIRST)
    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(EnvironmentFault, match="the manifest of 2026-11-20 cannot be written"):
        manifests.commit(replace(FIRST, run="b"))
    assert names(manifests) == ["000001.json"]


def test_a_day_of_another_time_zone_is_another_interval() -> None:
    for zone, same in (("UTC", True), ("Europe/Paris", False), ("Africa/Abidjan", True)):
        assert FIRST.of(Calendar(Duration.of("1d"), zone).interval(FIRST.interval)) == same
    assert FIRST.of(Calendar(Duration.of("1d")).containing(datetime(2026, 11, 20, 7, tzinfo=UTC)))


def test_files_that_are_absent_or_changed_are_named(manifests: Manifests) -> None:
    folder = manifests.home / "run"
    folder.mkdir(parents=True)
    facts = {"bytes": 5, "sha256": hashlib.sha256(b"12345").hexdigest()}
    for name in ("run.json", "metrics.parquet"):
        (folder / name).write_bytes(b"12345")
    manifest = replace(FIRST, run="run", files={"run/metrics.parquet": facts, "run/run.json": facts})
    assert manifests.damage(manifest) is None
    (folder / "run.json").write_bytes(b"12346")
    assert manifests.damage(manifest) == "run/run.json does not fit its hash"
    (folder / "run.json").write_bytes(b"12345")
    (folder / "metrics.parquet").write_bytes(b"12354")
    assert manifests.damage(manifest, thorough=True) == "run/metrics.parquet does not fit its hash"
    (folder / "metrics.parquet").write_bytes(b"1234")
    assert manifests.damage(manifest) == "run/metrics.parquet is not as it was written"
    (folder / "metrics.parquet").unlink()
    assert manifests.damage(manifest) == "run/metrics.parquet is absent"
