"""Drift: every measure against SciPy or plain loops over its definition, and the corner cases."""

import datetime as dt
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from architecture.watching import watched
from polars.testing import assert_frame_equal
from scipy import stats
from scipy.spatial.distance import jensenshannon

import plmetrics as plm
from plmetrics.core.hashing import unit_hash
from plmetrics.core.results import DRIFT_SCHEMA
from plmetrics.features.drift import counts as engine_drift

FLOOR = 1e-4
ALL = [
    "psi",
    "ks_2samp",
    "chi2_2samp",
    "wasserstein",
    "jensen_shannon",
    "mean",
    "variance",
    "quantile(q=0.9)",
]


def window(seed: int, size: int = 400, shift: float = 0.0) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "y": random.integers(0, 2, size),
            "p": random.random(size),
            "age": [None if value > 1.8 else value for value in random.normal(shift, 1, size)],
            "visits": random.poisson(1 + shift, size),
            "region": random.choice(["north", "south", "west"], size),
            "city": [
                ["a", "b", "c", None][i]
                for i in random.choice(4, size, p=[0.5, 0.3 - shift / 5, 0.1 + shift / 5, 0.1])
            ],
            "w": random.integers(0, 4, size),
        }
    )


REFERENCE, CURRENT = window(1, 500), window(2, shift=0.2)


def look(
    current: Any = CURRENT, reference: Any = REFERENCE, *, arguments: Any = None, **spec: Any
) -> plm.Result:
    given = {"label": "y", "models": {"m": "p"}, "metrics": ["accuracy"], **(arguments or {})}
    section = spec if reference is None else {"reference": reference, **spec}
    return plm.evaluate(current, drift=section, **given)


def found(*args: Any, **spec: Any) -> pl.DataFrame:
    table = look(*args, **spec).drift
    assert table.schema == DRIFT_SCHEMA
    numbers = table.select(pl.col(pl.Float64))
    assert not any(column.is_nan().any() for column in numbers)
    assert table.filter((pl.col("status") == "ok") != pl.col("value").is_not_null()).is_empty()
    assert table.filter((pl.col("p_status") == "ok") != pl.col("p_value").is_not_null()).is_empty()
    return table


def row(table: pl.DataFrame, column: str, measure: str, slice_: str = "all") -> dict[str, Any]:
    return table.filter(column=column, measure=measure, slice=slice_).row(0, named=True)


def values(frame: pl.DataFrame, column: str) -> list[Any]:
    return frame[column].drop_nulls().to_list()


def naive_edges(reference: list[float], bins: int = 10) -> list[float]:
    return sorted(
        set(np.quantile(reference, np.arange(1, bins) / bins, method="averaged_inverted_cdf").tolist())
    )


def binned(sample: list[Any], edges: list[float] | None) -> Counter[Any]:
    """Rows by bin, categories and nulls by themselves."""
    if edges is None:
        return Counter(sample)
    return Counter("null" if x is None else sum(edge <= x for edge in edges) for x in sample)


def both(reference: list[Any], current: list[Any], edges: list[float] | None) -> tuple[list[int], list[int]]:
    before, now = binned(reference, edges), binned(current, edges)
    known = list({**before, **now})
    return [before[key] for key in known], [now[key] for key in known]


def naive_psi(before: list[int], now: list[int], floor: float = FLOOR) -> float:
    total = 0.0
    for one, two in zip(before, now, strict=True):
        r, c = max(one / sum(before), floor), max(two / sum(now), floor)
        total += (c - r) * math.log(c / r)
    return total


def test_means_of_numbers_that_differ_by_rounding_alone_have_no_test() -> None:
    """The windows' values are 0.3 but for their last bits, whose mean differs: no shift, and no p value near 0."""
    before, now = (
        pl.DataFrame({"y": [0, 1] * 50, "p": 0.5, "x": [0.3, 0.3 + 1e-14] * half + [0.3] * (100 - 2 * half)})
        for half in (10, 40)
    )
    said = row(found(now, before, columns=["x"], measures=["mean"]), "x", "mean")
    assert (said["status"], said["p_status"], said["p_value"]) == ("ok", "undefined", None)


@pytest.mark.exhaustive
@pytest.mark.parametrize("slice_", ["all", "region=north", "region=west"])
def test_a_number_is_as_scipy_says(slice_: str) -> None:
    table = found(columns=["age"], measures=ALL, slices="region", arguments={"slices": ["region"]})
    sides = [REFERENCE, CURRENT]
    if slice_ != "all":
        sides = [side.filter(region=slice_.partition("=")[2]) for side in sides]
    before, now = (values(side, "age") for side in sides)
    said = {measure: row(table, "age", measure, slice_) for measure in [*ALL, "null_share"]}
    few = len(before) * len(now) <= 2500
    ks = stats.ks_2samp(before, now, method="exact" if few else "asymp")
    assert said["ks_2samp"]["value"] == pytest.approx(ks.statistic, abs=1e-12)
    assert said["ks_2samp"]["p_value"] == pytest.approx(ks.pvalue)
    distance = stats.wasserstein_distance(before, now)
    assert said["wasserstein"]["value"] == pytest.approx(distance)
    assert said["wasserstein"]["per_sd"] == pytest.approx(distance / np.std(before))
    welch = stats.ttest_ind(now, before, equal_var=False)
    assert said["mean"]["value"] == pytest.approx(np.mean(now) - np.mean(before))
    assert said["mean"]["statistic"] == pytest.approx(welch.statistic)
    assert said["mean"]["p_value"] == pytest.approx(welch.pvalue)
    assert (said["variance"]["reference"], said["variance"]["current"]) == pytest.approx(
        (np.var(before), np.var(now))
    )
    ends = [np.quantile(side, 0.9, method="averaged_inverted_cdf") for side in (before, now)]
    assert [said["quantile(q=0.9)"][key] for key in ("reference", "current")] == pytest.approx(ends)
    edges = naive_edges(values(REFERENCE, "age"))
    counts = both(*(side["age"].to_list() for side in sides), edges)
    check_bins(said, counts)
    shares = [side["age"].null_count() / side.height for side in sides]
    assert said["null_share"]["value"] == pytest.approx(shares[1] - shares[0])
    assert (said["psi"]["n_reference"], said["psi"]["n_current"]) == tuple(side.height for side in sides)


