"""Run folders in a bucket: the same tables and commands as on a disk, whatever the store does meanwhile."""

import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from cli.conftest import Invoke
from table.storage.s3_server import BUCKET, KEY, SECRET, S3Server, listing, unavailable

import plmetrics as plm
from plmetrics.core.errors import EnvironmentFault
from plmetrics.runs.files import create, is_old, place_of, update
from plmetrics.runs.work_folder import work_folder
from plmetrics.table.storage import stores

OUTPUT = f"s3://{BUCKET}/runs"
SUITE: dict[str, Any] = {
    "name": "nightly",
    "data": {"path": "day.csv"},
    "columns": {"label": "y"},
    "models": {"a": "a", "b": "b"},
    "metrics": ["roc_auc", "brier"],
    "compare": "a",
    "output": {"directory": OUTPUT, "also": ["junit", "openlineage"]},
    "gates": [{"metric": "roc_auc", "at_least": 0.6}],
}


class Crash(BaseException):
    """The end of a process."""


@pytest.fixture
def suite(tmp_path: Path, store: S3Server) -> Path:
    write_day(tmp_path, 1)
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(SUITE))
    return tmp_path / "s.yaml"


def write_day(folder: Path, seed: int) -> None:
    draw = np.random.default_rng(seed)
    y = draw.random(80) < 0.4
    scores = {name: np.clip(draw.normal(0.4 + 0.3 * y, 0.2), 0, 1) for name in "ab"}
    pl.DataFrame({"y": y.astype(int), **scores}).write_csv(folder / "day.csv")


def keys(store: S3Server) -> list[str]:
    listed = store.client.list_objects_v2(Bucket=BUCKET).get("Contents", ())
    return sorted(entry["Key"] for entry in listed)


def content(store: S3Server, key: str) -> bytes:
    body: bytes = store.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
    return body


@pytest.mark.slow
def test_a_run_in_a_bucket_has_the_tables_of_one_on_a_disk(
    suite: Path, store: S3Server, tmp_path: Path
) -> None:
    local = plm.run(suite, output=tmp_path / "runs")
    result = plm.run(suite)
    assert local.folder is not None
    start = f"runs/nightly/{result.folder.name}"
    names = {path.name for path in local.folder.iterdir()}
    assert set(keys(store)) == {f"{start}/{name}" for name in names} | {"runs/nightly/latest.json"}
    record = json.loads(content(store, f"{start}/run.json"))
    for name, facts in record["tables"].items():
        table = content(store, f"{start}/{name}.parquet")
        assert (len(table), hashlib.sha256(table).hexdigest()) == (facts["bytes"], facts["sha256"])
        assert table == (local.folder / f"{name}.parquet").read_bytes()
    lineage = json.loads(content(store, f"{start}/openlineage.ndjson").splitlines()[-1])
    assert lineage["outputs"] == [{"namespace": f"s3://{BUCKET}", "name": "runs/nightly"}]
    assert json.loads(content(store, "runs/nightly/latest.json"))["folder"] == result.folder.name
    for named in (f"{OUTPUT}/nightly", result.folder, f"{result.folder}/run.json", Path(str(result.folder))):
        again = plm.load(named)
        assert again.metrics.equals(local.metrics)
        assert str(again.folder) == f"{OUTPUT}/nightly/{result.folder.name}"


@pytest.mark.slow
def test_commands_read_a_bucket(suite: Path, tmp_path: Path, invoke: Invoke) -> None:
    done = invoke("run", str(suite), "--output", f"{OUTPUT}/")
    assert done.code == 0, done.err
    assert f"Run folder  {OUTPUT}/nightly/2" in done.out
    first = plm.load(f"{OUTPUT}/nightly")
    write_day(tmp_path, 2)
    second = plm.run(suite, set={"compare": {"baseline": "a", "run": f"{OUTPUT}/nightly"}})
    (reference,) = second.record["references"].values()
    assert reference["run"] == first.folder.name
    frame = plm.history(f"{OUTPUT}/nightly", metrics="brier", models="a")
    values = [
        run.metrics.filter(metric="brier", model="a", slice_set="overall")["value"].item()
        for run in (first, second)
    ]
    assert frame["value"].to_list() == values
    changes = plm.diff(first.folder, second.folder)
    assert changes.changed
    for words in (
        ["report", f"{OUTPUT}/nightly", "--quiet"],
        ["diff", str(first.folder), str(second.folder)],
        ["history", OUTPUT, "brier"],
    ):
        done = invoke(*words)
        assert done.code == 0, done.err
    assert "s3:/s" not in done.out


