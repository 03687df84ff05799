"""Readouts of experiments against scipy and statsmodels, slice by slice, and loops over units."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats
from statsmodels.stats.proportion import power_proportions_2indep, proportions_ztest

import plmetrics as plm
from plmetrics.core.results import EXPERIMENT_SCHEMA
from plmetrics.features.experiment.arm_balance import sample_ratio_p

RNG = np.random.default_rng(8)
ROWS = 900
TABLE = pl.DataFrame(
    {
        "variant": RNG.choice(["A", "B", "C"], ROWS),
        "country": pl.Series(RNG.choice(["de", "fr", ""], ROWS)).replace("", None),
        "device": RNG.choice(["web", "app"], ROWS),
        "bought": RNG.random(ROWS) < 0.3,
        "spent": RNG.gamma(2.0, 3.0, ROWS).round(1) + 1e6,
    }
)
CLUSTERS = pl.DataFrame({"user": RNG.integers(0, 60, ROWS)}).with_columns(
    pl.when(pl.col("user") % 2 == 0).then(pl.lit("A")).otherwise(pl.lit("B")).alias("variant"),
    (pl.col("user") * 0.05 + pl.Series(RNG.normal(0, 1, ROWS))).alias("spent"),
)


def readout(data: Any = TABLE, outcome: Any = "spent", **options: Any) -> pl.DataFrame:
    asked: dict[str, Any] = {"arm": "variant", "control": "A"} | options
    return plm.readout(data, outcome, **asked)


@pytest.fixture(scope="module")
def found() -> pl.DataFrame:
    return readout(outcome=["spent", "bought"], by=["country", ["country", "device"]])


def arms_of(row: dict[str, Any]) -> tuple[Any, Any]:
    rows = TABLE
    for part in row["slice"].split(", ") if row["slice"] != "all" else []:
        column, _, value = part.partition("=")
        rows = rows.filter(pl.col(column).eq_missing(pl.lit(None if value == "null" else value)))
    return tuple(
        rows.filter(variant=arm)[row["outcome"]].cast(pl.Float64).to_numpy() for arm in (row["arm"], "A")
    )


def test_every_arm_outcome_and_slice_has_a_row(found: pl.DataFrame) -> None:
    assert found.schema == EXPERIMENT_SCHEMA
    sets = found["slice_set"].value_counts().rows()
    assert dict(sets) == {"overall": 5, "country": 12, "country_device": 24}
    assert found["slice"].to_list()[:5:2] == ["all", "country=de", "country=fr"]
    assert found["status"].eq("ok").all()


def test_means_and_intervals_are_those_of_scipy(found: pl.DataFrame) -> None:
    for row in found.filter(outcome="spent").rows(named=True):
        a, b = arms_of(row)
        theirs = stats.ttest_ind(a, b, equal_var=False)
        ends = theirs.confidence_interval()
        assert (row["n"], row["n_control"], row["units"]) == (len(a), len(b), len(a))
        assert row["mean"] == pytest.approx(a.mean())
        assert row["p_value"] == pytest.approx(theirs.pvalue, rel=1e-6)
        assert (row["lower"], row["upper"]) == pytest.approx((ends.low, ends.high), abs=1e-6)
        assert row["cohen_d"] == pytest.approx(plm.tests.cohen_d(a, b).estimate, rel=1e-6)
        assert row["lift"] == pytest.approx(a.mean() / b.mean() - 1, abs=1e-12)


def test_shares_are_those_of_statsmodels(found: pl.DataFrame) -> None:
    for row in found.filter(outcome="bought").rows(named=True):
        a, b = arms_of(row)
        theirs = proportions_ztest([a.sum(), b.sum()], [len(a), len(b)])[1]
        ours = plm.tests.two_proportion_z(a, b)
        assert row["test"] == "two_proportion_z"
        assert row["p_value"] == pytest.approx(theirs)
        assert (row["lower"], row["upper"]) == pytest.approx((ours.lower, ours.upper))
        assert row["required_n"] == plm.tests.required_n_proportions(a.mean(), b.mean())


def test_ranks_are_those_of_scipy(found: pl.DataFrame) -> None:
    for row in found.filter(pl.col("outcome").is_not_null()).rows(named=True):
        a, b = arms_of(row)
        theirs = stats.mannwhitneyu(a, b, method="asymptotic")
        assert row["mann_whitney_p"] == pytest.approx(theirs.pvalue)
        assert row["superiority"] == pytest.approx(theirs.statistic / len(a) / len(b))


@pytest.mark.parametrize("reproducible", [False, True])
def test_shifts_are_medians_of_all_differences(reproducible: bool) -> None:
    """By outcome, arm and slice, with the interval of the Mann-Whitney test by normal ranks, as there are ties."""
    shifted = readout(shifts=True, reproducible=reproducible)
    for row in shifted.filter(pl.col("outcome").is_not_null()).rows(named=True):
        a, b = arms_of(row)
        every = np.sort(np.subtract.outer(a, b).ravel())
        assert row["shift"] == pytest.approx(np.median(every), abs=1e-12)
        ours = plm.tests.hodges_lehmann(a, b)
        assert (row["shift_lower"], row["shift_upper"]) == (ours.lower, ours.upper)
        if max(len(a), len(b)) >= 50:
            size, n = len(every), len(a) + len(b)
            rank = int(np.floor(size / 2 - stats.norm.ppf(0.975) * np.sqrt(size * (n + 1) / 12)))
            ends = every[rank - 1], every[-rank]
            assert (row["shift_lower"], row["shift_upper"]) == pytest.approx(ends, abs=1e-12)
    assert readout()["shift"].null_count() == len(shifted)
    assert readout(CLUSTERS, unit="user", shifts=True)["shift"].null_count() == len(
        readout(CLUSTERS, unit="user")
    )


def test_corrections_count_outcomes_arms_and_slices_of_a_set(found: pl.DataFrame) -> None:
    for name, tests in (("overall", 4), ("country", 12), ("country_device", 24)):
        rows = found.filter(family=name)
        p = sorted(rows["p_value"].to_list())
        assert rows["family_size"].to_list() == [tests] * tests
        assert rows["p_adjusted"].min() == pytest.approx(min(1, tests * p[0]))
    bonferroni = readout(correction="bonferroni").filter(family="overall")
    assert bonferroni["p_adjusted"].to_list() == [min(1, 2 * p) for p in bonferroni["p_value"]]


def test_rows_of_a_unit_count_together() -> None:
    row = readout(CLUSTERS, unit="user").row(0, named=True)
    means, variances, units = [], [], []
    for arm in ("B", "A"):
        held = CLUSTERS.filter(variant=arm).group_by("user").agg(pl.col("spent").sum(), pl.len()).sort("user")
        total, size = held["spent"].to_numpy(), held["len"].to_numpy()
        mean = total.sum() / size.sum()
        rest = total - mean * size
        means.append(mean)
        units.append(len(size))
        share = size / size.sum()
        left = (((np.eye(len(share)) - share[:, None]) * share) ** 2).sum() / (
            share @ share
        )  # of outcomes alike in a unit
        variances.append((rest**2).sum() / size.sum() ** 2 / left)
    assert row["test"] == "clustered_t"
    assert [row["mean"], row["mean_control"]] == pytest.approx(means)
    assert [row["units"], row["units_control"]] == units
    assert row["std_error"] == pytest.approx(np.sqrt(sum(variances)))
    assert row["mann_whitney_p"] is None
    naive = readout(CLUSTERS).row(0, named=True)
    assert row["std_error"] > 1.5 * naive["std_error"]


def test_units_of_one_row_give_welch() -> None:
    rows = TABLE.with_row_index("user")
    clustered, plain = (readout(data, **extra) for data, extra in ((rows, {"unit": "user"}), (TABLE, {})))
    columns = ["difference", "lower", "upper", "p_value", "required_n", "lift", "lift_lower"]
    assert_frame_equal(clustered.select(columns), plain.select(columns), rel_tol=1e-6, abs_tol=1e-6)


@pytest.mark.parametrize(("users", "subject"), [(3, "3 units"), (1, "1 unit")])
def test_units_in_two_arms_are_noted(users: int, subject: str) -> None:
    mixed = CLUSTERS.with_columns(
        pl.when(pl.col("user") < users)
        .then(pl.Series(RNG.choice(["A", "B"], ROWS)))
        .otherwise("variant")
        .alias("variant")
    )
    assert readout(mixed, unit="user")["note"][0] == f"{subject} in more than one arm"


def test_sample_ratio_mismatch_is_said() -> None:
    sizes = TABLE["variant"].value_counts().sort("variant")["count"].to_list()
    row = readout().row(-1, named=True)
    assert (row["test"], row["status"]) == ("sample_ratio", "ok")
    assert row["p_value"] == pytest.approx(stats.chisquare(sizes).pvalue)
    wrong = readout(shares={"A": 2, "B": 1, "C": 1}).row(-1, named=True)
    expected = np.array([0.5, 0.25, 0.25]) * ROWS
    assert wrong["p_value"] == pytest.approx(stats.chisquare(sizes, expected).pvalue)
    assert wrong["status"] == "sample_ratio_mismatch"
    assert "do not trust" in wrong["note"]


def test_an_empty_arm_of_a_slice_has_a_status() -> None:
    rows = TABLE.filter(pl.col("variant").ne("B") | pl.col("country").ne_missing(pl.lit("de")))
    lone = pl.DataFrame({"variant": ["B"], "country": ["de"], "spent": [3.0]})
    for data, status, n in (
        (rows, "no_rows", 0),
        (pl.concat([rows, lone], how="diagonal"), "too_few_units", 1),
    ):
        row = readout(data, by=["country"]).filter(slice="country=de", arm="B").row(0, named=True)
        assert (row["status"], row["n"]) == (status, n)
        empty = {"difference", "lower", "p_value", "lift", "cohen_d", "required_n", "power", "p_adjusted"}
        assert all(row[column] is None for column in empty)


def test_missing_values_are_refused_or_left_out() -> None:
    rows = TABLE.with_columns(
        pl.when(pl.col("device") == "web").then("spent").alias("spent"),
        pl.when(pl.col("bought")).then("variant").alias("variant"),
    )
    with pytest.raises(plm.DataError, match=r"'variant' \(arm\): \d+ of 900 values are null"):
        readout(rows)
    found = readout(rows, outcome=["spent", "bought"], missing="drop")
    left = rows.filter(pl.col("variant").is_not_null())
    kept = left.filter(pl.col("spent").is_not_null(), variant="B").height
    assert found.filter(outcome="spent", arm="B")["n"].item() == kept
    assert found.filter(outcome="bought", arm="B")["n"].item() == left.filter(variant="B").height


def test_constant_outcomes_are_defined() -> None:
    row = readout(TABLE.with_columns(spent=pl.lit(4.5))).row(0, named=True)
    assert (row["difference"], row["lower"], row["upper"], row["p_value"]) == (0, None, None, 1)
    assert row["required_n"] is None
    assert row["mann_whitney_p"] == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("value", [0.0, 1.0, 4.5])
@pytest.mark.parametrize("form", ["share", "unit", "covariate", "strata", "ratio"])
def test_arms_without_any_spread_have_no_interval(value: float, form: str) -> None:
    """Nobody bought in either arm: so few do not say that nobody ever would."""
    users = np.repeat(np.arange(10), 3)
    rows = pl.DataFrame(
        {"variant": np.where(users % 2 == 0, "A", "B"), "spent": np.full(30, value), "user": users}
    )
    rows = rows.with_columns(
        before=pl.Series(RNG.normal(0, 1, 30)), half=pl.col("user") // 5, size=pl.lit(2.0)
    )
    options: dict[str, dict[str, Any]] = {
        "unit": {"unit": "user"},
        "covariate": {"covariate": "before"},
        "strata": {"strata": "half"},
        "ratio": {"outcome": [], "ratio": {"rate": ("spent", "size")}},
    }
    row = readout(rows, **options.get(form, {})).row(0, named=True)
    assert (row["difference"], row["p_value"], row["status"]) == (0, 1, "ok")
    assert [row[name] for name in ("lower", "upper", "lift_lower", "lift_upper")] == [None] * 4
    assert "may be 0" not in (row["note"] or "")


FEW, MANY, HITS = 15, 150, 9


def nobody_bought(name: str = "bought", value: float = 1.0, **more: Any) -> pl.DataFrame:
    """None of the few units in B bought, and some of the many in A."""
    bought = (np.arange(FEW + MANY) < HITS) * value
    columns = {"variant": ["A"] * MANY + ["B"] * FEW, name: bought, "user": range(FEW + MANY)}
    return pl.DataFrame(columns | {key: values[: FEW + MANY] for key, values in more.items()})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"unit": "user"},
        {"covariate": "before"},
        {"strata": "half"},
        {"ratio": {"r": ("bought", "views")}},
    ],
    ids=["share", "unit", "covariate", "strata", "ratio"],
)
def test_an_arm_where_nobody_bought_is_no_proof(options: dict[str, Any]) -> None:
    """Its own variance of 0 says nothing: taken for it, p was below 1e-3."""
    frame = nobody_bought(before=RNG.normal(size=ROWS), half=np.arange(ROWS) % 2, views=np.full(ROWS, 1.0))
    outcome: Any = [] if "ratio" in options else "bought"
    row: dict[str, Any] = readout(frame, outcome, **options).row(0, named=True)
    assert row["lower"] < 0 < row["upper"]
    assert row["p_value"] > 0.1
    assert row["always_valid_p"] > 0.5
    assert row["lift_lower"] is None or row["lift_lower"] < 0 < row["lift_upper"]


def test_an_arm_without_a_spread_has_that_of_both() -> None:
    row = readout(nobody_bought(), "bought").row(0, named=True)
    both = np.r_[np.ones(HITS), np.zeros(FEW + MANY - HITS)].var(ddof=1)
    share = HITS / MANY
    error = np.sqrt(both / FEW + share * (1 - share) / MANY)
    half = stats.norm.ppf(0.975) * error
    assert row["std_error"] == pytest.approx(error)
    assert (row["lower"], row["upper"]) == pytest.approx((-share - half, -share + half))
    assert row["p_value"] == pytest.approx(stats.fisher_exact([[0, FEW], [HITS, MANY - HITS]])[1])
    amount = readout(nobody_bought("amount", 7.5), "amount").row(0, named=True)
    own = (np.arange(MANY) < HITS).var(ddof=1) * 7.5**2
    assert amount["std_error"] == pytest.approx(np.sqrt(both * 7.5**2 / FEW + own / MANY))
    assert amount["cohen_d"] == pytest.approx(
        plm.tests.cohen_d(np.zeros(FEW), (np.arange(MANY) < HITS) * 7.5).estimate
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("arm", "control", "is_exact"),
    [
        ((1, 1), (0, 500), True),
        ((2, 15), (0, 500), True),
        ((3, 3000), (9, 30), True),
        ((490, 500), (19, 20), True),
        ((4, 300), (5, 300), True),
        ((3, 12), (500, 1000), False),
        ((5, 300), (5, 300), False),
    ],
)
def test_few_expected_hits_have_the_p_value_of_fisher(
    arm: tuple[int, int], control: tuple[int, int], is_exact: bool
) -> None:
    """Of 2 of 15 beside 0 of 500 the p value of z was below 1e-15, with an interval that held 0."""
    (hits, size), (others, rest) = arm, control
    bought = np.r_[np.arange(size) < hits, np.arange(rest) < others]
    frame = pl.DataFrame({"variant": ["B"] * size + ["A"] * rest, "bought": bought})
    row = readout(frame, "bought", shares={"A": rest, "B": size}).row(0, named=True)
    expected = (
        stats.fisher_exact([[hits, size - hits], [others, rest - others]])[1]
        if is_exact
        else proportions_ztest([hits, others], [size, rest])[1]
    )
    assert row["p_value"] == pytest.approx(expected)
    assert ("Fisher" in (row["note"] or "")) == is_exact


def test_everybody_bought_mirrors_nobody() -> None:
    nobody = readout(nobody_bought(), "bought").row(0, named=True)
    everybody = readout(nobody_bought().with_columns(bought=1 - pl.col("bought")), "bought").row(
        0, named=True
    )
    for end, other in (("lower", "upper"), ("upper", "lower")):
        assert everybody[end] == pytest.approx(-nobody[other])
    assert everybody["lift_lower"] < 0 < everybody["lift_upper"]


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(15, 150), (150, 15)])
def test_rare_outcomes_of_equal_arms_differ_no_more_often_than_promised(sizes: tuple[int, int]) -> None:
    """Intervals excluded 0 in 40 % of such tables of shares, and in 28 % of those of amounts."""
    tables, rng = 300, np.random.default_rng(3)
    size = sum(sizes) * tables
    bought = rng.random(size) < 0.05
    frame = pl.DataFrame(
        {
            "variant": (["B"] * sizes[0] + ["A"] * sizes[1]) * tables,
            "table": np.repeat(np.arange(tables), sum(sizes)),
            "bought": bought,
            "spent": bought * rng.lognormal(size=size),
            "user": np.arange(size),
        }
    )
    for options in ({}, {"unit": "user"}):
        made = readout(frame, ["bought", "spent"], by=["table"], ranks=False, **options).filter(
            slice_set="table"
        )
        wrong = made.group_by("outcome").agg(((pl.col("lower") > 0) | (pl.col("upper") < 0)).mean())
        assert wrong["lower"].max() <= 0.05 + 3 * (0.05 * 0.95 / tables) ** 0.5  # type: ignore[operator]


def test_always_valid_p_takes_an_effect_of_either_sign() -> None:
    """Effects are taken to be normal around 0: a drop that is looked for is as large as a rise."""
    rise, drop = (readout(mde=mde).row(0, named=True) for mde in (1.5, -1.5))
    assert rise["always_valid_p"] is not None
    assert drop["always_valid_p"] == rise["always_valid_p"]
    assert readout(mixture=1.5).row(0, named=True)["always_valid_p"] == rise["always_valid_p"]


def test_mde_says_what_units_are_counted_for() -> None:
    row = readout(mde=1.5).row(0, named=True)
    a, b = arms_of({"slice": "all", "outcome": "spent", "arm": "B"})
    pooled = np.sqrt(((len(a) - 1) * a.var(ddof=1) + (len(b) - 1) * b.var(ddof=1)) / (len(a) + len(b) - 2))
    assert row["effect"] == 1.5
    assert row["required_n"] == plm.tests.required_n_means(1.5, pooled)
    assert readout(outcome="bought", mde=2.0)["power"][0] is None


def power_of_welch(effect: float, sd: float, sd_control: float, n: float, ratio: float) -> float:
    parts = np.array([sd**2 / n, sd_control**2 / (ratio * n)])
    freedom = parts.sum() ** 2 / (parts**2 / np.array([n - 1, ratio * n - 1])).sum()
    limit, shift = stats.t.ppf(0.975, freedom), effect / np.sqrt(parts.sum())
    return float(stats.nct.sf(limit, freedom, shift) + stats.nct.cdf(-limit, freedom, shift))


def test_power_is_that_of_the_test_which_the_arms_get() -> None:
    """A small arm that varies more: with the spread of both arms pooled, power was 99 % where half was found."""
    rng, tables, sizes = np.random.default_rng(3), 300, (100, 900)
    arms = [(0.6 + 3.0 * rng.normal(size=(tables, 100))), rng.normal(size=(tables, 900))]
    frame = pl.DataFrame(
        {
            "spent": np.concatenate(arms, axis=1).ravel(),
            "variant": (["B"] * sizes[0] + ["A"] * sizes[1]) * tables,
            "table": np.repeat(np.arange(tables), sum(sizes)),
        }
    )
    options: dict[str, Any] = {"mde": 0.6, "shares": {"B": 1, "A": 9}, "ranks": False}
    made = readout(frame, by=["table"], **options).filter(slice_set="table")
    found = (made["p_value"] < 0.05).mean()
    assert made["power"].median() == pytest.approx(found, abs=0.08)
    assert made["power"].median() == pytest.approx(power_of_welch(0.6, 3.0, 1.0, 100, 9), abs=0.03)
    row = made.row(0, named=True)
    spreads = [arm[0].std(ddof=1) for arm in arms]
    assert row["power"] == pytest.approx(power_of_welch(0.6, *spreads, 100, 9), rel=1e-6)
    assert power_of_welch(row["minimum_effect"], *spreads, 100, 9) == pytest.approx(0.8, rel=1e-6)


def test_few_units_expected_in_an_arm_have_an_exact_sample_ratio() -> None:
    """Of 1,000 units with a share of 0.2 % the chi-square test called 0.4 % of arms wrong instead of 0.1 %."""
    for share, n in ((0.002, 1000), (0.01, 500), (0.5, 12)):
        sizes = np.arange(n + 1.0)
        chance = stats.binom.pmf(sizes, n, share)
        p = np.array([sample_ratio_p(np.array([k, n - k]), np.array([share, 1 - share])) for k in sizes])
        tails = np.minimum(stats.binom.cdf(sizes, n, share), stats.binom.sf(sizes - 1, n, share))
        np.testing.assert_allclose(p, np.minimum(1, 2 * tails), rtol=1e-9, atol=1e-300)
        assert chance[p < 0.001].sum() <= 0.001
    three = sample_ratio_p(np.array([9.0, 40, 51]), np.array([0.1, 0.4, 0.5]))
    assert three == 1.0
    many = np.array([9_000.0, 40_000, 51_000])
    assert sample_ratio_p(many, many + 50) == pytest.approx(
        stats.chisquare(many, (many + 50) * many.sum() / (many + 50).sum()).pvalue
    )


def test_required_units_are_those_of_the_planned_shares() -> None:
    """Of an arm that gets one row of ten: beside nine times, and for another arm four times, as many controls."""
    planned: dict[str, Any] = {"shares": {"B": 0.08, "C": 0.2, "A": 0.72}, "mde": 0.1}
    for row in readout(outcome=["spent", "bought"], **planned)[:-1].rows(named=True):
        a, b = arms_of(row)
        ratio = {"B": 9, "C": 3.6}[row["arm"]]
        if row["outcome"] == "spent":
            spreads = a.std(ddof=1), b.std(ddof=1)
            needed = row["required_n"]
            assert power_of_welch(0.1, *spreads, needed - 1, ratio) < 0.8
            assert power_of_welch(0.1, *spreads, needed, ratio) >= 0.8
            continue

        def power(n: float, share: float = float(b.mean()), ratio: float = ratio) -> float:
            return float(power_proportions_2indep(0.1, share, n, ratio=ratio).power)

        assert power(row["required_n"] - 1) < 0.8 <= power(row["required_n"])


def test_looks_at_any_time_are_more_careful() -> None:
    shifted = TABLE.with_columns(pl.col("spent") + pl.when(pl.col("variant") == "B").then(2.0).otherwise(0.0))
    rows = readout(shifted).filter(arm="B").row(0, named=True)
    assert rows["p_value"] < rows["always_valid_p"] < 0.05
    known = readout(shifted, mixture=1.0).filter(arm="B").row(0, named=True)
    theirs = plm.tests.always_valid([known["difference"]], [known["std_error"]], mixture=1.0)
    assert known["always_valid_p"] == pytest.approx(theirs.p_value)


@pytest.mark.parametrize("dtype", [pl.Categorical, pl.String])
def test_frames_files_and_types_of_arms(tmp_path: Any, dtype: Any) -> None:
    TABLE.write_parquet(tmp_path / "a.parquet")
    whole = readout()
    for data in (TABLE.lazy(), tmp_path / "a.parquet", TABLE.cast({"variant": dtype})):
        assert_frame_equal(readout(data), whole)
    numbered = TABLE.with_columns(pl.col("variant").replace_strict({"A": 0.0, "B": 1.0, "C": 2.0}))
    for numbers in (numbered, numbered.cast({"variant": pl.Decimal(4, 2)})):
        assert readout(numbers, control=0)["arm"].to_list() == ["1", "2", None]
    flags = TABLE.with_columns(pl.col("variant") == "B")
    assert readout(flags, control=False)["arm"].to_list() == ["true", None]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"control": "AA"}, "control 'AA' is none of the arms in column 'variant'"),
        ({"outcome": "device"}, r"'device' \(outcome\) is of type String"),
        ({"outcome": "spend"}, "did you mean 'spent'"),
        ({"outcome": []}, "outcome is empty"),
        ({"outcome": ["spent", "spent"]}, "names a column twice"),
        ({"arm": "variants"}, "did you mean 'variant'"),
        ({"by": ["countri"]}, "did you mean 'country'"),
        ({"unit": "spent"}, "is no key"),
        ({"level": 95}, "level must lie between 0 and 1"),
        ({"mde": 0}, "mde must be a number other than 0"),
        ({"mde": {"spend": 1}}, "did you mean 'spent'"),
        ({"shares": {"A": 1}}, "shares must be of all arms, which are A, B, C"),
        ({"shares": {"A": 0, "B": 1, "C": 1}}, "shares must be numbers above 0"),
        ({"correction": "holms"}, "did you mean 'holm'"),
        ({"data": TABLE.clear()}, "the table has no rows"),
        ({"data": TABLE.filter(variant="A")}, "all rows are in arm 'A' of column 'variant'"),
        ({"arm": "spent", "control": TABLE["spent"][0]}, r"holds [0-9]+ arms, more than 100"),
    ],
)
def test_what_is_wrong_is_said(options: dict[str, Any], words: str) -> None:
    with pytest.raises(plm.PlmetricsError, match=words):
        readout(**options)


def test_a_table_of_one_arm_is_bad_data_and_no_mistake_of_a_suite() -> None:
    with pytest.raises(plm.DataError, match="all rows are in arm 'A'"):
        readout(data=TABLE.filter(variant="A"))


def test_many_slices_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plmetrics.features.experiment.design.MOST_SLICES", 3)
    with pytest.raises(plm.ConfigError, match="there are 4 slices, more than 3"):
        readout(by=["country"])


def test_a_row_whose_arm_is_nan_has_none() -> None:
    rows = pl.DataFrame({"arm": [0.0, 1.0, float("nan"), 0.0, 1.0, 1.0], "y": [1.0, 2.0, 9.0, 3.0, 4.0, 7.0]})
    with pytest.raises(plm.DataError, match=r"'arm' \(arm\): 1 of 6 values are null or NaN"):
        plm.readout(rows, "y", arm="arm", control=0)
    found = plm.readout(rows, "y", arm="arm", control=0, missing="drop")
    assert found["arm"].to_list() == ["1", None]
    assert found["difference"][0] == pytest.approx(13 / 3 - 2)


@pytest.mark.parametrize("reproducible", [False, True])
def test_squares_too_large_for_a_double_overflow(reproducible: bool) -> None:
    rows = TABLE.with_columns(spent=pl.col("spent") * 1e200)
    row = plm.readout(rows, "spent", arm="variant", control="A", ranks=False, reproducible=reproducible).row(
        0, named=True
    )
    assert (row["status"], row["p_value"], row["lower"]) == ("overflow", None, None)


@pytest.mark.parametrize("reproducible", [False, True])
def test_the_slice_of_nan_is_that_of_its_rows(reproducible: bool) -> None:
    age = np.random.default_rng(2).choice([20.0, -0.0, 0.0, float("nan")], ROWS)
    table = TABLE.with_columns(age=pl.Series(age))
    options = {"quantile": {"median": ("spent", 0.5)}, "reproducible": reproducible}
    by_slice = readout(table, ["spent", "bought"], by=["age"], **options)
    for slice_, rows in (("age=0", table.filter(age=0.0)), ("age=nan", table.filter(pl.col("age").is_nan()))):
        alone = readout(rows, ["spent", "bought"], **options).filter(pl.col("outcome").is_not_null())
        there = by_slice.filter(slice=slice_)
        columns = [
            "outcome",
            "arm",
            "n",
            "n_control",
            "mean",
            "difference",
            "p_value",
            "mann_whitney_p",
            "status",
        ]
        assert_frame_equal(there.select(columns), alone.select(columns))


def test_slice_sets_of_one_name_are_refused() -> None:
    table = TABLE.with_columns(a="country", b="device", a_b="bought", overall="device")
    with pytest.raises(plm.ConfigError, match="'a_b' is what another slice set is called"):
        readout(table, by=["a_b", ["a", "b"]])
    with pytest.raises(plm.ConfigError, match="'overall' is what all rows are called"):
        readout(table, by="overall")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"by": None}, "by must be a column, or a list of columns, not None"),
        ({"by": [["country", 3]]}, "by must be a column"),
        ({"strata": 5}, "strata must be a column"),
        ({"outcome": None}, "outcome must be a column"),
        ({"arm": ["variant"]}, "arm must be a column, not"),
        ({"unit": ["device"]}, "unit must be a column, not"),
        ({"ratio": ["spent", "bought"]}, "ratio must be a mapping, not"),
        ({"shares": [0.5, 0.5]}, "shares must be a mapping, not"),
        ({"shares": {"A": "a", "B": 1, "C": 1}}, "shares must be numbers above 0"),
    ],
)
def test_arguments_of_other_kinds_are_told_of(options: dict[str, Any], words: str) -> None:
    with pytest.raises(plm.ConfigError, match=words):
        readout(TABLE, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"covariate": "spent"},
        {"covariate": {"spent": "spent"}},
        {"ratio": {"rate": ("spent", "bought")}, "covariate": {"rate": ["spent", "bought"]}},
    ],
)
def test_no_outcome_is_its_own_covariate(options: dict[str, Any]) -> None:
    """The difference would be 0, with p 1."""
    with pytest.raises(plm.ConfigError, match=r"is the outcome '(spent|rate)' itself"):
        readout(TABLE, ["bought", "spent"], **options)


def test_two_columns_that_adjust_a_mean_are_told_to_be_a_ratio() -> None:
    before = TABLE.with_columns(before=pl.col("spent") + 1.0, views=pl.lit(2.0) + pl.col("bought"))
    with pytest.warns(
        plm.PlmetricsWarning, match=r"'spent' .* one covariate, the ratio before / views, not by two"
    ):
        readout(before, covariate=["before", "views"])
    rate = {"rate": ("spent", "bought")}
    readout(before, [], ratio=rate, covariate={"rate": ["before", "views"]})  # a warning is an error


def test_an_outcome_may_be_the_covariate_of_another() -> None:
    found = readout(TABLE, ["bought", "spent"], covariate={"spent": "bought"})
    assert set(found.filter(outcome="spent")["test"]) == {"cuped_t"}


def test_a_single_unit_of_a_share_is_not_certain() -> None:
    def read(last: list[int]) -> tuple[float, float, float]:
        frame = {"arm": ["A"] * 50 + ["B"] * len(last), "y": [0, 1] * 25 + last}
        with pytest.warns(plm.PlmetricsWarning, match="sample ratio"):
            table = plm.readout(frame, outcome="y", arm="arm", control="A")
        return table.select("lower", "upper", "p_value").row(0)

    (one_lower, one_upper, p), (two_lower, two_upper, _) = read([1]), read([1, 1])
    assert p > 0.3
    assert one_lower < 0 < one_upper
    assert one_upper - one_lower > two_upper - two_lower
    mirrored = read([0])
    assert mirrored == pytest.approx((-one_upper, -one_lower, p))
