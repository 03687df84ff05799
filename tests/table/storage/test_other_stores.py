"""Azure and Google live, where an emulator answers at PLMETRICS_TEST_AZURE or PLMETRICS_TEST_GOOGLE: all formats."""

from __future__ import annotations

import base64
import hashlib
import hmac
import io
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

import polars as pl
import pytest

import plmetrics as plm
from plmetrics.core.errors import AbsentDataError, ConfigError, EnvironmentFault
from plmetrics.table.opening import open_source
from plmetrics.table.storage.addresses import parse_address
from plmetrics.table.storage.objects import (
    create_object,
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


def test_conditional_writes_and_runs_on_azure(azure, tmp_path):
    place = parse_address(f"{azure}/{tmp_path.name}.txt")
    assert (create_object(place, b"1"), create_object(place, b"2")) == (True, False)
    update_object(place, lambda before: (before or b"") + b"3")
    assert read_object(place) == b"13"
    stamp = object_stamp(str(place))
    write_object(place, b"14")
    assert object_stamp(str(place)) != stamp
    ROWS.write_parquet(tmp_path / "rows.parquet")
    suite = {
        "name": tmp_path.name,
        "data": {"path": "rows.parquet"},
        "columns": {"label": "y"},
        "models": {"s": "s"},
    }
    Path(tmp_path / "s.yaml").write_text(json.dumps({**suite, "metrics": ["roc_auc"]}))
    result = plm.run(tmp_path / "s.yaml", output=f"{azure}/runs")
    assert plm.load(f"{azure}/runs/{tmp_path.name}").metrics.equals(result.metrics)


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


def test_an_output_without_a_bucket(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
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
    assert not list(tmp_path.glob("*:"))
