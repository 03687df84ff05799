"""Nights whose run folders lie in a bucket: manifests by conditional writes, whatever the store does meanwhile."""

import io
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from suites.nights import Nights, day, rows
from table.storage.s3_server import BUCKET, S3Server, unavailable

import plmetrics as plm
from plmetrics.api.nights.acceptance import accept
from plmetrics.api.nights.backfill import backfill
from plmetrics.api.nights.collection import collect_garbage
from plmetrics.features.nights.manifests import Manifests
from plmetrics.features.nights.states import STATE
from plmetrics.runs.files import place_of
from plmetrics.table.storage import objects, stores
from plmetrics.table.storage.places import Place

OUTPUT = f"s3://{BUCKET}/runs"


class Crash(BaseException):
    """The end of a process."""


class BucketNights(Nights):
    """Nights whose suite writes to a bucket."""

    @property
    def home(self) -> Place:  # type: ignore[override]
        return place_of(f"{OUTPUT}/nightly")

    def write_suite(self, **changes: Any) -> None:
        super().write_suite(**{"output": {"directory": OUTPUT}, "metrics": ["roc_auc", "brier"], **changes})


@pytest.fixture
def nights(tmp_path: Path, store: S3Server) -> BucketNights:
    growing = BucketNights(tmp_path)
    growing.write_suite()
    for number in range(4):
        growing.write(number)
    return growing


def values(result: plm.Result) -> list[float]:
    return result.metrics["value"].to_list()


@pytest.mark.slow
def test_nights_in_a_bucket_are_those_on_a_disk(nights: BucketNights, tmp_path: Path) -> None:
    nights.write_suite(
        keep={"states": "30d"},
        compare={"run": {"window": "28d"}},
        drift={"reference": "previous"},
        metrics=["roc_auc"],
        slices=None,
    )
    for output in (None, tmp_path / "disk"):
        outcomes = backfill(nights.suite, day(0), day(2), output=output)
        assert [outcome.verdict for outcome in outcomes] == ["pass"] * 2
    here, there = (
        plm.run(nights.suite, interval=day(2), output=output) for output in (tmp_path / "disk", None)
    )
    for name in ("metrics", "comparisons", "gates"):
        assert here.tables[name].equals(there.tables[name]), name
    references = there.record["references"]["compare.run"]  # type: ignore[typeddict-item]
    assert references["intervals"] == [day(0), day(1)]
    span = f"{day(0)}/{day(3)}"
    merged = [plm.merge(home, interval=span) for home in (tmp_path / "disk" / "nightly", f"{OUTPUT}/nightly")]
    assert values(merged[0]) == values(merged[1])
    frames = [plm.history(home).drop("run_id") for home in (tmp_path / "disk" / "nightly", OUTPUT)]
    assert frames[0].equals(frames[1])
    assert plm.run(nights.suite, interval=day(2)).folder == there.folder


