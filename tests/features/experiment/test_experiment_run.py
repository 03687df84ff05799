"""Slices of an experiment with other shares of its arms are told of, and those of arms that were drawn are not."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import plmetrics as plm
from plmetrics.engine.memory import budget
from plmetrics.suite.reader import suite_from_mapping

RNG = np.random.default_rng(9)
N = 3000
DAY = RNG.integers(0, 2, N)
FRAME = pl.DataFrame(
    {
        "day": DAY,
        "sales": RNG.random(N),
        "drawn": np.where(RNG.random(N) < 0.5, "old", "new"),
        "rising": np.where(RNG.random(N) < np.array([0.3, 0.7])[DAY], "old", "new"),
    }
)


def run(arm: str, **plan: Any) -> Any:
    experiment = {"arm": arm, "control": "old", "outcomes": ["sales"], **plan}
    return plm.evaluate(FRAME, task="experiment", experiment=experiment, slices=["day"])


def unlike(arm: str, **plan: Any) -> list[str]:
    return [text for text in run(arm, **plan).warnings if "tell who was in arm" in text]


def test_arms_that_slices_tell_of() -> None:
    (text,) = unlike("rising")
    shares = FRAME.group_by("day").agg((pl.col("rising") == "new").mean())["rising"]
    assert text.startswith("experiment: slices of 'day' tell who was in arm new")
    assert f"from {shares.min():.1%} to {shares.max():.1%}" in text
    assert unlike("drawn") == []
    assert unlike("rising", strata=["day"]) == []


def test_a_gate_without_a_name_says_its_rule_once() -> None:
    gates = [{"measure": "sample_ratio", "at_least": 0}, {"at_least": -1}, {"name": "safe", "at_least": -1}]
    (ratio, plain, named) = run("drawn", gates=gates).gates.rows(named=True)
    assert (ratio["gate"], ratio["metric"]) == ("sample_ratio >= 0", "sample_ratio")
    assert (plain["gate"], plain["metric"], plain["model"]) == (
        "difference in new >= -1 by interval",
        "difference in new",
        "sales",
    )
    assert plain["gate"] == f"{plain['metric']} {plain['rule']}"
    assert named["gate"] == "safe [new]"


@pytest.mark.parametrize("reproducible", [True, False])
def test_plans_of_little_memory_scan_rows_by_themselves(reproducible: bool, monkeypatch: Any) -> None:
    """What would wait in a shared scan has no room: no plan runs beside another, and values are the same."""
    asked: dict[str, Any] = {
        "experiment": {"arm": "drawn", "control": "old", "outcomes": ["sales"]},
        "slices": ["day"],
        "reproducible": reproducible,
    }
    together = plm.evaluate(FRAME, task="experiment", **asked).tables["experiment"]
    beside = []
    collect_all = pl.collect_all
    monkeypatch.setattr(pl, "collect_all", lambda plans: beside.append(len(plans)) or collect_all(plans))
    monkeypatch.setattr(budget, "waiting_bytes", lambda _: 1 << 60)
    alone = plm.evaluate(FRAME, task="experiment", **asked).tables["experiment"]
    assert max(beside) == 1
    assert_frame_equal(alone, together, rel_tol=1e-12)


def test_looks_that_spend_the_error() -> None:
    plan = {"spending": "obrien_fleming", "planned": 6000, "looks": [1500, 3000]}
    row, fixed = (
        run("drawn", **more).others["experiment"].row(0, named=True) for more in ({"sequential": plan}, {})
    )
    looks = plm.tests.group_sequential([0.25, 0.5], [0.0, fixed["difference"] / fixed["std_error"]])
    assert row["test"] == "group_sequential"
    assert row["p_value"] == pytest.approx(looks.p_value[1])
    half = looks.limits[1] * fixed["std_error"]
    assert (row["lower"], row["upper"]) == pytest.approx(
        (fixed["difference"] - half, fixed["difference"] + half), rel=2e-3
    )
    widths = [found["lift_upper"] - found["lift_lower"] for found in (row, fixed)]
    assert widths[0] == pytest.approx(widths[1] * looks.limits[1] / stats.norm.ppf(0.975), rel=0.02)


@pytest.mark.parametrize(
    ("outcome", "arms"),
    [
        ([0.1, 1.3, 0.4, 2.2, 1.9, 2.4, 1.1, 3.3], [4, 4]),
        ([0.0] * 177 + [1.0] * 3 + [0.0] * 18 + [1.0] * 2, [180, 20]),
    ],
    ids=["few units", "few hits"],
)
def test_the_only_look_is_the_test_itself(outcome: list[float], arms: list[int]) -> None:
    """Few units have the tails of t, and few hits those of Fisher's test, at a last look as without looks."""
    rows = pl.DataFrame({"arm": np.repeat(["A", "B"], arms), "x": outcome})
    section: dict[str, Any] = {"arm": "arm", "control": "A", "outcomes": ["x"], "shares": {"A": 9, "B": 1}}
    once, looked = (
        plm.evaluate(rows, task="experiment", experiment=section | more)
        .tables["experiment"]
        .row(0, named=True)
        for more in ({}, {"sequential": {"spending": "pocock", "planned": len(rows)}})
    )
    columns = ("p_value", "lower", "upper", "lift")
    assert [looked[name] for name in columns] == pytest.approx([once[name] for name in columns], rel=2e-3)
    assert looked["note"] == once["note"]


