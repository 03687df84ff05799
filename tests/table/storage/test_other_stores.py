"""Azure and Google: all formats, and what is written to them.

Azure live, where an emulator answers at PLMETRICS_TEST_AZURE; Google's XML API here, and live where one answers at
PLMETRICS_TEST_GOOGLE.
"""

import base64
import hashlib
import hmac
import io
import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

import polars as pl
import pytest
from table.storage.google_server import BUCKET, GoogleServer

import plmetrics as plm
from plmetrics.api.nights.backfill import backfill
from plmetrics.core.errors import AbsentDataError, ConfigError, EnvironmentFault
from plmetrics.table.opening import open_source
from plmetrics.table.storage.addresses import parse_address
from plmetrics.table.storage.objects import (
    create_object,
    delete_object,
    names_in,
    object_stamp,
    read_object,
    update_object,
    write_object,
)

AZURE = os.environ.get("PLMETRICS_TEST_AZURE", "http://127.0.0.1:10000/devstoreaccount1")
GOOGLE = os.environ.get("PLMETRICS_TEST_GOOGLE", "http://127.0.0.1:4443")
# The key of every Azure emulator: learn.microsoft.com/azure/storage/common/storage-connect-azurite
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
ROWS = pl.DataFrame({"y": [0, 1] * 20, "s": [row / 40 for row in range(40)]})
WRITE = {
    "parquet": pl.DataFrame.write_parquet,
    "csv": pl.DataFrame.write_csv,
    "ndjson": pl.DataFrame.write_ndjson,
    "arrow": pl.DataFrame.write_ipc,
}


def content(form: str, rows: pl.DataFrame = ROWS) -> bytes:
    buffer = io.BytesIO()
    WRITE[form](rows, buffer)
    return buffer.getvalue()


def ask(server: str, request: Request) -> None:
    try:
        urlopen(request, timeout=5).close()
    except HTTPError as error:
        assert error.code == 409  # noqa: PT017 (the bucket is there)
    except URLError:
        pytest.skip(f"there is no emulator at {server}")


@pytest.fixture
def azure(monkeypatch: pytest.MonkeyPatch) -> str:
    pytest.importorskip("obstore", reason="object stores need the extra 's3'")
    moment = datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
    place = "/devstoreaccount1/devstoreaccount1/plmetrics\nrestype:container"
    signed = "PUT" + "\n" * 12 + f"x-ms-date:{moment}\nx-ms-version:2021-08-06\n{place}"
    digest = hmac.new(base64.b64decode(KEY), signed.encode(), hashlib.sha256).digest()
    signature = f"SharedKey devstoreaccount1:{base64.b64encode(digest).decode()}"
    headers = {"x-ms-date": moment, "x-ms-version": "2021-08-06", "Authorization": signature}
    ask(AZURE, Request(f"{AZURE}/plmetrics?restype=container", method="PUT", headers=headers))
    monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", AZURE)
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "devstoreaccount1")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", KEY)
    return "az://plmetrics"


@pytest.mark.parametrize("form", WRITE)
def test_files_on_azure(azure, form):
    for day in (1, 2):
        write_object(parse_address(f"{azure}/{form}/day={day}/a.{form}"), content(form))
    result = plm.evaluate(f"{azure}/{form}", label="y", models="s", metrics=["roc_auc"], slices=["day"])
    assert result.metrics["n"].to_list() == [80, 40, 40]
    with pytest.raises(AbsentDataError, match="no such object or folder"):
        open_source(f"{azure}/{form}/none")


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    pytest.importorskip("obstore", reason="object stores need the extra 's3'")
    server = GoogleServer()
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    yield f"gs://{BUCKET}"
    server.close()


