"""Gates whose limits are the values of earlier intervals."""

from __future__ import annotations

from statistics import fmean, stdev, variance
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
import scipy.stats

from plmetrics.core.results import GATES_SCHEMA, METRICS_SCHEMA
from plmetrics.gates import bands
from plmetrics.gates.bands import BAND_ENDS, history_of, interval_values, with_bands
from plmetrics.gates.verdicts import Evidence, evaluate_gates
from plmetrics.suite.sections.references import Band
from tests.gates.conftest import METRICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.gates.conftest import Table

HISTORY = [0.84, 0.86, 0.85, 0.83, 0.87, 0.85, 0.86, 0.84, 0.85, 0.855]


def of_night(value: float | None, weekday: int = 0, **columns: Any) -> tuple[int, pl.DataFrame]:
    """The table `metrics` of an earlier interval."""
    usual = {"model": "a", "slice_set": "overall", "slice": "all", "metric": "score", "status": "ok"}
    return weekday, pl.DataFrame([usual | {"value": value} | columns], schema=METRICS_SCHEMA)


def values_of(nights: Sequence[tuple[int, pl.DataFrame]], metrics: Sequence[str]) -> pl.DataFrame:
    """The values of some metrics in the tables `metrics` of earlier intervals."""
    return bands.values_of([(weekday, interval_values(table, metrics)) for weekday, table in nights])


def judged(
    table: Table, band: Band, nights: Sequence[tuple[int, pl.DataFrame]], **keywords: Any
) -> dict[str, Any]:
    """The row of the gate that judges the table's value by a band."""
    table.gate(within=band, model="a", **keywords)
    metrics = pl.DataFrame(table.rows["metrics"], schema=METRICS_SCHEMA)
    values = values_of(nights, [METRICS["score"].text, METRICS["loss"].text])
    comparisons = pl.DataFrame(schema=METRICS_SCHEMA)
    key = (band, keywords.get("consecutive", 1))
    history = keywords.pop("history", None)
    gates = evaluate_gates(
        table.suite(), Evidence(metrics, comparisons, history=history, bands={key: values})
    )
    assert gates.height == 1
    return gates.row(0, named=True)


def ends(rows: pl.DataFrame, table: Table, band: Band, nights: Sequence[tuple[int, pl.DataFrame]]) -> Any:
    """The ends of the band of one row."""
    gate = table.gate(within=band).gates[0]
    return with_bands(rows, gate, band, values_of(nights, ["score"])).select(BAND_ENDS).row(0)


def one_row(observed: float | None = 0.85, std_error: float | None = None) -> pl.DataFrame:
    place = {"model": "a", "slice_set": "overall", "slice": "all", "class": None}
    frame = pl.DataFrame([place | {"observed": observed, "std_error": std_error}])
    return frame.with_columns(
        pl.col("class").cast(pl.String), pl.col("observed", "std_error").cast(pl.Float64)
    )


def test_the_band_is_a_prediction_interval(table: Table) -> None:
    lower, upper = ends(one_row(), table, Band(sd=3, window="56d"), [of_night(value) for value in HISTORY])
    half = 3 * stdev(HISTORY) * (1 + 1 / len(HISTORY)) ** 0.5
    assert (lower, upper) == pytest.approx((fmean(HISTORY) - half, fmean(HISTORY) + half))


def test_the_rule_says_how_many_runs_must_fail(table: Table) -> None:
    row = judged(table.value(0.1), Band(sd=3, last=10), [of_night(value) for value in HISTORY], consecutive=2)
    assert row["rule"].startswith("within 3 sd of 10 intervals: [")
    assert row["rule"].endswith("], 2 runs in a row")


def test_noise_beyond_that_of_the_earlier_values_widens_the_band(table: Table) -> None:
    nights = [of_night(value, std_error=0.01) for value in HISTORY]
    lower, upper = ends(one_row(fmean(HISTORY), 0.04), table, Band(sd=2, last=10), nights)
    half = 2 * (variance(HISTORY) * 1.1 + 0.04**2 - 0.01**2) ** 0.5
    assert (upper - lower) / 2 == pytest.approx(half)


def shares(calls: int, chance: float, seed: int) -> pl.DataFrame:
    """The table `metrics` with shares of right calls in 400 slices."""
    drawn = np.random.default_rng(seed).binomial(calls, chance, 400) / calls
    usual = {"model": "a", "slice_set": "region", "metric": "score", "status": "ok"}
    rows = [
        usual | {"slice": str(number), "value": share, "std_error": (share * (1 - share) / calls) ** 0.5}
        for number, share in enumerate(drawn.tolist())
    ]
    return pl.DataFrame(rows, schema=METRICS_SCHEMA)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("calls", "chance", "seen"), [(50, 0.95, False), (15, 0.95, False), (50, 0.8, True)])
