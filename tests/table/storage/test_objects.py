"""Tables in a bucket of a real S3 server: the same rows as on disk, and faults of the server as documented."""

import gzip
import io
import json
import random
from pathlib import Path
from time import monotonic, sleep

import polars as pl
import pytest
from table.storage.s3_server import BUCKET, KEY, SECRET, after_reads, listing, slow, unavailable

import plmetrics as plm
from plmetrics.core.errors import AbsentDataError, ConfigError, DataError, EnvironmentFault
from plmetrics.engine.faults import reading
from plmetrics.engine.streaming import collected_frame
from plmetrics.table.opening import open_source

DAYS = ("2026-01-01", "2026-01-02", "2026-01-03")
WRITERS = {
    "parquet": lambda frame, file: frame.write_parquet(file),
    "csv": lambda frame, file: frame.write_csv(file),
    "csv.gz": lambda frame, file: file.write(gzip.compress(frame.write_csv().encode())),
    "ndjson": lambda frame, file: frame.write_ndjson(file),
    "arrow": lambda frame, file: frame.write_ipc(file),
}


def rows(seed: int, count: int = 60) -> pl.DataFrame:
    rng = random.Random(seed)
    y = [rng.randrange(2) for _ in range(count)]
    return pl.DataFrame(
        {"y": y, "p": [round(rng.random(), 6) for _ in y], "g": [rng.choice("ab") for _ in y]}
    )


def content(kind: str, seed: int, count: int = 60) -> bytes:
    file = io.BytesIO()
    WRITERS[kind](rows(seed, count), file)
    return file.getvalue()


def fill(store, kind: str = "parquet", folder: Path | None = None) -> str:
    """A file a day in the bucket, and the same on disk."""
    for seed, day in enumerate(DAYS):
        body, key = content(kind, seed), f"t/day={day}/part-0.{kind}"
        store.put(key, body)
        if folder is not None:
            (folder / key).parent.mkdir(parents=True)
            (folder / key).write_bytes(body)
    store.requests.clear()
    return f"s3://{BUCKET}/t"


def evaluate(path: object, **options: object) -> plm.Result:
    return plm.evaluate(path, label="y", models="p", metrics=["roc_auc", "log_loss"], **options)


@pytest.mark.slow
@pytest.mark.parametrize("kind", WRITERS)
def test_a_bucket_gives_what_the_disk_gives(store, tmp_path, kind):
    address = fill(store, kind, tmp_path)
    for suffix, where in (("", None), ("/day=*/*", "day > DATE '2026-01-01' AND g = 'a'")):
        options = {"slices": "day", "where": where, "uncertainty": {"replicates": 20}}
        remote = evaluate(address + suffix, **options)
        local = evaluate(str(tmp_path / "t") + suffix, **options)
        assert remote.metrics.equals(local.metrics)
        facts = [
            [{key: value for key, value in file.items() if key != "folder"} for file in run.record["files"]]
            for run in (remote, local)
        ]
        assert facts[0] == facts[1]
        assert {file["folder"] for file in remote.record["files"]} == {address}


def test_a_condition_on_folders_reads_no_other_object(store):
    evaluate(fill(store), where="day = DATE '2026-01-02'")
    assert store.read_keys() == {"t/day=2026-01-02/part-0.parquet"}


