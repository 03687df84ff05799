"""Files on a web server: read in ranges, with signatures that nothing shows."""

import io
import json
import re
import socket
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import polars as pl
import pytest

import plmetrics as plm
from plmetrics.core.errors import AbsentDataError, ConfigError, DataError, EnvironmentFault
from plmetrics.features.advice.suggestion import starter
from plmetrics.table.opening import open_source

SIGNATURE = "geheim-web-17"
FRAME = pl.DataFrame({"y": [0, 1] * 50, "p": [row / 100 for row in range(100)]})


class Server(BaseHTTPRequestHandler):
    files: dict[str, bytes] = {}  # noqa: RUF012
    unavailable = 0
    whole = False
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = self.files.get(self.path.partition("?")[0])
        if self.path.startswith("/api/") and body is not None:
            return self.answer(200, body)
        if self.path.startswith("/moved/"):
            return self.answer(302, b"", location=self.path.removeprefix("/moved"))
        if self.path.startswith("/loop/"):
            return self.answer(302, b"", location=self.path)
        if type(self).unavailable:
            type(self).unavailable -= 1
            return self.answer(503, b"")
        if f"sig={SIGNATURE}" not in self.path and not self.path.startswith(("/api/", "/datasets/")):
            return self.answer(403, b"")
        if body is None:
            return self.answer(404, b"")
        start, end = re.match(r"bytes=(\d*)-(\d*)", self.headers.get("range", "")).groups()
        if self.whole:
            return self.answer(200, body)
        first = int(start) if start else max(0, len(body) - int(end))
        last = min(int(end), len(body) - 1) if start and end else len(body) - 1
        return self.answer(206, body[first : last + 1], f"bytes {first}-{last}/{len(body)}")

    def do_HEAD(self) -> None:
        """Signatures are of a method."""
        self.send_response(403)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def answer(
        self, status: int, body: bytes, content_range: str | None = None, location: str | None = None
    ) -> None:
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{hash(self.files.get(self.path.partition("?")[0]))}"')
        if content_range:
            self.send_header("Content-Range", content_range)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def url(monkeypatch) -> Iterator[str]:
    monkeypatch.setenv("POLARS_CLOUD_MAX_RETRIES", "2")
    files = {"/t/a.csv": FRAME.write_csv().encode(), "/t/a.ndjson": FRAME.write_ndjson().encode()}
    for name, write in (("/t/a.parquet", FRAME.write_parquet), ("/t/a.arrow", FRAME.write_ipc)):
        file = io.BytesIO()
        write(file)
        files[name] = file.getvalue()
    handler = type("Handler", (Server,), {"files": files})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    monkeypatch.setattr(Server, "current", handler, raising=False)
    yield f"http://127.0.0.1:{server.server_port}/t"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("kind", ["parquet", "csv", "ndjson", "arrow"])
def test_rows(url, kind):
    Server.current.unavailable = 1
    source = open_source(f"{url}/a.{kind}?sig={SIGNATURE}")
    assert source.frame.collect().equals(FRAME)
    assert [(file.name, file.folder) for file in source.files] == [(f"a.{kind}", url)]


def test_a_signature_is_nowhere(url, root, monkeypatch):
    suite = {"name": "web", "columns": {"label": "y"}, "models": {"p": "p"}, "metrics": ["recall"]}
    address = f"{url}/a.parquet?sig={SIGNATURE}"
    monkeypatch.setenv("ADDRESS", address)
    for name, path in (("literal", address), ("variable", "${ADDRESS}")):
        Path(f"{name}.yaml").write_text(json.dumps({**suite, "data": {"path": path}}))
        folder = plm.run(f"{name}.yaml", output=f"runs-{name}").folder
        plm.state(f"{name}.yaml", output=f"{name}.plmstate")
        files = [path for path in [*folder.rglob("*"), Path(f"{name}.plmstate")] if path.is_file()]
        assert files
        assert not [path for path in files if SIGNATURE.encode() in path.read_bytes()]
    text = starter(address, root, "y")
    assert SIGNATURE not in text
    assert 'path: "${URL}"' in text
    with pytest.raises(AbsentDataError) as caught:
        open_source(f"{url}/b.parquet?sig={SIGNATURE}")
    assert SIGNATURE not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "change", "kind", "words"),
    [
        ("b.parquet", {}, AbsentDataError, "no such file"),
        ("a.parquet", {"unavailable": 99}, EnvironmentFault, "the server answers 503"),
        ("a.parquet", {"whole": True}, DataError, "the server sends whole files only"),
    ],
)
def test_what_cannot_be_read(url, name, change, kind, words):
    for key, value in change.items():
        setattr(Server.current, key, value)
    with pytest.raises(kind, match=words) as caught:
        open_source(f"{url}/{name}?sig={SIGNATURE}")
    assert type(caught.value) is kind


