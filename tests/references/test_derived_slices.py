"""Derived columns, slices by period, expression and roll-up, and groups within levels, against other libraries."""

import datetime
import zoneinfo
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from fairlearn import metrics as fairlearn
from sklearn.metrics import brier_score_loss, roc_auc_score
from statsmodels.stats.meta_analysis import combine_effects

import plmetrics as plm

N = 1500
DERIVE = {"late": "days > 30", "score": "0.7 * a + 0.3 * b", "half": "score / 2"}


def table(seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    first = datetime.date(2025, 11, 1)
    day = [first + datetime.timedelta(days=int(n)) for n in rng.integers(0, 150, N)]
    frame = pl.DataFrame(
        {
            "a": rng.random(N),
            "b": rng.random(N),
            "country": rng.choice(["DE", "FR"], N),
            "region": rng.choice(["N", "S", None], N),
            "sex": rng.choice(["f", "m"], N),
            "day": day,
            "hour": rng.integers(0, 24, N),
        }
    )
    days = pl.Series(rng.uniform(0, 40, N)) + 20 * frame["a"]
    time = pl.col("day").cast(pl.Datetime("us", "UTC")) + pl.duration(hours="hour")
    return frame.with_columns(days=days, time=time.dt.convert_time_zone("America/New_York"))


def values(frame: Any, metric: str, slice_set: str, **keywords: Any) -> dict[str, float]:
    asked = {"label": "late", "models": "score", "derive": DERIVE, "metrics": [metric]} | keywords
    found = plm.evaluate(frame, **asked).metrics.filter(slice_set=slice_set, metric=metric)
    return dict(found.select("slice", "value").rows())


def arrays(frame: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Label and score, as NumPy makes them."""
    return frame["days"].to_numpy() > 30, 0.7 * frame["a"].to_numpy() + 0.3 * frame["b"].to_numpy()


def test_labels_scores_and_weights_are_derived() -> None:
    frame = table()
    label, score = arrays(frame)
    assert values(frame, "roc_auc", "overall")["all"] == pytest.approx(roc_auc_score(label, score))
    weight = 1 + frame["b"].to_numpy() * (frame["country"] == "FR").to_numpy()
    weighted = {"weight": "w", "derive": DERIVE | {"w": "CASE WHEN country = 'FR' THEN 1 + b ELSE 1 END"}}
    found = values(frame, "brier", "overall", models="half", where="late OR b < 0.5", **weighted)["all"]
    rows = label | (frame["b"].to_numpy() < 0.5)
    expected = brier_score_loss(label[rows], score[rows] / 2, sample_weight=weight[rows])
    assert found == pytest.approx(expected)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"column": "day", "every": "1mo"}, lambda row: f"day={row['day']:%Y-%m}"),
        ({"column": "day", "every": "12mo"}, lambda row: f"day={row['day'].year}"),
        ({"column": "time", "every": "3mo"}, lambda row: f"time={quarter(row['time'])}"),
        ({"column": "day", "every": "1w"}, lambda row: f"day={monday(row['day'])}"),
        ({"column": "time", "every": "1d"}, lambda row: f"time={row['time'].date()}"),
        ({"expression": "MONTH(day)"}, lambda row: f"set={row['day'].month}"),
        ({"expression": "UPPER(region)", "top": 1}, None),
        ({"expression": "a + b", "bins": [0.5, 1]}, lambda row: f"set={bin_of(row['a'] + row['b'])}"),
    ],
)
def test_periods_and_expressions_are_those_of_python(spec: dict[str, Any], text: Any) -> None:
    frame = table()
    found = values(frame, "brier", "set", slices={"set": spec})
    label, score = arrays(frame)
    if text is None:
        assert set(found) == {
            f"set={frame['region'].value_counts(sort=True)['region'][0] or 'null'}",
            "set=other",
        }
        return
    names = np.array([text(row) for row in frame.iter_rows(named=True)])
    expected = {str(name): np.mean((label - score)[names == name] ** 2) for name in np.unique(names)}
    assert found == pytest.approx(expected)


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("hours", [1, 2, 3, 6, 12])
@pytest.mark.parametrize(
    ("zone", "day"),
    [("America/Havana", 305), ("Atlantic/Azores", 298), ("Europe/Berlin", 298), ("America/New_York", 67)],
)
def test_a_period_of_hours_is_one_where_its_clock_is_set_back(zone: str, day: int, hours: int) -> None:
    """Hours that are shown twice are two, but the periods that they are in begin once."""
    first = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(days=day - 2)
    moments = [first + datetime.timedelta(minutes=20 * n) for n in range(3 * 72)]
    shown = [moment.astimezone(zoneinfo.ZoneInfo(zone)) for moment in moments]
    names = [(time.date(), time.hour // hours, time.utcoffset() if hours == 1 else None) for time in shown]
    frame = pl.DataFrame({"t": pl.Series(moments).dt.convert_time_zone(zone), "late": True, "score": 0.5})
    asked = {"label": "late", "models": "score", "metrics": ["n"], "slices": {"s": {"column": "t"}}}
    asked["slices"]["s"]["every"] = f"{hours}h"
    found = plm.evaluate(frame, **asked).metrics.filter(slice_set="s")
    assert found["n"].to_list() == list(Counter(names).values())


def quarter(time: datetime.datetime) -> str:
    return f"{time.year}-{3 * ((time.month - 1) // 3) + 1:02}"


def monday(day: datetime.date) -> datetime.date:
    return day - datetime.timedelta(days=day.weekday())


def bin_of(value: float) -> str:
    return "(-inf, 0.5)" if value < 0.5 else "[0.5, 1)" if value < 1 else "[1, inf)"


def test_texts_of_csv_files_are_dates(tmp_path: Any) -> None:
    frame = table().drop("time")
    frame.write_csv(tmp_path / "rows.csv")
    spec = {"month": {"column": "day", "every": "1mo"}}
    from_file = values(tmp_path / "rows.csv", "roc_auc", "month", slices=spec)
    assert from_file == pytest.approx(values(frame, "roc_auc", "month", slices=spec))


@pytest.mark.parametrize(("texts", "told"), [(["01/02/2026", "x"], 1), (["01/02/2026", "2026-02-01"], 0)])
@pytest.mark.parametrize("spec", [{"every": "1mo"}, {"bins": [datetime.date(2026, 1, 5)]}])
def test_texts_that_are_no_dates_are_told(texts: list[str], told: int, spec: dict[str, Any]) -> None:
    rows = pl.DataFrame({"y": [0, 1] * 10, "p": [0.2, 0.7] * 10, "when": texts * 10})
    slices = {"day": {"column": "when", **spec}}
    found = plm.evaluate(rows, label="y", models="p", metrics=["brier"], slices=slices)
    words = [text for text in found.warnings if "holds no ISO date" in text]
    assert len(words) == told
    assert not told or "slice set 'day': column 'when'" in words[0]


def test_a_roll_up_has_the_slices_of_each_level() -> None:
    frame = table()
    label, score = arrays(frame)
    found = values(frame, "roc_auc", "geo", slices={"geo": {"rollup": ["country", "region", "sex"]}})
    expected = {}
    for columns in (["country"], ["country", "region"], ["country", "region", "sex"]):
        keys = [
            ", ".join(f"{name}={row[name] or 'null'}" for name in columns)
            for row in frame.iter_rows(named=True)
        ]
        for key in set(keys):
            here = np.array(keys) == key
            expected[key] = roc_auc_score(label[here], score[here])
    assert found == pytest.approx(expected)


def test_states_of_derived_columns_add(tmp_path: Any) -> None:
    frame = table()
    slices = {"month": {"column": "day", "every": "1mo"}, "weekday": {"expression": "EXTRACT(DOW FROM day)"}}
    asked = {"label": "late", "models": "score", "derive": DERIVE, "metrics": ["brier"], "slices": slices}
    parts = [plm.state(part, **asked) for part in (frame[:400], frame[400:])]
    merged = plm.merge(*parts).metrics.select("slice_set", "slice", "value", "n")
    whole = plm.evaluate(frame, **asked).metrics.select("slice_set", "slice", "value", "n")
    assert merged.drop("value").equals(whole.drop("value"))
    assert merged["value"].to_numpy() == pytest.approx(whole["value"].to_numpy())


def test_units_are_the_same_with_derived_columns(tmp_path: Any) -> None:
    frame = table()
    for number in range(2):
        frame[number * 700 : number * 800 + 700].write_parquet(tmp_path / f"{number}.parquet")
    ready = frame.with_columns(late=pl.col("days") > 30, score=0.7 * pl.col("a") + 0.3 * pl.col("b"))
    for number in range(2):
        (tmp_path / "made").mkdir(exist_ok=True)
        ready[number * 700 : number * 800 + 700].write_parquet(tmp_path / "made" / f"{number}.parquet")
    asked = {"label": "late", "models": "score", "metrics": ["brier"], "uncertainty": {"replicates": 50}}
    derived = plm.evaluate(tmp_path / "*.parquet", derive=DERIVE, **asked).metrics
    stored = plm.evaluate(tmp_path / "made" / "*.parquet", **asked).metrics
    assert derived.select("value", "lower", "upper").row(0) == pytest.approx(
        stored.select("value", "lower", "upper").row(0)
    )


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"derive": {"late": "dayz > 30"}}, "column 'dayz' .* is not in the data"),
        ({"derive": {"late": "days > 30", "a": "b"}}, "column 'a' is in the data"),
        ({"derive": {"late": "days >"}}, "'days >'"),
        ({"derive": {"late": "SUM(days) > 3"}}, "aggregate SUM"),
        ({"derive": {"late": "country > 3"}}, "does not fit the columns' types"),
        ({"slices": {"s": {"column": "a", "every": "1mo"}}}, "needs dates or times"),
        ({"slices": {"s": {"column": "day", "every": "6h"}}}, "needs times"),
        ({"slices": {"s": {"column": "sex", "every": "6h"}}}, "derive .* times: TRY_CAST.sex AS TIMESTAMP"),
        ({"slices": {"s": {"expression": "day", "column": "a"}}}, "in place of columns"),
        ({"slices": {"s": {"expression": "1 + 1"}}}, "reads no column"),
        ({"slices": {"s": {"rollup": ["sex"]}}}, "two columns or more"),
        ({"slices": {"s": {"rollup": ["sex", "sex"]}}}, "twice"),
        ({"slices": {"s": {"rollup": ["sex", "region"], "top": 3}}}, "rollup stands alone"),
        ({"slices": {"sex": {"expression": "UPPER(sex)"}}}, "'sex' is in the data"),
    ],
)
def test_what_does_not_fit_is_told(keywords: dict[str, Any], words: str) -> None:
    with pytest.raises(plm.PlmetricsError, match=words):
        values(table(), "brier", "overall", **({"derive": DERIVE} | keywords))


@pytest.mark.parametrize("method", ["between_groups", "to_overall"])
def test_groups_within_levels_are_those_of_control_features(method: str) -> None:
    frame = table().with_columns(region=pl.col("region").fill_null("?"))
    label, score = arrays(frame)
    metric = f"disparity(selection_rate, by=sex, method={method})"
    entry = {"metric": metric, "slices": ["place", "age"]}
    slices = {"sex": "sex", "place": ["country", "region"], "age": {"column": "a", "bins": [0.5]}}
    result = plm.evaluate(
        frame, label="late", models="score", derive=DERIVE, metrics=[entry, "recall"], slices=slices
    )
    levels = {
        "place": [f"country={c}, region={r}" for c, r in zip(frame["country"], frame["region"], strict=True)],
        "age": ["a=(-inf, 0.5)" if a < 0.5 else "a=[0.5, inf)" for a in frame["a"]],
    }
    for name, texts in levels.items():
        by_level = fairlearn.MetricFrame(
            metrics=fairlearn.selection_rate,
            y_true=label,
            y_pred=score >= 0.5,
            sensitive_features=frame["sex"].to_numpy(),
            control_features=np.array(texts),
        ).difference(method=method)
        rows = result.metrics.filter(pl.col("metric") != "recall", slice_set=name)
        assert dict(rows.select("slice", "value").rows()) == pytest.approx(by_level.to_dict())
    twice = plm.evaluate(
        frame, label="late", models="score", derive=DERIVE, metrics=[metric, entry, "recall"], slices=slices
    )
    assert twice.metrics.equals(result.metrics), "an entry without levels takes none from the other"
    alone = plm.evaluate(frame, label="late", models="score", derive=DERIVE, metrics=[metric], slices=slices)
    whole = result.metrics.filter(pl.col("metric") != "recall", slice_set="sex")
    assert whole.equals(alone.metrics)


def test_a_least_share_within_a_level_is_of_all_its_rows_also_of_excluded_groups() -> None:
    """In level u the groups a and b have 40 % and 10 % of the rows, c, which is excluded, the others."""
    rows = pl.DataFrame(
        {"y": [0, 1] * 20, "p": [0.2, 0.8, 0.7, 0.1] * 10, "level": ["u"] * 20 + ["v"] * 20}
    ).with_columns(group=pl.Series(["a"] * 8 + ["b"] * 2 + ["c"] * 10 + ["a"] * 10 + ["b"] * 10))
    metric = "disparity(brier, by=group, min_share=0.15)"
    slices = {"group": {"column": "group", "exclude": ["c"]}, "level": "level"}
    result = plm.evaluate(
        rows, label="y", models="p", metrics=[{"metric": metric, "slices": ["level"]}], slices=slices
    )
    status = dict(result.metrics.filter(slice_set="level").select("slice", "status").rows())
    alone = [
        plm.evaluate(part, label="y", models="p", metrics=[metric], slices=slices).metrics["status"].item()
        for part in (rows[:20], rows[20:])
    ]
    assert status == {"level=u": "too_few_groups", "level=v": "ok"}
    assert list(status.values()) == alone


def test_intervals_of_levels_are_those_of_their_rows() -> None:
    """The same as an evaluation of the rows of a level, as far as both draw blocks at random."""
    frame = table()
    entry = {"metric": "demographic_parity_difference(by=sex)", "slices": ["country"]}
    asked = {
        "label": "late",
        "models": {"m": "score", "n": "half"},
        "derive": DERIVE,
        "slices": ["sex", "country"],
    }
    result = plm.evaluate(
        frame, metrics=[entry], uncertainty={"replicates": 400}, compare={"baseline": "n"}, **asked
    )
    here = result.metrics.filter(slice_set="country", model="m")
    assert here["upper"].is_not_null().all()
    for country, value, upper in here.select("slice", "value", "upper").rows():
        rows = frame.filter(country=country.removeprefix("country="))
        alone = plm.evaluate(
            rows, metrics=[entry["metric"]], uncertainty={"replicates": 400}, **asked
        ).metrics.filter(model="m", slice_set="sex")
        assert value == pytest.approx(alone["value"].item())
        assert upper == pytest.approx(alone["upper"].item(), rel=0.35)
    assert result.comparisons.filter(slice_set="country").height == 2


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (
            {"metric": "average_odds_difference(by=sex, reference=f)", "slices": "country"},
            "value for each group",
        ),
        ({"metric": "disparity(recall, by=sex)", "slices": "both"}, "both by column 'sex'"),
        (
            {"metric": "disparity(recall, by=sex)", "slices": "geo"},
            r"cannot be crossed\n.*periods \(every\) or an expression",
        ),
        ({"metric": "disparity(recall, by=sex)", "slices": "tags"}, "of tags"),
    ],
)
def test_levels_that_do_not_part_the_rows_are_refused(entry: dict[str, str], words: str) -> None:
    frame = table().with_columns(tags=pl.concat_list("sex", "country"))
    slices = {"sex": "sex", "country": "country", "both": ["sex", "country"], "tags": "tags"}
    slices = slices | {"geo": {"rollup": ["country", "region"]}}
    with pytest.raises(plm.PlmetricsError, match=words):
        plm.evaluate(frame, label="late", models="score", derive=DERIVE, metrics=[entry], slices=slices)


@pytest.mark.parametrize("weight", [None, "one"])
def test_shrunken_rates_are_those_of_a_random_effects_model(weight: str | None) -> None:
    rng = np.random.default_rng(3)
    group = rng.choice(list("abcdef"), N, p=[0.4, 0.3, 0.285, 0.005, 0.005, 0.005])
    label = rng.random(N) < np.where(group == "b", 0.7, 0.5)
    frame = pl.DataFrame(
        {"y": label, "p": rng.random(N) ** np.where(group == "b", 0.6, 1), "g": group, "one": 1}
    )
    names = ["shrunken_rate(recall, by=g)", "disparity(recall, by=g, min_share=0, shrinkage=empirical_bayes)"]
    uncertainty = {"replicates": 50} if weight else None
    metrics = plm.evaluate(
        frame, label="y", models="p", weight=weight, slices=["g"], metrics=names, uncertainty=uncertainty
    ).metrics
    positives = frame.filter("y").group_by("g").agg(v=(pl.col("p") >= 0.5).mean(), n=pl.len()).sort("g")
    rate, n = positives["v"].to_numpy(), positives["n"].to_numpy()
    pooled = np.average(rate, weights=n)
    variance = pooled * (1 - pooled) / n
    fitted = combine_effects(rate, variance, method_re="dl")
    assert fitted.tau2 > 0
    expected = fitted.mean_effect_re + fitted.tau2 / (fitted.tau2 + variance) * (rate - fitted.mean_effect_re)
    found = metrics.filter(metric=names[0])
    assert found["value"].to_numpy() == pytest.approx(expected, abs=1e-12)
    assert metrics.filter(metric=names[1])["value"].item() == pytest.approx(np.ptp(expected), abs=1e-12)


@pytest.mark.exhaustive
@pytest.mark.parametrize("options", [{"weight": "w"}, {"unit": "u"}, {"weight": "w", "unit": "u"}])
def test_many_units_shrink_rates_by_their_own_number(options: dict[str, str]) -> None:
    rng = np.random.default_rng(5)
    rows = 60_000
    group = rng.integers(0, 4, rows)
    frame = pl.DataFrame(
        {
            "y": rng.integers(0, 2, rows),
            "p": rng.random(rows) < 0.5 + 0.01 * group,
            "g": group,
            "w": rng.gamma(2, size=rows),
            "u": rng.integers(0, 20_000, rows),
        }
    ).cast({"p": pl.Float64})
    name = "shrunken_rate(selection_rate, by=g)"
    found = plm.evaluate(
        frame, label="y", models="p", slices=["g"], metrics=[name], uncertainty={"replicates": 20}, **options
    ).metrics
    weighted = frame.with_columns(w=pl.col("w") if "weight" in options else 1.0).with_row_index("row")
    unit = weighted.group_by("g", options.get("unit", "row")).agg(
        pl.sum("w"), hit=(pl.col("w") * pl.col("p")).sum()
    )
    groups = unit.group_by("g").agg(
        v=pl.sum("hit") / pl.sum("w"), n=pl.sum("w") ** 2 / (pl.col("w") ** 2).sum()
    )
    rate, n = groups.sort("g").select("v", "n").to_numpy().T
    pooled = np.average(rate, weights=n)
    fitted = combine_effects(rate, pooled * (1 - pooled) / n, method_re="dl")
    drawn = fitted.tau2 / (fitted.tau2 + pooled * (1 - pooled) / n)
    expected = fitted.mean_effect_re + drawn * (rate - fitted.mean_effect_re)
    # Units share blocks, which know their number up to sqrt(2 / blocks) of it.
    assert found["value"].to_numpy() == pytest.approx(expected, abs=2e-4)
    assert np.ptp(expected) > 0.02


def test_groups_that_differ_by_chance_alone_are_drawn_together() -> None:
    rows = pl.DataFrame({"y": [1] * 8, "p": [1.0, 0.0] * 4, "g": [*"aaaabbbb"]})
    found = plm.evaluate(rows, label="y", models="p", slices=["g"], metrics=["shrunken_rate(recall, by=g)"])
    assert found.metrics["value"].to_list() == [0.5, 0.5]
