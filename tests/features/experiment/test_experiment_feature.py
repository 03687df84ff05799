"""Experiments as suites: their table is that of the readout, and gates follow its intervals."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

import plmetrics as plm
from plmetrics.cli.app import app
from plmetrics.core.errors import PlmetricsWarning

RNG = np.random.default_rng(5)
N = 2000
ARM = RNG.choice(["A", "B"], N)
VISITS = pl.DataFrame(
    {
        "variant": ARM,
        "country": RNG.choice(["de", "fr"], N),
        "age": RNG.integers(18, 80, N),
        "user": RNG.integers(0, 800, N),
        "bought": (RNG.random(N) < 0.1 + 0.1 * (ARM == "B")).astype(int),
        "revenue": RNG.gamma(2, 5, N),
    }
)
PLAN: dict[str, Any] = {"arm": "variant", "control": "A", "outcomes": ["bought", "revenue"]}


def evaluated(frame: pl.DataFrame = VISITS, more: Any = None, **options: Any) -> plm.Result:
    return plm.evaluate(frame, task="experiment", experiment={**PLAN, **(more or {})}, **options)


@pytest.mark.exhaustive
@pytest.mark.parametrize("unit", [None, "user"])
@pytest.mark.parametrize("reproducible", [False, True])
def test_the_table_is_that_of_the_readout(unit: str | None, reproducible: bool) -> None:
    result = evaluated(unit=unit, slices=["country"], reproducible=reproducible, uncertainty=True)
    readout = plm.readout(
        VISITS, PLAN["outcomes"], "variant", "A", ["country"], unit, reproducible=reproducible
    )
    assert_frame_equal(result.others["experiment"], readout, rel_tol=1e-12)
    means = result.metrics.filter(slice_set="overall")["value"].to_list()
    assert means == pytest.approx([VISITS["bought"].mean(), VISITS["revenue"].mean()], rel=1e-12)


@pytest.mark.parametrize("unit", [None, "user"])
def test_ratios_covariates_and_strata_are_those_of_the_readout(unit: str | None) -> None:
    frame = VISITS.with_columns(views=pl.col("age") % 7 + 1, before=pl.col("revenue") * 2 + pl.col("age"))
    strata = [] if unit else ["country"]
    more = {
        "outcomes": "revenue",
        "ratios": {"rate": ["bought", "views"]},
        "covariates": {"revenue": "before"},
    }
    found = evaluated(frame, {**more, "strata": strata}, unit=unit, uncertainty=True)
    ratio = {"rate": ["bought", "views"]}
    readout = plm.readout(
        frame,
        "revenue",
        "variant",
        "A",
        unit=unit,
        ratio=ratio,
        covariate={"revenue": "before"},
        strata=strata,
    )
    assert_frame_equal(found.others["experiment"], readout, rel_tol=1e-12)
    assert found.metrics["model"].to_list() == ["revenue"]
    only = evaluated(frame, {"outcomes": (), "ratios": ratio}, unit=unit).others["experiment"]
    assert only["outcome"].to_list()[0] == "rate"
    lacking = frame.with_columns(views=pl.when(pl.col("age") > 30).then("views"))
    with pytest.raises(plm.DataError, match="views"):
        evaluated(lacking, {"outcomes": (), "ratios": ratio})
    dropped = evaluated(lacking, {"outcomes": "revenue", "ratios": ratio}, missing="drop_per_model")
    assert dropped.others["experiment"]["n"][0] > dropped.others["experiment"]["n"][1]


@pytest.mark.parametrize("outcomes", [["bought"], []])
def test_quantiles_are_those_of_the_readout(outcomes: list[str]) -> None:
    quantiles: Any = {"p90": ["revenue", 0.9]}
    found = evaluated(more={"outcomes": outcomes, "quantiles": quantiles}, slices=["country"])
    readout = plm.readout(VISITS, outcomes, "variant", "A", ["country"], quantile=quantiles)
    table = found.others["experiment"]
    assert_frame_equal(table, readout, rel_tol=1e-12)
    values = {arm: VISITS.filter(variant=arm)["revenue"].quantile(0.9, "linear") for arm in "AB"}
    (row,) = table.filter(outcome="p90", slice_set="overall").rows(named=True)
    assert (row["mean"], row["mean_control"]) == pytest.approx((values["B"], values["A"]), rel=0.01)
    gate = {"outcome": "p90", "at_most": row["upper"] + 1}
    plan = {"outcomes": outcomes, "quantiles": quantiles, "gates": [gate]}
    assert evaluated(more=plan).gates["verdict"].to_list() == ["pass"]


MEDIAN = {"quantiles": {"p": ["revenue", 0.5]}}


@pytest.mark.parametrize(
    ("more", "options", "says"),
    [
        ({"quantiles": {"p": ["revenue", 1.5]}}, {}, "experiment.quantiles.p.1: p must be less than 1"),
        (
            {"quantiles": {"p": ["nope", 0.5]}},
            {},
            r"experiment.quantiles.p: column 'nope' \(outcome\) is not in",
        ),
        ({**MEDIAN, "strata": ["country"]}, {}, "quantiles are of rows, and the suite has"),
        (MEDIAN, {"unit": "user"}, "quantiles are of rows, and the suite has a unit"),
        ({"ratios": {"r": ["nope", "age"]}}, {}, r"experiment.ratios.r: column 'nope' \(outcome\) is not in"),
        ({"ratios": {"r": ["country", "age"]}}, {}, r"column 'country' \(outcome\) is of type String"),
        ({"quantiles": {"p": ["revenue"]}}, {}, "experiment.quantiles.p: p needs more than 1 value"),
        ({"arm": "nope"}, {}, r"experiment.arm: column 'nope' \(arm\) is not in"),
        ({"sequential": {"mixture": 0}}, {}, "experiment.sequential.mixture: mixture must be greater than 0"),
        (
            {"sequential": {"spending": "obf", "planned": 9}},
            {},
            r"sequential.spending: spending must be obrien_fleming or pocock, not 'obf'\n    did you mean",
        ),
        ({"covariates": "nope"}, {}, r"experiment.covariates: column 'nope' \(covariate\) is not in"),
        ({"strata": ["nope"]}, {}, r"experiment.strata: column 'nope' \(stratum\) is not in"),
    ],
)
def test_what_quantiles_ratios_and_strata_cannot_be(more: Any, options: Any, says: str) -> None:
    with pytest.raises(plm.PlmetricsError, match=says):
        evaluated(more=more, **options)


def test_slices_of_other_kinds_are_those_of_the_suite() -> None:
    slices = {
        "age": {"column": "age", "bins": [30, 50]},
        "old": {"where": "age > 60"},
        "rank": {"column": "revenue", "quantiles": 2},
    }
    table = evaluated(slices=slices, more={"outcomes": ["bought"]}).others["experiment"]
    rows = table.filter(slice_set="age", slice="age=[30, 50)").row(0, named=True)
    part = VISITS.filter(pl.col("age").is_between(30, 50, closed="left"))
    share = {arm: part.filter(variant=arm)["bought"].mean() for arm in "AB"}
    assert rows["difference"] == pytest.approx(share["B"] - share["A"])
    assert table.filter(slice_set="old")["slice"].to_list() == ["old=true"]
    assert table.filter(slice_set="old")["n"].item() == VISITS.filter(pl.col("age") > 60, variant="B").height
    assert table.filter(slice_set="rank").height == 2


def test_gates_follow_the_intervals() -> None:
    gates = [
        {"outcome": "bought", "at_least": 0.01},
        {"outcome": "bought", "at_least": 0.5},
        {"outcome": "revenue", "at_least": 0.0, "slices": "all", "level": "warn"},
        {"measure": "sample_ratio", "at_least": 0.001},
        {"measure": "p_value", "outcome": "bought", "at_most": 0.05},
        {"measure": "lift", "outcome": "bought", "arm": "B", "at_least": 0.0, "name": "lift of B"},
        {"outcome": "bought", "arm": "Z", "at_least": 0.0},
    ]
    found = evaluated(more={"gates": gates}, slices=["country"])
    assert found.gates["verdict"].to_list()[:2] == ["pass", "fail"]
    assert found.gates.filter(level="warn").height == 3
    assert found.gates["verdict"].to_list()[-4:] == ["pass", "pass", "pass", "inconclusive"]
    assert found.verdict == "fail"
    row = found.gates.row(0, named=True)
    table = found.others["experiment"].row(0, named=True)
    assert (row["observed"], row["lower"], row["model"]) == (table["difference"], table["lower"], "bought")


def test_a_mismatch_of_arms_lets_no_gate_pass() -> None:
    odd = VISITS.filter((pl.col("variant") == "A") | (pl.int_range(pl.len()) % 2 == 0))
    gates = [{"measure": "sample_ratio", "at_least": 0.001}, {"outcome": "bought", "at_least": 0}]
    with pytest.warns(PlmetricsWarning, match="sample ratio mismatch"):
        found = evaluated(odd, {"gates": gates})
    assert found.gates["verdict"].to_list() == ["fail", "inconclusive"]
    assert found.gates["status"].to_list()[1] == "sample_ratio_mismatch"


def test_a_sequential_plan_reads_the_always_valid_test() -> None:
    table = evaluated(more={"sequential": {"mixture": 0.02}, "outcomes": ["bought"]}).others["experiment"]
    row = table.row(0, named=True)
    test = plm.tests.always_valid(row["difference"], row["std_error"], mixture=0.02)
    assert (row["test"], row["p_value"]) == ("always_valid", pytest.approx(test.p_value))
    assert (row["lower"], row["upper"]) == (pytest.approx(test.lower), pytest.approx(test.upper))


def test_lifts_of_a_sequential_plan_hold_at_all_looks_together() -> None:
    """A gate on the lift reads an interval as wide as that of the difference, not that of one look."""
    more = {"outcomes": ["bought"], "gates": [{"measure": "lift", "at_least": -0.5}]}
    result = evaluated(more=more | {"sequential": {"mixture": 0.02}})
    row = result.others["experiment"].row(0, named=True)
    a, b, n, m = (row[name] for name in ("mean", "mean_control", "units", "units_control"))
    variances = a * (1 - a) / (n - 1), b * (1 - b) / (m - 1)
    limit = (row["upper"] - row["difference"]) / np.sqrt(sum(variances))
    for end in (row["lift_lower"] + 1, row["lift_upper"] + 1):
        assert abs(a - end * b) == pytest.approx(limit * np.sqrt(variances[0] + end**2 * variances[1]))
    assert result.gates.select("lower", "upper").row(0) == (row["lift_lower"], row["lift_upper"])


@pytest.mark.parametrize(("centre", "status"), [(-1.0, "nonpositive_values"), (0.0, "zero_denominator")])
def test_a_control_that_is_not_above_0_has_no_lift(centre: float, status: str) -> None:
    """From -1 to +1 is a rise, and +1 / -1 - 1 = -2 would say that it fell to a gate on the lift."""
    profit = [centre - 0.5, centre + 0.5, 0.5, 1.5]
    rows = pl.DataFrame({"variant": ["A", "A", "B", "B"], "profit": profit})
    gates = [{"measure": "lift", "at_least": -0.1, "using": using} for using in ("value", "interval")]
    plan = {"arm": "variant", "control": "A", "outcomes": ["profit"], "gates": gates}
    result = plm.evaluate(rows, task="experiment", experiment=plan)
    row = result.others["experiment"].row(0, named=True)
    assert (row["difference"], row["lift"], row["lift_lower"]) == (1.0 - centre, None, None)
    assert result.gates["verdict"].to_list() == ["inconclusive"] * 2
    assert result.gates["status"].to_list() == [status] * 2


def test_rows_without_an_outcome_are_left_out_of_it_alone() -> None:
    frame = VISITS.with_columns(pl.when(pl.col("age") > 70).then(None).otherwise("revenue").alias("revenue"))
    with pytest.raises(plm.DataError, match="revenue"):
        evaluated(frame)
    table = evaluated(frame, missing="drop_per_model").others["experiment"]
    assert table["n"].to_list()[:2] == [
        VISITS.filter(variant="B").height,
        VISITS.filter(pl.col("age") <= 70, variant="B").height,
    ]
    dropped = evaluated(frame, missing="drop").others["experiment"]
    assert dropped["n"][0] == dropped["n"][1] == table["n"][1]
    with pytest.raises(plm.DataError, match="variant"):
        evaluated(VISITS.with_columns(pl.lit(None, pl.String).alias("variant")))


@pytest.mark.parametrize(
    ("more", "options", "words"),
    [
        ({"outcomes": ["variant"]}, {}, "both arm and outcome"),
        ({"control": "Z"}, {}, "none of the arms"),
        ({"mde": {"sold": 1.0}}, {}, "'sold' is no outcome"),
        ({"gates": [{"outcome": "bought"}]}, {}, "needs a rule"),
        ({"gates": [{"measure": "sample_ratio", "arm": "B", "at_least": 0.1}]}, {}, "leave arm out"),
        ({"gates": [{"slices": "city", "at_least": 0}]}, {}, "city"),
        ({"shares": {"A": 1.0}}, {}, "of all arms"),
        ({}, {"weight": "age"}, "no weights"),
        ({}, {"models": ["age"]}, "models of an experiment"),
        ({}, {"drift": {"reference": "x.parquet"}}, "drift reads a label"),
        ({}, {"baseline": True}, "baseline reads a label"),
        ({}, {"slices": {"tag": {"tags": "country"}}}, "tag"),
    ],
)
def test_what_does_not_fit_is_refused(more: Any, options: Any, words: str) -> None:
    with pytest.raises(plm.ConfigError, match=words):
        evaluated(more=more, **options)
    with pytest.raises(plm.ConfigError, match="belongs to task 'experiment'"):
        plm.evaluate(VISITS, label="bought", models="age", experiment=PLAN)


@pytest.mark.parametrize("plan", [{"outcomes": {"bought": "bought"}}, {"ratios": ["age"]}, {"arm": None}])
def test_a_wrong_section_is_told_without_the_columns_that_it_implies(plan: Any) -> None:
    with pytest.raises(plm.ConfigError) as told:
        evaluated(more=plan)
    assert [problem.path[0] for problem in told.value.problems] == ["experiment"]


@pytest.mark.slow
def test_an_experiment_leaves_a_run_folder(root: Path) -> None:
    VISITS.write_parquet("visits.parquet")
    gates = [{"outcome": "bought", "at_least": 0.3, "name": "more buyers"}]
    suite = {"task": "experiment", "data": {"path": "visits.parquet"}, "experiment": {**PLAN, "gates": gates}}
    suite["experiment"]["level"] = 0.9
    (root / "checkout.yaml").write_text(yaml.safe_dump(suite))
    outcome = CliRunner().invoke(app, ["run", "checkout.yaml"])
    assert outcome.exit_code == 3, outcome.output
    assert "more buyers [B]" in outcome.output
    assert "1 gate)" in CliRunner().invoke(app, ["validate", "checkout.yaml"]).output
    assert "bought (two_proportion_z, 90% intervals)" in outcome.output
    folder = next(path for path in (root / "runs" / "checkout").iterdir() if path.is_dir())
    assert pl.read_parquet(folder / "experiment.parquet").height == 3
    for command in (["report", str(folder)], ["history", "runs/checkout"], ["explain", "checkout.yaml"]):
        again = CliRunner().invoke(app, command)
        assert again.exit_code == 0, (command, again.output)
    assert (
        "bought (two_proportion_z, 90% intervals)" in CliRunner().invoke(app, ["report", str(folder)]).output
    )


def test_an_outcome_that_is_its_own_covariate_is_told_at_its_key() -> None:
    plan = {"arm": "variant", "control": "A", "outcomes": ["bought"], "covariates": "bought"}
    with pytest.raises(plm.ConfigError, match=r"experiment\.covariates: .* is the outcome 'bought' itself"):
        plm.evaluate({"variant": ["A", "B"], "bought": [0, 1]}, task="experiment", experiment=plan)


@pytest.fixture(scope="module")
def many() -> plm.Result:
    rows, names = 600, [f"o{place:02}" for place in range(45)]
    frame = pl.DataFrame({name: RNG.normal(3.0, 1.0, rows) for name in names}).with_columns(
        variant=pl.Series(RNG.choice(["A", "B"], rows)), half=pl.Series(RNG.integers(0, 12, rows))
    )
    plan = {"arm": "variant", "control": "A", "outcomes": names, "ranks": False}
    return plm.evaluate(frame, task="experiment", experiment=plan, slices={"half": "half"})


@pytest.mark.slow
def test_a_text_of_many_outcomes_is_short_and_says_what_is_left_out(many: plm.Result) -> None:
    text = str(many)
    lines = text.splitlines()
    assert len(lines) < 400
    assert lines.count("  and 9 rows more in experiment.parquet") == 40
    assert "  and 5 outcomes more in experiment.parquet" in lines
    assert "Outcomes by mean" in lines
    assert "odel" not in text


def test_markdown_and_notebooks_show_the_readout(many: plm.Result) -> None:
    few = evaluated(slices={"country": "country"})
    row = few.others["experiment"].row(0, named=True)
    for text in (few.to_markdown(), few._repr_html_()):
        assert "Readout" in text
        assert f"{row['lift']:+.1%}" in text
        assert "sample ratio (p " in text
        assert "Outcomes" in text
    assert "4 more rows in the table experiment" in few.to_markdown()
    text = many.to_markdown()
    assert text.count("| o0") + text.count("| o1") == 40  # of readouts and of means
    assert "565 more rows in the table experiment" in text
    assert len(many._repr_html_()) <= 8192


@pytest.mark.slow
def test_a_page_of_many_outcomes_has_no_models(many: plm.Result, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    many.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Further outcomes" in page
    assert "more models in the table metrics</td>" not in page


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (
            "bought",
            "experiment: column 'bought' (outcome 'bought'): 1 of 4 values is null, the first in row 2",
        ),
        ("sold", "experiment: column 'sold' (outcome 'sold') is not in the data"),
        ("name", "experiment: column 'name' (outcome 'name') is of type String, but must hold numbers"),
    ],
)
def test_a_bad_outcome_is_told_as_one(outcome: str, words: str) -> None:
    """An experiment has no models: what is wrong with an outcome is not a score of one."""
    rows = pl.DataFrame({"arm": ["a", "b"] * 2, "bought": [1, 0, None, 1], "name": list("wxyz")})
    plan = {"arm": "arm", "control": "a", "outcomes": [outcome]}
    with pytest.raises(plm.DataError) as caught:
        plm.evaluate(rows, task="experiment", experiment=plan)
    (problem,) = caught.value.problems
    assert str(problem).startswith(words)


def test_a_gate_of_an_absent_arm_names_the_arms() -> None:
    gates = [{"outcome": "bought", "arm": arm, "at_least": 0} for arm in ("b", "other")]
    found = evaluated(more={"gates": gates}).gates
    assert found["verdict"].to_list() == ["inconclusive"] * 2
    assert found["note"].to_list() == [
        "there is no such arm; did you mean 'B'?",
        "there is no such arm; known: B",
    ]