def check_bins(said: dict[str, dict[str, Any]], counts: tuple[list[int], list[int]]) -> None:
    assert said["psi"]["value"] == pytest.approx(naive_psi(*counts))
    assert said["jensen_shannon"]["value"] == pytest.approx(jensenshannon(*counts, base=2))
    chi2 = stats.chi2_contingency(counts, correction=False)
    assert said["chi2_2samp"]["value"] == pytest.approx(chi2.statistic)
    few = chi2.expected_freq.min() < 5
    assert said["chi2_2samp"]["p_value"] == pytest.approx(chi2.pvalue, rel=0.05 if few else 1e-9)
    assert ("fewer than 5" in str(said["chi2_2samp"]["note"])) == few


@pytest.mark.parametrize("slice_", ["all", "region=south"])
def test_categories_are_their_own_bins(slice_: str) -> None:
    current = CURRENT.with_columns(city=pl.when(pl.col("city") == "c").then(pl.lit("new")).otherwise("city"))
    table = found(current, columns=["city"], slices="region", arguments={"slices": ["region"]})
    sides = [REFERENCE, current]
    if slice_ != "all":
        sides = [side.filter(region=slice_.partition("=")[2]) for side in sides]
    measures = ["psi", "chi2_2samp", "jensen_shannon", "null_share"]
    assert table.filter(column="city", slice=slice_)["measure"].to_list() == measures
    said = {measure: row(table, "city", measure, slice_) for measure in measures}
    check_bins(said, both(*(side["city"].to_list() for side in sides), None))


def test_few_values_have_a_bin_each_and_new_ones_are_seen() -> None:
    before, now = pl.DataFrame({"k": [5] * 40}), pl.DataFrame({"k": [7] * 30})
    sides = [side.with_columns(y=pl.int_range(pl.len()) % 2, p=0.5) for side in (before, now)]
    table = found(sides[1], sides[0], columns=["k"])
    assert row(table, "k", "psi")["value"] == pytest.approx(naive_psi([40, 0], [0, 30]))
    same = found(sides[0], sides[0], columns=["k"])
    assert row(same, "k", "psi")["value"] == 0
    assert row(same, "k", "ks_2samp")["p_value"] == 1
    assert row(same, "k", "mean")["p_value"] == 1
    assert row(same, "k", "wasserstein")["per_sd"] is None
    constant = row(table, "k", "mean")
    assert (constant["value"], constant["p_value"], constant["p_status"]) == (2, None, "undefined")


@pytest.mark.parametrize("values_", [[0.1, 0.2, 0.3], [3.0, 0.1, 7e10]])
def test_constants_have_no_variance_at_all(values_: list[float]) -> None:
    frame = pl.DataFrame({"k": values_ * 7, "g": ["a", "b", "c"] * 7, "y": 1, "p": 0.5})
    table = found(frame, frame, columns=["k"], slices="g", measures=["variance"], arguments={"slices": ["g"]})
    assert table.filter(column="k", measure="variance", slice_set="g")["current"].to_list() == [0.0, 0.0, 0.0]


def test_weight_2_is_the_row_twice() -> None:
    arguments = {"weight": "w", "slices": ["region"]}
    spec = {"columns": ["age", "visits", "city"], "slices": "region", "measures": ALL}
    table = found(arguments=arguments, **spec)
    repeated = [
        side.select(pl.all().repeat_by("w").explode(empty_as_null=False)) for side in (CURRENT, REFERENCE)
    ]
    plain = found(*repeated, arguments={"slices": ["region"]}, **spec)
    for key in ("value", "reference", "current"):
        one, two = table[key], plain[key]
        assert one.is_null().to_list() == two.is_null().to_list()
        assert one.drop_nulls().to_numpy() == pytest.approx(two.drop_nulls().to_numpy(), abs=1e-12)
    assert set(table["p_status"]) == {"no_test", "weighted"}
    assert set(plain.filter(pl.col("measure") == "ks_2samp", pl.col("status") == "ok")["p_status"]) == {"ok"}
    assert table["n_current"].max() == CURRENT.filter(pl.col("w") > 0).height


def test_rows_of_weight_0_do_not_count_where_another_model_weighs_them() -> None:
    columns = {"current": CURRENT.with_columns(own=1), "reference": REFERENCE.with_columns(own=1)}
    shared, apart = (
        found(*columns.values(), arguments={"weight": "w", "models": models}, columns=["age"])
        for models in ({"m": "p"}, {"m": "p", "k": {"score": "p", "weight": "own"}})
    )
    sizes = ["n_reference", "n_current"]
    assert apart.select(sizes).unique().rows() == shared.select(sizes).unique().rows()