def test_a_denial_and_a_server_that_is_away(url):
    with pytest.raises(EnvironmentFault, match=r"a\.parquet: the server answers 403"):
        open_source(f"{url}/a.parquet")
    with pytest.raises(EnvironmentFault, match="cannot be reached"):
        open_source("http://127.0.0.1:9/a.parquet")


def test_a_server_that_never_answers_is_given_up_in_time(monkeypatch):
    monkeypatch.setenv("POLARS_CLOUD_MAX_RETRIES", "8")
    monkeypatch.setenv("POLARS_CLOUD_RETRY_TIMEOUT_MS", "500")
    with socket.create_server(("127.0.0.1", 0)) as server:
        started = time.monotonic()
        with pytest.raises(EnvironmentFault, match="cannot be reached: timed out"):
            open_source(f"http://127.0.0.1:{server.getsockname()[1]}/a.parquet")
    assert time.monotonic() - started < 3


def test_redirects(url):
    start = url.removesuffix("/t")
    assert open_source(f"{start}/moved/t/a.parquet?sig={SIGNATURE}").frame.collect().equals(FRAME)
    with pytest.raises(EnvironmentFault, match=r"the server answers 302 .* infinite loop\.$"):
        open_source(f"{start}/loop/a.parquet")


def test_a_file_that_is_replaced(url):
    source = open_source(f"{url}/a.parquet?sig={SIGNATURE}")
    Server.current.files["/t/a.parquet"] += b"x"
    from plmetrics.table.faults import stamps_of
    from plmetrics.table.stamps import check_stamps

    with pytest.raises(DataError, match=r"a\.parquet\?sig=\*\*\* changed while it was read"):
        check_stamps(stamps_of(source))


def test_a_data_set_of_the_hugging_face_hub(url, monkeypatch):
    """The hub's answers are made here: its listing of a commit, and files by that commit."""
    monkeypatch.setenv("HF_ENDPOINT", url.removesuffix("/t"))
    files, body = Server.current.files, Server.current.files["/t/a.parquet"]
    names = [
        "README.md",
        ".gitattributes",
        "data/x.parquet",
        "data/y.parquet",
        "data/_old/z.parquet",
        "more/x.csv",
    ]
    listing = json.dumps({"sha": "abc123", "siblings": [{"rfilename": name} for name in names]})
    files["/api/datasets/me/my.set/revision/main"] = listing.encode()
    files["/api/datasets/me/my.set/revision/v%2F2"] = listing.replace("abc123", "def456").encode()
    for name in names:
        files[f"/datasets/me/my.set/resolve/abc123/{name}"] = body
    for path, chosen in (
        ("data", ["x.parquet", "y.parquet"]),
        ("data/*.parquet", ["x.parquet", "y.parquet"]),
        ("**/x.parquet", ["data/x.parquet"]),
        ("data/_old/z.parquet", ["z.parquet"]),
    ):
        source = open_source(f"hf://datasets/me/my.set/{path}")
        assert [file.name for file in source.files] == chosen
        assert source.frame.collect().height == 100 * len(chosen)
        assert "/resolve/abc123" in source.files[0].folder
    with pytest.raises(AbsentDataError, match=r"no such file or folder in the data set"):
        open_source("hf://datasets/me/my.set/dta")
    with pytest.raises(AbsentDataError, match=r"revision/v9: no such file"):
        open_source("hf://datasets/me/my.set@v9/data")
    with pytest.raises(ConfigError, match="names no data set"):
        open_source("hf://models/me/x")
