"""Thresholds that are chosen anew in each replicate, against loops over replicates and rows."""

import warnings

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.core.hashing import mix
from plmetrics.inference.weights import draw_weights

REPLICATES = 40
REST = {"interval": "percentile", "replicates": REPLICATES, "seed": 3}


def table(rows: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    label = (rng.random(rows) < 0.4).astype(int)
    score = np.round(1 / (1 + np.exp(-rng.normal(1.2 * label - 0.8))), 2)
    return pl.DataFrame(
        {"y": label, "p": score, "w": rng.integers(1, 4, rows) / 2, "g": rng.choice(["a", "b"], rows)}
    )


def evaluated(rows: pl.DataFrame, metrics: list, **further) -> plm.Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return plm.evaluate(rows, label="y", models="p", metrics=metrics, **{"uncertainty": REST, **further})


def draws_of_rows(number: int) -> np.ndarray:
    """How often each row is drawn in each replicate: rows are units, and the keys of their blocks ascend."""
    counts = draw_weights(np.ones(number, dtype=np.int64), REPLICATES, REST["seed"]).counts
    place = np.argsort(np.argsort(mix(np.arange(number, dtype=np.uint64))))
    return counts[:, place]


def cells(rows: list[tuple[int, float, float]], cut: float) -> tuple[float, float, float, float]:
    tp = sum(w for y, p, w in rows if y and p >= cut)
    fp = sum(w for y, p, w in rows if not y and p >= cut)
    fn = sum(w for y, p, w in rows if y and p < cut)
    return tp, fp, fn, sum(w for y, p, w in rows if not y and p < cut)


def f1(tp: float, fp: float, fn: float, _: float) -> float:
    return 2 * tp / (2 * tp + fp + fn)


def recall(tp: float, _: float, fn: float, __: float) -> float:
    return tp / (tp + fn)


def precision(tp: float, fp: float, _: float, __: float) -> float:
    return tp / (tp + fp)


def best_f1(rows: list[tuple[int, float, float]]) -> float:
    return max({p for _, p, w in rows if w}, key=lambda cut: (round(f1(*cells(rows, cut)), 12), cut))


def recall_of_80(rows: list[tuple[int, float, float]]) -> float:
    return max(p for _, p, w in rows if w and recall(*cells(rows, p)) >= 0.8 - 1e-12)


def loops(
    rows: pl.DataFrame, drawn: np.ndarray, choose, value, weight: str | None, chosen_on=None, part=None
) -> list[float]:
    """The metric in each replicate, row by row."""
    weights = rows[weight].to_list() if weight else [1.0] * rows.height
    out = []
    for counts in drawn:
        every = [(y, p, w * int(c)) for y, p, w, c in zip(rows["y"], rows["p"], weights, counts, strict=True)]
        on = every if chosen_on is None else [r for r, there in zip(every, chosen_on, strict=True) if there]
        of = every if part is None else [r for r, there in zip(every, part, strict=True) if there]
        out.append(value(*cells(of, choose(on))))
    return out


def ends(values: list[float]) -> tuple[float, float]:
    """Quantiles at ranks p (R + 1), between neighbours."""
    ordered = sorted(values)

    def at(share: float) -> float:
        rank = min(max(share * (len(ordered) + 1), 1), len(ordered))
        low = int(rank)
        high = min(low + 1, len(ordered))
        return ordered[low - 1] + (rank - low) * (ordered[high - 1] - ordered[low - 1])

    return at(0.025), at(0.975)


RULES = {
    "f1(threshold=max(f1))": (best_f1, f1),
    "precision(threshold=at(recall=0.8))": (recall_of_80, precision),
}
ANEW = {**REST, "thresholds": "resampled"}


@pytest.mark.exhaustive
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("text", RULES)
def test_replicates_choose_a_threshold_of_their_own(text: str, weight: str | None) -> None:
    rows = table(120)
    found = evaluated(rows, [text], weight=weight, slices={"g": "g"}, uncertainty=ANEW).metrics
    drawn = draws_of_rows(rows.height)
    for name, part in {"all": None, "g=a": rows["g"] == "a", "g=b": rows["g"] == "b"}.items():
        wanted = loops(rows, drawn, *RULES[text], weight, part=part)
        row = found.filter(slice=name).row(0, named=True)
        assert row["std_error"] == pytest.approx(np.std(wanted, ddof=1), rel=1e-9)
        assert (row["lower"], row["upper"]) == pytest.approx(ends(wanted), rel=1e-9)


def test_values_and_thresholds_stay_those_of_all_rows() -> None:
    rows, columns = table(150, 1), ["metric", "value", "threshold"]
    fixed, anew = (evaluated(rows, list(RULES), uncertainty=how).metrics for how in (REST, ANEW))
    assert fixed.select(columns).equals(anew.select(columns))
    assert not fixed["std_error"].equals(anew["std_error"])


def test_units_that_are_chosen_on_and_evaluated_are_drawn_once() -> None:
    rows = table(160, 2).with_columns(unit=pl.int_range(160) % 80, part=pl.int_range(160) // 80)
    text = "precision(threshold=at(recall=0.8))"
    found = evaluated(
        rows, [{"metric": text, "select_on": "part = 0"}], where="part = 1", unit="unit", uncertainty=ANEW
    ).metrics.row(0, named=True)
    hashes = rows.select(key=pl.col("unit")).unique().sort("key")
    from plmetrics.core.hashing import unit_hash

    keys = hashes.select(unit_hash(pl.col("key"), pl.Int64()))["key"].to_numpy()
    counts = draw_weights(np.ones(80, dtype=np.int64), REPLICATES, REST["seed"]).counts
    drawn = counts[:, np.argsort(np.argsort(keys))][:, rows["unit"].to_numpy()]
    wanted = loops(rows, drawn, *RULES[text], None, chosen_on=rows["part"] == 0, part=rows["part"] == 1)
    assert (found["lower"], found["upper"]) == pytest.approx(ends(wanted), rel=1e-9)


def test_rests_and_slices_make_up_the_whole() -> None:
    rows = table(200, 4)
    found = evaluated(
        rows,
        ["precision(threshold=max(f1))"],
        slices={"g": "g"},
        uncertainty=ANEW,
        compare={"slices": {"g": "rest"}},
    )
    # Of two slices each is the rest of the other.
    first, second = found.comparisons.sort("slice").iter_rows(named=True)
    assert first["std_error"] == pytest.approx(second["std_error"], rel=1e-12)
    assert first["difference"] == -second["difference"]


@pytest.mark.slow
def test_a_choice_on_few_rows_is_covered() -> None:
    """Precision where 80 % of the positives are caught, chosen on 300 rows: of 100 models of one truth."""
    rng, models = np.random.default_rng(8), 100
    label = np.r_[np.arange(300) % 10 < 3, np.arange(2000) % 10 < 3].astype(int)
    scores = rng.normal(1.5 * label, size=(models, len(label)))
    rows = pl.DataFrame(
        {"y": label, "part": np.r_[np.zeros(300, int), np.ones(2000, int)]}
        | {f"m{number}": score for number, score in enumerate(scores)}
    )
    from scipy.stats import norm

    cut = 1.5 + norm.ppf(0.2)
    truth = float(0.3 * 0.8 / (0.3 * 0.8 + 0.7 * norm.sf(cut)))
    coverage = {}
    for how in ("fixed", "resampled"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = plm.evaluate(
                rows,
                label="y",
                where="part = 1",
                models={f"m{number}": f"m{number}" for number in range(models)},
                metrics=[{"metric": "precision(threshold=at(recall=0.8))", "select_on": "part = 0"}],
                uncertainty={"replicates": 200, "thresholds": how},
            ).metrics
        coverage[how] = ((found["lower"] <= truth) & (truth <= found["upper"])).mean()
    assert coverage["fixed"] < 0.85
    assert coverage["resampled"] >= 0.92


def test_only_the_bootstrap_knows_of_the_choice() -> None:
    rows = table(100)
    asked = {"replicates": 40, "thresholds": "resampled", "methods": ["auto", "wilson", "jackknife"]}
    found = evaluated(rows, ["recall(threshold=max(f1))", "recall"], uncertainty=asked).metrics
    of_rule = found.filter(pl.col("metric") != "recall")
    assert of_rule["method"].to_list() == ["t"]
    assert found.filter(metric="recall")["method"].to_list() == ["wilson", "jackknife"]
    alone = evaluated(rows, ["recall(threshold=max(f1))"], uncertainty={**asked, "methods": ["wilson"]})
    assert alone.metrics["interval_status"].to_list() == ["not_applicable"]


def test_what_has_no_rows_refuses() -> None:
    with pytest.raises(plm.ConfigError, match="weighs rows that have a label"):
        evaluated(table(50), ["recall(threshold=max(f1))"], uncertainty=ANEW, labels=True)
    with pytest.raises(plm.ConfigError, match="chooses on rows"):
        plm.state(table(50), label="y", models="p", metrics=["recall(threshold=max(f1))"], uncertainty=ANEW)


def test_the_order_of_rows_does_not_show() -> None:
    rows, text = table(300, 5).with_columns(unit=pl.int_range(300) % 100), "f1(threshold=max(f1))"
    asked = {"unit": "unit", "weight": "w", "slices": {"g": "g"}, "uncertainty": ANEW, "reproducible": True}
    found = evaluated(rows, [text], **asked)
    again = evaluated(rows.sample(fraction=1, shuffle=True, seed=1), [text], **asked)
    assert found.metrics.equals(again.metrics)
