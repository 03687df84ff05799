"""Ratios, covariates and strata of a readout against statsmodels and loops over arms, units and strata."""

from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from polars.testing import assert_frame_equal
from scipy import stats

import plmetrics as plm

RNG = np.random.default_rng(21)
ROWS = 1_200
BEFORE = RNG.gamma(2.0, 3.0, ROWS)
TABLE = pl.DataFrame(
    {
        "variant": RNG.choice(["A", "B", "C"], ROWS),
        "country": RNG.choice(["de", "fr"], ROWS),
        "device": pl.Series(RNG.choice(["web", "app", ""], ROWS)).replace("", None),
        "before": BEFORE,
        "spent": 0.8 * BEFORE + RNG.normal(0, 2, ROWS) + 100.0,
        "views": RNG.integers(0, 9, ROWS),
        "views_before": RNG.integers(1, 9, ROWS),
        "user": RNG.integers(0, 150, ROWS),
    }
).with_columns(
    clicks=pl.col("views") * 0.2 + pl.Series(RNG.random(ROWS)),
    bought=pl.col("before") > 6,
    segment=pl.col("user") % 3,
    user=pl.col("user").cast(pl.String) + pl.col("variant"),
)
RATIO = {"ctr": ("clicks", "views")}


def readout(outcome: Any = "spent", data: pl.DataFrame = TABLE, **options: Any) -> pl.DataFrame:
    found = plm.readout(data, outcome, **({"arm": "variant", "control": "A", "ranks": False} | options))
    return found.filter(pl.col("outcome").is_not_null())


def residuals(rows: pl.DataFrame, value: str, size: str | None, unit: str | None) -> tuple[float, Any]:
    """A ratio of two sums, and what each unit adds beyond it, in units of the mean size."""
    pair = rows.select(pl.col(value).alias("v"), (pl.lit(1.0) if size is None else pl.col(size)).alias("s"))
    if unit is not None:
        units = pair.with_columns(rows[unit].alias("u")).group_by("u", maintain_order=True).sum()
        pair = units.select("v", "s")
    v, s = pair["v"].to_numpy(), pair["s"].to_numpy().astype(float)
    ratio = v.sum() / s.sum()
    return ratio, (v - ratio * s) / s.mean()


def unequal(rows: pl.DataFrame, size: str | None, unit: str | None) -> tuple[float, float]:
    """The factor on a sum of squares of residuals that units of unequal sizes ask for, and degrees of freedom.

    Of outcomes that are alike within a unit, residuals are P x sizes: their squares from the matrix, as they are.
    """
    sizes = rows.with_columns(s=pl.lit(1.0) if size is None else pl.col(size).cast(pl.Float64))
    if unit is not None:
        sizes = sizes.group_by(unit).agg(pl.col("s").sum())
    share = (sizes["s"] / sizes["s"].sum()).to_numpy()
    of_residual = (np.eye(len(share)) - share[:, None]) * share
    effective = 1 / (share @ share)
    return (1 - 1 / len(share)) * (share @ share) / (of_residual**2).sum(), effective - 1


@pytest.mark.parametrize("unit", [None, "user"])
def test_ratios_have_the_variance_of_the_delta_method(unit: str | None) -> None:
    for row in readout([], ratio=RATIO, unit=unit, by=["country"]).rows(named=True):
        rows = TABLE if row["slice"] == "all" else TABLE.filter(country=row["slice"][-2:])
        both = [residuals(rows.filter(variant=arm), "clicks", "views", unit) for arm in (row["arm"], "A")]
        of_sizes = [unequal(rows.filter(variant=arm), "views", unit) for arm in (row["arm"], "A")]
        parts = [
            (factor * x.var(ddof=1) / len(x), freedom)
            for (_, x), (factor, freedom) in zip(both, of_sizes, strict=True)
        ]
        (b, _), (a, _) = both
        variance = sum(part for part, _ in parts)
        freedom = variance**2 / sum(part**2 / df for part, df in parts)
        assert row["test"] == "ratio_t"
        assert (row["mean"], row["mean_control"]) == pytest.approx((b, a), rel=1e-12)
        assert row["std_error"] == pytest.approx(np.sqrt(variance), rel=1e-9)
        assert row["p_value"] == pytest.approx(2 * stats.t.sf(abs(b - a) / np.sqrt(variance), freedom))


