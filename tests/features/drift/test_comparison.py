"""Drift of merged states and on runners: as that of one run over the same rows, and of SciPy."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from conftest import THOROUGH
from features.drift.test_counts import ALL
from features.drift.test_stored_counts import CURRENT, REFERENCE, SLICES, parts_of
from polars.testing import assert_frame_equal
from scipy import stats

import plmetrics as plm
from plmetrics.api.shards.plans import units
from plmetrics.features.drift import window_counts

TABLES = ("drift", "drift_histograms", "gates")
GATES = [{"measure": "psi", "column": "age", "at_most": 1e-4}, {"measure": "mean", "at_most": 5.0}]
SUITE: dict[str, Any] = {
    "name": "nightly",
    "data": {"path": "now"},
    "columns": {"label": "y", "weight": "w"},
    "models": {"m": "p"},
    "metrics": ["accuracy"],
    "slices": {name: SLICES[name] for name in ("region", "tags")},
    "drift": {
        "state": "before.state",
        "columns": ["age", "city"],
        "measures": ALL,
        "slices": "all",
        "gates": GATES,
    },
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite, its table in three files, and a state of its reference."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "now").mkdir()
    for number, part in enumerate(parts_of(CURRENT, 3)):
        part.write_parquet(folder / "now" / f"{number}.parquet")
    REFERENCE.write_parquet(folder / "before.parquet")
    rewrite(folder)
    state(folder, "before.parquet", "before.state")
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path, dirs_exist_ok=True)


@pytest.fixture(scope="module")
def expected(made: Path) -> plm.Result:
    """The result of one run over all rows."""
    return plm.run(made / "suite.yaml")


def rewrite(folder: Path, drift: dict[str, Any] | None = None, **changes: Any) -> Path:
    suite = {**SUITE, "drift": {**SUITE["drift"], **(drift or {})}, **changes}
    suite["drift"] = {key: value for key, value in suite["drift"].items() if value is not None}
    (folder / "suite.yaml").write_text(yaml.safe_dump(suite))
    return folder / "suite.yaml"


def state(folder: Path, data: str, output: str) -> plm.State:
    return plm.state(folder / "suite.yaml", folder / output, set={"data.path": data})


def merged(folder: Path, *order: int) -> plm.Result:
    """The result of states of the three files, in an order."""
    for number in order:
        state(folder, f"now/{number}.parquet", f"{number}.state")
    return plm.merge(*(folder / f"{number}.state" for number in order))


def assert_same(found: plm.Result, expected: plm.Result) -> None:
    for name in TABLES:
        assert_frame_equal(found.tables[name], expected.tables[name], rel_tol=1e-9, abs_tol=1e-12)
    assert found.verdict == expected.verdict == "fail"
    assert not any("not measured" in warning for warning in found.warnings)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("most", "columns", "other"),
    [
        (None, {"weight": "w"}, "day"),
        (8, {}, "city"),
        (None, {"unit": "day"}, "city"),
        (8, {"unit": "day"}, "visits"),
    ],
)
def test_merged_states_are_compared_as_their_rows(
    monkeypatch: pytest.MonkeyPatch, folder: Path, most: int | None, columns: dict[str, str], other: str
) -> None:
    """By value to the last bit where rows have whole weights; by bin as well but for the sums within bins."""
    if most is not None:
        monkeypatch.setattr(window_counts, "MOST_VALUES", most)
    kinds = SLICES if THOROUGH else {name: SLICES[name] for name in ("both", "kinds", "tags")}
    compared = ["age", "visits", "city", "day"] if THOROUGH else ["age", other]
    suite = rewrite(folder, {"columns": compared}, columns={"label": "y", **columns}, slices=kinds)
    state(folder, "before.parquet", "before.state")
    expected, found = plm.run(suite), merged(folder, 2, 0, 1)
    assert (expected.drift["bound"].null_count() == expected.drift.height) == (most is None)
    assert expected.drift["p_value"].is_not_null().any() == ("weight" not in columns)
    assert_same(found, expected)
    if most is None:
        assert all(found.tables[name].equals(expected.tables[name]) for name in TABLES)
    plm.merge(folder / "2.state", folder / "0.state", state=folder / "first.state")
    assert_same(plm.merge(folder / "1.state", folder / "first.state"), expected)


def test_distances_of_merged_states_are_those_of_scipy(folder: Path) -> None:
    suite = {
        "columns": {"label": "y"},
        "models": {"m": "p", "k": "q"},
        "slices": {},
        "drift": {"state": "before.state", "columns": ["visits"]},
    }
    (folder / "suite.yaml").write_text(yaml.safe_dump({**SUITE, **suite}))
    state(folder, "before.parquet", "before.state")
    found = merged(folder, 1, 2, 0).drift
    for column in ("p", "q", "visits"):
        rows = found.filter(column=column)
        values = [side[column].to_numpy() for side in (REFERENCE, CURRENT)]
        said = {row["measure"]: row["value"] for row in rows.iter_rows(named=True)}
        assert said["wasserstein"] == pytest.approx(stats.wasserstein_distance(*values), rel=1e-12)
        assert said["ks_2samp"] == pytest.approx(stats.ks_2samp(*values).statistic, rel=1e-12)
        assert said["mean"] == pytest.approx(np.mean(values[1]) - np.mean(values[0]), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("on", "metric"), [("inline", "roc_auc"), ("processes:2", "accuracy")])
def test_a_runner_judges_drift_as_a_run(folder: Path, expected: plm.Result, on: str, metric: str) -> None:
    """Also where units share constants, such as the grid of scores."""
    rewrite(folder, metrics=[metric])
    found = plm.run(folder / "suite.yaml", on=on)
    assert_same(found, expected)
    assert found.folder is not None
    assert (found.folder / "drift.state").is_file()
    chained = rewrite(folder, {"state": None, "run": str(found.folder)}, metrics=[metric])
    assert plm.run(chained).drift.filter(measure="psi")["value"].drop_nulls().max() == 0
    again = plm.run(chained, on=on)
    assert again.drift.filter(measure="psi")["value"].drop_nulls().max() == 0
    record: dict[str, Any] = {**again.record}
    assert record["references"]["drift.run"]["run"] == found.folder.name


@pytest.mark.slow
def test_evaluate_takes_a_runner(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    arguments: dict[str, Any] = {
        **{key: SUITE[key] for key in ("models", "metrics", "drift", "slices")},
        "label": "y",
        "weight": "w",
    }
    files = sorted(map(str, Path("now").iterdir()))
    assert_same(plm.evaluate(files, **arguments, on="inline"), plm.evaluate(files, **arguments))
    before = plm.state("before.parquet", **arguments)
    with pytest.raises(plm.ConfigError, match="handed over") as caught:
        plm.evaluate(files, **{**arguments, "drift": {**SUITE["drift"], "state": before}}, on="inline")
    assert "write it to a file" in str(caught.value)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("drift", "changes", "words", "hint"),
    [
        (
            {"state": None, "reference": "before.parquet"},
            {},
            "its reference is rows",
            "plmetrics state SUITE",
        ),
        ({"state": None, "where": "p > 0.5"}, {}, "its reference is rows", "drift: {state: FILE}"),
        (
            {},
            {"slices": {"often": {"column": "visits", "top": 2}}},
            "cuts the slice set 'often'",
            "give it bins",
        ),
    ],
)
def test_what_merged_states_cannot_measure_is_told_with_what_to_do(
    folder: Path, drift: dict[str, Any], changes: dict[str, Any], words: str, hint: str
) -> None:
    suite = rewrite(folder, drift, **changes)
    with pytest.raises(plm.ConfigError, match=words) as caught:
        plm.run(suite, on="inline")
    assert hint in str(caught.value)
    one = state(folder, "now/0.parquet", "0.state")
    result = plm.merge(one)
    (warning,) = [text for text in result.warnings if "drift is not measured here" in text]
    assert words in warning
    assert hint in warning
    assert result.drift.is_empty()


@pytest.mark.slow
@pytest.mark.parametrize(("change", "words"), [("gone", "no such file"), ("other", "does not count column")])
def test_a_merge_without_its_reference_goes_on_and_passes_no_gate(
    folder: Path, change: str, words: str
) -> None:
    merged(folder, 0, 1, 2)
    (folder / "before.state").unlink()
    if change == "other":
        rewrite(folder, {"columns": ["age"]})
        state(folder, "before.parquet", "before.state")
        rewrite(folder)
    result = plm.merge(*(folder / f"{number}.state" for number in range(3)))
    (warning,) = [text for text in result.warnings if "drift is not measured here" in text]
    assert words in warning
    assert result.gates["verdict"].to_list() == ["inconclusive"] * len(GATES)
    assert result.metrics["value"].null_count() == 0
    with pytest.raises(plm.DataError, match=words):
        plm.run(folder / "suite.yaml", on="inline")
    assert not list(folder.glob("runs/*/unit-states/*.state"))


@pytest.mark.slow
def test_a_state_names_its_reference_wherever_it_is_merged(
    folder: Path, expected: plm.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    merged(folder, 0, 1, 2)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    for number in range(3):
        shutil.move(folder / f"{number}.state", elsewhere)
    monkeypatch.chdir(elsewhere)
    found = plm.merge(*sorted(elsewhere.glob("*.state")), output=elsewhere / "out")
    assert_same(found, expected)
    assert found.folder is not None
    assert plm.load(found.folder).drift_state is not None


@pytest.mark.slow
def test_a_path_with_a_variable(folder: Path, expected: plm.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its value is neither in a plan nor in a state, so that a merge does not know it."""
    monkeypatch.setenv("DAY", "before")
    suite = rewrite(folder, {"state": "${DAY}.state"})
    assert_same(plm.run(suite, on="inline"), expected)
    units(suite, plan=folder / "units.plan")
    assert "before.state" not in (folder / "units.plan").read_text()
    one = state(folder, "now/0.parquet", "0.state")
    assert one.head.suite["drift"]["state"] == str(folder / "${DAY}.state")
    result = plm.merge(one)
    assert any("${DAY}.state: no such file" in text for text in result.warnings)
    assert set(result.gates["verdict"]) == {"inconclusive"}
