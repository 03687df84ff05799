from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plmetrics as plm
from plmetrics.inference.across_runs.decomposition import SliceMeans, change_parts
from plmetrics.inference.across_runs.run_decomposition import independent_units
from plmetrics.inference.across_runs.sides import Side

SIDES = st.lists(st.tuples(st.floats(0, 10), st.floats(-5, 5)), min_size=4, max_size=4).filter(
    lambda side: sum(mass for mass, _ in side) > 0.1
)


def shares(side: list[tuple[float, float]]) -> SliceMeans:
    mass = np.array([mass for mass, _ in side])
    return SliceMeans(mass / mass.sum(), np.where(mass > 0, [value for _, value in side], np.nan))


def mean(side: SliceMeans) -> float:
    return float(np.sum(np.where(side.share > 0, side.share * side.value, 0.0)))


@given(SIDES, SIDES)
def test_parts_add_up_to_the_change(one: Any, other: Any) -> None:
    before, after = shares(one), shares(other)
    within, mix = change_parts(before, after)
    assert float((within + mix).sum()) == pytest.approx(mean(after) - mean(before), abs=1e-9)
    back_within, back_mix = change_parts(after, before)
    assert within == pytest.approx(-back_within, abs=1e-12)
    assert mix == pytest.approx(-back_mix, abs=1e-12)
    once = (before.share == 0) | (after.share == 0)
    assert (within[once] == 0).all()
    if not once.any():
        by_hand = [
            (w0 + w1) / 2 * (m1 - m0)
            for w0, w1, m0, m1 in zip(before.share, after.share, before.value, after.value, strict=True)
        ]
        assert within == pytest.approx(np.array(by_hand))


def table(seed: int, shares_of: list[float], rows: int = 400) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    label = draw.integers(0, 2, rows)
    return pl.DataFrame(
        {
            "label": label,
            "a": 0.35 * label + draw.uniform(0, 0.6, rows),
            "b": 0.25 * label + draw.uniform(0, 0.6, rows),
            "region": draw.choice(["n", "s", "w"], rows, p=shares_of),
            "weight": draw.uniform(0.5, 2, rows),
        }
    )


def evaluated(frame: pl.DataFrame, **keywords: Any) -> plm.Result:
    given_: dict[str, Any] = {
        "label": "label",
        "models": {"a": "a", "b": "b"},
        "metrics": ["log_loss", "precision(threshold=0.4)", "roc_auc"],
        "slices": {"region": "region"},
    }
    return plm.evaluate(frame, **(given_ | keywords))


def parts(result: plm.Result, **facts: Any) -> dict[tuple[str, str], Any]:
    rows = result.decomposition.filter(**facts)
    found = {(row["slice"], row["part"]): row for row in rows.iter_rows(named=True)}
    assert len(found) == rows.height
    return found


@pytest.mark.exhaustive
@pytest.mark.parametrize("between", ["models", "runs"])
@pytest.mark.parametrize("zero", [True, False])
def test_parts_without_the_slices_of_denominator_0_are_no_change(between: str, zero: bool) -> None:
    """The labels of slice b are 0, so that its errors count in wmape and its share does not."""
    rows = pl.DataFrame(
        {
            "y": [1.0, 3.0, 2.0, *([0.0, 0.0] if zero else [1.0, 2.0])],
            "p": [1.5, 3.0, 1.0, 0.5, 0.25],
            "q": [1.0, 2.0, 2.5, 1.0, 2.0],
            "g": ["a", "a", "c", "b", "b"],
        }
    )
    asked: dict[str, Any] = {"task": "regression", "label": "y", "metrics": ["wmape"], "slices": ["g"]}
    if between == "models":
        result = plm.evaluate(rows, models=["p", "q"], compare={"baseline": "p", "decompose": "g"}, **asked)
    else:
        two = {"m": "p", "n": "q"}
        before = plm.evaluate(rows, models=two, compare={"baseline": "n", "decompose": "g"}, **asked)
        result = plm.evaluate(rows, models={"m": "q"}, compare={"run": before, "decompose": "g"}, **asked)
    table = result.tables["decomposition"]
    whole = table.filter(slice="all", part="total").row(0, named=True)
    parted = table.filter(pl.col("slice") == "all", pl.col("part") != "total")
    change = float(((rows["q"] - rows["y"]).abs() - (rows["p"] - rows["y"]).abs()).sum() / rows["y"].sum())
    assert set(parted["status"]) == ({"zero_denominator"} if zero else {"ok"})
    assert whole["status"] == ("zero_denominator" if zero and between == "models" else "ok")
    assert whole["value"] is None or whole["value"] == pytest.approx(100 * change)
    assert zero or parted["value"].sum() == pytest.approx(100 * change)
    slices = table.filter(pl.col("slice") != "all")
    assert set(slices["slice"]) == ({"g=a", "g=c"} if zero else {"g=a", "g=b", "g=c"})
    assert set(slices["status"]) == {"ok"}