@pytest.mark.alike
@pytest.mark.slow
@pytest.mark.parametrize("reproducible", [False, True])
@pytest.mark.parametrize("alike", [False, True])
def test_few_units_of_unequal_sizes_differ_as_often_as_the_level_says(
    alike: bool, reproducible: bool
) -> None:
    """Of 2 x 8 units of lognormal sizes 20 % differed: residuals of large ones are too small, and n - 1 is too many."""
    rng, tables = np.random.default_rng(8), 300
    sizes = np.clip(rng.lognormal(1.5, 1.5, tables * 16), 1, 200).astype(int)
    unit = np.repeat(np.arange(tables * 16), sizes)
    level = rng.normal(size=tables * 16)[unit]
    rows = pl.DataFrame({"user": unit, "table": unit // 16, "variant": np.where(unit % 2, "B", "A")})
    noise = 0.0 if alike else 2.0 * rng.normal(size=len(unit))
    found = readout(
        "y", rows.with_columns(y=level + noise), unit="user", by=["table"], reproducible=reproducible
    )
    by_table = found.filter(slice_set="table")
    assert 0.005 <= (by_table["p_value"] < 0.05).mean() <= 0.07
    assert by_table["note"].str.contains("only 8 units").all()


def test_an_arm_of_one_unit_with_a_size_has_no_interval() -> None:
    rows = pl.DataFrame(
        {"variant": list("AAABBB"), "clicks": [3, 0, 0, 1, 2, 1], "views": [9, 0, 0, 3, 4, 5]}
    )
    row = readout([], rows, ratio=RATIO).row(0, named=True)
    assert (row["status"], row["std_error"], row["p_value"]) == ("too_few_units", None, None)


def test_a_covariate_gives_the_coefficient_of_the_regression_on_it() -> None:
    found = readout(covariate="before", by=["country"])
    for (name,), lines in found.group_by("slice"):
        rows = TABLE if name == "all" else TABLE.filter(country=str(name)[-2:])
        dummies = rows.select(b=pl.col("variant") == "B", c=pl.col("variant") == "C", x="before").cast(
            pl.Float64
        )
        fit = sm.OLS(rows["spent"].to_numpy(), sm.add_constant(dummies.to_numpy())).fit()
        assert lines.sort("arm")["difference"].to_list() == pytest.approx(list(fit.params[1:3]), rel=1e-9)
        rest = rows.with_columns(rest=pl.col("spent") - fit.params[3] * pl.col("before"))
        for row in lines.rows(named=True):
            arms = [rest.filter(variant=arm)["rest"].to_numpy() for arm in (row["arm"], "A")]
            theirs, left = stats.ttest_ind(*arms, equal_var=False), rows.height - 3
            t, df = theirs.statistic * np.sqrt((left - 2) / left), theirs.df * (left - 1) / left
            assert row["test"] == "cuped_t"
            assert row["p_value"] == pytest.approx(2 * stats.t.sf(abs(t), df), rel=1e-7)
            raw = [rows.filter(variant=arm)["spent"].to_numpy() for arm in (row["arm"], "A")]
            share = 1 - left / (left - 2) * sum(x.var(ddof=1) / len(x) for x in arms) / sum(
                x.var(ddof=1) / len(x) for x in raw
            )
            assert row["note"] == f"the covariate takes {share:.0%} off the variance"
    assert found["std_error"][0] < 0.6 * readout()["std_error"][0]


@pytest.mark.slow
@pytest.mark.parametrize("units", [3, 6])
def test_few_units_with_a_covariate_differ_as_often_as_the_level_says(units: int) -> None:
    """Its slope costs a degree of freedom and has an error: of 2 x 3 rows 9.5 % differed, of 2 x 5 7.6 %."""
    rng, tables = np.random.default_rng(8), 600
    rows = pl.DataFrame(
        {"table": np.repeat(np.arange(tables), 2 * units), "x": rng.normal(size=2 * units * tables)}
    )
    rows = rows.with_columns(
        variant=pl.Series(np.tile(["A", "B"], units * tables)),
        y=pl.col("x") + pl.Series(rng.normal(size=rows.height)),
    )
    found = readout("y", rows, covariate="x", by=["table"]).filter(slice_set="table")
    assert 0.02 <= (found["p_value"] < 0.05).mean() <= 0.07
    error = [
        sm.OLS(
            part["y"].to_numpy(),
            sm.add_constant(part.select(pl.col("variant") == "B", "x").to_numpy().astype(float)),
        )
        .fit()
        .bse[1]
        for part in rows.partition_by("table")
    ]
    assert (found["std_error"] ** 2).mean() == pytest.approx(np.mean(np.square(error)), rel=0.25)


@pytest.mark.parametrize("covariate", [("before",), ("before", "views_before")])
def test_covariates_of_ratios_and_units(covariate: tuple[str, ...]) -> None:
    found = readout([], ratio=RATIO, covariate=covariate, unit="user")
    size = covariate[1] if len(covariate) > 1 else None
    parts = {}
    for arm in ("A", "B", "C"):
        rows = TABLE.filter(variant=arm)
        parts[arm] = residuals(rows, "clicks", "views", "user"), residuals(rows, "before", size, "user")
    products = [(y @ x, x @ x) for (_, y), (_, x) in parts.values()]
    theta = sum(one for one, _ in products) / sum(other for _, other in products)
    of_sizes = {arm: unequal(TABLE.filter(variant=arm), "views", "user") for arm in ("A", "B", "C")}
    left = sum(freedom for _, freedom in of_sizes.values())
    for row in found.rows(named=True):
        (y1, e1), (x1, f1) = parts[row["arm"]]
        (y0, e0), (x0, f0) = parts["A"]
        rests = {row["arm"]: e1 - theta * f1, "A": e0 - theta * f0}
        assert row["difference"] == pytest.approx(y1 - y0 - theta * (x1 - x0), rel=1e-9)
        error = np.sqrt(
            sum(of_sizes[arm][0] * (rest @ rest) / len(rest) / (len(rest) - 1) for arm, rest in rests.items())
            * left
            / (left - 2)
        )
        assert row["std_error"] == pytest.approx(error, rel=1e-9)


@pytest.mark.parametrize(("outcome", "unit"), [("spent", None), ("bought", None), ("spent", "user")])
def test_strata_are_weighted_by_their_units(outcome: str, unit: str | None) -> None:
    strata = ["device", "country"] if unit is None else "segment"
    keys = strata if isinstance(strata, list) else [strata]
    (b, c) = readout(outcome, strata=strata, unit=unit).rows(named=True)
    rows = TABLE.with_columns(pl.col(outcome).cast(pl.Float64))
    for row in (b, c):
        parts = []
        for part in rows.partition_by(keys):
            pair = [residuals(part.filter(variant=arm), outcome, None, unit) for arm in (row["arm"], "A")]
            weight = part[unit].n_unique() if unit else part.height
            of_sizes = [unequal(part.filter(variant=arm), None, unit) for arm in (row["arm"], "A")]
            parts.append((weight, pair, of_sizes))
        total = sum(weight for weight, _, _ in parts)
        difference = sum(weight / total * (one[0] - other[0]) for weight, (one, other), _ in parts)
        pieces = [
            ((weight / total) ** 2 * factor * x.var(ddof=1) / len(x), df)
            for weight, pair, of_sizes in parts
            for (_, x), (factor, df) in zip(pair, of_sizes, strict=True)
        ]
        variance = sum(piece for piece, _ in pieces)
        freedom = variance**2 / sum(piece**2 / df for piece, df in pieces)
        assert row["test"] == "stratified_t"
        assert row["difference"] == pytest.approx(difference, rel=1e-9)
        assert row["std_error"] == pytest.approx(np.sqrt(variance), rel=1e-9)
        assert row["p_value"] == pytest.approx(
            2 * stats.t.sf(abs(difference) / np.sqrt(variance), freedom), rel=1e-7
        )


def test_one_stratum_is_none() -> None:
    one = TABLE.with_columns(all=pl.lit("x"))
    columns = ["difference", "lower", "upper", "p_value", "lift", "required_n"]
    assert_frame_equal(readout(data=one, strata="all").select(columns), readout().select(columns))


def test_a_covariate_that_says_nothing_takes_nothing_off() -> None:
    flat = readout(data=TABLE.with_columns(flat=pl.lit(3.0)), covariate="flat")
    columns = ["difference", "lower", "upper", "p_value"]
    assert_frame_equal(flat.select(columns), readout().select(columns))


@pytest.mark.slow
@pytest.mark.parametrize("unit", [None, "user"])
def test_adjusted_readouts_are_the_same_in_any_order(unit: str | None) -> None:
    asked: dict[str, Any] = {
        "ratio": RATIO,
        "covariate": {"spent": "before", "ctr": ["before", "views_before"]},
    }
    asked |= {"strata": "country" if unit is None else "segment", "by": ["device"], "unit": unit}
    orders = [TABLE, TABLE.reverse(), TABLE.sort("spent")]
    found = [readout(data=rows, reproducible=True, **asked) for rows in orders]
    assert len({table.write_ndjson() for table in found}) == 1
    assert found[0]["test"].unique().to_list() == ["stratified_cuped_t"]
    assert_frame_equal(found[0], readout(**asked), rel_tol=1e-9)


def test_a_stratum_without_an_arm_leaves_no_effect() -> None:
    rows = TABLE.filter((pl.col("variant") != "B") | (pl.col("country") == "de"))
    lost, defined = readout(data=rows, strata="country").rows(named=True)
    assert lost["status"] == "too_few_units"
    assert lost["note"] == "a stratum has fewer than 2 units of an arm"
    assert [lost[name] for name in ("mean", "difference", "p_value", "lift", "required_n")] == [None] * 5
    assert (defined["status"], lost["mean_control"]) == ("ok", defined["mean_control"])


def test_a_ratio_whose_sizes_add_up_to_0_is_none() -> None:
    """Of an arm it has no value, and of an arm in a stratum there is no mean over strata."""
    rows = TABLE.with_columns(views=pl.when(country="fr", variant="B").then(0).otherwise("views"))
    by_slice = readout([], data=rows, ratio=RATIO, by=["country"]).filter(slice="country=fr")
    assert by_slice.sort("arm")["status"].to_list() == ["zero_denominator", "ok"]
    empty = rows.filter((pl.col("variant") != "C") | (pl.col("country") != "de"))
    without = empty.with_columns(views=pl.when(country="de").then(0).otherwise("views"))
    found = readout([], data=without, ratio=RATIO, by=["country"]).filter(slice="country=de")
    assert found.sort("arm")["status"].to_list() == ["zero_denominator", "no_rows"]
    lost, defined = readout([], data=rows, ratio=RATIO, strata="country").sort("arm").rows(named=True)
    assert (lost["mean"], lost["difference"], defined["status"]) == (None, None, "ok")
    assert lost["note"] == "a stratum has fewer than 2 units of an arm, or sizes that add up to 0"


@pytest.mark.exhaustive
@pytest.mark.parametrize("options", [{}, {"strata": "country"}, {"unit": "user"}])
def test_a_covariate_that_the_arms_change_is_told(options: dict[str, Any]) -> None:
    rows = TABLE.with_columns(
        shifted=pl.col("before") + 5.0 * (pl.col("variant") == "B"),
        flat=pl.when(variant="B").then(4.0).otherwise(7.0),
    )
    for covariate, value in (("shifted", None), ("flat", 4.0)):
        with pytest.warns(
            plm.PlmetricsWarning, match=f"covariate '{covariate}' differs between the arms"
        ) as told:
            readout(data=rows, covariate=covariate, **options)
        (text,) = (str(warning.message) for warning in told)
        means = rows.group_by("variant").agg(pl.mean(covariate)).sort("variant")[covariate]
        assert value is None or means[1] == value
        if "strata" not in options:
            assert f"its mean is {means[1]:.4g} in B and {means[0]:.4g} in A" in text


@pytest.mark.parametrize("options", [{}, {"strata": "country"}, {"unit": "user"}])
@pytest.mark.filterwarnings("error::plmetrics.PlmetricsWarning")
def test_a_covariate_that_was_known_before_is_not_told(options: dict[str, Any]) -> None:
    readout(data=TABLE, covariate="before", **options)
    readout(data=TABLE.with_columns(one=1.0), covariate="one", **options)


def test_missing_numbers_leave_out_the_row_of_that_outcome() -> None:
    rows = TABLE.with_columns(pl.when(pl.col("before") < 9).then("before").alias("before"))
    with pytest.raises(plm.DataError, match=r"'before' \(covariate\): \d+ of 1,200 values are null"):
        readout(data=rows, covariate="before")
    asked: dict[str, Any] = {"outcome": ["spent", "clicks"], "covariate": {"spent": "before"}}
    found = readout(data=rows, missing="drop", **asked)
    assert found.filter(outcome="spent")["n"].sum() < found.filter(outcome="clicks")["n"].sum()
    complete = readout(data=rows.drop_nulls("before"), covariate="before")
    assert_frame_equal(
        found.filter(outcome="spent").select("difference", "lower"), complete.select("difference", "lower")
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"outcome": [], "ratio": {"ctr": ("clicks",)}}, "ratio 'ctr' must be two columns"),
        ({"outcome": [], "ratio": {"ctr": ("clicks", "view")}}, "did you mean 'views'"),
        ({"covariate": {"spend": "before"}}, "did you mean 'spent'"),
        ({"covariate": "country"}, r"'country' \(covariate\) is of type String"),
        ({"covariate": ["before", "views", "clicks"]}, "a covariate is a column, or two of a ratio"),
        ({"strata": "countri"}, "did you mean 'country'"),
        ({"strata": "country", "unit": "user"}, "units are in more than one stratum of 'country'"),
    ],
)
def test_what_is_wrong_is_said(options: dict[str, Any], words: str) -> None:
    with pytest.raises(plm.PlmetricsError, match=words):
        readout(**options)


