"""States that others made: nothing is written elsewhere, read without room, or believed that does not fit."""

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import THOROUGH

import plmetrics as plm
from plmetrics.features.stored.state_files import _CONTENT, _HEAD, StateFault, _mark, read_head, read_state
from plmetrics.states.state_format import frame_text
from tests.runs.test_reading import changed, mutants

ODD: list[Any] = [..., None, True, -1, 0, 2, 3.5, 10**30, "x", "", [], [[]], {}, {"a": {}}]


@pytest.fixture(scope="session")
def made() -> Any:
    rng = np.random.default_rng(1)
    rows = pl.DataFrame({"p": rng.random(300), "g": rng.choice(["a", "b"], 300), "u": np.arange(300) % 40})
    rows = rows.with_columns(y=pl.Series(rng.random(300)) < rows["p"])
    slices = {"g": "g", "b": {"column": "p", "quantiles": 3}}
    asked = {"metrics": ["accuracy", "roc_auc"], "uncertainty": {"replicates": 50}, "name": "day"}
    return plm.state(rows, label="y", models={"m": "p"}, unit="u", slices=slices, **asked)


def write(path: Path, head: Any, table: pl.DataFrame) -> Path:
    """A state with the right hash."""
    text = head if isinstance(head, str) else json.dumps(head)
    mark = _mark(text)
    held = io.BytesIO()
    table.write_parquet(held, metadata={_HEAD: text, _CONTENT: mark})
    content = held.getvalue()
    place = content.rindex(mark.encode())
    found = hashlib.sha256(content).hexdigest().encode()
    path.write_bytes(content[:place] + found + content[place + len(found) :])
    return path


@pytest.mark.parametrize("name", ["../../out", "/tmp/plmetrics-out", "..", ".hidden", "a/b", "", "x" * 300])
def test_a_name_never_leads_out_of_the_folder(made: Any, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "inner" / "states"
    folder.mkdir(parents=True)
    state = write(tmp_path / "mail.state", json.loads(made.head.text()) | {"name": name}, made.table)
    before = set(tmp_path.rglob("*"))
    with pytest.raises(StateFault, match="its name is"):
        plm.merge(state, state=folder)
    assert set(tmp_path.rglob("*")) == before
    with pytest.raises(plm.ConfigError):
        plm.state(
            pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9]}), folder, label="y", models="p", name=name or " "
        )
    assert set(tmp_path.rglob("*")) == before


def test_rows_that_the_head_does_not_tell_of_are_not_read(made: Any, tmp_path: Path) -> None:
    more = pl.concat([made.table, made.table[:1]])
    state = write(tmp_path / "bomb.state", made.head.text(), more)
    with pytest.raises(StateFault, match=f"it has {more.height:,} rows, and tells of {made.table.height:,}"):
        read_head(state)


def test_rows_that_memory_has_no_room_for_are_not_read(
    made: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = write(tmp_path / "a.state", made.head.text(), made.table)
    size = 8 * made.table.height * made.table.width
    monkeypatch.setattr("plmetrics.features.stored.state_files.machine_budget", lambda: size)
    assert read_head(state)[0] == made.head
    monkeypatch.setattr("plmetrics.features.stored.state_files.machine_budget", lambda: size - 1)
    with pytest.raises(StateFault, match="GB of memory"):
        read_head(state)


@pytest.mark.parametrize(
    "text", ["", "[" * 100_000, "[]", "{}", "3", '{"format": 2}', '{"format": [9], "versions": 1}']
)
def test_a_head_that_is_none(made: Any, tmp_path: Path, text: str) -> None:
    with pytest.raises(StateFault):
        read_head(write(tmp_path / "a.state", text, made.table))


def test_queries_of_another_version(made: Any, tmp_path: Path) -> None:
    """Their names changed while the format's number stayed: the suite's columns are not to blame."""
    queries = frame_text(pl.DataFrame(schema={"@label": pl.Float64}))
    text = json.dumps(json.loads(made.head.text()) | {"queries_schema": queries})
    with pytest.raises(StateFault, match=r"(?s)a\.state is of another version.*write it again"):
        read_head(write(tmp_path / "a.state", text, made.table))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_numbers_that_are_none(made: Any, tmp_path: Path, number: str) -> None:
    """A merged state could not say them again."""
    text = json.dumps(json.loads(made.head.text()) | {"drift": {"x": 0.125}}).replace("0.125", number)
    with pytest.raises(StateFault):
        read_head(write(tmp_path / "a.state", text, made.table))


@pytest.mark.slow
def test_forged_heads_are_refused_or_merged(made: Any, tmp_path: Path) -> None:
    """Whatever a head says, what does not fit is the state's fault."""
    head = json.loads(made.head.text())
    places = [place for place in mutants(head) if place and len(place) < 6 and place[0] != "suite"]
    cases = [(place, value) for place in places for value in ODD]
    chosen = np.random.default_rng(2).permutation(len(cases))[: None if THOROUGH else 40].tolist()
    refused = 0
    for place, value in (cases[number] for number in chosen):
        state = write(tmp_path / "f.state", changed(head, place, value), made.table)
        try:
            plm.merge(state)
        except plm.DataError:
            refused += 1
    assert refused > len(chosen) / 4


def test_a_state_is_read_as_before(made: Any, tmp_path: Path) -> None:
    state = write(tmp_path / "a.state", made.head.text(), made.table)
    assert plm.merge(state).metrics.equals(plm.merge(made).metrics)


def test_the_name_of_a_state_is_no_glob(made: Any, tmp_path: Path) -> None:
    head = json.loads(made.head.text())
    for name in ("d*.state", "day.state"):
        write(tmp_path / name, head, made.table)
    assert read_state(tmp_path / "d*.state").table.height == made.table.height
