"""Run folders that others damaged or wrote: read as they were written, or refused in words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from conftest import THOROUGH

import plmetrics as plm
from plmetrics.report.summary import summarise
from plmetrics.report.terminal import render
from plmetrics.runs.reading import RunFault, open_run

if TYPE_CHECKING:
    from tests.runs.conftest import Forge

ODD: list[Any] = [None, True, -1, 3.5, 10**30, "", "x" * 5000, "../../x", "\0\ud800", [], [[]], {}, {"a": {}}]


def test_a_bit_that_flipped_in_a_table_is_found(forge: Forge) -> None:
    folder = forge(1)
    table = folder / "metrics.parquet"
    content = table.read_bytes()
    assert json.loads((folder / "run.json").read_text())["tables"]["metrics"]["sha256"]
    for bit in np.random.default_rng(1).integers(0, 8 * len(content), 60).tolist():
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        table.write_bytes(flipped)
        with pytest.raises(RunFault, match="damaged: it does not fit its hash"):
            open_run(folder).results()


def test_tables_without_a_hash_are_read(forge: Forge) -> None:
    folder = forge(1)
    record = json.loads((folder / "run.json").read_text())
    for facts in record["tables"].values():
        del facts["sha256"]
    (folder / "run.json").write_text(json.dumps(record))
    assert open_run(folder).results().metrics.height == 1


def mutants(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of a document."""
    yield place
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from mutants(item, (*place, key))


def changed(record: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    copy = json.loads(json.dumps(record))
    inner = copy
    for key in place[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return copy


@pytest.mark.slow
def test_odd_records_are_refused_or_read(forge: Forge) -> None:
    """Whatever stands in run.json: the report and the diff of it end in words."""
    folder, usual = forge(1), forge(2)
    record = json.loads((folder / "run.json").read_text())
    cases = [(place, value) for place in mutants(record) if place for value in (..., *ODD)]
    chosen = np.random.default_rng(3).permutation(len(cases))[: None if THOROUGH else 40].tolist()
    said: list[str] = []
    for place, value in (cases[number] for number in chosen):
        (folder / "run.json").write_text(json.dumps(changed(record, place, value)))
        try:
            stored = open_run(folder).results()
            render(summarise(stored))
            assert stored.replicates is None or stored.replicates.facts
            plm.diff(folder, usual)
        except plm.PlmetricsError as error:
            said.append(str(error))
    assert max(map(len, said)) < 2000
    assert len(said) > len(chosen) / 8


@pytest.mark.parametrize("value", [None, 1.5, "4"])
def test_rows_of_a_model_are_a_number(forge: Forge, value: object) -> None:
    folder = forge(1)
    record = json.loads((folder / "run.json").read_text())
    model = next(iter(record["rows"]["used"]))
    (folder / "run.json").write_text(json.dumps(changed(record, ("rows", "used", model), value)))
    with pytest.raises(plm.PlmetricsError, match=r"rows\.used"):
        repr(plm.load(folder))


POINTERS = ["[", "[" * 100_000, "[]", "{}", '{"folder": 3}', '{"folder": ""}', '{"folder": ".."}']
POINTERS += [json.dumps({"folder": name}) for name in ("../nightly", "/etc", "x" * 5000, "a\0b", "absent")]


@pytest.mark.parametrize("text", POINTERS, ids=range(len(POINTERS)))
def test_an_odd_pointer_is_refused(forge: Forge, text: str) -> None:
    home = forge(1).parent
    (home / "latest.json").write_text(text)
    with pytest.raises(RunFault):
        open_run(home)


def test_the_pointer_and_the_last_run_agree(tmp_path: Path) -> None:
    from plmetrics.runs.history.previous_runs import complete_runs
    from tests.runs.conftest import SUITE, write_day

    write_day(tmp_path, 18)
    (tmp_path / "s.yaml").write_text(json.dumps(SUITE))
    for _ in range(2):
        plm.run(tmp_path / "s.yaml")
    home = tmp_path / "runs" / "nightly"
    assert next(complete_runs(home, [])).run_id == open_run(home).run_id