def test_means_and_shares_that_differ_by_rounding_are_equal() -> None:
    share, value = np.array([0.1, 0.2, 0.7]), np.array([1e-9, 0.3, 1e9])
    before = SliceMeans(share, value)
    within, mix = change_parts(before, SliceMeans(share * (1 + 1e-15), value * (1 + 1e-15)))
    assert within.tolist() == mix.tolist() == [0.0] * 3
    within, mix = change_parts(before, SliceMeans(share * (1 + 1e-9), value * (1 + 1e-9)))
    assert (within > 0).all()
    assert (mix > 0).all()


@pytest.mark.exhaustive
@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("intervals", [None, {"replicates": 40}])
@pytest.mark.parametrize("slices", [{"region": "region"}, {"region": {"column": "region", "exclude": ["w"]}}])
def test_of_two_models(weight: str | None, intervals: Any, slices: Any) -> None:
    frame = table(1, [0.5, 0.3, 0.2])
    result = evaluated(
        frame,
        weight=weight,
        slices=slices,
        uncertainty=intervals,
        compare={"baseline": "a", "decompose": ["region"]},
    )
    differences = dict(
        result.comparisons.filter(slice_set="overall").select("metric", "difference").iter_rows()
    )
    counted = frame["weight"] if weight else pl.Series([1.0] * frame.height)
    for metric in ("log_loss", "precision(threshold=0.4)"):
        found = parts(result, metric=metric, contrast="model", model="b", baseline="a")
        assert found["all", "total"]["value"] == pytest.approx(differences[metric], abs=1e-12)
        slices_of = [name for name, part in found if part == "total" and name != "all"]
        assert slices_of == (["region=n", "region=s", "region=w"] if "exclude" not in str(slices) else
                             ["rest", "region=n", "region=s"])  # fmt: skip
        for part in ("within", "mix", "total"):
            assert sum(found[name, part]["value"] for name in slices_of) == pytest.approx(
                found["all", part]["value"]
            )
        for name in slices_of:
            assert found[name, "within"]["value"] + found[name, "mix"]["value"] == pytest.approx(
                found[name, "total"]["value"]
            )
    called = {model: counted.filter(frame[model] >= 0.4).sum() for model in "ab"}
    inside = frame["region"] == "n"
    share, value = {}, {}
    for model in "ab":
        mass = counted.filter(inside & (frame[model] >= 0.4)).sum()
        hits = counted.filter(inside & (frame[model] >= 0.4) & (frame["label"] == 1)).sum()
        share[model], value[model] = mass / called[model], hits / mass
    within = (share["a"] + share["b"]) / 2 * (value["b"] - value["a"])
    assert found["region=n", "within"]["value"] == pytest.approx(within)
    assert any("roc_auc" in warning for warning in result.record["warnings"])
    if intervals is None:
        assert result.decomposition["interval_status"].unique().to_list() == ["not_requested"]
    else:
        assert result.decomposition["interval_status"].unique().to_list() == ["ok"]
        total = result.comparisons.filter(slice_set="overall", metric="log_loss").row(0, named=True)
        made = parts(result, metric="log_loss")["all", "total"]
        assert (made["lower"], made["upper"]) == pytest.approx((total["lower"], total["upper"]))
        mix = parts(result, metric="log_loss")["region=n", "mix"]
        assert (mix["value"], mix["lower"], mix["upper"]) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("intervals", [None, {"replicates": 40}])