def test_every_model_and_the_label_are_compared() -> None:
    models = {"one": "p", "two": "age"}
    table = found(
        *(side.fill_null(2.0) for side in (CURRENT, REFERENCE)), columns=["w"], arguments={"models": models}
    )
    subjects = table.select("subject", "model", "column").unique(maintain_order=True).rows()
    assert subjects == [
        ("score", "one", "p"),
        ("score", "two", "age"),
        ("label", None, "y"),
        ("column", None, "w"),
    ]
    counts = both(*(side["y"].to_list() for side in (REFERENCE, CURRENT)), None)
    assert row(table, "y", "psi")["value"] == pytest.approx(naive_psi(*counts))


def test_scores_and_label_may_be_left_out() -> None:
    table = found(reference=REFERENCE.select("age"), columns=["age"], scores=False, label=False)
    assert set(table["column"]) == {"age"}
    multiclass = {"task": "multiclass", "models": {"m": {"prediction": "city"}}, "label": "region"}
    cities = [side.with_columns(city=pl.col("region")) for side in (CURRENT, REFERENCE)]
    table = found(cities[0], cities[1].drop("region"), label=False, arguments=multiclass)
    counts = both(*(side["city"].to_list() for side in (cities[1], cities[0])), None)
    assert row(table, "city", "psi")["value"] == pytest.approx(naive_psi(*counts))


def test_a_class_that_is_gone_is_drift_not_a_mistake() -> None:
    arguments = {"task": "multiclass", "label": "region", "models": {"m": {"prediction": "region"}}}
    now = CURRENT.filter(pl.col("region") != "west")
    table = found(now, arguments=arguments)
    counts = both(*(side["region"].to_list() for side in (REFERENCE, now)), None)
    said = table.filter(column="region", measure="psi")["value"].to_list()
    assert said == pytest.approx([naive_psi(*counts)] * 2)
    with pytest.raises(plm.DataError, match="in the reference: column 'region'"):
        look(now, REFERENCE.with_columns(region=pl.lit(None, dtype=pl.String)), arguments=arguments)


def test_reference_rows_of_the_same_table() -> None:
    together = pl.concat([REFERENCE.with_columns(month=8), CURRENT.with_columns(month=9)])
    apart = found(columns=["age"])
    assert found(together, None, where="month < 9", columns=["age"]).equals(apart)
    only = {"where": "month = 9"}
    assert found(together, None, where="month < 9", columns=["age"], arguments=only).equals(apart)
    assert found(CURRENT, together, where="month < 9", columns=["age"]).equals(apart)


def test_data_where_holds_for_a_reference_table() -> None:
    arguments = {"where": "region <> 'west'"}
    sides = [side.filter(pl.col("region") != "west") for side in (CURRENT, REFERENCE)]
    assert found(columns=["age"], arguments=arguments).equals(found(*sides, columns=["age"]))


@pytest.mark.slow
def test_bad_values_of_the_reference_are_dropped_or_refused() -> None:
    bad = REFERENCE.with_columns(p=pl.when(pl.int_range(pl.len()) < 20).then(None).otherwise("p"))
    for missing in ("drop", "drop_per_model"):
        dropped = found(reference=bad, columns=["age"], arguments={"missing": missing})
        assert row(dropped, "p", "null_share")["reference"] == pytest.approx(20 / 500)
        nulls = (pl.col("column") == "p") & (pl.col("measure") == "null_share")
        for column, reference in (("p", bad.drop_nulls("p")), ("age", REFERENCE), ("y", REFERENCE)):
            rows = dropped.filter(pl.col("column") == column, ~nulls)
            clean = found(reference=reference, columns=["age"]).filter(pl.col("column") == column, ~nulls)
            assert rows.drop("p_adjusted").equals(clean.drop("p_adjusted"))
    with pytest.raises(
        plm.DataError, match=r"in the reference: column 'p' .*20 of 500 values are null"
    ) as caught:
        look(reference=bad)
    assert caught.value.problems[0].path == ("drift", "reference")
    with pytest.raises(plm.DataError, match=r"20 of 500 values are null"):
        look(reference=bad.drop("y"), label=False)
    models = {"m": "p", "k": "w"}
    apart = found(reference=bad, arguments={"missing": "drop_per_model", "models": models})
    assert row(apart, "p", "psi")["n_reference"] == 480
    assert row(apart, "w", "psi")["n_reference"] == 500


def test_times_booleans_and_other_types_of_the_same_kind() -> None:
    days = [dt.date(2026, 1, 1) + dt.timedelta(days=i % 40) for i in range(80)]
    before = pl.DataFrame(
        {"at": days, "on": [True, False, None, True] * 20, "n": pl.Series(range(80), dtype=pl.Int16)}
    )
    now = pl.DataFrame(
        {"at": [day + dt.timedelta(days=10) for day in days], "on": [True] * 80, "n": np.arange(80.0)}
    )
    now = now.with_columns(pl.col("at").cast(pl.Datetime("ms")))
    sides = [side.with_columns(y=pl.int_range(pl.len()) % 2, p=0.5) for side in (now, before)]
    table = found(*sides, columns=["at", "on", "n"])
    moved = row(table, "at", "wasserstein")
    assert moved["value"] == pytest.approx(10)
    assert moved["note"] == "in days"
    assert row(table, "on", "psi")["value"] == pytest.approx(naive_psi([40, 20, 20], [80, 0, 0]))
    assert row(table, "n", "psi")["value"] == 0