def test_shares_are_held_against_the_error_of_their_mean(
    table: Table, calls: int, chance: float, *, seen: bool
) -> None:
    """Of 50 calls a night 95 % are right: 80 % are an alarm, and short nights are none more often than others."""
    nights = [(0, shares(50, 0.95, seed)) for seed in range(40)]
    rows = shares(calls, chance, 99).rename({"value": "observed"})
    gate = table.gate(within=Band(sd=3, last=40)).gates[0]
    banded = with_bands(rows, gate, Band(sd=3, last=40), values_of(nights, ["score"]))
    below = (rows["observed"] < banded[BAND_ENDS[0]]).mean()
    assert (rows["observed"] <= banded[BAND_ENDS[1]]).all()
    assert below > 0.75 if seen else below < 0.03


def test_less_noise_than_earlier_does_not_narrow_the_band(table: Table, new_table: type[Table]) -> None:
    nights = [of_night(value, std_error=0.03) for value in HISTORY]
    band = Band(sd=2, window="10d")
    quiet = ends(one_row(std_error=0.001), table, band, nights)
    assert quiet == ends(one_row(), new_table(), band, nights)


def test_weekdays_vary_around_means_of_their_own(table: Table) -> None:
    numbers = np.random.default_rng(3)
    weeks = [(day, 0.8 + 0.02 * day + numbers.normal(scale=0.003)) for _ in range(4) for day in range(7)]
    lower, upper = ends(
        one_row(),
        table,
        Band(sd=3, window="28d", season="weekday"),
        [of_night(value, weekday=day) for day, value in weeks],
    )
    design = np.eye(7)[[day for day, _ in weeks]]
    observed = np.array([value for _, value in weeks])
    means, (squares,), *_ = np.linalg.lstsq(design, observed)
    half = 3 * (squares / (28 - 7) * (1 + 1 / 4)) ** 0.5
    assert (lower, upper) == pytest.approx((means[0] - half, means[0] + half))


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("value", "verdict"), [(0.85, "pass"), (0.95, "fail"), (0.75, "fail"), (None, "inconclusive")]
)
def test_values_outside_fail(table: Table, value: float | None, verdict: str) -> None:
    row = judged(table.value(value), Band(sd=3, window="56d"), [of_night(one) for one in HISTORY])
    assert row["verdict"] == verdict
    if value is not None:
        chance = 2 * scipy.stats.t.sf(3, len(HISTORY) - 1)
        assert row["rule"].startswith("within 3 sd of 10 intervals: [0.8")
        assert row["gate"] == "score within 3 sd of 56d"
        assert row["note"] == f"{100 * chance:.2g}% of normal values like the earlier ones are outside"


@pytest.mark.parametrize(
    ("metric", "value", "verdict"),
    [("score", 0.95, "pass"), ("score", 0.75, "fail"), ("loss", 0.95, "fail"), ("loss", 0.75, "pass")],
)
def test_only_the_worse_side_fails_if_asked(table: Table, metric: str, value: float, verdict: str) -> None:
    nights = [of_night(one, metric=metric) for one in HISTORY]
    table.value(value, metric=metric)
    row = judged(table, Band(sd=3, window="56d", side="worse"), nights, metric=metric)
    assert row["verdict"] == verdict
    assert f"{100 * scipy.stats.t.sf(3, len(HISTORY) - 1):.2g}%" in row["note"]
    half = 3 * stdev(HISTORY) * (1 + 1 / len(HISTORY)) ** 0.5
    limit = f">= {fmean(HISTORY) - half:.5g}" if metric == "score" else f"<= {fmean(HISTORY) + half:.5g}"
    assert row["rule"] == f"within 3 sd of 10 intervals: {limit}"


def test_few_intervals_decide_nothing(table: Table) -> None:
    nights = [*(of_night(value) for value in HISTORY[:7]), of_night(None), of_night(float("nan"))]
    row = judged(table.value(0.1), Band(sd=3, window="56d"), nights)
    assert (row["verdict"], row["status"]) == ("inconclusive", "too_few_intervals")
    assert row["note"] == "earlier intervals with a value: 7, at least 8 needed"


def test_a_weekday_that_was_there_once_decides_nothing(table: Table) -> None:
    nights = [of_night(value, weekday=(number + 1) % 7) for number, value in enumerate(HISTORY[:9])]
    row = judged(table.value(0.1), Band(sd=3, window="9d", season="weekday"), nights)
    assert (row["verdict"], row["status"]) == ("inconclusive", "too_few_intervals")
    assert row["note"] == "of 9 earlier intervals 1 of this weekday, at least 2 needed"


