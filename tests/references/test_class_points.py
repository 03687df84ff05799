"""Points and areas of one class against the rest, held against scikit-learn and the definitions by hand."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import ks_2samp
from sklearn import metrics as sk

import plmetrics as plm

CLASSES = ["a", "b", "c", "d"]
PROBA: dict[str, Any] = {"m": {"proba": {name: f"p_{name}" for name in CLASSES}}}
POINTS: dict[str, Any] = {
    "precision_at_recall(recall=0.8)": lambda t: max(t, key=lambda r: (r["recall"] >= 0.8, r["s"]))[
        "precision"
    ],
    "precision_at_volume(volume=0.3)": lambda t: max(t, key=lambda r: (r["volume"] >= 0.3, r["s"]))[
        "precision"
    ],
    "recall_at_precision(precision=0.6)": lambda t: max(
        (r["recall"] for r in t if r["precision"] >= 0.6), default=np.nan
    ),
    "recall_at_fpr(fpr=0.2)": lambda t: max((r["recall"] for r in t if r["fpr"] <= 0.2), default=0.0),
    "fpr_at_recall(recall=0.8)": lambda t: min(r["fpr"] for r in t if r["recall"] >= 0.8),
}


def table(rows: int = 300, seed: int = 1) -> pl.DataFrame:
    """Probabilities with ties, weights of which some are 0, and a slice without rows of class d."""
    rng = np.random.default_rng(seed)
    label = rng.choice(4, rows, p=[0.5, 0.3, 0.15, 0.05])
    raw = np.round(rng.gamma(1.0, size=(rows, 4)) + 1.5 * np.eye(4)[label] * rng.random((rows, 1)), 1) + 0.05
    proba = raw / raw.sum(axis=1, keepdims=True)
    group = np.where(label == 3, "x", rng.choice(["x", "y"], rows))
    frame = {"y": np.array(CLASSES)[label], "w": rng.choice([0.0, 0.5, 1.0, 2.0], rows), "g": group}
    return pl.DataFrame(frame).with_columns(
        pl.Series(f"p_{name}", proba[:, number]) for number, name in enumerate(CLASSES)
    )


def points(hit: Any, score: Any, weight: Any) -> list[dict[str, float]]:
    """The rates at each distinct score of the rows that weigh something."""
    hit, score, weight = (part[weight > 0] for part in (hit, score, weight))
    out = []
    for s in np.unique(score):
        called = score >= s
        tp, fp = weight[called & hit].sum(), weight[called & ~hit].sum()
        rates = {"recall": tp / weight[hit].sum(), "fpr": fp / weight[~hit].sum()}
        out.append({"s": s, "precision": tp / (tp + fp), "volume": (tp + fp) / weight.sum(), **rates})
    return out


def evaluated(rows: pl.DataFrame, metrics: Any, **more: Any) -> pl.DataFrame:
    return plm.evaluate(rows, task="multiclass", label="y", models=PROBA, metrics=metrics, **more).metrics


def by_class(rows: pl.DataFrame, text: str, **more: Any) -> Any:
    opened = text[:-1] + ", " if "(" in text else f"{text}("
    return evaluated(rows, [f"{opened}average=none)"], **more)["value"].to_numpy()


@pytest.mark.exhaustive
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("text", POINTS)
def test_points_of_each_class_are_those_of_its_rates(text: str, weighted: bool) -> None:
    rows = table()
    weight = rows["w"].to_numpy() if weighted else np.ones(rows.height)
    hits = rows["y"].to_numpy()[:, None] == np.array(CLASSES)
    scores = rows.select(f"p_{name}" for name in CLASSES).to_numpy()
    expected = np.array([POINTS[text](points(hits[:, c], scores[:, c], weight)) for c in range(4)])
    more = {"weight": "w"} if weighted else {}
    np.testing.assert_allclose(by_class(rows, text, **more), expected, rtol=1e-12)
    share = (hits * weight[:, None]).sum(axis=0)
    defined = np.isfinite(expected)
    weighted_text = f"{text[:-1]}, average=weighted)"
    found = evaluated(rows, [text, weighted_text], **more)["value"].to_numpy()
    means = [np.nanmean(expected), np.average(expected[defined], weights=share[defined])]
    np.testing.assert_allclose(found, means, rtol=1e-12)


def test_points_have_the_threshold_of_their_class() -> None:
    found = evaluated(table(), ["recall_at_fpr(fpr=0.2, average=none)"])
    assert found["class"].to_list() == CLASSES
    assert found["threshold"].null_count() == 0
    assert found["threshold"].n_unique() > 1


def test_areas_and_distances_are_those_of_scikit_learn_and_scipy() -> None:
    rows = table()
    hits = rows["y"].to_numpy()[:, None] == np.array(CLASSES)
    scores = rows.select(f"p_{name}" for name in CLASSES).to_numpy()
    areas, distances = [], []
    for c in range(4):
        precision, recall, _ = sk.precision_recall_curve(hits[:, c], scores[:, c])
        areas.append(sk.auc(recall, precision))
        distances.append(ks_2samp(scores[hits[:, c], c], scores[~hits[:, c], c]).statistic)
    np.testing.assert_allclose(by_class(rows, "pr_auc"), areas, rtol=1e-12)
    np.testing.assert_allclose(by_class(rows, "ks"), distances, rtol=1e-12)
    found = evaluated(rows, ["pr_auc", "ks"])["value"].to_numpy()
    np.testing.assert_allclose(found, [np.mean(areas), np.mean(distances)], rtol=1e-12)


@pytest.mark.parametrize(("text", "k"), [("precision_at_k", 40), ("recall_at_k", 0.2), ("lift_at_k", 40)])
def test_the_top_of_each_class_shares_ties(text: str, k: float) -> None:
    rows = table()
    size = k if k >= 1 else k * rows.height
    expected = []
    for c, name in enumerate(CLASSES):
        score, hit = rows[f"p_{name}"].to_numpy(), rows["y"].to_numpy() == CLASSES[c]
        last = np.sort(score)[::-1][int(np.ceil(size)) - 1]
        above, tied = score > last, score == last
        top = hit[above].sum() + (size - above.sum()) * hit[tied].mean()
        of = {"precision_at_k": size, "recall_at_k": hit.sum(), "lift_at_k": size * hit.mean()}
        expected.append(top / of[text])
    np.testing.assert_allclose(by_class(rows, f"{text}(k={k})"), expected, rtol=1e-12)


def test_points_have_intervals_and_slices_name_classes_that_are_left_out() -> None:
    metrics = [
        "pr_auc",
        "ks",
        "recall_at_fpr(fpr=0.2)",
        "average_precision(undefined=zero)",
        "average_precision",
    ]
    found = evaluated(table(1500), metrics, slices=["g"], uncertainty={"replicates": 200}, weight="w")
    overall = found.filter(slice_set="overall")
    assert overall["interval_status"].to_list() == ["ok"] * 5
    assert (overall["lower"] < overall["value"]).all()
    assert (overall["value"] < overall["upper"]).all()
    part = found.filter(slice="g=y")
    notes = dict(part.select("metric", "note").rows())
    assert notes.pop("average_precision(undefined=zero)") is None
    assert set(notes.values()) == {"classes left out: d"}
    zero, left_out = part["value"].to_list()[3:]
    assert zero == pytest.approx(left_out * 3 / 4, rel=1e-12)


def test_a_suite_may_count_undefined_classes_as_scikit_learn_does() -> None:
    rows = table().filter(pl.col("g") == "y")
    hits = rows["y"].to_numpy()[:, None] == np.array(CLASSES)
    scores = rows.select(f"p_{name}" for name in CLASSES).to_numpy()
    called = np.array(CLASSES)[scores.argmax(axis=1)]
    asked = ["precision", "recall", "f1", "average_precision", "recall(undefined=exclude)"]
    gates = [{"metric": "recall", "at_least": 0.0}]
    found = evaluated(rows, asked, undefined="zero", gates=gates)
    expected = [
        score(rows["y"].to_numpy(), called, labels=CLASSES, average="macro", zero_division=0)
        for score in (sk.precision_score, sk.recall_score, sk.f1_score)
    ]
    precisions = [sk.average_precision_score(hits[:, c], scores[:, c]) for c in range(3)]
    values = [*expected, sum(precisions) / 4, expected[1] * 4 / 3]
    np.testing.assert_allclose(found["value"].to_numpy(), values, rtol=1e-12)
    assert found["metric"][0] == "precision(undefined=zero)"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"task": "binary", "undefined": "zero"}, "belongs to task 'multiclass'"),
        ({"task": "multiclass", "ties": "worst"}, "ties belongs to task 'ranking'"),
        ({"task": "multiclass", "undefined": "nil"}, "must be"),
    ],
)
def test_what_all_metrics_share_must_fit_the_task(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(plm.ConfigError, match=words):
        plm.evaluate({"y": [0, 1], "p": [0, 1]}, label="y", models={"m": {"prediction": "p"}}, **arguments)


@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_a_slice_with_fewer_than_k_rows_says_so(average: str) -> None:
    metrics = [f"{name}(k=400, average={average})" for name in ("precision_at_k", "recall_at_k", "lift_at_k")]
    assert evaluated(table(), metrics)["status"].to_list() == ["too_few_rows"] * 3