def test_a_column_that_becomes_null() -> None:
    table = found(CURRENT.with_columns(age=pl.lit(None)), columns=["age"])
    share = row(table, "age", "null_share")
    assert share["current"] == 1
    assert share["value"] == pytest.approx(1 - REFERENCE["age"].null_count() / REFERENCE.height)
    assert row(table, "age", "psi")["value"] > 1
    assert row(table, "age", "ks_2samp")["status"] == "only_nulls_in_current"
    infinite = found(CURRENT.with_columns(age=pl.lit(math.inf)), columns=["age"])
    assert row(infinite, "age", "null_share")["current"] == 1


def test_slices_that_are_absent_from_a_window() -> None:
    current = CURRENT.with_columns(
        region=pl.when(pl.col("region") == "west").then(pl.lit("east")).otherwise("region")
    )
    table = found(current, columns=["age"], slices="region", arguments={"slices": ["region"]})
    said = dict(table.filter(column="age", measure="psi").select("slice", "status").iter_rows())
    assert said["region=east"] == "no_rows_in_reference"
    assert said["region=west"] == "no_rows_in_current"
    assert said["region=north"] == "ok"


def test_tiny_windows() -> None:
    one = pl.DataFrame({"y": [1], "p": [0.25], "k": [3.0]})
    table = found(one, one, columns=["k"], measures=ALL)
    said = dict(table.filter(column="k").select("measure", "status").iter_rows())
    assert said["psi"] == said["ks_2samp"] == said["variance"] == "too_few_rows" or said["variance"] == "ok"
    assert said["mean"] == said["null_share"] == "ok"
    assert row(table, "k", "mean")["p_status"] == "undefined"
    least = found(arguments={"min_rows": 450}, columns=["age"])
    assert set(least["status"]) == {"too_few_rows"}


@pytest.mark.parametrize("correction", ["holm", "none"])
def test_p_values_are_corrected_by_measure_and_slice_set(correction: str) -> None:
    spec = {"columns": ["age", "visits"], "slices": "region", "correction": correction}
    table = found(arguments={"slices": ["region"]}, **spec)
    own = table.filter(measure="ks_2samp", slice_set="region")
    ascending = own.sort("p_value")
    p = ascending["p_value"].to_list()
    assert set(own["family"]) == {"ks_2samp / region"}
    assert set(own["family_size"]) == {len(p)} == {9}
    expected = []
    for place, value in enumerate(p):
        step = min(1.0, value * (len(p) - place))
        expected.append(max(step, *expected) if expected else step)
    assert ascending["p_adjusted"].to_list() == pytest.approx(expected if correction == "holm" else p)


def clustered(seed: int, units: int = 40, shift: float = 0.0, first: int = 0) -> pl.DataFrame:
    """Rows of users who are alike within; the number `s` cuts users into slices."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 20, units)
    user = np.repeat(np.arange(units), sizes)
    value = 0.6 * random.normal(size=units)[user] + 0.8 * random.normal(size=len(user)) + shift
    return pl.DataFrame(
        {
            "y": random.integers(0, 2, len(user)),
            "p": random.random(len(user)),
            "x": value,
            "k": np.round(value),
            "c": pl.Series(["a", "b", None, "c"]).gather(np.searchsorted([-0.5, 0.5, 1.0], value)),
            "user": user + first,
            "s": user % 2,
        }
    )


UNITS: dict[str, Any] = {"unit": "user", "slices": ["s"]}
OF_UNITS: dict[str, Any] = {
    "columns": ["x", "k", "c"],
    "slices": "s",
    "measures": ["psi", "ks_2samp", "chi2_2samp", "mean"],
}


def test_p_values_of_rows_in_units_are_those_of_blocks_of_units() -> None:
    """The mean's, of a loop over blocks of users by their hashes."""
    before, now = clustered(1), clustered(2, shift=0.2, first=30)
    table = found(now, before, arguments=UNITS, **OF_UNITS)
    for slice_ in ("all", "s=1"):
        sides = [side if slice_ == "all" else side.filter(s=1) for side in (before, now)]
        sides = [
            side.with_columns(block=unit_hash(pl.col("user"), pl.Int64()) % 64).select("x", "block")
            for side in sides
        ]
        pooled = pl.concat(sides)["x"].mean()
        parts: dict[int, float] = Counter()
        for sign, side in zip((-1, 1), sides, strict=True):
            for value, block in side.iter_rows():
                parts[block] += sign * (value - pooled) / side.height
        statistic = sum(parts.values()) / math.sqrt(sum(part**2 for part in parts.values()))
        said = row(table, "x", "mean", slice_)
        assert said["statistic"] == pytest.approx(statistic)
        assert said["p_value"] == pytest.approx(2 * stats.norm.sf(abs(statistic)))
        assert said["note"] == "the p value takes units for independent, not rows"
    assert row(table, "x", "psi")["note"] is None
    tested = table.filter(pl.col("column") == "c", pl.col("p_status") == "ok")
    assert tested["measure"].to_list() == ["chi2_2samp"] * 3
    rows = found(now, before, arguments={"slices": ["s"]}, **OF_UNITS)
    assert_frame_equal(
        table.select("value", "per_sd", "n_current"), rows.select("value", "per_sd", "n_current")
    )
    assert (row(table, "x", "ks_2samp")["p_value"], row(table, "x", "chi2_2samp")["p_value"]) > (
        row(rows, "x", "ks_2samp")["p_value"],
        row(rows, "x", "chi2_2samp")["p_value"],
    )


