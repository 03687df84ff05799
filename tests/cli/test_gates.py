"""Gates on the command line: runs in a row, too small slices, corrections, and the exit codes they end in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
import yaml

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke, Outcome

SUITE: dict[str, Any] = {
    "name": "nightly",
    "data": {"path": "t.parquet"},
    "columns": {"label": "y"},
    "models": {"a": "p", "b": "q", "same": "p"},
    "metrics": ["recall", "roc_auc"],
    "slices": {"region": "region"},
    "uncertainty": {"replicates": 50},
}


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    rng = np.random.default_rng(5)
    label = rng.random(2000) < 0.3
    score, other = (1 / (1 + np.exp(1 - 2 * label - rng.normal(size=2000))) for _ in range(2))
    region = rng.choice(["north", "south", "west"], 2000, p=[0.7, 0.29, 0.01])
    pl.DataFrame({"y": label, "p": score, "q": other, "region": region}).write_parquet(tmp_path / "t.parquet")
    return tmp_path / "s.yaml"


def run(invoke: Invoke, file: Path, *gates: dict[str, Any], **changes: Any) -> Outcome:
    file.write_text(yaml.safe_dump(SUITE | {"gates": list(gates)} | changes))
    return invoke("run", str(file), "--format", "json")


def table(outcome: Outcome) -> pl.DataFrame:
    return pl.read_parquet(Path(json.loads(outcome.out)["folder"]) / "gates.parquet")


def another_day(file: Path) -> None:
    """The same rows in another order: other data of the same values."""
    rows = pl.read_parquet(file.parent / "t.parquet")
    pl.concat([rows[1:], rows[:1]]).write_parquet(file.parent / "t.parquet")


BAD = {"name": "steady", "metric": "recall", "model": "a", "at_least": 0.99, "consecutive": 3}


@pytest.mark.slow
def test_the_third_failure_in_a_row_fails(invoke: Invoke, suite: Path) -> None:
    codes, notes = [], []
    for _ in range(4):
        outcome = run(invoke, suite, BAD)
        codes.append(outcome.code)
        notes += table(outcome)["note"].to_list()
        another_day(suite)
    assert codes == [0, 0, 3, 3]
    assert notes == [f"failed {runs} of 3 runs in a row" for runs in (1, 2, 3, 3)]


@pytest.mark.slow
def test_a_bad_day_that_is_run_again_counts_once(invoke: Invoke, suite: Path) -> None:
    outcomes = [run(invoke, suite, BAD) for _ in range(3)]
    another_day(suite)
    outcomes += [run(invoke, suite, BAD) for _ in range(2)]
    notes = [table(outcome)["note"].item() for outcome in outcomes]
    assert notes == [f"failed {days} of 3 runs in a row" for days in (1, 1, 1, 2, 2)]
    folders = [Path(json.loads(outcome.out)["folder"]) for outcome in outcomes]
    record = json.loads((folders[-1] / "run.json").read_text())
    assert record["history"] == [folders[2].name]


@pytest.mark.slow
def test_a_pass_starts_anew_and_failed_runs_do_not_count(invoke: Invoke, suite: Path) -> None:
    passing = {"path": "t.parquet", "where": "p >= 0.5 OR NOT y"}
    runs: list[dict[str, Any]] = [{}, {"data": passing}, {}, {"data": {"path": "absent.parquet"}}, {}]
    outcomes = []
    for changes in runs:
        outcomes.append(run(invoke, suite, BAD, **changes))
        another_day(suite)
    assert [outcome.code for outcome in outcomes] == [0, 0, 0, 5, 0]
    notes = [table(outcome)["note"].item() for outcome in outcomes if outcome.code == 0]
    assert notes == [None if n is None else f"failed {n} of 3 runs in a row" for n in (1, None, 1, 2)]


@pytest.mark.slow
def test_a_rule_that_changed_judges_earlier_runs_too(invoke: Invoke, suite: Path) -> None:
    for _ in range(2):
        assert run(invoke, suite, BAD | {"at_least": 0.01}).code == 0
        another_day(suite)
    assert run(invoke, suite, BAD).code == 3


@pytest.mark.slow
def test_what_cannot_be_read_is_passed_over_with_a_warning(invoke: Invoke, suite: Path) -> None:
    folders = []
    for _ in range(2):
        folders.append(Path(json.loads(run(invoke, suite, BAD).out)["folder"]))
        another_day(suite)
    (folders[1] / "gates.parquet").unlink()
    outcome = run(invoke, suite, BAD)
    assert outcome.code == 0
    assert table(outcome)["note"].item() == "failed 2 of 3 runs in a row"
    warnings = json.loads((Path(json.loads(outcome.out)["folder"]) / "run.json").read_text())["warnings"]
    (warning,) = (text for text in warnings if "an earlier run does not count" in text)
    assert "gates.parquet is absent" in warning


@pytest.mark.exhaustive
@pytest.mark.parametrize(("on_insufficient", "code"), [("skip", 0), ("warn", 0), ("fail", 3)])
def test_slices_that_are_too_small(invoke: Invoke, suite: Path, on_insufficient: str, code: int) -> None:
    gate = {"metric": "recall", "model": "a", "slices": "region", "at_least": 0.01}
    outcome = run(invoke, suite, gate | {"min_positives": 50, "on_insufficient": on_insufficient})
    assert outcome.code == code, outcome.err
    found = table(outcome)
    assert found["slice"].to_list() == ["region=north", "region=south", "region=west"]
    assert found["status"].to_list() == ["ok", "ok", "too_few_positives"]
    assert found["observed"].null_count() == 0


def test_corrected_gates_say_so(invoke: Invoke, suite: Path) -> None:
    gate = {"metric": "roc_auc", "model": "a", "slices": "region", "at_least": 0.5, "using": "interval"}
    outcome = run(invoke, suite, gate, gate | {"correction": "bonferroni"})
    plain, wide = table(outcome).partition_by("rule", maintain_order=True)
    assert wide["rule"].unique().to_list() == [">= 0.5 by interval (bonferroni)"]
    assert wide["note"].str.starts_with("3 judged together").all()
    assert (wide["lower"] < plain["lower"]).all()
    assert (wide["upper"] > plain["upper"]).all()
    assert "(bonferroni)" in invoke("report", json.loads(outcome.out)["folder"]).out


MARGINS = [
    {"no_worse_than": 0.0},
    {"no_worse_than": "0%"},
    {"no_worse_than": 0.0, "scale": "ratio"},
    {"at_least": 1.0, "scale": "ratio"},
    {"no_worse_than": 0.0, "correction": "holm", "using": "interval", "slices": "all"},
]


@pytest.mark.slow
def test_equal_models_are_never_worse_but_never_better(invoke: Invoke, suite: Path) -> None:
    about = {"metric": "roc_auc", "model": "same", "against": "a"}
    ways = [about | {"using": using} for using in ("value", "interval")]
    outcome = run(invoke, suite, *(way | rule for way in ways for rule in MARGINS))
    found = table(outcome)
    assert (outcome.code, set(found["verdict"])) == (0, {"pass"})
    assert found.filter(slice_set="overall").height == len(ways) * len(MARGINS)
    for way in ways:
        outcome = run(invoke, suite, way | {"better_than": 0.0})
        assert (outcome.code, table(outcome)["verdict"].item()) == (3, "fail")


@pytest.mark.slow
def test_slices_are_judged_against_the_rest_and_against_an_earlier_run(invoke: Invoke, suite: Path) -> None:
    about = {"metric": "roc_auc", "model": "a", "slices": "region", "using": "interval", "correction": "holm"}
    gates = [about | {"against": {"slice": other}, "no_worse_than": 0.5} for other in ("rest", "all")]
    earlier = Path(json.loads(run(invoke, suite).out)["folder"])
    last = about | {"against": {"run": True}, "no_worse_than": "60%", "slices": "all"}
    compare = {
        "slices": {"region": ["rest", "all"]},
        "run": str(earlier),
        "scales": ["difference", "relative_change"],
    }
    outcome = run(invoke, suite, *gates, last, compare=compare)
    assert outcome.code == 0, outcome.err
    found = table(outcome)
    assert found["rule"].unique(maintain_order=True).to_list() == [
        "difference to the rest >= -0.5 by interval (holm)",
        "difference to all rows >= -0.5 by interval (holm)",
        "relative change from the earlier run >= -0.6 by interval (holm)",
    ]
    assert found["slice_set"].to_list() == ["region"] * 6 + ["overall"] + ["region"] * 3
    assert set(found["verdict"]) == {"pass"}
    listed = pl.read_parquet(Path(json.loads(outcome.out)["folder"]) / "comparisons.parquet")
    for row, contrast in zip(found[::3].iter_rows(named=True), ("rest", "slice", "run"), strict=False):
        scale = "relative_change" if contrast == "run" else "difference"
        place = {"slice_set": row["slice_set"], "slice": row["slice"], "metric": "roc_auc", "model": "a"}
        (same,) = listed.filter(contrast=contrast, scale=scale, **place).to_dicts()
        assert row["observed"] == same["difference"]
        if contrast == "run":  # the same rows, scored alike: no replicate differs
            assert {same["lower"], same["upper"], row["lower"], row["upper"]} == {0.0}
            continue
        assert row["lower"] < same["lower"]
        assert same["upper"] < row["upper"]


def test_relative_margins_are_those_of_the_ratio(invoke: Invoke, suite: Path) -> None:
    about = {"metric": "roc_auc", "model": "b", "against": "a", "using": "interval"}
    gates = [about | {"no_worse_than": "3%"}, about | {"no_worse_than": 0.03, "scale": "ratio"}]
    outcome = run(invoke, suite, *gates, compare={"baseline": "a"})
    change, ratio = table(outcome).iter_rows(named=True)
    assert change["rule"] == "relative change from a >= -0.03 by interval"
    assert ratio["rule"] == "ratio to a >= 0.97 by interval"
    for key in ("observed", "lower", "upper"):
        assert change[key] == pytest.approx(ratio[key] - 1)
    metrics = pl.read_parquet(Path(json.loads(outcome.out)["folder"]) / "metrics.parquet")
    values = metrics.filter(metric="roc_auc", slice_set="overall").select("model", "value").rows()
    assert ratio["observed"] == pytest.approx(dict(values)["b"] / dict(values)["a"])
    listed = pl.read_parquet(Path(json.loads(outcome.out)["folder"]) / "comparisons.parquet")
    assert set(listed["scale"]) == {"difference"}


def test_of_several_methods_the_first_is_judged(invoke: Invoke, suite: Path) -> None:
    gates = [
        {"metric": metric, "model": "a", "at_least": 0.5, "using": "interval"}
        for metric in ("recall", "roc_auc")
    ]
    methods = ["wilson", "bootstrap", "delong"]
    outcome = run(invoke, suite, *gates, uncertainty={"replicates": 50, "methods": methods})
    metrics = pl.read_parquet(Path(json.loads(outcome.out)["folder"]) / "metrics.parquet")
    for row in table(outcome).iter_rows(named=True):
        held = metrics.filter(metric=row["metric"], model="a", slice_set="overall")
        assert held.height == 2
        assert (row["lower"], row["upper"]) == held.select("lower", "upper").row(0)
