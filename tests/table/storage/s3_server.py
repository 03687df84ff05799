"""A real S3 server on this machine, in front of which requests may be answered, delayed or followed by something.

Of `rules` the first that has an answer gives it in place of the server, of `losses` after the server has done its work.
Writes come one at a time: moto looks for the object of `If-None-Match` before it writes, and others must not write
meanwhile, as they do not on S3.
"""

import logging
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import Any

import pytest

boto3 = pytest.importorskip("boto3", reason="the S3 server needs moto: pip install 'plmetrics[test]'")
moto = pytest.importorskip("moto.server", reason="the S3 server needs moto: pip install 'plmetrics[test]'")
serving = pytest.importorskip("werkzeug.serving", reason="comes with moto")
pytest.importorskip("obstore", reason="object stores need the extra 's3'")

BUCKET = "scores"
KEY, SECRET = "AKIATESTPLMETRICS", "geheim-s3-17/+"

Answer = tuple[str, bytes] | None
Rule = Callable[[str, str], Answer]
"""Method and path of a request to its status and body; None lets it pass."""


@dataclass
class S3Server:
    """The server, what was asked of it, and the rules that stand in front of it."""

    rules: list[Rule] = field(default_factory=list)
    losses: list[Rule] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._writing = Lock()
        self._app = moto.DomainDispatcherApplication(moto.create_backend_app)
        self._server = serving.make_server("127.0.0.1", 0, self._answer, threaded=True)
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.client: Any = boto3.client(
            "s3",
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
        )
        self.client.create_bucket(Bucket=BUCKET)

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
        }

    def put(self, key: str, body: bytes) -> None:
        self.client.put_object(Bucket=BUCKET, Key=key, Body=body)

    def clear(self) -> None:
        self.rules.clear()
        self.losses.clear()
        for entry in self.client.list_objects_v2(Bucket=BUCKET).get("Contents", ()):
            self.client.delete_object(Bucket=BUCKET, Key=entry["Key"])
        self.requests.clear()

    def read_keys(self) -> set[str]:
        """The objects of which bytes were asked for."""
        start = f"/{BUCKET}/"
        return {
            path.removeprefix(start) for method, path in self.requests if method == "GET" and path > start
        }

    def close(self) -> None:
        self._server.shutdown()

    def _answer(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        self.requests.append((method, path))
        if KEY not in environ.get("HTTP_AUTHORIZATION", ""):
            return _send(start, "403 Forbidden", b"<Error><Code>InvalidAccessKeyId</Code></Error>")
        for rule in list(self.rules):
            answer = rule(method, path)
            if answer is not None:
                return _send(start, *answer)
        for rule in list(self.losses):
            answer = rule(method, path)
            if answer is not None:
                list(self._app(environ, lambda *_: None))
                return _send(start, *answer)
        with self._writing if method == "PUT" else nullcontext():
            answered: Iterable[bytes] = self._app(environ, start)
        return answered


def _send(start: Callable[..., Any], status: str, body: bytes) -> Iterable[bytes]:
    start(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
    return [body]


def unavailable(times: int | None = None, part: str = "", kind: str = "") -> Rule:
    """503 for so many requests of a kind whose paths have a part, or for all of them."""
    left = [times]

    def rule(method: str, path: str) -> Answer:
        if part not in path or kind not in method or left[0] == 0:
            return None
        left[0] = None if left[0] is None else left[0] - 1
        return "503 Slow Down", b"<Error><Code>SlowDown</Code></Error>"

    return rule


def slow(seconds: float) -> Rule:
    """Each answer takes so long."""

    def rule(method: str, path: str) -> Answer:
        time.sleep(seconds)
        return None

    return rule


def after_reads(key: str, count: int, action: Callable[[], object]) -> Rule:
    """Do something once, when bytes of an object were asked for so many times."""
    seen = [0]

    def rule(method: str, path: str) -> Answer:
        if method == "GET" and path.endswith(key):
            seen[0] += 1
            if seen[0] == count:
                action()
        return None

    return rule


def listing(body: bytes) -> Rule:
    """Answer listings with one of another time."""

    def rule(method: str, path: str) -> Answer:
        return ("200 OK", body) if method == "GET" and path.rstrip("/") == f"/{BUCKET}" else None

    return rule