@pytest.mark.parametrize("exact", [True, False])
def test_p_values_of_units_are_the_same_from_one_table_and_on_a_grid(exact: bool) -> None:
    """Rows by themselves, values that occur more often, or bins; of a grid the bins differ a little."""
    before, now = clustered(1, 300), clustered(2, 300, first=30)
    expected = found(now, before, arguments=UNITS, **OF_UNITS)
    one = pl.concat([before.with_columns(old=True), now.with_columns(old=False)])
    again = found(one, None, where="old", arguments={**UNITS, "exact": exact}, **OF_UNITS)
    columns = ["column", "measure", "slice", "p_value", "p_status"]
    assert_frame_equal(again.select(columns), expected.select(columns), abs_tol=1e-9 if exact else 0.05)
    means = [table.filter(measure="mean").select("statistic", "p_value") for table in (again, expected)]
    assert_frame_equal(*means, rel_tol=1e-9)


def test_of_units_in_both_windows_the_differences_count() -> None:
    """The same users, each with values of its own: what they have in common tells nothing of a shift."""
    before = clustered(1, 60)
    now = before.with_columns(x=pl.col("x") + np.random.default_rng(3).normal(0.05, 0.1, before.height))
    same = row(found(now, before, arguments=UNITS, **OF_UNITS), "x", "mean")
    others = now.with_columns(user=pl.col("user") + 1000)
    apart = row(found(others, before, arguments=UNITS, **OF_UNITS), "x", "mean")
    assert same["value"] == apart["value"]
    assert same["p_value"] < 1e-3 < 0.05 < apart["p_value"]


@pytest.mark.parametrize(
    ("reference", "reason", "note"),
    [
        (clustered(1).drop("user"), "clustered", "the windows do not both tell units apart"),
        (clustered(1, units=5), "too_few_units", "a window has too few units"),
    ],
)
def test_p_values_that_units_do_not_have(reference: pl.DataFrame, reason: str, note: str) -> None:
    """Those of rows as independent ones would be wrong, and no gate passes by them."""
    gates = [{"measure": measure, "column": "x", "p_at_least": 0.01} for measure in ("ks_2samp", "mean")]
    result = look(clustered(2), reference, arguments={"unit": "user"}, columns=["x"], gates=gates)
    tested = result.drift.filter(pl.col("column") == "x", pl.col("p_status") != "no_test")
    assert tested.height == 3
    assert set(tested["p_status"]) == {reason}
    assert all(note in text for text in tested["note"])
    assert tested["value"].null_count() == 0
    assert result.gates["verdict"].to_list() == ["inconclusive"] * 2


@pytest.mark.slow
def test_gates_by_p_of_rows_in_units_fail_no_more_often_than_they_say() -> None:
    """The slices of a column are 100 comparisons of 25 users: each rejects about 5 %, of rows a third would."""
    windows = [
        clustered(7 + number, 2500, first=2500 * number).with_columns(s=pl.col("user") % 100)
        for number in (0, 1)
    ]
    spec = {
        "columns": ["x"],
        "slices": "s",
        "measures": ["ks_2samp", "chi2_2samp", "mean"],
        "correction": "none",
    }
    units, rows = (
        found(windows[1], windows[0], arguments={"slices": ["s"], **unit}, **spec).filter(
            pl.col("column") == "x", pl.col("slice") != "all", pl.col("p_status") == "ok"
        )
        for unit in ({"unit": "user"}, {})
    )
    assert units.height == rows.height == 300
    for measure in spec["measures"]:
        assert 0 <= (units.filter(measure=measure)["p_value"] < 0.05).mean() <= 0.12
    assert (rows["p_value"] < 0.05).mean() > 0.2
    assert (units["p_value"] < 0.05).mean() < 0.08


def test_measures_that_a_column_cannot_have_are_listed_where_they_are_named() -> None:
    table = found(columns=["city"], measures=["ks_2samp", "wasserstein(scale=sd)"])
    assert set(table.filter(pl.col("column") == "city", pl.col("measure") != "null_share")["status"]) == {
        "no_numbers"
    }
    assert "ks_2samp" not in found(columns=["city"]).filter(column="city")["measure"]
    scaled = row(table, "p", "wasserstein(scale=sd)")
    before, now = (side["p"].to_numpy() for side in (REFERENCE, CURRENT))
    assert scaled["value"] == pytest.approx(stats.wasserstein_distance(before, now) / before.std())


def test_pandas_and_arrow_tables_can_be_the_reference() -> None:
    expected = found(columns=["age"])
    assert found(reference=REFERENCE.to_arrow(), columns=["age"]).equals(expected)
    assert found(reference=REFERENCE.lazy(), columns=["age"]).equals(expected)


@pytest.mark.parametrize("exact", [True, False])
def test_a_gate_within_the_bound_of_its_value_is_inconclusive(
    monkeypatch: pytest.MonkeyPatch, *, exact: bool
) -> None:
    monkeypatch.setattr(engine_drift, "FINE_BINS", 64)
    limit = stats.wasserstein_distance(*(values(side, "age") for side in (REFERENCE, CURRENT)))
    gates = [
        {"measure": "wasserstein", "column": "age", "at_most": limit + moved}
        for moved in (-0.2, -1e-3, 1e-3, 0.2)
    ]
    result = look(columns=["age"], measures=["wasserstein"], gates=gates, arguments={"exact": exact})
    near = ["fail", "pass"] if exact else ["inconclusive", "inconclusive"]
    assert result.gates.sort("at_most")["verdict"].to_list() == ["fail", *near, "pass"]


def test_too_many_texts_are_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_drift, "MOST_CATEGORIES", 5)
    sides = [side.with_columns(id=pl.int_range(pl.len()).cast(pl.String)) for side in (CURRENT, REFERENCE)]
    table = found(*sides, columns=["id"])
    assert row(table, "id", "psi")["status"] == "too_many_values"
    assert row(table, "id", "null_share")["value"] == 0