def faults(monkeypatch: pytest.MonkeyPatch, at: int) -> list[str]:
    """Let a process end at one of its writes to a bucket, the first being 1; what it does then is done no more."""
    calls: list[str] = []

    def watched(name: str) -> Any:
        call = getattr(stores, name)

        def write(root: str, key: str, *rest: Any) -> Any:
            calls.append(key)
            if len(calls) >= at > 0:
                raise Crash
            return call(root, key, *rest)

        return write

    for name in ("write", "delete"):
        monkeypatch.setattr(stores, name, watched(name))
    return calls


@pytest.mark.slow
def test_a_run_that_ends_at_any_write_leaves_the_old_result_or_the_new(
    suite: Path, store: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"output.also": ["junit"]}
    old = plm.run(suite, set=settings)
    objects = {key: content(store, key) for key in keys(store)}
    write_day(tmp_path, 2)
    with monkeypatch.context() as patch:
        calls = faults(patch, 0)
        new = plm.run(suite, set=settings)
    assert len(calls) >= 8
    values = [old.metrics["value"].to_list(), new.metrics["value"].to_list()]
    for at in range(1, len(calls) + 1):
        store.clear()
        for key, body in objects.items():
            store.put(key, body)
        with monkeypatch.context() as patch, suppress(Crash):
            faults(patch, at)
            plm.run(suite, set=settings)
        assert plm.load(f"{OUTPUT}/nightly").metrics["value"].to_list() in values
        runs = plm.history(f"{OUTPUT}/nightly", metrics="brier")["run_id"].unique().to_list()
        assert old.folder.name in runs
        for run in runs:
            assert plm.load(f"{OUTPUT}/nightly/{run}").metrics["value"].to_list() in values
    again = plm.run(suite, set=settings)
    assert plm.load(f"{OUTPUT}/nightly").folder == again.folder