def test_two_values_of_a_weekday_and_one_degree_of_freedom_are_enough(table: Table) -> None:
    nights = [of_night(0.84), of_night(0.88), of_night(0.5, weekday=3)]
    band = Band(sd=3, last=3, season="weekday", min_intervals=3)
    row = judged(table.value(0.85), band, nights)
    half = 3 * (variance([0.84, 0.88]) * (1 + 1 / 2)) ** 0.5
    assert row["rule"] == f"within 3 sd of 3 intervals by weekday: [{0.86 - half:.5g}, {0.86 + half:.5g}]"
    chance = 2 * scipy.stats.t.sf(3, 1)
    assert row["note"] == f"{100 * chance:.2g}% of normal values like the earlier ones are outside"
    assert row["verdict"] == "pass"


def test_a_weekday_for_each_value_has_no_spread(table: Table) -> None:
    nights = [of_night(0.84), *(of_night(0.8, weekday=day) for day in (1, 2))]
    row = judged(table.value(0.1), Band(sd=3, last=3, season="weekday", min_intervals=3), nights)
    assert (row["verdict"], row["status"]) == ("inconclusive", "too_few_intervals")


def test_beside_a_mean_of_one_a_share_has_the_error_it_says(table: Table) -> None:
    nights = [of_night(1.0, std_error=0.0) for _ in HISTORY]
    lower, upper = ends(one_row(0.98, 0.01), table, Band(sd=3, last=10), nights)
    assert (lower, upper) == pytest.approx((1 - 3 * 0.01, 1 + 3 * 0.01))


def test_without_intervals_nothing_is_decided(table: Table) -> None:
    assert judged(table.value(0.9), Band(sd=3, window="56d"), [])["verdict"] == "inconclusive"


def test_other_models_slices_classes_and_metrics_do_not_count(table: Table) -> None:
    others = [
        of_night(0.1, **{column: "another"}) for column in ("model", "slice_set", "slice", "class", "metric")
    ]
    nights = [*(of_night(value) for value in HISTORY), *others]
    row = judged(table.value(0.85), Band(sd=3, window="56d"), nights)
    assert row["rule"].startswith("within 3 sd of 10 intervals")


def test_equal_values_make_a_band_without_width(table: Table, new_table: type[Table]) -> None:
    nights = [of_night(1.0) for _ in range(9)]
    band = Band(sd=3, window="9d")
    assert judged(table.value(1.0), band, nights)["verdict"] == "pass"
    assert judged(new_table().value(0.999), band, nights)["verdict"] == "fail"


def outside(history: int, sd: float, shift: float, trials: int = 4000) -> float:
    """The share of new values that are outside the band of normal ones, each slice of a table being a trial."""
    numbers = np.random.default_rng(history)
    slices = [f"region={number}" for number in range(trials)]
    place = {"model": "a", "metric": "score", "slice_set": "region", "status": "ok"}

    def night(centre: float) -> pl.DataFrame:
        values = numbers.normal(centre, 0.01, trials)
        shown = pl.DataFrame({"slice": slices, "value": values}).with_columns(
            pl.lit(value).alias(name) for name, value in place.items()
        )
        return pl.concat([METRICS_SCHEMA.to_frame(), shown], how="diagonal")

    values = values_of([(0, night(0.85)) for _ in range(history)], ["score"])
    band = Band(sd=sd, last=history)
    from tests.gates.conftest import Table

    table = Table().gate(within=band, model="a", slices="region")
    evidence = Evidence(night(0.85 - shift), pl.DataFrame(schema=METRICS_SCHEMA), bands={(band, 1): values})
    gates = evaluate_gates(table.suite(), evidence)
    assert gates.height == trials
    return float((gates["verdict"] == "fail").mean())


@pytest.mark.exhaustive
@pytest.mark.parametrize("history", [10, 40])
@pytest.mark.parametrize("sd", [2.0, 3.0])
def test_false_alarms_are_as_often_as_the_note_says(history: int, sd: float) -> None:
    stated = 2 * scipy.stats.t.sf(sd, history - 1)
    error = (stated * (1 - stated) / 4000) ** 0.5
    assert outside(history, sd, 0.0) == pytest.approx(stated, abs=4 * error)


@pytest.mark.parametrize("history", [10, 40])
def test_a_shift_of_five_standard_deviations_is_seen(history: int) -> None:
    power = scipy.stats.nct.cdf(-3, history - 1, -5 / (1 + 1 / history) ** 0.5)
    assert outside(history, 3.0, 0.05) == pytest.approx(power, abs=4 * (power * (1 - power) / 4000) ** 0.5)
    assert power > 0.8