def test_of_two_runs(intervals: Any) -> None:
    before = evaluated(table(1, [0.5, 0.3, 0.2]), uncertainty=intervals, metrics=["log_loss", "precision"])
    after = evaluated(
        table(2, [0.2, 0.8, 0.0]),
        uncertainty=intervals,
        metrics=["log_loss", "precision"],
        compare={"run": before, "decompose": {"region": ["log_loss", "precision"]}},
    )
    found = parts(after, metric="log_loss", model="a", contrast="run")
    old, new = (
        {row["slice"]: row for row in run.metrics.filter(metric="log_loss", model="a").iter_rows(named=True)}
        for run in (before, after)
    )
    assert found["all", "total"]["value"] == pytest.approx(new["all"]["value"] - old["all"]["value"])
    w0, w1 = old["region=s"]["weight"] / 400, new["region=s"]["weight"] / 400
    m0, m1 = old["region=s"]["value"], new["region=s"]["value"]
    assert found["region=s", "within"]["value"] == pytest.approx((w0 + w1) / 2 * (m1 - m0))
    assert found["region=s", "mix"]["value"] == pytest.approx((w1 - w0) * (m0 + m1) / 2)
    gone = old["region=w"]["weight"] / 400 * old["region=w"]["value"]
    assert found["region=w", "within"]["value"] == 0
    assert found["region=w", "mix"]["value"] == pytest.approx(-gone)
    for part in ("within", "mix", "total"):
        slices = [row["value"] for (name, own), row in found.items() if own == part and name != "all"]
        assert sum(slices) == pytest.approx(found["all", part]["value"])
    refused = parts(after, metric="precision", model="a", contrast="run")
    assert [(row["status"], row["value"]) for row in refused.values()] == [("unknown_shares", None)]
    if intervals is not None:
        sides = [run["region=s"] for run in (old, new)]
        grown = [run["std_error"] * np.sqrt(run["blocks"] / (run["blocks"] - 1)) for run in sides]
        of_values = [(w0 + w1) / 2 * error for error in grown]
        of_shares = [(m1 - m0) / 2 * np.sqrt(w * (1 - w) / 400) for w in (w0, w1)]
        error = np.linalg.norm([*of_values, *of_shares])
        assert found["region=s", "within"]["std_error"] == pytest.approx(error)
        total, contrast = found["all", "total"], after.comparisons.filter(
            contrast="run", model="a", metric="log_loss", slice_set="overall"
        ).row(0, named=True)  # fmt: skip
        assert (total["lower"], total["upper"]) == pytest.approx((contrast["lower"], contrast["upper"]))


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "rows_of_a_unit"), [(None, 1), ("unit", 4)])
def test_two_runs_of_one_population_differ_by_chance(unit: str | None, rows_of_a_unit: int) -> None:
    """Shares of slices differ by chance, too: what they are said to make of it must know that."""
    draw = np.random.default_rng(3)

    def drawn() -> pl.DataFrame:
        region = draw.choice(["n", "s"], 200)
        label = (draw.uniform(size=200) < np.where(region == "n", 0.1, 0.6)).astype(int)
        one = pl.DataFrame({"label": label, "a": 0.0, "region": region, "unit": np.arange(200)})
        return pl.concat([one] * rows_of_a_unit)

    facts: dict[str, Any] = {"models": "a", "metrics": ["accuracy"], "unit": unit}
    facts["uncertainty"] = {"method": "auto"}
    made = []
    for _ in range(25):
        before = evaluated(drawn(), **facts)
        after = evaluated(drawn(), compare={"run": before, "decompose": "region"}, **facts)
        made.append(parts(after, contrast="run"))
    for place in (("all", "within"), ("all", "mix"), ("all", "total"), ("region=s", "mix")):
        found = [one[place] for one in made]
        spread = np.std([row["value"] for row in found], ddof=1)
        assert np.mean([row["std_error"] for row in found]) == pytest.approx(spread, rel=0.35)
        assert sum(row["lower"] > 0 or row["upper"] < 0 for row in found) <= 4
        assert {row["note"] for row in found} == {f"{'taken as ' if unit else ''}independent samples"}


