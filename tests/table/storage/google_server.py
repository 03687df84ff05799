"""A server of Google's XML API on this machine, with the preconditions on generations that conditional writes need.

cloud.google.com/storage/docs/xml-api: objects are put, got in ranges, listed, deleted, and uploaded in parts.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Lock, Thread
from time import time
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "plmetrics"
_MATCH = "x-goog-if-generation-match"
_XML = '<?xml version="1.0" encoding="UTF-8"?>'
_CODES = {404: "NoSuchKey", 412: "PreconditionFailed"}


@dataclass
class Stored:
    """An object: each writing of it is another generation."""

    content: bytes
    generation: int
    moment: float = field(default_factory=time)


class GoogleServer:
    """The server, its objects by key, and the requests that were made of it."""

    def __init__(self) -> None:
        self.objects: dict[str, Stored] = {}
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.requests: list[tuple[str, str]] = []
        self.generations, self.lock = count(1), Lock()
        handler = type("Handler", (_Handler,), {"store": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    @property
    def environment(self) -> dict[str, str]:
        """What leads here without a signature; an account is needed, as nobody writes without one."""
        account = {"gcs_base_url": self.url, "disable_oauth": True}
        empty = dict.fromkeys(("client_email", "private_key", "private_key_id"), "")
        return {"GOOGLE_BASE_URL": self.url, "GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(account | empty)}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def put(self, key: str, content: bytes, match: str | None) -> int:
        """Write an object, where its generation is as it must be; 0 is that of none."""
        with self.lock:
            present = self.objects[key].generation if key in self.objects else 0
            if match is not None and int(match) != present:
                return 0
            self.objects[key] = Stored(content, next(self.generations))
            return self.objects[key].generation

    def listed(self, prefix: str, delimiter: str) -> tuple[list[str], list[str]]:
        """The keys that begin so, and in place of those behind a delimiter what they begin with."""
        keys = sorted(key for key in self.objects if key.startswith(prefix))
        if not delimiter:
            return keys, []
        parts = [(key, key[len(prefix) :].partition(delimiter)) for key in keys]
        folders = {f"{prefix}{first}{delimiter}" for _, (first, found, _) in parts if found}
        return [key for key, (_, found, _) in parts if not found], sorted(folders)


class _Handler(BaseHTTPRequestHandler):
    """Answers to requests of one connection."""

    protocol_version = "HTTP/1.1"
    store: GoogleServer

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def parse_request(self) -> bool:
        is_whole = super().parse_request()
        if is_whole:
            parts = urlsplit(self.path)
            self.store.requests.append((self.command, unquote(parts.path)))
            self.query = {name: values[0] for name, values in parse_qs(parts.query, True).items()}
            self.key = unquote(parts.path).removeprefix(f"/{BUCKET}").removeprefix("/")
        return is_whole

    def do_GET(self) -> None:
        if not self.key:
            self._listing()
            return
        stored = self.store.objects.get(self.key)
        if stored is None:
            self._fault(404)
            return
        content, status, range_header = stored.content, 200, self.headers.get("Range")
        headers = _headers(stored)
        if range_header is not None:
            matched = re.fullmatch(r"bytes=(\d*)-(\d*)", range_header)
            assert matched is not None
            first, last = matched.groups()
            size = len(content)
            start = int(first) if first else max(0, size - int(last))
            end = min(int(last), size - 1) if first and last else size - 1
            content, status = content[start : end + 1], 206
            headers["Content-Range"] = f"bytes {start}-{end}/{size}"
        self._send(status, content, headers)

    do_HEAD = do_GET

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if "uploadId" in self.query:
            number = int(self.query["partNumber"])
            self.store.uploads[self.query["uploadId"]][number] = content
            self._send(200, b"", {"ETag": f'"{number}"'})
            return
        self._written(self.store.put(self.key, content, self.headers.get(_MATCH)))

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if "uploads" in self.query:
            upload = f"upload-{next(self.store.generations)}"
            self.store.uploads[upload] = {}
            names = f"<Bucket>{BUCKET}</Bucket><Key>{escape(self.key)}</Key><UploadId>{upload}</UploadId>"
            root = "InitiateMultipartUploadResult"
            self._send(200, f"{_XML}<{root}>{names}</{root}>".encode())
            return
        parts = self.store.uploads.pop(self.query["uploadId"])
        content = b"".join(parts[number] for number in sorted(parts))
        self._written(self.store.put(self.key, content, self.headers.get(_MATCH)))

    def do_DELETE(self) -> None:
        self._send(204, b"") if self.store.objects.pop(self.key, None) else self._fault(404)

    def _written(self, generation: int) -> None:
        if not generation:
            self._fault(412)
            return
        tag = f'"{generation}"'
        body = f"{_XML}<CompleteMultipartUploadResult><ETag>{tag}</ETag></CompleteMultipartUploadResult>"
        content = body.encode() if self.command == "POST" else b""
        self._send(200, content, {"ETag": tag, "x-goog-generation": str(generation)})

    def _listing(self) -> None:
        keys, folders = self.store.listed(self.query.get("prefix", ""), self.query.get("delimiter", ""))
        start = int(self.query.get("continuation-token", "0"))
        end = start + int(self.query.get("max-keys", "1000"))
        more = f"<NextContinuationToken>{end}</NextContinuationToken>" if end < len(keys) else ""
        entries = "".join(self._entries(keys[start:end]))
        common = "".join(
            f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>" for folder in folders
        )
        root = "ListBucketResult"
        self._send(200, f"{_XML}<{root}><Name>{BUCKET}</Name>{entries}{common}{more}</{root}>".encode())

    def _entries(self, keys: list[str]) -> Iterator[str]:
        for key in keys:
            stored = self.store.objects[key]
            moment = datetime.fromtimestamp(stored.moment, UTC).isoformat(timespec="milliseconds")
            facts = f"<Size>{len(stored.content)}</Size><LastModified>{moment}</LastModified>"
            tag = f"<ETag>&quot;{stored.generation}&quot;</ETag>"
            yield f"<Contents><Key>{escape(key)}</Key>{facts}{tag}</Contents>"

    def _fault(self, status: int) -> None:
        self._send(status, f"{_XML}<Error><Code>{_CODES[status]}</Code></Error>".encode())

    def _send(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(content))} | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _headers(stored: Stored) -> dict[str, str]:
    return {
        "ETag": f'"{stored.generation}"',
        "x-goog-generation": str(stored.generation),
        "Last-Modified": formatdate(stored.moment, usegmt=True),
    }