def test_quantiles_are_compared_by_their_order_statistics() -> None:
    for row in readout([], quantile={"p90": ("spent", 0.9)}, by=["country"]).rows(named=True):
        rows = TABLE if row["slice"] == "all" else TABLE.filter(country=row["slice"][-2:])
        values, variances = [], []
        for arm in (row["arm"], "A"):
            x = np.sort(rows.filter(variant=arm)["spent"].to_numpy())
            away = stats.norm.ppf(0.975) * np.sqrt(0.09 / len(x))
            low, high = np.quantile(x, [0.9 - away, 0.9 + away], method="inverted_cdf")
            values.append(np.quantile(x, 0.9, method="averaged_inverted_cdf"))
            variances.append(((high - low) / 2 / stats.norm.ppf(0.975)) ** 2)
        assert row["test"] == "quantile_t"
        assert (row["mean"], row["mean_control"]) == pytest.approx(tuple(values), rel=1e-12)
        assert row["std_error"] == pytest.approx(np.sqrt(sum(variances)), rel=1e-12)
        assert row["lower"] < row["difference"] < row["upper"]
        assert (row["cohen_d"], row["mann_whitney_p"]) == (None, None)


@pytest.mark.slow
def test_quantiles_of_equal_arms_differ_as_often_as_the_level_says() -> None:
    rng = np.random.default_rng(4)
    rows = pl.DataFrame({"x": rng.lognormal(size=200_000), "g": np.repeat(np.arange(500), 400)})
    rows = rows.with_columns(variant=pl.Series(rng.choice(["A", "B"], 200_000)))
    found = readout([], rows, quantile={"median": ("x", 0.5), "p80": ("x", 0.8)}, by=["g"])
    for (_,), part in found.filter(slice_set="g").group_by("outcome"):
        assert 0.02 < (part["p_value"] < 0.05).mean() < 0.08