def test_what_paths_mean(store):
    body = content("parquet", 1)
    for key in ("t/a/x.parquet", "t/a/b/y.parquet", "t/_old/z.parquet", "t/.tmp/w.parquet", "t/_SUCCESS"):
        store.put(key, body)
    store.put("t/marker/", b"")

    def names(*paths: str) -> list[str]:
        return [file.name for file in open_source([f"s3://{BUCKET}/{path}" for path in paths]).files]

    assert (
        names("t")
        == names("t/")
        == names("t/**")
        == names("t/**/*.parquet")
        == ["a/b/y.parquet", "a/x.parquet"]
    )
    assert names("t/*/*.parquet") == ["a/x.parquet"]
    assert names("t/a/x.parquet") == ["x.parquet"]
    assert names("t/a/x.parquet", "t/a/b") == ["b/y.parquet", "x.parquet"]
    assert names("t/_old/z.parquet") == ["z.parquet"]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("paths", "kind", "words"),
    [
        ("s3://scores/t/day=2026-01-09", AbsentDataError, "day=2026-01-03 before it"),
        ("s3://scores/t/*.csv", AbsentDataError, "no object matches"),
        ("s3://scores/u", AbsentDataError, "no such object or folder"),
        ("s3://nobody/t", EnvironmentFault, "there is no such bucket"),
        ("s3://me:geheim@scores/t", ConfigError, r"'s3://\*\*\*@scores/...' holds a user or a password"),
        ("s4://scores/t", ConfigError, "addresses start with s3://"),
        ("s3:///t", ConfigError, "names no bucket"),
        (["s3://scores/t", "t.parquet"], ConfigError, "not in both"),
        (["s3://scores/t", "s3://others/t"], ConfigError, "in one bucket"),
        (["s3://scores/t", "s3://scores/t/day=2026-01-01"], ConfigError, "named twice"),
    ],
)
def test_addresses_that_mean_nothing(store, paths, kind, words):
    fill(store)
    with pytest.raises(kind, match=words) as caught:
        open_source(paths)
    assert type(caught.value) is kind
    assert "geheim" not in str(caught.value)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("name", "body", "words"),
    [
        ("x.parquet", b"PAR1 half", "truncated or not a parquet file"),
        ("x.csv", b"", "is empty"),
        ("x.txt", b"1", "the ending of the name is not known"),
        ("x.csv.gz", b"no gzip at all", "is damaged"),
        ("x.arrow", b"ARROW1 half", "truncated or not an Arrow file"),
    ],
)
def test_objects_that_cannot_be_read(store, name, body, words):
    store.put(f"t/{name}", body)
    with pytest.raises(DataError, match=words) as caught:
        open_source(f"s3://{BUCKET}/t/{name}")
    assert type(caught.value) is DataError


@pytest.mark.slow
def test_a_server_that_recovers(store, tmp_path):
    address = fill(store, folder=tmp_path)
    store.rules += [unavailable(times=2), slow(0.01)]
    remote = evaluate(address)
    assert remote.metrics.equals(evaluate(str(tmp_path / "t")).metrics)


def test_a_server_that_does_not_recover(store, monkeypatch):
    monkeypatch.setenv("POLARS_CLOUD_MAX_RETRIES", "0")
    address = fill(store)
    store.rules.append(unavailable())
    with pytest.raises(EnvironmentFault, match="the store answers 503"):
        open_source(address)
    store.rules[:] = [unavailable(part="day=2026-01-02")]
    with pytest.raises(EnvironmentFault, match=r"day=2026-01-02/part-0.parquet: the store answers 503"):
        evaluate(address)


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow"])
@pytest.mark.parametrize("name", ["a*", "?a", "k=[a]/a"])
def test_names_are_no_globs(store, kind, name):
    for seed, key in enumerate((name, "k=[a]/b" if "/" in name else "ab")):
        store.put(f"t/{key}.{kind}", content(kind, seed))
    source = open_source(f"s3://{BUCKET}/t")
    assert source.frame.collect().height == source.with_row_key().collect().height == 120


def test_names_that_are_taken_for_globs_are_told(store):
    store.put("t/a*.ndjson", content("ndjson", 1))
    store.put("t/ab.ndjson", content("ndjson", 2))
    with pytest.raises(
        DataError, match=r"t/a\*\.ndjson: its name is taken for a glob, of other objects\n.*rename it"
    ):
        open_source(f"s3://{BUCKET}/t")


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["parquet", "csv", "ndjson", "arrow"])
def test_a_server_that_fails_while_rows_are_read(store, monkeypatch, kind):
    monkeypatch.setenv("POLARS_CLOUD_MAX_RETRIES", "0")
    source = open_source(fill(store, kind))
    store.rules.append(unavailable(part="part-0"))
    with pytest.raises(EnvironmentFault, match="the store answers 503"):
        plm_on(source)


def plm_on(source: object) -> None:
    from plmetrics.engine.faults import reading

    with reading(source):
        source.frame.select("p").collect(engine="streaming")


