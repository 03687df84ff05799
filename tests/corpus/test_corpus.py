"""What users do wrong, and what they do by accident: every case of the YAML files beside this one is a test.

A file is a mapping of `base`, what its cases share, and `cases`, a list. A case has a `name`, and of these what it
needs; `suite`, `files` and the columns of `tables` are laid over those of the base, null takes one away:

    suite       text of suite.yaml; null: there is no such file
    change      texts of the suite to replace, each by another
    append      text at the end of the suite
    tables      by file name (.parquet, .csv, .ndjson or .arrow) the columns as lists
    types       Polars types by column, where lists do not tell
    files       by file name the text or the bytes
    cut         by file name how many bytes of it are left
    spoil       by file name where 16 bytes of it are overwritten
    links       by name where a symbolic link leads
    variables   environment variables
    command     words of the command line [run suite.yaml]
    process     true: by a process of its own
    code        expected exit code [0]
    stderr      words that stand in stderr, in this order
    stdout      words that stand in stdout, in this order
    absent      words in neither
    secret      words in neither, nor in a file that the command left
    slices      by slice set the texts of its slices, all, in order
    rows        per row of the table metrics some columns: they name one row (model, slice_set, slice, metric) and
                say what stands in the others
    gates       verdicts of the table gates, all, in order
"""

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from plmetrics.core.results import TABLES

HERE = Path(__file__).parent
FINISHED = {0, 3}
PLACE = {"model", "slice_set", "slice", "metric"}
KEYS = {"name", *re.findall(r"(?m)^    ([a-z]+) {2,}", str(__doc__))}