def test_quantiles_of_counts_that_jump_are_not_taken_for_apart() -> None:
    """Half of these numbers are up to 2: the median of an arm is 2 or 3, as chance has it."""
    rng = np.random.default_rng(4)
    rows = pl.DataFrame({"x": rng.poisson(2.674, 40_000), "g": np.repeat(np.arange(100), 400)})
    rows = rows.with_columns(variant=pl.Series(rng.choice(["A", "B"], 40_000)))
    found = readout([], rows, quantile={"median": ("x", 0.5)}, by=["g"]).filter(slice_set="g")
    assert (found["difference"] != 0).sum() > 30
    assert (found["p_value"] < 0.05).sum() < 10
    apart = rows.with_columns(pl.when(variant="B").then(pl.col("x") + 3).otherwise("x"))
    shifted = readout([], apart, quantile={"median": ("x", 0.5)}, by=["g"]).filter(slice_set="g")
    assert (shifted["p_value"] < 0.05).sum() > 90


def test_quantiles_near_the_ends_have_no_interval() -> None:
    row = readout([], TABLE.head(60), quantile={"p99": ("spent", 0.99)}).row(0, named=True)
    assert (row["status"], row["std_error"], row["p_value"]) == ("too_few_units", None, None)
    assert row["mean"] is not None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"quantile": {"p": ("spent", 1.5)}}, "must be a column and a level between 0 and 1"),
        ({"quantile": {"p": "spent"}}, "must be a column and a level between 0 and 1"),
        ({"quantile": {"p": ("spend", 0.5)}}, "did you mean 'spent'"),
        ({"quantile": {"p": ("spent", 0.5)}, "unit": "user"}, "quantiles are of rows, not by unit"),
        ({"quantile": {"p": ("spent", 0.5)}, "covariate": {"p": "before"}}, "'p' is a quantile"),
    ],
)
def test_quantiles_that_cannot_be_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(plm.PlmetricsError, match=words):
        readout(**options)