@pytest.mark.exhaustive
@pytest.mark.parametrize("change", ["other rows", "same size", "removed"])
@pytest.mark.parametrize("reads", [2, 3])
def test_an_object_that_is_replaced_while_it_is_read(store, change, reads):
    address = fill(store)
    key = f"t/day={DAYS[1]}/part-0.parquet"
    if change == "removed":
        action = lambda: store.client.delete_object(Bucket=BUCKET, Key=key)  # noqa: E731
    else:
        body = content("parquet", 7, 61 if change == "other rows" else 60)
        action = lambda: store.put(key, body)  # noqa: E731
    store.rules.append(after_reads(key, reads, action))
    gone_at_once = change == "removed" and reads == 2
    words = "no such object" if gone_at_once else "changed while it was read"
    with pytest.raises(DataError, match=f"{key}:? {words}") as caught:
        evaluate(address)
    assert type(caught.value) is (AbsentDataError if gone_at_once else DataError)


def listed(objects: list[dict[str, object]]) -> bytes:
    entries = "".join(
        f"<Contents><Key>{entry['Key']}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
        f"<ETag>{entry['ETag']}</ETag><Size>{entry['Size']}</Size></Contents>"
        for entry in objects
    )
    return f"<ListBucketResult><Name>x</Name>{entries}</ListBucketResult>".encode()


def test_a_listing_that_names_an_object_which_is_gone(store):
    address = fill(store)
    old = store.client.list_objects_v2(Bucket=BUCKET, Prefix="t/")["Contents"]
    store.client.delete_object(Bucket=BUCKET, Key=old[1]["Key"])
    store.rules.append(listing(listed(old)))
    with pytest.raises(AbsentDataError, match=f"{old[1]['Key']}: no such object"):
        open_source(address)


def test_a_server_that_stops_in_the_middle(store, monkeypatch):
    monkeypatch.setenv("POLARS_CLOUD_MAX_RETRIES", "1")
    monkeypatch.setenv("POLARS_CLOUD_RETRY_TIMEOUT_MS", "300")
    source = open_source(fill(store))
    store.rules.append(lambda method, _: sleep(12) if method == "GET" else None)
    start = monotonic()
    with pytest.raises(EnvironmentFault, match="cannot be reached"), reading(source):
        collected_frame(source.frame)
    assert monotonic() - start < 9


def test_credentials(store, monkeypatch):
    address = fill(store)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIASOMEBODYELSE")
    with pytest.raises(EnvironmentFault, match="denies access: 403") as caught:
        open_source(address)
    assert "AWS_ACCESS_KEY_ID" in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.slow
def test_nothing_that_is_written_holds_a_credential(store, root):
    suite = {
        "name": "remote",
        "data": {"path": fill(store)},
        "columns": {"label": "y"},
        "models": {"p": "p"},
        "metrics": ["roc_auc"],
    }
    Path("s.yaml").write_text(json.dumps(suite))
    folder = plm.run("s.yaml").folder
    plm.state("s.yaml", output="s.plmstate")
    files = [path for path in [*folder.rglob("*"), Path("s.plmstate")] if path.is_file()]
    assert files
    assert not [
        path for path in files if SECRET.encode() in path.read_bytes() or KEY.encode() in path.read_bytes()
    ]
    assert f"s3://{BUCKET}/t" in (folder / "run.json").read_text()


@pytest.mark.slow
def test_a_night_knows_objects_again_and_sees_what_a_lagging_listing_left_out(store, root):
    suite = {
        "name": "nightly",
        "data": {"path": fill(store)},
        "interval": {"partition": "day"},
        "columns": {"label": "y"},
        "models": {"p": "p"},
        "metrics": ["log_loss"],
    }
    Path("s.yaml").write_text(json.dumps(suite))

    def night() -> plm.Result:
        return plm.run("s.yaml", interval=DAYS[1])

    first = night()
    assert first.record["rows"]["read"] == 60
    assert night().folder == first.folder
    store.put(f"t/day={DAYS[1]}/part-0.parquet", content("parquet", 1))
    assert night().folder == first.folder, "the same content was written again"
    old = store.client.list_objects_v2(Bucket=BUCKET, Prefix="t/")["Contents"]
    store.put(f"t/day={DAYS[1]}/part-1.parquet", content("parquet", 9))
    store.rules.append(listing(listed(old)))
    assert night().folder == first.folder
    store.rules.clear()
    second = night()
    assert second.folder != first.folder
    assert second.record["rows"]["read"] == 120
    assert night().folder == second.folder