def load_cases() -> list[Any]:
    cases = []
    for file in sorted(HERE.glob("*.yaml")):
        content = yaml.load(file.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        for case in content["cases"]:
            assert set(case) <= KEYS, f"{file.name}, {case['name']}: unknown keys {set(case) - KEYS}"
            cases.append(pytest.param(combined(content["base"], case), id=f"{file.stem}: {case['name']}"))
    return cases


def combined(base: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    """A case with what it has from the base."""
    whole = {**base, **case}
    whole["files"] = present({**base.get("files", {}), **case.get("files", {})})
    tables = dict(base.get("tables", {}))
    for name, columns in case.get("tables", {}).items():
        tables[name] = columns and present({**tables.get(name, {}), **columns})
    whole["tables"] = present(tables)
    for old, new in case.get("change", {}).items():
        assert whole["suite"].count(old) == 1, f"{case['name']}: {old!r} does not stand once in the suite"
        whole["suite"] = whole["suite"].replace(old, new)
    if "append" in case:
        whole["suite"] += case["append"]
    return whole


def present(mapping: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if value is not None}


def write(case: dict[str, Any], folder: Path) -> None:
    files = dict(case["files"])
    if case["suite"] is not None:
        files.setdefault("suite.yaml", case["suite"])
    for name, content in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
    for name, columns in case["tables"].items():
        write_table(folder / name, columns, case.get("types", {}))
    for name, target in case.get("links", {}).items():
        (folder / name).symlink_to(target)
    for name, size in case.get("cut", {}).items():
        os.truncate(folder / name, size)
    for name, start in case.get("spoil", {}).items():
        content = (folder / name).read_bytes()
        place = start % len(content)
        (folder / name).write_bytes(content[:place] + bytes(16) + content[place + 16 :])


def write_table(file: Path, columns: dict[str, list[Any]], types: dict[str, str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    frame = pl.DataFrame(
        [
            pl.Series(name, values, polars_type(types.get(name)), strict=False)
            for name, values in columns.items()
        ]
    )
    writers = {".csv": frame.write_csv, ".ndjson": frame.write_ndjson, ".arrow": frame.write_ipc}
    writers.get(file.suffix, frame.write_parquet)(file)


def polars_type(name: str | list[str] | None) -> Any:
    """A type by its name, an enum by its categories."""
    return pl.Enum(name) if isinstance(name, list) else name and getattr(pl, name)


@cache
def command_line() -> Any:
    """The command line, put together once for all cases."""
    from typer.main import get_command

    from plmetrics.cli.app import app

    return get_command(app)


def call(case: dict[str, Any], capfd: Any) -> tuple[int, str, str]:
    command = case.get("command", ["run", "suite.yaml"])
    if case.get("process"):
        words = [sys.executable, "-m", "plmetrics", *command]
        environment = {**os.environ, "PYTHONPATH": str(HERE.parent.parent)}
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
        return done.returncode, done.stdout, done.stderr
    with pytest.raises(SystemExit) as stopped:
        command_line()(command, prog_name="plmetrics")
    captured = capfd.readouterr()
    return int(stopped.value.code or 0), captured.out, captured.err


def in_order(words: list[str], text: str) -> str | None:
    """The first of the words that does not stand in the text behind the others."""
    flat = " ".join(text.split())
    start = 0
    for word in words:
        found = flat.find(" ".join(word.split()), start)
        if found < 0:
            return word
        start = found + 1
    return None


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", load_cases())
def test_case(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    write(case, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")
    for name, value in case.get("variables", {}).items():
        monkeypatch.setenv(name, value)
    before = everything(tmp_path)
    code, out, err = call(case, capfd)
    said = f"\n--- stdout\n{out}\n--- stderr\n{err}"
    assert code == case.get("code", 0), said
    assert in_order(case.get("stderr", []), err) is None, f"not there: {in_order(case['stderr'], err)}{said}"
    assert in_order(case.get("stdout", []), out) is None, f"not there: {in_order(case['stdout'], out)}{said}"
    for word in ("Traceback", "\x1b", *case.get("absent", []), *case.get("secret", [])):
        assert word not in out + err, said
    if "json" in case.get("command", ()) and code in FINISHED:
        json.loads(out)
    if code not in FINISHED:
        assert out == "", said
        assert err.startswith(("error: ", "Usage: ")), said
    for file in everything(tmp_path) - before:
        for word in case.get("secret", []):
            assert file.is_dir() or word.encode() not in file.read_bytes(), (word, file)
    tables = check_folders(tmp_path, before, code)
    check_tables(case, tables)


def everything(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


def check_folders(folder: Path, before: set[Path], code: int) -> dict[str, pl.DataFrame]:
    """A run that finished left one complete folder, any other at most the record of its failure."""
    made = everything(folder) - before
    records = [path for path in made if path.name == "run.json"]
    assert not [path for path in made if path.name.endswith((".partial", ".tmp"))]
    if not records:
        assert not [path for path in made if path.is_file()]
        return {}
    assert len(records) == 1
    home = records[0].parent
    record = json.loads(records[0].read_text(encoding="utf-8"))
    latest = json.loads((home.parent / "latest.json").read_text(encoding="utf-8"))
    assert {key: latest[key] for key in ("run_id", "status", "exit_code")} == {
        "run_id": home.name,
        "status": "complete" if code in FINISHED else "failed",
        "exit_code": code,
    }
    assert all(latest[key] == record[key] for key in ("run_id", "status", "exit_code"))
    names = {path.name for path in home.iterdir()}
    if code not in FINISHED:
        assert names == {"run.json", "README.md"}
        assert record["problems"]
        return {}
    kept = {"replicates.parquet", "units.parquet"}
    assert names == {"run.json", "README.md", *(f"{name}.parquet" for name in record["tables"])}
    assert names & kept in (set(), kept)
    written = {name: pl.read_parquet(home / f"{name}.parquet") for name in TABLES if name in record["tables"]}
    assert all(frame.schema == TABLES[name] for name, frame in written.items())
    assert not [name for name, frame in written.items() if frame.is_empty()]
    return {name: written.get(name, schema.to_frame()) for name, schema in TABLES.items()}


def check_tables(case: dict[str, Any], tables: dict[str, pl.DataFrame]) -> None:
    """The promises that hold for any result, and what the case says of its own."""
    if not tables:
        assert not {"slices", "rows", "gates"} & set(case)
        return
    metrics = tables["metrics"]
    for frame, number in ((metrics, "value"), (tables["comparisons"], "difference")):
        assert (frame[number].is_null() == (frame["status"] != "ok")).all()
        ends = frame["lower"].is_not_null() & frame["upper"].is_not_null()
        assert (ends == (frame["interval_status"] == "ok")).all()
        assert not any(column.is_nan().any() for column in frame.select(pl.col(pl.Float64)))
    for name, texts in case.get("slices", {}).items():
        one = metrics.filter(slice_set=name, model=metrics["model"][0], metric=metrics["metric"][0])
        assert one["slice"].to_list() == texts
    for row in case.get("rows", []):
        (found,) = metrics.filter(**{key: value for key, value in row.items() if key in PLACE}).to_dicts()
        assert {key: found[key] for key in row} == pytest.approx(row)
    if "gates" in case:
        assert tables["gates"]["verdict"].to_list() == case["gates"]


def test_every_run_has_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    content = yaml.safe_load((HERE / "output.yaml").read_text(encoding="utf-8"))
    write(combined(content["base"], {"name": "twice"}), tmp_path)
    monkeypatch.chdir(tmp_path)
    seen: list[Path] = []
    for command, expected in (([], 0), ([], 0), (["--set", "columns.label=lable"], 4), ([], 0)):
        code, _, _ = call({"command": ["run", "suite.yaml", *command]}, capfd)
        assert code == expected
        (new,) = {path.parent for path in tmp_path.glob("runs/logic/*/run.json")} - set(seen)
        seen.append(new)
        latest = json.loads((tmp_path / "runs/logic/latest.json").read_text(encoding="utf-8"))
        assert (latest["folder"], latest["exit_code"]) == (new.name, expected)
    whole = {"run.json", "README.md", "metrics.parquet"}
    names = [{path.name for path in folder.iterdir()} for folder in seen]
    assert [listed >= whole for listed in names] == [True, True, False, True]
    assert names[2] == {"run.json", "README.md"}