GOOD, BAD, NONE = 0.9, 0.1, None


def gates_of(new: type[Table], value: float | None, **keywords: Any) -> pl.DataFrame:
    """The table `gates` of a run in which model a had this value."""
    status = "ok" if value is not None else "no_positives"
    return judged_now(new, value, None, status=status, **keywords)


def judged_now(
    new: type[Table], value: float | None, history: pl.DataFrame | None, consecutive: int = 3, **keywords: Any
) -> pl.DataFrame:
    table = new().gate(name="steady", model="a", at_least=0.5, consecutive=consecutive)
    return table.value(value, **keywords).judged(history=history)


def naive(values: list[float | None], consecutive: int) -> tuple[str, str | None]:
    """The verdict of the last of some runs, and the note on how many failed in a row."""
    streak = 0
    for value in reversed(values):
        if value != BAD:
            break
        streak += 1
    if values[-1] is None:
        return "inconclusive", None
    if values[-1] == GOOD:
        return "pass", None
    enough = streak >= consecutive
    note = f"failed {min(streak, consecutive)} of {consecutive} runs in a row"
    if not enough and values[-streak - 1 :][0] is None:
        note += " (the run before did not decide it)"
    return ("fail" if enough else "inconclusive"), (note if consecutive > 1 else None)


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("consecutive", [1, 2, 3])
@pytest.mark.parametrize(
    "values",
    [
        [GOOD],
        [BAD],
        [NONE],
        [BAD, BAD],
        [BAD, BAD, BAD],
        [BAD, BAD, BAD, BAD],
        [GOOD, BAD, BAD],
        [BAD, GOOD, BAD],
        [BAD, BAD, GOOD],
        [BAD, NONE, BAD],
        [BAD, BAD, NONE],
        [NONE, BAD, BAD],
    ],
)
def test_failures_in_a_row_are_counted(
    new_table: type[Table], values: list[float | None], consecutive: int
) -> None:
    earlier = history_of([gates_of(new_table, value) for value in reversed(values[:-1])][: consecutive - 1])
    status = "ok" if values[-1] is not None else "no_positives"
    rule = {"consecutive": consecutive, "status": status}
    (row,) = judged_now(new_table, values[-1], earlier, **rule).to_dicts()
    assert (row["verdict"], row["note"]) == naive(values, consecutive)


def test_earlier_runs_are_judged_by_the_rule_of_today(table: Table, new_table: type[Table]) -> None:
    earlier = history_of([gates_of(new_table, 0.6), gates_of(new_table, 0.6)])
    table.gate(name="steady", model="a", at_least=0.7, consecutive=3).value(0.6)
    assert table.judged(history=earlier)["verdict"].item() == "fail"


def test_without_history_it_says_so(new_table: type[Table]) -> None:
    (row,) = judged_now(new_table, BAD, None).to_dicts()
    assert (row["verdict"], row["note"]) == (
        "inconclusive",
        "failed 1 of 3 runs in a row (there is no history)",
    )


def test_only_the_same_gate_model_and_slice_count(table: Table, new_table: type[Table]) -> None:
    places = [("a", "region=n"), ("a", "region=s"), ("b", "region=n")]

    def add(held: Table, *bad: int) -> Table:
        for place, (model, text) in enumerate(places):
            value = BAD if place in bad else GOOD
            held.value(value, model, slice_set="region", slice=text)
        return held.gate(name="steady", at_least=0.5, consecutive=2, slices="region")

    other = add(new_table(), 0, 1, 2).judged().with_columns(gate=pl.lit("another"))
    earlier = pl.concat([add(new_table(), 1).judged(), other])
    judged = add(table, 0, 1, 2).judged(history=history_of([earlier]))
    assert judged["verdict"].to_list() == ["inconclusive", "fail", "inconclusive"]


def test_slices_that_were_too_small_end_the_row(new_table: type[Table]) -> None:
    small = gates_of(new_table, BAD).with_columns(status=pl.lit("too_few_rows"))
    (row,) = judged_now(
        new_table, BAD, history_of([gates_of(new_table, BAD), small, gates_of(new_table, BAD)])
    ).to_dicts()
    assert row["note"] == "failed 2 of 3 runs in a row (the run before did not decide it)"