@pytest.mark.parametrize("covariate", [None, "before"])
def test_one_stratum_is_none_where_an_arm_does_not_vary(covariate: str | None) -> None:
    """Nor where a covariate leaves too few degrees of freedom."""
    columns = ("difference", "lower", "upper", "std_error", "p_value", "status")
    alike = TABLE.with_columns(pl.when(variant="B").then(101.0).otherwise("spent").alias("spent"), one=1)
    few = alike.group_by("variant", maintain_order=True).head(2).filter(pl.col("variant") != "C")
    for rows in (alike, few):
        without, found = (readout(data=rows, covariate=covariate, strata=by) for by in ((), "one"))
        assert_frame_equal(found.select(columns), without.select(columns), rel_tol=1e-9)


def test_an_arm_without_sizes_leaves_the_covariate_of_others_as_it_is() -> None:
    rows = TABLE.with_columns(pl.col("views", "clicks") * pl.col("variant").ne("B"))
    asked: dict[str, Any] = {"outcome": [], "ratio": RATIO, "covariate": ("before", "views_before")}
    empty, exact, without = (
        readout(data=data, **asked, reproducible=reproducible).filter(arm="C")
        for data, reproducible in ((rows, False), (rows, True), (rows.filter(pl.col("variant") != "B"), True))
    )
    assert_frame_equal(exact, empty, rel_tol=1e-9)
    assert_frame_equal(exact.select("difference"), without.select("difference"), rel_tol=1e-9)


