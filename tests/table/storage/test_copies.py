"""States in a bucket: written there, merged from there, with words that name the objects."""

import json
import tempfile
from pathlib import Path

import polars as pl
import pytest
from table.storage.s3_server import BUCKET, unavailable

import plmetrics as plm

FOLDER = f"s3://{BUCKET}/states"
OPTIONS = {"label": "y", "models": "p", "metrics": ["brier", "recall"], "name": "nightly"}


def day(number: int) -> pl.DataFrame:
    return pl.DataFrame({"y": [0, 1, 1, 0] * 5, "p": [(row * number % 7) / 7 for row in range(20)]})


@pytest.fixture
def states(store, root, monkeypatch) -> list[plm.State]:
    (root / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(root / "scratch"))
    made = [plm.state(day(number), FOLDER, **OPTIONS) for number in (1, 2)]
    store.put("states/notes.txt", b"no state")
    store.put("states/older/x.state", b"no state, and not right below")
    return made


@pytest.mark.slow
def test_states_of_a_bucket_merge(states, tmp_path):
    local = plm.merge(*(plm.state(day(number), **OPTIONS) for number in (1, 2)))
    for named in ([FOLDER], [f"{FOLDER}/"], [str(state.path) for state in states], [Path(FOLDER)]):
        merged = plm.merge(*named, state=f"{FOLDER}/months/january.state")
        assert merged.metrics.equals(local.metrics)
    assert sorted(entry["path"] for entry in merged.record["states"]) == sorted(
        str(state.path) for state in states
    )
    again = plm.merge(f"{FOLDER}/months")
    assert again.metrics.equals(local.metrics)
    pinned = plm.state(day(3), constants=states[0].path, **OPTIONS)
    assert plm.merge(pinned, *states).metrics["n"].max() == 60
    assert not list((tmp_path / "scratch").iterdir())


def test_a_suite_writes_its_state_there(store, root):
    day(1).write_csv("day.csv")
    suite = {"name": "s", "data": {"path": "day.csv"}, "columns": {"label": "y"}, "models": {"p": "p"}}
    Path("s.yaml").write_text(json.dumps(suite | {"metrics": ["brier"]}))
    state = plm.state("s.yaml", f"{FOLDER}/day-1.state")
    assert state.path == f"{FOLDER}/day-1.state"
    assert plm.merge(state.path).metrics["n"].item() == 20
    assert not list(root.glob("*s3*"))


def test_words_name_objects(states, store, monkeypatch):
    store.put("states/bad.state", b"PAR1 half")
    with pytest.raises(plm.DataError, match=rf"^{FOLDER}/bad\.state is truncated"):
        plm.merge(FOLDER)
    with pytest.raises(plm.AbsentDataError, match=r"none: no object in it ends in \.state"):
        plm.merge(f"s3://{BUCKET}/none")
    with pytest.raises(plm.ConfigError, match="nothing can be written there"):
        plm.state(day(1), "https://host/x.state", **OPTIONS)
    monkeypatch.setenv("POLARS_CLOUD_MAX_RETRIES", "0")
    store.rules.append(unavailable())
    with pytest.raises(plm.EnvironmentFault, match="the store answers 503"):
        plm.merge(FOLDER)
    with pytest.raises(plm.EnvironmentFault, match="the store answers 503"):
        plm.state(day(1), FOLDER, **OPTIONS)


def test_a_first_suite_of_an_address(store):
    from plmetrics.features.advice.suggestion import starter

    store.put("scores/day.csv", day(1).write_csv().encode())
    text = starter(f"s3://{BUCKET}/scores/day.csv", Path(), "y")
    assert f'path: "s3://{BUCKET}/scores/day.csv"' in text