def test_runs_without_the_slice_end_the_row(new_table: type[Table]) -> None:
    def run(*slices: str) -> Table:
        held = new_table().gate(name="steady", model="a", at_least=0.5, consecutive=3, slices="region")
        for text in slices:
            held.value(BAD, slice_set="region", slice=text)
        return held

    past = history_of([run("region=n").judged(), run("region=s").judged()])
    notes = run("region=n", "region=s").judged(history=past)["note"].to_list()
    ended = "runs in a row (the run before did not decide it)"
    assert notes == [f"failed 2 of 3 {ended}", f"failed 1 of 3 {ended}"]


@pytest.mark.parametrize(("bound", "verdict"), [(None, "fail"), (0.05, "fail"), (0.2, "inconclusive")])
def test_earlier_values_on_a_grid_fail_only_beyond_their_bound(
    new_table: type[Table], bound: float | None, verdict: str
) -> None:
    def run(value: float, **columns: Any) -> Table:
        return new_table().gate(model="a", at_least=0.5, consecutive=2).value(value, **columns)

    past = run(0.4, bound=bound).judged()
    assert past["bound"].to_list() == [bound]
    assert run(0.1).judged(history=history_of([past]))["verdict"].to_list() == [verdict]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("earlier", "now", "counts"),
    [
        ({"at_least": 0.6}, {"at_least": 0.5}, True),
        ({"at_least": 0.5, "consecutive": 5}, {"at_least": 0.5}, True),
        ({"at_most": 0.05}, {"at_least": 0.5}, False),
        ({"at_least": 0.5, "name": "x"}, {"at_least": 0.7, "name": "x"}, True),
        ({"at_least": 0.5, "name": "x"}, {"at_least": 0.5, "name": "y"}, False),
        ({"at_least": 0.5, "name": "x"}, {"at_least": 0.5}, False),
        ({"at_least": 0.5, "name": "x", "metric": "bias"}, {"at_least": 0.5, "name": "x"}, False),
    ],
)
def test_gates_are_known_by_name_subject_and_kind(
    new_table: type[Table], earlier: dict[str, Any], now: dict[str, Any], *, counts: bool
) -> None:
    def run(keywords: dict[str, Any]) -> Table:
        held = new_table().gate(**{"model": "a", "consecutive": 2, **keywords})
        return held.value(BAD).value(BAD, metric="bias")

    past = history_of([run(earlier).judged()])
    assert run(now).judged(history=past)["verdict"].to_list() == ["fail" if counts else "inconclusive"]


@pytest.mark.parametrize(("limit", "verdict"), [(0.5, "fail"), (0.6, "inconclusive")])
def test_rows_without_keys_count_under_the_name_of_their_gate(
    new_table: type[Table], limit: float, verdict: str
) -> None:
    """Earlier versions wrote neither keys nor bounds nor classes; without a name a gate was called by its rule."""

    def run(limit: float) -> Table:
        held = new_table().gate(model="a", at_least=limit, consecutive=2)
        return held.value(BAD, **{"class": "c"}).value(BAD, **{"class": "d"})

    older = run(0.5).judged().filter(pl.col("class") == "c").drop("key", "bound", "class")
    judged = run(limit).judged(history=history_of([older]))
    assert judged["verdict"].to_list() == [verdict, "inconclusive"]


def test_rows_without_keys_count_for_their_slice_alone(new_table: type[Table]) -> None:
    def run(*values: float) -> Table:
        held = new_table().gate(model="a", at_least=0.5, consecutive=2, slices="region")
        for text, value in zip("ns", values, strict=True):
            held.value(value, slice_set="region", slice=f"region={text}")
        return held

    older = run(GOOD, BAD).judged().drop("key", "bound", "class")
    judged = run(BAD, BAD).judged(history=history_of([older]))
    assert judged["verdict"].to_list() == ["inconclusive", "fail"]


def test_no_runs_are_a_history_too(new_table: type[Table]) -> None:
    assert history_of([]).schema == {**GATES_SCHEMA, "age": pl.Int64}
    assert judged_now(new_table, BAD, history_of([]))["note"].item() == "failed 1 of 3 runs in a row"


@pytest.mark.parametrize(
    ("older", "now", "verdict"),
    [("r=a, b", 'r="a, b"', "fail"), ("r=null", 'r="null"', "inconclusive"), ("r=null", "r=null", "fail")],
)
def test_texts_of_older_versions_count_where_they_mean_one_slice(
    new_table: type[Table], older: str, now: str, verdict: str
) -> None:
    def run(text: str) -> Table:
        gate = new_table().gate(name="steady", model="a", at_least=0.5, consecutive=2, slices="region")
        return gate.value(BAD, slice_set="region", slice=text)

    past = history_of([run(older).judged()])
    assert run(now).judged(history=past)["verdict"].to_list() == [verdict]