@pytest.fixture(params=["azure", "google"])
def bucket(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A folder of a store, for this test alone."""
    return f"{request.getfixturevalue(request.param)}/{tmp_path.parent.name}-{tmp_path.name}"


def test_conditional_writes(bucket):
    place = parse_address(f"{bucket}/a b+ä.txt")
    assert (create_object(place, b"1"), create_object(place, b"2")) == (True, False)
    with ThreadPoolExecutor(4) as pool:
        list(
            pool.map(
                lambda number: update_object(place, lambda old: (old or b"") + b"%d" % number), range(2, 8)
            )
        )
    assert sorted(read_object(place)) == sorted(b"1234567")
    stamp = object_stamp(str(place))
    write_object(place, b"14")
    assert object_stamp(str(place)) != stamp
    large = parse_address(f"{bucket}/large")
    write_object(large, bytes(range(256)) * 50_000)
    assert read_object(large) == bytes(range(256)) * 50_000
    assert sorted(names_in(parse_address(bucket))) == ["a b+ä.txt", "large"]
    delete_object(large)
    delete_object(large)
    with pytest.raises(AbsentDataError, match="no such object"):
        read_object(large)


@pytest.mark.exhaustive
def test_runs_states_and_histories(bucket, tmp_path):
    """The same tables as on a disk; a state of each day, and of both what one run finds."""
    suite = {"name": "days", "columns": {"label": "y"}, "models": {"s": "s"}, "metrics": ["roc_auc", "brier"]}
    for day in (1, 2):
        write_object(
            parse_address(f"{bucket}/rows/day={day}/a.parquet"), content("parquet", ROWS.head(18 + day))
        )
        text = json.dumps({**suite, "data": {"path": f"{bucket}/rows/day={day}"}, "exact": False})
        (tmp_path / f"{day}.yaml").write_text(text)
    results = [plm.run(tmp_path / f"{day}.yaml", output=f"{bucket}/runs") for day in (1, 2)]
    local = plm.run(tmp_path / "2.yaml", output=tmp_path / "runs")
    assert plm.load(f"{bucket}/runs/days").metrics.equals(local.metrics)
    history = plm.history(f"{bucket}/runs/days", metrics="brier")
    expected = [result.metrics.filter(metric="brier")["value"].item() for result in results]
    assert history["value"].to_list() == expected
    first = plm.state(tmp_path / "1.yaml", output=f"{bucket}/states")
    second = plm.state(tmp_path / "2.yaml", output=f"{bucket}/states", constants=first)
    assert (first.rows, second.rows) == (19, 20)
    merged = plm.merge(*[state.path for state in (first, second)])
    both = plm.evaluate(f"{bucket}/rows", label="y", models="s", metrics=["roc_auc", "brier"])
    assert merged.metrics["value"].to_list() == pytest.approx(both.metrics["value"].to_list(), abs=5e-3)


@pytest.mark.exhaustive
def test_nights_whose_manifests_are_in_a_store(bucket, tmp_path):
    days = pl.concat([ROWS.with_columns(day=pl.lit(date(2026, 1, day))) for day in (1, 2, 3)])
    days.write_parquet(tmp_path / "days.parquet")
    suite = {
        "name": "nightly",
        "data": {"path": "days.parquet"},
        "columns": {"label": "y"},
        "models": {"s": "s"},
        "metrics": ["roc_auc", "brier"],
        "interval": {"column": "day", "every": "1d"},
        "compare": {"run": "previous"},
        "keep": {"states": "30d"},
        "output": {"directory": f"{bucket}/runs"},
    }
    (tmp_path / "s.yaml").write_text(json.dumps(suite))
    outcomes = backfill(tmp_path / "s.yaml", "2026-01-01", "2026-01-03")
    assert [outcome.verdict for outcome in outcomes] == ["none"] * 2
    third = plm.run(tmp_path / "s.yaml", interval="2026-01-03")
    assert third.comparisons["difference"].to_list() == [0.0, 0.0]
    again = plm.run(tmp_path / "s.yaml", interval="2026-01-03")
    assert str(again.folder) == str(third.folder)
    merged = plm.merge(f"{bucket}/runs/nightly", interval="2026-01-01/2026-01-04")
    whole = plm.evaluate(days, label="y", models="s", metrics=["roc_auc", "brier"])
    assert merged.metrics["value"].to_list() == pytest.approx(whole.metrics["value"].to_list(), abs=1e-3)


@pytest.mark.parametrize("form", WRITE)
def test_files_on_google(monkeypatch, form):
    pytest.importorskip("obstore", reason="object stores need the extra 's3'")
    body = json.dumps({"name": "plmetrics"}).encode()
    kind = {"Content-Type": "application/json"}
    ask(GOOGLE, Request(f"{GOOGLE}/storage/v1/b?project=p", data=body, headers=kind))
    monkeypatch.setenv("GOOGLE_BASE_URL", GOOGLE)
    monkeypatch.setenv("GOOGLE_SKIP_SIGNATURE", "true")
    for day in (1, 2):
        name = quote(f"{form}/day={day}/a.{form}", safe="")
        url = f"{GOOGLE}/upload/storage/v1/b/plmetrics/o?uploadType=media&name={name}"
        ask(GOOGLE, Request(url, data=content(form), headers={"Content-Type": "application/octet-stream"}))
    result = plm.evaluate(
        f"gs://plmetrics/{form}", label="y", models="s", metrics=["roc_auc"], slices=["day"]
    )
    assert result.metrics["n"].to_list() == [80, 40, 40]
    assert len(result.record["files"]) == 2


@pytest.mark.parametrize(
    ("address", "variables", "words"),
    [
        ("az://c/x.csv", {}, "there are no credentials\n.*AZURE_STORAGE_ACCOUNT_NAME"),
        ("az://c/x.csv", {"ACCOUNT_KEY": "geheim !"}, "the credentials cannot be used"),
        ("az://c/x.csv", {"SAS_TOKEN": "geheim"}, "the credentials cannot be used"),
    ],
)
def test_accounts_that_are_not_there(monkeypatch, address, variables, words):
    pytest.importorskip("obstore", reason="object stores need the extra 's3'")
    for name in list(os.environ):
        if name.startswith("AZURE_"):
            monkeypatch.delenv(name)
    for name, value in ({"ACCOUNT_NAME": "me"} if variables else {}).items() | variables.items():
        monkeypatch.setenv(f"AZURE_STORAGE_{name}", value)
    with pytest.raises(EnvironmentFault, match=words) as caught:
        open_source(address)
    assert "geheim" not in str(caught.value)


def test_a_fault_of_ours_is_no_fault_of_the_store(monkeypatch):
    from plmetrics.table.storage import stores

    def broken(*_: object) -> None:
        raise LookupError

    monkeypatch.setattr(stores, "head", broken)
    with pytest.raises(LookupError):
        open_source("s3://bucket/x.csv")


def test_an_output_without_a_bucket(root):
    ROWS.write_parquet("rows.parquet")
    suite = {
        "data": {"path": "rows.parquet"},
        "columns": {"label": "y"},
        "models": {"s": "s"},
        "metrics": ["recall"],
    }
    Path("s.yaml").write_text(json.dumps(suite))
    for output in (Path("s3://"), "gs://", "az:/"):
        with pytest.raises(ConfigError, match=r"names no bucket or server\n    write (s3|gs|az)://NAME/"):
            plm.run("s.yaml", output=output)
    assert not list(root.glob("*:"))