@pytest.mark.parametrize("weight", [None, "w"])
def test_bins_in_place_of_values_stay_within_their_bound(
    monkeypatch: pytest.MonkeyPatch, weight: str | None
) -> None:
    arguments = {"slices": ["region"], "weight": weight}
    quantiles = [f"quantile(q={share})" for share in (0.01, 0.9, 0.999)]
    spec = {"columns": ["age"], "slices": "region", "measures": [*ALL, *quantiles]}
    exact = found(arguments=arguments, **spec)
    monkeypatch.setattr(engine_drift, "FINE_BINS", 64)
    binned_ = found(arguments={**arguments, "exact": False}, **spec)
    for key in ("mean", "variance", "null_share"):
        one, two = (table.filter(measure=key, column="age")["value"].to_numpy() for table in (exact, binned_))
        assert one == pytest.approx(two, abs=1e-12)
    for key in ("ks_2samp", "wasserstein", *quantiles):
        one, two = (table.filter(measure=key, column="age") for table in (exact, binned_))
        assert one["bound"].null_count() == one.height
        assert two["bound"].min() > 0  # type: ignore[operator]
        assert ((one["value"] - two["value"]).abs() <= two["bound"] + 1e-12).all()
    one, two = (table.filter(measure="psi", column="age")["value"].to_numpy() for table in (exact, binned_))
    assert one == pytest.approx(two, abs=0.1)
    assert (one != two).any()


SETS = {"old": {"column": "visits", "quantiles": 2}, "big": {"column": "region", "top": 1}}


def test_slices_that_are_found_in_the_data() -> None:
    table = found(columns=["age"], slices="all", arguments={"slices": SETS})
    edge = np.quantile(CURRENT["visits"], 0.5, method="averaged_inverted_cdf")
    few = table.filter(column="age", slice_set="old", measure="mean").sort("current")
    assert {f"visits=(-inf, {edge:g})", f"visits=[{edge:g}, inf)"} == set(few["slice"])
    counts = [
        [(side["visits"] >= edge).sum(), (side["visits"] < edge).sum()] for side in (REFERENCE, CURRENT)
    ]
    assert [sorted(few[key]) for key in ("n_reference", "n_current")] == [sorted(pair) for pair in counts]
    top = CURRENT["region"].value_counts().sort("count", "region", descending=[True, False])["region"][0]
    own = row(table, "age", "null_share", f"region={top}")
    assert own["n_reference"] == REFERENCE.filter(region=top).height
    assert (
        row(table, "age", "null_share", "region=other")["n_reference"]
        == REFERENCE.filter(pl.col("region") != top).height
    )