@pytest.mark.parametrize(
    ("units", "groups", "blocks", "alike", "expected"),
    [
        (0, 0, 500, False, np.inf),
        (900, 900, 700, False, 700),
        (900, 900, 900, True, 900),
        (10**6, 1000, 998, True, 10**6),
        (10**6, 1000, 1000, False, 10**6),
        (5000, 1000, 900, False, 5000),
    ],
)
def test_units_behind_shares(units: int, groups: int, blocks: int, alike: bool, expected: float) -> None:
    side = Side("", pl.DataFrame(), None, units=units, groups=groups)
    assert independent_units(side, blocks, unit_weight=alike) == expected


def test_units_behind_shares_of_weighted_rows() -> None:
    """What blocks say of 50,000 weighted units is what the weights say."""
    draw = np.random.default_rng(4)
    weight, block = draw.exponential(size=50_000), draw.integers(0, 1000, 50_000)
    sums = np.bincount(block, weights=weight)
    blocks = int(sums.sum() ** 2 / (sums**2).sum())
    found = independent_units(
        Side("", pl.DataFrame(), None, units=50_000, groups=1000), blocks, unit_weight=False
    )
    assert found == pytest.approx(weight.sum() ** 2 / (weight**2).sum(), rel=0.15)


def test_shares_that_move_nothing_add_up_to_nothing() -> None:
    """Whatever rounding says of weights whose sums differ: every row has a label, and so has every slice."""
    frame = table(3, [0.5, 0.3, 0.2])
    held = frame.with_columns(b=pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise("b"))
    asked = {
        "label": "label",
        "weight": "weight",
        "metrics": ["labelled"],
        "labels": True,
        "slices": ["region"],
        "missing": "drop_per_model",
        "uncertainty": {"replicates": 50},
    }
    first = plm.evaluate(held, models=["a", "b"], compare={"baseline": "a", "decompose": "region"}, **asked)
    run = {"run": first, "decompose": "region"}
    second = plm.evaluate(held.head(150), models=["a", "b"], compare=run, **asked)
    for result, contrast in ((first, "model"), (second, "run")):
        rows = result.decomposition.filter(slice="all", contrast=contrast)
        assert rows["value"].to_list() == [0.0] * rows.height
        assert rows.height >= 3
    (mix,) = first.decomposition.filter(slice="all", part="mix").select("lower", "upper").rows()
    assert mix == (0.0, 0.0)


def test_slices_of_few_rows_are_part_of_the_rest_between_models() -> None:
    """As if they had one value: the six rows of x and y are the rest."""
    frame = table(3, [0.5, 0.3, 0.2], rows=200).with_row_index("row")
    names = pl.when(pl.col("row") < 4).then(pl.lit("x")).when(pl.col("row") < 6).then(pl.lit("y"))
    frame = frame.with_columns(region=names.otherwise("region"))
    asked: dict[str, Any] = {
        "uncertainty": {"replicates": 20},
        "compare": {"baseline": "a", "decompose": ["region"]},
    }
    merged = evaluated(frame, min_rows=5, **asked)
    named = evaluated(frame.with_columns(pl.col("region").replace({"x": "few", "y": "few"})), **asked)
    for metric in ("log_loss", "precision(threshold=0.4)"):
        found, expected = (parts(result, metric=metric) for result in (merged, named))
        assert {name for name, _ in found} == {"rest", "region=n", "region=s", "region=w", "all"}
        for (name, part), row in found.items():
            other = expected["region=few" if name == "rest" else name, part]
            numbers = ("value", "lower", "upper", "std_error")
            assert [row[key] for key in numbers] == pytest.approx([other[key] for key in numbers], abs=1e-12)