def test_an_experiment_that_goes_on_after_its_last_look_is_refused() -> None:
    plan = {"spending": "obrien_fleming", "planned": 2000, "looks": [1000, 2000]}
    with pytest.raises(plm.ConfigError, match="none is left for 3,000"):
        run("drawn", sequential=plan)


def test_an_arm_that_got_no_rows_is_named() -> None:
    with pytest.raises(plm.ConfigError, match="no row is in arm 'newer'") as told:
        run("drawn", shares={"old": 1, "new": 1, "newer": 1})
    assert "arms with rows are old, new" in str(told.value)


def test_lengths_of_time_name_no_arms() -> None:
    rows = pl.DataFrame({"arm": [0, 1], "x": [1.0, 2.0]}).cast({"arm": pl.Duration})
    with pytest.raises(plm.DataError, match="which names no arms"):
        plm.evaluate(rows, task="experiment", experiment={"arm": "arm", "control": 0, "outcomes": ["x"]})


def test_an_outcome_whose_name_holds_a_slash_is_told_as_an_outcome() -> None:
    rows = pl.DataFrame({"arm": ["A", "B"] * 5, "clicks/day": range(10)})
    plan = {"arm": "arm", "control": "A", "outcomes": ["clicks/day"]}
    with pytest.raises(plm.ConfigError, match="an outcome's name must be a text") as told:
        plm.evaluate(rows, task="experiment", experiment=plan)
    assert [problem.hint for problem in told.value.problems] == ["derive a column of another name from it"]
    plan["outcomes"] = ["daily"]
    found = plm.evaluate(rows, task="experiment", experiment=plan, derive={"daily": '"clicks/day" * 1'})
    assert found.metrics.filter(slice="all")["value"].to_list()


def test_a_suite_tells_of_a_covariate_that_an_arm_changes() -> None:
    rows = FRAME.with_columns(before=pl.col("sales") + (pl.col("drawn") == "new"))
    experiment = {"arm": "drawn", "control": "old", "outcomes": ["sales"], "covariates": "before"}
    (text,) = plm.evaluate(rows, task="experiment", experiment=experiment).warnings
    assert text.startswith("experiment: covariate 'before' differs between the arms: its mean is 1.5")


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"spending": "pocock"}, "planned number of units"),
        ({"planned": 100}, "planned belongs to spending"),
        ({"spending": "pocock", "planned": 100, "mixture": 0.1}, "two plans"),
    ],
)
def test_plans_that_do_not_fit(plan: dict[str, Any], message: str) -> None:
    with pytest.raises(plm.ConfigError, match=message):
        run("drawn", sequential=plan)


def test_looks_beside_intervals_with_rows_of_their_own_are_refused() -> None:
    plan = {"arm": "drawn", "control": "old", "outcomes": ["sales"], "sequential": True}
    with pytest.raises(plm.ConfigError, match="each interval has rows of its own"):
        suite_from_mapping({"task": "experiment", "experiment": plan, "interval": {"column": "day"}})


def test_shifts_of_a_suite_are_those_of_a_readout() -> None:
    rng = np.random.default_rng(0)
    columns = {"v": rng.choice(["A", "B"], 300), "y": rng.normal(size=300), "g": rng.choice(["x", "y"], 300)}
    rows = pl.DataFrame(columns)
    plan: dict[str, Any] = {"arm": "v", "control": "A", "outcomes": ["y"], "shifts": True}
    table = plm.evaluate(rows, task="experiment", experiment=plan, slices={"g": "g"}).tables["experiment"]
    names = ["shift", "shift_lower", "shift_upper"]
    assert table["shift"].null_count() == 1, "the sample ratio's"
    alone = plm.readout(rows, outcome="y", arm="v", control="A", by=["g"], shifts=True)
    assert table.select(names).equals(alone.select(names))


def test_slices_of_few_rows_have_no_values() -> None:
    rows = FRAME.head(300).with_columns(place=pl.Series(["few"] * 20 + ["many"] * 280))
    gates = [{"at_least": 10, "slices": "place"}]
    experiment = {"arm": "drawn", "control": "old", "outcomes": ["sales"], "gates": gates}
    asked: dict[str, Any] = {"task": "experiment", "experiment": experiment, "slices": ["place"]}
    without, found = (plm.evaluate(rows, min_rows=least, **asked) for least in (0, 21))
    few, many = (found.others["experiment"].row(place, named=True) for place in (1, 2))
    assert (few["slice"], few["status"], few["mean"], few["p_value"]) == (
        "place=few",
        "too_few_rows",
        None,
        None,
    )
    assert few["n"] + few["n_control"] == 20
    assert (many["family_size"], many["p_adjusted"]) == (1, many["p_value"])
    before = without.others["experiment"].row(2, named=True)
    assert many["difference"] == before["difference"]
    assert found.gates["verdict"].to_list() == ["inconclusive", "fail"]
    assert found.others["experiment"].row(0) == without.others["experiment"].row(0)