@pytest.mark.slow
def test_acceptance_and_removal(
    nights: BucketNights, store: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    nights.write_suite(keep={"states": "1d", "runs": "1d"}, compare={"run": "previous"}, slices=None)
    nights.write(1, bad=True)
    first, bad = nights.run(0), nights.run(1)
    assert bad.verdict == "fail"
    accept(str(bad.folder), "the label file was late", "me")
    later = nights.run(2)
    assert later.record["references"]["compare.run"]["intervals"] == [day(1)]  # type: ignore[typeddict-item]
    superseded = later.folder
    again = nights.run(2, force=True)
    assert collect_garbage(nights.suite, dry_run=True)
    monkeypatch.setattr("plmetrics.api.nights.collection.is_old", lambda place: place == superseded)
    removals = collect_garbage(nights.suite)
    reasons = {removal.path.name: removal.reason for removal in removals}
    assert reasons[superseded.name] == "superseded or failed"  # type: ignore[union-attr]
    assert reasons[first.folder.name] == f"{day(0)} is older than keep says"  # type: ignore[union-attr]
    assert superseded is not None
    assert not superseded.exists()
    assert STATE not in (nights.home / first.folder.name).names()  # type: ignore[union-attr]
    assert collect_garbage(nights.suite) == []
    for number, result in ((0, first), (1, bad), (2, again)):
        manifest = nights.current(number)
        assert manifest is not None
        assert manifest.run == result.folder.name  # type: ignore[union-attr]
        assert nights.manifests.damage(manifest, thorough=True) is None
    assert plm.history(OUTPUT, metrics="brier")["accepted"].unique().to_list() == [True]


@pytest.mark.slow
def test_eight_writers_lose_no_manifest(nights: BucketNights) -> None:
    nights.run(0)
    first = nights.current(0)
    assert first is not None
    with ThreadPoolExecutor(8) as writers:
        committed = list(
            writers.map(lambda name: nights.manifests.commit(replace(first, run=name, files={})), "abcdefgh")
        )
    assert sorted(manifest.sequence for manifest in committed) == list(range(2, 10))
    assert {manifest.run for manifest in nights.manifests.latest_first(day(0))} == {first.run, *"abcdefgh"}
    last = nights.current(0)
    assert last is not None
    with ThreadPoolExecutor(8) as writers:
        changed = list(writers.map(lambda rows: nights.manifests.change(last, rows=rows), range(100, 108)))
    assert sum(manifest is not None for manifest in changed) == 1


@pytest.mark.slow
def test_a_listing_that_lags_loses_no_manifest(nights: BucketNights, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another writer has committed since is not overwritten, nor taken for something that still counts."""
    nights.run(0)
    first = nights.current(0)
    assert first is not None
    lagging = stores.list_in(nights.home.address.root, f"runs/nightly/intervals/{day(0)}")  # type: ignore[union-attr]
    other = nights.manifests.commit(replace(first, run="other", files={}))
    with monkeypatch.context() as patch:
        patch.setattr(stores, "list_in", lambda root, folder: lagging)
        assert nights.manifests.change(first, rows=7) is None
        mine = nights.manifests.commit(replace(first, run="mine", files={}))
    assert (other.sequence, mine.sequence) == (2, 3)
    assert [manifest.run for manifest in nights.manifests.latest_first(day(0))] == [
        "mine",
        "other",
        first.run,
    ]


@pytest.mark.slow
@pytest.mark.parametrize("part", ["000001.json", "constants", STATE])
def test_an_answer_that_is_lost_counts_once(nights: BucketNights, store: S3Server, part: str) -> None:
    nights.write_suite(keep={"states": "30d"})
    store.losses.append(unavailable(1, part, "PUT"))
    result = nights.run(0)
    assert store.losses[0]("PUT", part) is None
    manifests = list(nights.manifests.latest_first(day(0)))
    assert [manifest.run for manifest in manifests] == [result.folder.name]  # type: ignore[union-attr]
    assert nights.manifests.damage(manifests[0], thorough=True) is None


@pytest.mark.slow
def test_a_night_that_ends_at_any_write_leaves_the_old_result_or_the_new(
    nights: BucketNights, store: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    nights.write_suite(keep={"states": "30d"}, metrics=["brier"], gates=[], slices=None)
    nights.write(0, rows(0, 30))
    nights.run(0)
    written = {
        key: store.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        for key in (entry["Key"] for entry in store.client.list_objects_v2(Bucket=BUCKET)["Contents"])
    }
    nights.write(0, rows(0, 40))
    at, ended = 0, True
    while ended:
        at += 1
        store.clear()
        for key, body in written.items():
            store.put(key, body)
        with monkeypatch.context() as patch:
            ended = _crashes(nights, patch, at)
        manifest = nights.current(0)
        assert manifest is not None
        assert nights.manifests.damage(manifest, thorough=True) is None
        assert plm.load(f"{OUTPUT}/nightly/{manifest.run}").record["rows"]["read"] == manifest.rows
        assert manifest.rows in (30, 40)
        assert at % 4 or nights.run(0).record["rows"]["read"] == 40
    assert at >= 10


def _crashes(nights: BucketNights, patch: pytest.MonkeyPatch, at: int) -> bool:
    """Whether a night has so many writes; it ends at that one, and does nothing more."""
    calls = 0

    def watched(call: Any) -> Any:
        def write(*arguments: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls >= at:
                raise Crash
            return call(*arguments)

        return write

    for name in ("write", "delete"):
        patch.setattr(stores, name, watched(getattr(stores, name)))
    with suppress(Crash):
        nights.run(0)
        return False
    return True


@pytest.mark.slow
def test_a_store_that_does_not_answer_is_no_lack_of_references(
    nights: BucketNights, store: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A night that would be compared with another one ends with exit code 6, and not with other numbers."""
    nights.write_suite(compare={"run": "previous"})
    first = nights.run(0)
    monkeypatch.setenv("POLARS_CLOUD_MAX_RETRIES", "0")
    store.rules.append(unavailable(part=f"{first.folder.name}/run.json", kind="GET"))  # type: ignore[union-attr]
    assert nights.exit_code(1) == 6
    assert nights.current(1) is None
    store.rules.clear()
    store.client.delete_object(Bucket=BUCKET, Key=f"runs/nightly/{first.folder.name}/metrics.parquet")  # type: ignore[union-attr]
    result = nights.run(1)
    (passed,) = result.record["references"]["compare.run"]["passed_over"]  # type: ignore[typeddict-item]
    assert passed["reason"].endswith("metrics.parquet is absent")
    store.put(f"runs/nightly/intervals/{day(0)}/000001.json", b"{}")
    assert Manifests(nights.home).current(day(0)) is None
    assert objects.read_object(nights.home.address._replace(key="runs/nightly/latest.json"))  # type: ignore[union-attr]
    frame = pl.read_parquet(io.BytesIO((result.folder / "metrics.parquet").read_bytes()))  # type: ignore[operator]
    assert frame.height == result.metrics.height
