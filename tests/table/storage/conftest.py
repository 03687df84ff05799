from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def server() -> Iterator[object]:
    from table.storage.s3_server import S3Server

    server = S3Server()
    yield server
    server.close()


@pytest.fixture
def store(server, monkeypatch):
    """The server with an empty bucket, and its credentials in the environment."""
    server.clear()
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("POLARS_CLOUD_MAX_RETRIES", "3")
    yield server
    server.rules.clear()