def test_rankings_are_compared_row_by_row() -> None:
    sides = [side.with_columns(q=pl.int_range(pl.len()) // 10) for side in (CURRENT, REFERENCE)]
    sides = [side.with_columns(region=pl.col("region").first().over("q")) for side in sides]
    arguments = {"task": "ranking", "query": "q", "metrics": ["ndcg"], "slices": {"big": SETS["big"]}}
    table = found(*sides, columns=["age"], slices="all", arguments=arguments)
    assert row(table, "age", "psi")["n_current"] == CURRENT.height
    assert row(table, "y", "mean")["current"] == pytest.approx(CURRENT["y"].mean())
    assert {"region=other"} < set(table["slice"])


@pytest.mark.parametrize(("columns_in_order", "exact"), [(2.2, 5), (0.9, 0)])
def test_columns_of_rows_wait_for_their_turn_in_a_part_of_the_memory(
    monkeypatch: pytest.MonkeyPatch, columns_in_order: float, exact: int
) -> None:
    names, random = [f"x{number}" for number in range(5)], np.random.default_rng(8)
    before, now = (
        window.hstack(pl.DataFrame({name: random.random(window.height) for name in names}))
        for window in (REFERENCE, CURRENT)
    )
    rows = before.height + now.height
    monkeypatch.setattr(engine_drift, "FINE_BINS", 64)
    monkeypatch.setattr(engine_drift, "working_memory", lambda _: 4 * 150 * rows * columns_in_order)
    found = look(now, before, columns=names, measures=["ks_2samp"], label=False, scores=False).tables["drift"]
    assert found.filter(measure="ks_2samp")["bound"].null_count() == exact


@pytest.mark.parametrize(("exact_values", "looks"), [(2_000, 1), (1_500, 2)])
def test_numbers_of_few_rows_are_sorted_without_a_look_at_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, exact_values: int, looks: int
) -> None:
    random, files = np.random.default_rng(9), [tmp_path / "reference.parquet", tmp_path / "rows.parquet"]
    sides = [pl.DataFrame({"y": [0, 1] * 500, "p": 0.5, "x": random.normal(size=1000)}) for _ in files]
    for side, file in zip(sides, files, strict=True):
        side.write_parquet(file)
    monkeypatch.setattr(engine_drift, "EXACT_VALUES", exact_values)
    monkeypatch.setattr(engine_drift, "FINE_BINS", 64)
    seen = []
    plans = engine_drift._look_ups
    monkeypatch.setattr(engine_drift, "_look_ups", lambda *a, **k: seen.append(plans(*a, **k)) or seen[-1])
    table = found(files[1], files[0], columns=["x"], measures=["ks_2samp"], label=False, scores=False)
    assert any("0|" in name for name in seen[0]["facts"].collect_schema()) == (looks == 2)
    distance = stats.ks_2samp(*(side["x"] for side in sides), method="asymp").statistic
    bound = row(table, "x", "ks_2samp")["bound"]
    assert (bound is None) == (looks == 1)
    assert row(table, "x", "ks_2samp")["value"] == pytest.approx(distance, abs=bound or 1e-12)


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"where": "age > 0.5"},
        {"missing": "drop"},
        {"missing": "drop_per_model"},
        {"uncertainty": {"replicates": 10}},
        {"exact": False},
        {"reproducible": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("one_table", [False, True])
def test_drift_shares_the_scans_of_the_metrics(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, changes: dict[str, Any], one_table: bool
) -> None:
    monkeypatch.setattr(engine_drift, "FINE_BINS", 64)
    files = [tmp_path / "rows.parquet", tmp_path / "reference.parquet"]
    for frame, file in zip((CURRENT, REFERENCE), files, strict=True):
        frame.write_parquet(file)
    slices = {"region": "region", "old": {"column": "age", "quantiles": 2}}
    arguments = {"weight": "w", "slices": slices, "label": "y", "models": {"m": "p"}, "metrics": ["accuracy"]}
    reference = {"where": "city = 'a'"} if one_table else {"reference": files[1]}
    scans = []
    for section in (None, {**reference, "columns": ["age", "city"], "slices": "all"}):
        with watched() as made:
            plm.evaluate(files[0], drift=section, **arguments, **changes)
        assert not [each for each in made if each.stuck]
        scans.append([each.scans for each in made])
    further = {"exact", "reproducible"} & changes.keys()  # edges of bins, and sizes of what is added
    assert sum(scans[1]) <= sum(scans[0]) + len(further)


COLUMN, TABLE, WHERE = ("drift", "columns", 0), ("drift", "reference"), ("drift", "where")
AGE, REGION = {"columns": ["age"]}, {"slices": "region"}


@pytest.mark.parametrize(
    ("current", "reference", "spec", "words", "path"),
    [
        (CURRENT, REFERENCE.drop("age"), AGE, "column 'age' is not in the reference", COLUMN),
        (CURRENT, REFERENCE, {"columns": ["aeg"]}, "did you mean 'age'", COLUMN),
        (CURRENT, REFERENCE.cast({"age": pl.String}), AGE, "of type Float64, but of type String", COLUMN),
        (CURRENT.with_columns(age=pl.concat_list("age")), REFERENCE, AGE, "neither an order nor", COLUMN),
        (CURRENT, REFERENCE.drop("p"), {}, "in the reference: column 'p'", TABLE),
        (CURRENT, REFERENCE.drop("y"), {}, "in the reference: column 'y'", TABLE),
        (CURRENT, REFERENCE.drop("region"), REGION, "in the reference: column 'region'", TABLE),
        (CURRENT, REFERENCE.cast({"p": pl.String}), {}, "in the reference: .*must hold numbers", TABLE),
        (CURRENT, REFERENCE.head(0), {}, "the reference has no rows", TABLE),
        (CURRENT, REFERENCE, {"where": "age > 100"}, "the reference has no rows", TABLE),
        (CURRENT, None, {"where": "p < 2"}, "nothing is left to compare", WHERE),
        (CURRENT, None, {"where": "agee > 1"}, "column 'agee'", WHERE),
        (
            CURRENT,
            REFERENCE.with_columns(region=3),
            REGION,
            "'region' is of type String",
            ("drift", "slices"),
        ),
        (CURRENT, "absent.parquet", {}, "absent.parquet", TABLE),
    ],
)
def test_what_does_not_fit_is_said(current: Any, reference: Any, spec: Any, words: str, path: Any) -> None:
    with pytest.raises(plm.DataError, match=words) as caught:
        look(current, reference, arguments={"slices": ["region"]}, **spec)
    assert [problem.path for problem in caught.value.problems] == [path]


@pytest.mark.parametrize("weight", [None, "w"])
def test_what_is_no_number_is_no_value(weight: str | None) -> None:
    """Sums beyond the largest number, squares below the smallest, the deviation of a constant: by wide arithmetic."""
    rng = np.random.default_rng(0)
    tables = [
        pl.DataFrame({"y": [0, 1] * 100, "p": 0.5, "w": 1, "constant": 3.0}).with_columns(
            huge=pl.Series(rng.random(200) * largest),
            large=pl.Series(rng.random(200) * 1e200),
            tiny=pl.Series(rng.random(200) * 1e-200),
        )
        for largest in (1e308, 1.7e308)
    ]
    columns, wide = ["huge", "large", "tiny", "constant"], ["wasserstein(scale=sd)", "mean", "variance"]
    drift: Any = {"reference": tables[0], "columns": columns, "measures": [*wide, "quantile", "wasserstein"]}
    result = plm.evaluate(tables[1], label="y", models="p", metrics=["brier"], weight=weight, drift=drift)
    table = result.drift.filter(pl.col("column").is_in(columns))
    assert table.filter((pl.col("status") == "ok") != pl.col("value").is_not_null()).is_empty()
    statuses = {
        name: [row(table, name, measure)["status"] for measure in (*wide, "quantile")] for name in columns
    }
    assert statuses == {
        "huge": ["overflow", "overflow", "overflow", "ok"],
        "large": ["overflow", "ok", "overflow", "ok"],
        "tiny": ["underflow", "ok", "underflow", "ok"],
        "constant": ["zero_denominator", "ok", "ok", "ok"],
    }
    means = [float(held["tiny"].to_numpy().astype(np.longdouble).mean()) for held in tables]
    assert row(table, "tiny", "mean")["value"] == pytest.approx(means[1] - means[0], rel=1e-9)
    medians = [float(np.median(held["huge"].to_numpy() / 4)) * 4 for held in tables]
    assert row(table, "huge", "quantile")["value"] == pytest.approx(medians[1] - medians[0], rel=1e-12)
    assert str(row(table, "constant", "wasserstein")["value"]) == "0.0"


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["@window", "@no_label", "@bad", "@value|0"])
def test_columns_called_like_those_of_a_plan(name: str) -> None:
    table = pl.concat([REFERENCE.with_columns(at=0), CURRENT.with_columns(at=1)])
    plain, other = (
        look(rows, None, where="at = 0", columns=[column], label=False).drift.drop("column")
        for rows, column in ((table, "visits"), (table.rename({"visits": name}), name))
    )
    assert_frame_equal(other, plain)


