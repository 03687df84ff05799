"""Data sets of the Hugging Face hub, `hf://datasets/USER/NAME@REVISION/PATH`: web addresses of a commit's files."""

from __future__ import annotations

import json
import os
import re
from typing import NamedTuple
from urllib.parse import quote

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.table.storage.addresses import Address, parse_address
from plmetrics.table.storage.web import read_text

_DATA_SET = re.compile(r"(?P<name>[\w.-]+/[\w.-]+?)(@(?P<revision>[^/]+))?(/(?P<path>.*))?", re.DOTALL)
_PUBLIC = "https://huggingface.co"
_EXAMPLE = "write hf://datasets/USER/NAME/PATH, or hf://datasets/USER/NAME@REVISION/PATH"


class DataSetFiles(NamedTuple):
    """Files of a data set at an address: the start of all web addresses, its path, and the paths of all files."""

    start: Address
    path: str
    names: tuple[str, ...]


def data_set_files(address: Address) -> DataSetFiles:
    """Ask the hub for the commit and the files of a data set. It must be public.

    Raises:
        ConfigError: the address names no data set.
        AbsentDataError: there is no such data set or revision.
        EnvironmentFault: the hub cannot be reached, or denies access.
    """
    match = _DATA_SET.fullmatch(address.key)
    if address.root != "hf://datasets" or match is None:
        message = f"'{address}' names no data set of the hub"
        raise ConfigError(Problem(message, path=("data", "path"), hint=_EXAMPLE))
    hub = os.environ.get("HF_ENDPOINT", _PUBLIC).rstrip("/")
    revision = quote(match["revision"] or "main", safe="")
    answer = json.loads(read_text(parse_address(f"{hub}/api/datasets/{match['name']}/revision/{revision}")))
    names = tuple(sorted(str(entry["rfilename"]) for entry in answer["siblings"]))
    start = parse_address(f"{hub}/datasets/{match['name']}/resolve/{answer['sha']}")
    return DataSetFiles(start, (match["path"] or "").strip("/"), names)