@pytest.mark.slow
def test_what_killed_runs_left_goes_once_it_is_a_day_old(
    suite: Path, store: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = plm.run(suite).folder
    killed, young = "20261101T020000Z-aaaaaa", "20261101T020000Z-bbbbbb"
    for run in (killed, young, whole.name):
        store.put(f"runs/nightly/{work_folder(run)}/run.json", b"{}")
        store.put(f"runs/nightly/{run}/metrics.parquet", b"half")
    store.put("runs/other/.20261101T020000Z-cccccc.partial/run.json", b"{}")
    with pytest.raises(plm.AbsentDataError, match="still running"):
        plm.load(f"{OUTPUT}/other")
    before = set(keys(store))
    old = {work_folder(killed), work_folder(whole.name)}
    monkeypatch.setattr("plmetrics.runs.work_folder.is_old", lambda place: place.name in old)
    plm.run(suite)
    gone = before - set(keys(store))
    assert gone == {f"runs/nightly/{name}/run.json" for name in old} | {
        f"runs/nightly/{killed}/metrics.parquet"
    }
    assert not is_old(place_of(f"{OUTPUT}/nightly"))


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", ["run.json", "metrics.parquet", "latest.json"])
def test_an_answer_that_is_lost_is_no_second_run(suite: Path, store: S3Server, part: str) -> None:
    """The store has written the object and does not say so: the request is repeated, and meets its own object."""
    store.losses.append(unavailable(1, part, "PUT"))
    result = plm.run(suite)
    assert not store.losses[0]("PUT", part)
    assert not [text for text in result.warnings if "latest" in text]
    assert plm.load(f"{OUTPUT}/nightly").folder == result.folder


@pytest.mark.slow
def test_an_answer_that_is_lost_for_good_leaves_what_is_written(
    suite: Path, store: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No failed run takes the place of one that is there, and none of its tables goes."""
    monkeypatch.setenv("POLARS_CLOUD_MAX_RETRIES", "0")

    def lost(method: str, path: str) -> tuple[str, bytes] | None:
        mine = method == "PUT" and path.endswith("/run.json") and ".partial" not in path
        return ("503 Slow Down", b"<Error><Code>SlowDown</Code></Error>") if mine else None

    store.losses.append(lost)
    with pytest.raises(plm.EnvironmentFault, match="the store answers 503"):
        plm.run(suite)
    store.losses.clear()
    (record,) = [key for key in keys(store) if key.endswith("/run.json") and ".partial" not in key]
    run = record.split("/")[2]
    assert plm.load(f"{OUTPUT}/nightly/{run}").verdict == "pass"


def test_a_store_that_does_not_answer_is_exit_code_6(
    suite: Path, store: S3Server, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLARS_CLOUD_MAX_RETRIES", "0")
    store.rules.append(unavailable(part="metrics.parquet", kind="PUT"))
    done = invoke("run", str(suite))
    assert done.code == 6
    assert "the store answers 503" in done.err
    store.rules.clear()
    (failed,) = [key for key in keys(store) if key.endswith("run.json")]
    assert json.loads(content(store, failed))["exit_code"] == 6
    assert not [key for key in keys(store) if key.endswith(".parquet")]
    store.rules.append(unavailable())
    for words in (["run", str(suite)], ["report", f"{OUTPUT}/nightly"], ["history", OUTPUT]):
        done = invoke(*words)
        assert done.code == 6, done.out
        assert "the store answers 503" in done.err


def test_words_of_what_is_not_there(
    suite: Path, store: S3Server, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = plm.run(suite)
    assert invoke("report", f"{OUTPUT}/none").code == 5
    store.put(f"runs/nightly/{result.folder.name}/metrics.parquet", b"other")
    done = invoke("report", f"{OUTPUT}/nightly")
    assert done.code == 4
    assert f"{result.folder}/metrics.parquet is absent or not as it was written" in done.err
    for output in ("https://host/runs", "hf://datasets/a/b", "ftp://host/runs", "s3://me:geheim@b/runs"):
        done = invoke("run", str(suite), "--output", output)
        assert done.code == 2, output
        assert "geheim" not in done.err
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "wrong")
    done = invoke("run", str(suite))
    assert done.code == 6
    assert "the store denies access" in done.err


def test_no_secret_stands_in_what_is_written(
    suite: Path, store: S3Server, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNS", f"{OUTPUT}/hidden-place")
    done = invoke("run", str(suite), "--set", "output.directory=${RUNS}")
    assert done.code == 0, done.err
    written = [content(store, key) for key in keys(store)]
    assert len(written) > 5
    for body in (*written, done.out.encode(), done.err.encode()):
        assert KEY.encode() not in body
        assert SECRET.encode() not in body


@pytest.mark.slow
def test_of_eight_writers_one_creates_and_none_is_lost(store: S3Server) -> None:
    pointer, log = place_of(f"{OUTPUT}/pointer"), place_of(f"{OUTPUT}/log")

    def add(number: int) -> bool:
        update(log, lambda before: (before or b"") + b"%d;" % number)
        return create(pointer, b"%d" % number * 1000)

    with ThreadPoolExecutor(8) as writers:
        created = list(writers.map(add, range(8)))
    assert created.count(True) == 1
    assert sorted(log.read_bytes().split(b";")[:-1]) == [b"%d" % n for n in range(8)]
    assert pointer.read_bytes() == b"%d" % created.index(True) * 1000


def test_places_are_named_as_paths_are(store: S3Server) -> None:
    place = place_of(f"s3a://{BUCKET}/runs//nightly/")
    assert (str(place), place.name, str(place.parent)) == (f"{OUTPUT}/nightly", "nightly", OUTPUT)
    assert place_of(Path(OUTPUT)) == place.parent == place_of(place.parent)
    assert os.fspath(place / "a" / "b.json") == f"{OUTPUT}/nightly/a/b.json"
    assert not place.exists()
    with pytest.raises(FileNotFoundError):
        (place / "run.json").read_bytes()
    with pytest.raises(FileNotFoundError):
        place.stat()
    store.put("runs/nightly/a/run.json", b"12")
    store.put("runs/nightly/b.json", b"345")
    assert (place.is_dir(), place.is_file(), (place / "b.json").is_file()) == (True, False, True)
    assert sorted(place.names()) == ["a", "b.json"]
    assert place.sizes() == {"b.json": 3}
    assert place.stat().st_size == 5
    assert list(place.modified_below("run.json")) == ["a"]


def test_a_store_that_lists_the_same_below_every_name(suite: Path, store: S3Server) -> None:
    facts = "<Key>x</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>1</ETag><Size>1</Size>"
    entry = f"<Contents>{facts}</Contents>"
    store.rules.append(listing(f"<ListBucketResult><Name>x</Name>{entry}</ListBucketResult>".encode()))
    with pytest.raises(EnvironmentFault, match="any folder is there, whatever its name"):
        plm.run(suite)