def test_gates_say_what_they_judge() -> None:
    """A gate on several columns has a row and a name for each; by p it is the adjusted p value that is judged."""
    gates = [
        {"measure": "psi", "column": "age", "at_most": 9.0},
        {"measure": "psi", "column": "age", "at_most": 1e-9, "name": "one"},
        {"measure": "ks_2samp", "p_at_least": 0.01, "name": "shift"},
        {"measure": "ks_2samp", "p_at_least": 0.01},
    ]
    result = look(columns=["age", "visits"], measures=["psi", "ks_2samp"], gates=gates)
    ks = dict(result.drift.filter(measure="ks_2samp").select("column", "p_adjusted").iter_rows())
    assert list(ks) == ["p", "y", "age", "visits"]
    psi = row(result.drift, "age", "psi")["value"]

    def judged(p: float | None) -> str:
        return "inconclusive" if p is None else "pass" if p >= 0.01 else "fail"

    expected = [
        ("drift: psi of age <= 9", "<= 9", psi, None, "pass"),
        ("one", "<= 1e-09", psi, None, "fail"),
        *(
            (name.format(column), "p >= 0.01", p, "p_value", judged(p))
            for name in ("shift [{}]", "drift: ks_2samp of {} p >= 0.01")
            for column, p in ks.items()
        ),
    ]
    assert result.gates.select("gate", "rule", "observed", "scale", "verdict").rows() == expected


@pytest.mark.parametrize(
    ("on_undefined", "verdict"), [("inconclusive", "inconclusive"), ("fail", "fail"), ("skip", "skipped")]
)
def test_a_distance_without_its_p_value_is_undefined_to_a_gate(on_undefined: str, verdict: str) -> None:
    gate = {"measure": "ks_2samp", "column": "age", "p_at_least": 0.01, "on_undefined": on_undefined}
    weighted = {"reference": REFERENCE.with_columns(w=1.0), "arguments": {"weight": "w"}}
    result = look(
        CURRENT.with_columns(w=1.0), **weighted, columns=["age"], measures=["ks_2samp"], gates=[gate]
    )
    assert row(result.drift, "age", "ks_2samp")["status"] == "ok"
    assert result.gates.select("observed", "status", "verdict").rows() == [(None, "no_p_value", verdict)]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("named", "judged"),
    [("overall", {"overall"}), ("region", {"region"}), ("all", {"overall", "region", "city"})],
)
def test_gates_judge_the_slices_they_name(named: str, judged: set[str]) -> None:
    gate = {"measure": "psi", "column": "age", "at_most": 9.0, "slices": named}
    arguments = {"slices": ["region", "city"]}
    result = look(arguments=arguments, columns=["age"], measures=["psi"], slices="all", gates=[gate])
    assert {*result.gates["slice_set"]} == judged
    assert (
        result.gates.height
        == result.drift.filter(pl.col("slice_set").is_in(judged), measure="psi", column="age").height
    )


@pytest.mark.parametrize("where", [None, "split = 'train'"])
def test_held_out_rows_of_a_cross_validation_are_compared(where: str | None) -> None:
    rows = CURRENT.with_columns(
        fold=pl.Series(np.arange(CURRENT.height) % 3),
        split=pl.Series(np.where(np.arange(CURRENT.height) % 4 == 0, "train", "valid")),
    )
    asked = {
        "fold": "fold",
        "cross_validation": {"split": "split"},
        "uncertainty": {"replicates": 20},
        "slices": ["region"],
    }
    reference = REFERENCE if where is None else None
    more = {} if where is None else {"where": where}
    found = look(
        rows, reference, arguments=asked, columns=["visits"], measures=["mean"], slices=["region"], **more
    )
    before = REFERENCE if where is None else rows.filter(split="train")
    before, now = (part.filter(region="south") for part in (before, rows.filter(split="valid")))
    (row,) = found.drift.filter(column="visits", slice="region=south", measure="mean").rows(named=True)
    assert (row["n_reference"], row["n_current"]) == (before.height, now.height)
    assert row["current"] == pytest.approx(now["visits"].mean())
    assert row["reference"] == pytest.approx(before["visits"].mean())


def test_means_that_differ_by_rounding_alone_have_not_moved():
    rows = pl.DataFrame({"y": [0, 1] * 3000, "d": [0, 1] * 3000, "w": [0.3] * 6000})
    rows = rows.with_columns(p=pl.when(pl.int_range(6000) % 4 < 2).then(0.3).otherwise(0.7))
    drift = {"where": "d = 0", "measures": ["mean"]}
    found = plm.evaluate(rows, label="y", models="p", weight="w", metrics="brier", where="d = 1", drift=drift)
    means = found.drift.filter(measure="mean", subject="score")
    assert means.select("value", "per_sd").row(0) == (0.0, 0.0)