@pytest.mark.parametrize("unit", [None, "user"])
def test_units_whose_sizes_add_up_to_0_weigh_their_stratum(unit: str | None) -> None:
    """A stratum's share counts the units of all arms, also of one that has no ratio there."""
    stratum = "country" if unit is None else "segment"
    rows = TABLE.with_columns(stratum=pl.col(stratum).cast(pl.String))
    empty = pl.col("stratum") == rows["stratum"][0]
    rows = rows.with_columns(views=pl.when(empty, variant="B").then(0).otherwise("views"))
    of_unit = pl.int_range(pl.len()) if unit is None else pl.col(unit)
    units = rows.group_by("stratum").agg(of_unit.n_unique() if unit else pl.len())
    shares = dict(units.with_columns(pl.col(units.columns[1]) / units[units.columns[1]].sum()).iter_rows())
    sums = rows.filter(variant="C").group_by("stratum").agg(pl.col("clicks").sum() / pl.col("views").sum())
    mean = sum(shares[name] * ratio for name, ratio in sums.iter_rows())
    for reproducible in (False, True):
        found = readout(
            [], data=rows, ratio=RATIO, strata="stratum", unit=unit, reproducible=reproducible
        ).sort("arm")
        assert found["mean"].to_list() == [None, pytest.approx(mean, rel=1e-12)]
        assert found["units"].to_list() == [
            rows.filter(variant=arm).select(of_unit.n_unique()).item() for arm in ("B", "C")
        ]
