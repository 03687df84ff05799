"""Metrics of several classes against scikit-learn and against numbers that others published."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn import metrics as sk

import plmetrics as plm

CLASSES = ["a", "b", "c", "d"]
PROBA = {"m": {"proba": {name: f"p_{name}" for name in CLASSES}}}
HPC = Path(__file__).parents[2] / "configs" / "data" / "hpc_cv.parquet"
ORDER = ["VF", "F", "M", "L"]


def table(rows: int = 400, seed: int = 1, *, ties: bool = True) -> pl.DataFrame:
    """Probabilities with ties, weights of which some are 0, and a slice that lacks two classes."""
    rng = np.random.default_rng(seed)
    label = rng.choice(4, rows, p=[0.5, 0.3, 0.15, 0.05])
    raw = rng.gamma(1.0, size=(rows, 4)) + 1.5 * np.eye(4)[label] * rng.random((rows, 1))
    proba = raw / raw.sum(axis=1, keepdims=True)
    if ties:
        proba = np.round(proba * 16) / 16
        proba[:, 0] += 1 - proba.sum(axis=1)
        bad = (proba < 0).any(axis=1)
        proba[bad] = 0.25
    group = np.where(np.isin(label, [2, 3]), "whole", rng.choice(["whole", "part"], rows))
    weight = rng.choice([0.0, 0.5, 1.0, 2.0], rows)
    return pl.DataFrame({"y": np.array(CLASSES)[label], "w": weight, "g": group}).with_columns(
        pl.Series(f"p_{name}", proba[:, number]) for number, name in enumerate(CLASSES)
    )


def proba(rows: pl.DataFrame) -> Any:
    return rows.select(f"p_{name}" for name in CLASSES).to_numpy()


def called(rows: pl.DataFrame) -> Any:
    return np.array(CLASSES)[proba(rows).argmax(axis=1)]


def of_counts(rows: pl.DataFrame, weight: Any) -> dict[str, float]:
    """scikit-learn's values of what follows from called classes, of all four whether they occur or not."""
    y, p = rows["y"].to_numpy(), called(rows)
    out: dict[str, float] = {
        "accuracy": sk.accuracy_score(y, p, sample_weight=weight),
        "mcc": sk.matthews_corrcoef(y, p, sample_weight=weight),
    }
    for weighting in ("none", "linear", "quadratic"):
        text = "cohen_kappa" if weighting == "none" else f"cohen_kappa(weighting={weighting})"
        used = None if weighting == "none" else weighting
        out[text] = sk.cohen_kappa_score(y, p, weights=used, sample_weight=weight, labels=CLASSES)
    scores = {"precision": sk.precision_score, "recall": sk.recall_score, "f1": sk.f1_score}
    for name, score in {**scores, "jaccard": sk.jaccard_score}.items():
        for average in ("macro", "micro", "weighted"):
            given = "" if average == "macro" else f"average={average}, "
            out[f"{name}({given}undefined=zero)"] = score(
                y, p, average=average, sample_weight=weight, labels=CLASSES, zero_division=0
            )
    out["fbeta(beta=2, undefined=zero)"] = sk.fbeta_score(
        y, p, beta=2, average="macro", sample_weight=weight, labels=CLASSES, zero_division=0
    )
    return out


def of_probabilities(rows: pl.DataFrame, weight: Any) -> dict[str, float]:
    y, p = rows["y"].to_numpy(), proba(rows)
    hits = y[:, None] == np.array(CLASSES)
    each = {
        "roc_auc": [sk.roc_auc_score(hits[:, c], p[:, c], sample_weight=weight) for c in range(4)],
        "average_precision": [
            sk.average_precision_score(hits[:, c], p[:, c], sample_weight=weight) for c in range(4)
        ],
    }
    w = np.ones(len(y)) if weight is None else weight
    share = (hits * w[:, None]).sum(axis=0)
    squares = ((p - hits) ** 2).sum(axis=1)
    out = {
        "brier": float(np.average(squares, weights=w)),
        "log_loss": sk.log_loss(y, p, sample_weight=weight),
    }
    out["brier(scale_by_half=true)"] = out["brier"] / 2
    for name, values in each.items():
        out[name] = float(np.mean(values))
        out[f"{name}(average=weighted)"] = float(np.average(values, weights=share))
    return out


def values(rows: pl.DataFrame, metrics: Any, **more: Any) -> dict[str, float]:
    found = plm.evaluate(rows, task="multiclass", label="y", models=PROBA, metrics=list(metrics), **more)
    overall = found.metrics.filter(slice_set="overall")
    return dict(zip(overall["metric"], overall["value"], strict=True))


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_values_are_those_of_scikit_learn(seed: int, weight: str | None) -> None:
    rows = table(seed=seed)
    w = None if weight is None else rows["w"].to_numpy()
    expected = of_counts(rows, w) | of_probabilities(rows, w)
    assert values(rows, expected, weight=weight) == pytest.approx(expected, rel=1e-9)


@pytest.mark.slow
def test_every_slice_is_the_table_of_its_rows() -> None:
    rows = table()
    names = [
        *of_counts(rows, None),
        *of_probabilities(rows, None),
        "roc_auc(scheme=ovo)",
        "specificity",
        "npv",
    ]
    names += [
        "classwise_ece",
        "top_label_ece(bins=10, norm=l2)",
        "top_k_accuracy(k=2)",
        "recall(average=none)",
    ]
    found = plm.evaluate(
        rows, task="multiclass", label="y", models=PROBA, metrics=names, slices=["g"], weight="w"
    ).metrics
    for group in ("whole", "part"):
        alone = plm.evaluate(
            rows.filter(g=group), task="multiclass", label="y", models=PROBA, metrics=names, weight="w"
        ).metrics
        own = found.filter(slice=f"g={group}")
        for column in ("metric", "class", "status", "note"):
            assert own[column].to_list() == alone[column].to_list()
        a, b = (part["value"].to_numpy() for part in (own, alone))
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_classes_that_a_slice_lacks_are_left_out_and_named() -> None:
    rows = table(ties=False)
    metrics = ["recall", "recall(undefined=zero)", "balanced_accuracy", "roc_auc", "recall(average=none)"]
    found = plm.evaluate(
        rows, task="multiclass", label="y", models=PROBA, metrics=metrics, slices=["g"]
    ).metrics
    part = found.filter(slice="g=part")
    by_class = part.filter(metric="recall(average=none)")
    assert by_class["status"].to_list() == ["ok", "ok", "no_positives", "no_positives"]
    assert by_class["value"].null_count() == 2
    mean = part.filter(metric="recall")["value"].item()
    assert mean == pytest.approx(by_class["value"].mean())
    assert part.filter(metric="recall(undefined=zero)")["value"].item() == pytest.approx(mean / 2)
    assert part.filter(metric="balanced_accuracy")["value"].item() == pytest.approx(mean)
    for metric in ("recall", "balanced_accuracy", "roc_auc"):
        assert part.filter(metric=metric)["note"].item() == "classes left out: c, d"
    assert found.filter(slice="g=whole", metric="recall")["note"].item() is None


def naive_hand_till(y: Any, p: Any) -> float:
    """The mean over pairs of classes of the chance that a row of the one has the higher probability of it."""
    found = []
    for i in range(4):
        for j in range(4):
            mine, other = p[y == CLASSES[i], i], p[y == CLASSES[j], i]
            if i != j and len(mine) and len(other):
                wins = (mine[:, None] > other).mean() + (mine[:, None] == other).mean() / 2
                found.append(wins)
    return float(np.mean(found))


AREAS = ["roc_auc", "roc_auc(scheme=ovo)", "roc_auc(average=weighted)", "average_precision"]


@pytest.mark.slow
def test_areas_of_a_slice_that_lacks_the_first_classes_rest_on_the_others() -> None:
    """Values of the pairs that are there, and blocks and standard errors of the classes that are averaged alone."""
    rows = table(3500, ties=False).with_columns(
        pl.when(pl.col("y") < "c").then(pl.lit("ab")).otherwise(pl.lit("cd")).alias("g")
    )
    alone = table(200, seed=3, ties=False).filter(y="d").with_columns(g=pl.lit("d"))
    asked = {"slices": ["g"], "uncertainty": {"replicates": 300}, "compare": "m"}
    models = {
        **PROBA,
        "n": {"proba": {name: f"p_{other}" for name, other in zip(CLASSES, "abdc", strict=True)}},
    }
    found = plm.evaluate(
        pl.concat([rows, alone]), task="multiclass", label="y", models=models, metrics=AREAS, **asked
    )
    part = rows.filter(g="cd")
    y, p = part["y"].to_numpy(), proba(part)
    here = found.metrics.filter(slice="g=cd", model="m")
    assert here["status"].to_list() == here["interval_status"].to_list() == ["ok"] * 4
    assert here["note"].to_list() == ["classes left out: a, b"] * 4
    assert here["blocks"].to_list() == [min(np.sum(y == "c"), np.sum(y == "d"))] * 4
    pairs = here.row(1, named=True)
    assert pairs["value"] == pytest.approx(naive_hand_till(y, p), rel=1e-12)
    draws = np.random.default_rng(4).integers(0, len(y), (150, len(y)))
    spread = np.std([naive_hand_till(y[draw], p[draw]) for draw in draws], ddof=1)
    assert pairs["std_error"] == pytest.approx(spread, rel=0.25)
    compared = found.comparisons.filter(slice="g=cd")
    assert compared["interval_status"].to_list() == ["ok"] * 4
    single = found.metrics.filter(slice="g=d", model="m")
    assert set(single["status"].to_list()) <= {"no_positives", "no_negatives", "ok"}
    assert single["status"][1] in {"no_positives", "no_negatives"}


@pytest.mark.parametrize("weight", [None, "w"])
def test_areas_on_a_grid_are_as_near_as_their_bound_says(weight: str | None) -> None:
    """Scores that lie close together share bins: a few of them are all that a sample of a few rows would tell."""
    rows = table(1500, seed=3, ties=False)
    metrics = ["roc_auc", "roc_auc(average=weighted)", "average_precision"]
    roles: dict[str, Any] = {"task": "multiclass", "label": "y", "models": PROBA, "weight": weight}
    few = plm.state(rows[:40], **roles, metrics=metrics)
    found = plm.merge(plm.state(rows, **roles, metrics=metrics, constants=few)).metrics
    member = np.array(CLASSES) == rows["y"].to_numpy()[:, None]
    mass = rows["w"].to_numpy() if weight else np.ones(rows.height)
    share = (member * mass[:, None]).sum(axis=0) / mass.sum()
    areas, precisions = (
        np.array([of(y, p, sample_weight=mass) for y, p in zip(member.T, proba(rows).T, strict=True)])
        for of in (sk.roc_auc_score, sk.average_precision_score)
    )
    true = [areas.mean(), (areas * share).sum(), precisions.mean()]
    off = np.abs(found["value"].to_numpy() - true)
    assert (off <= found["bound"].to_numpy() + 1e-12).all()
    assert off.min() > 1e-6
    assert found["bound"].max() < 0.15


def test_pairs_of_classes() -> None:
    rows = table()
    expected = naive_hand_till(rows["y"].to_numpy(), proba(rows))
    assert values(rows, ["roc_auc(scheme=ovo)"]) == pytest.approx(
        {"roc_auc(scheme=ovo)": expected}, rel=1e-12
    )


def naive_top(rows: pl.DataFrame, k: int) -> float:
    """The chance that the class is among the first k under every order of tied classes."""
    hits = []
    for label, own in zip(rows["y"], proba(rows), strict=True):
        mine = own[CLASSES.index(label)]
        above, tied = (own > mine).sum(), (own == mine).sum()
        hits.append(min(1.0, max(0.0, (k - above) / tied)))
    return float(np.mean(hits))


@pytest.mark.parametrize("k", [1, 2, 3, 9])
def test_classes_that_tie_at_the_cut_share_the_places(k: int) -> None:
    rows = table()
    text = f"top_k_accuracy(k={k})"
    assert values(rows, [text])[text] == pytest.approx(naive_top(rows, k), rel=1e-12)


def naive_ece(score: Any, hit: Any, bins: int) -> float:
    edges = np.arange(1, bins) / bins
    place = np.searchsorted(edges, score)
    gaps = [
        abs(score[place == b].mean() - hit[place == b].mean()) * (place == b).mean()
        for b in range(bins)
        if (place == b).any()
    ]
    return float(np.sum(gaps))


def test_calibration_of_classes_and_of_the_called_one() -> None:
    rows = table()
    p, y = proba(rows), rows["y"].to_numpy()
    classwise = np.mean([naive_ece(p[:, c], y == CLASSES[c], 10) for c in range(4)])
    top = naive_ece(p.max(axis=1), called(rows) == y, 10)
    expected = {"classwise_ece(bins=10)": float(classwise), "top_label_ece(bins=10)": top}
    assert values(rows, expected) == pytest.approx(expected, rel=1e-12)


def test_probabilities_and_their_called_classes_agree() -> None:
    rows = table()
    rows = rows.with_columns(call=pl.Series(called(rows)))
    metrics = ["accuracy", "error_rate", "default_accuracy", "f1", "mcc", "specificity", "default_log_loss"]
    both = {**PROBA, "hard": {"prediction": "call"}}
    found = plm.evaluate(
        rows,
        task="multiclass",
        label="y",
        models=both,
        metrics=metrics,
        compare={"baseline": "m"},
        uncertainty={"replicates": 50},
    )
    one, other = (found.metrics.filter(model=name)["value"].to_list() for name in ("m", "hard"))
    assert one == other
    assert found.comparisons["difference"].to_list() == [0.0] * len(metrics)


PUBLISHED: Mapping[str, tuple[float, float | None]] = {
    "accuracy": (0.708681857513701, None),
    "average_precision": (0.623566078607431, 0.632604356746228),
    "average_precision(average=weighted)": (0.738895737174229, 0.731523970094538),
    "fbeta(beta=0.5)": (0.594338138794427, 0.593898538184312),
    "fbeta(average=micro, beta=0.5)": (0.708681857513701, 0.700282242294143),
    "fbeta(average=weighted, beta=0.5)": (0.68247554777176, 0.674659880365757),
    "f1": (0.570451209073099, 0.570915587136857),
    "f1(average=micro)": (0.708681857513701, 0.700282242294143),
    "f1(average=weighted)": (0.685798683639677, 0.678064423293246),
    "cohen_kappa": (0.508248428444457, 0.498732562586893),
    "cohen_kappa(weighting=linear)": (0.593302871842796, 0.592668608613015),
    "cohen_kappa(weighting=quadratic)": (0.691892440887323, 0.697700600172075),
    "mcc": (0.51530813507478, 0.50519195166431),
    "log_loss": (0.802136750915538, 0.800277836886356),
    "npv": (float("nan"), 0.89221797403173),
    "precision": (0.631422002463785, 0.628976587130303),
    "precision(average=micro)": (0.708681857513701, 0.700282242294143),
    "precision(average=weighted)": (0.691008407342557, 0.682566629882595),
    "recall": (0.560339642527967, 0.560911408479521),
    "recall(average=micro)": (0.708681857513701, 0.700282242294143),
    "recall(average=weighted)": (0.708681857513701, 0.700282242294143),
    "roc_auc": (0.86926362771227, 0.868137260496126),
    "roc_auc(average=weighted)": (0.868317867352801, 0.864346883039988),
    "roc_auc(scheme=ovo)": (0.828867472403748, None),
    "brier(scale_by_half=true)": (0.21083946, None),
}
"""Of hpc_cv, plain and with case weights: yardstick's py-data (scikit-learn 1.2.0) and its tests."""


@pytest.mark.parametrize("weight", [None, "weight"])
def test_published_values(weight: str | None) -> None:
    rows = pl.read_parquet(HPC)
    models = {"m": {"proba": {name: name for name in ORDER}}}
    found = plm.evaluate(
        rows, task="multiclass", label="obs", models=models, weight=weight, metrics=list(PUBLISHED)
    ).metrics
    for metric, value in zip(found["metric"], found["value"], strict=True):
        expected = PUBLISHED[metric][weight is not None]
        if expected is not None and not np.isnan(expected):
            assert value == pytest.approx(expected, abs=5e-9 if metric.startswith("brier") else 5e-14), metric


def test_published_brier_of_rows_with_missing_probabilities() -> None:
    """yardstick sets the first ten probabilities of VF to NA and drops these rows."""
    rows = pl.read_parquet(HPC).with_row_index("i")
    rows = rows.with_columns(VF=pl.when(pl.col("i") >= 10).then("VF"))
    found = plm.evaluate(
        rows,
        task="multiclass",
        label="obs",
        models={"m": {"proba": {name: name for name in ORDER}}},
        missing="drop",
        metrics=["brier(scale_by_half=true)"],
    )
    assert found.metrics["value"].item() == pytest.approx(0.21143119, abs=5e-9)
    assert found.metrics["n"].item() == len(rows) - 10


HAND_TILL = (0.813, 0.817, 0.869, 0.849, 0.811, 0.836, 0.825, 0.846, 0.829, 0.812)
"""Of each fold of hpc_cv, as yardstick's README prints it; fold 9 there 0.828, rounded down from 0.8285."""


def test_published_areas_by_fold() -> None:
    rows = pl.read_parquet(HPC)
    models = {"m": {"proba": {name: name for name in ORDER}}}
    found = plm.evaluate(
        rows,
        task="multiclass",
        label="obs",
        models=models,
        slices=["Resample"],
        metrics=["roc_auc(scheme=ovo)"],
    ).metrics.filter(slice_set="Resample")
    assert found["value"].to_list() == pytest.approx(HAND_TILL, abs=1.1e-3)


def test_confusion_is_a_curve_of_all_pairs() -> None:
    rows = table()
    found = plm.evaluate(
        rows,
        task="multiclass",
        label="y",
        models=PROBA,
        weight="w",
        slices=["g"],
        curves=[{"curve": "confusion", "slices": ["g"]}],
    ).curves
    for group in (None, "part"):
        own = rows if group is None else rows.filter(g=group)
        points = found.filter(slice="all" if group is None else f"g={group}")
        expected = sk.confusion_matrix(
            own["y"], called(own), labels=CLASSES, sample_weight=own["w"].to_numpy()
        )
        np.testing.assert_allclose(points["threshold"].to_numpy().reshape(4, 4), expected, rtol=1e-12)
        assert points["class"].to_list() == np.repeat(CLASSES, 4).tolist()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shares = expected / expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(
            points["y"].cast(pl.Float64).fill_null(np.nan).to_numpy().reshape(4, 4), shares
        )


@pytest.mark.slow
def test_standard_errors_are_those_of_fresh_samples() -> None:
    metrics = [
        "accuracy",
        "f1",
        "roc_auc",
        "log_loss",
        "cohen_kappa(weighting=quadratic)",
        "average_precision",
    ]
    drawn = []
    for seed in range(60):
        drawn.append(list(values(table(600, seed=100 + seed, ties=False), metrics).values()))
    spread = np.std(np.array(drawn), axis=0, ddof=1)
    errors = []
    for seed in range(4):
        found = plm.evaluate(
            table(600, seed=300 + seed, ties=False),
            task="multiclass",
            label="y",
            models=PROBA,
            metrics=metrics,
            uncertainty={"replicates": 200, "seed": seed},
        ).metrics
        errors.append(found["std_error"].to_numpy())
        assert (found["interval_status"] == "ok").all()
    np.testing.assert_allclose(np.mean(errors, axis=0), spread, rtol=0.3)


@pytest.mark.parametrize("numbers", [[0, 1, 2, 3], [10, 20, 30, 40]])
def test_classes_may_be_numbers(numbers: list[int]) -> None:
    rows = table()
    renamed = rows.with_columns(y=rows["y"].replace_strict(CLASSES, numbers))
    models = {"m": {"proba": {number: f"p_{name}" for number, name in zip(numbers, CLASSES, strict=True)}}}
    metrics = ["accuracy", "log_loss", "f1", "roc_auc"]
    found = plm.evaluate(renamed, task="multiclass", label="y", models=models, metrics=metrics).metrics
    assert found["value"].to_list() == list(values(rows, metrics).values())


def test_classes_of_hard_predictions_are_found_in_the_data() -> None:
    rows = pl.DataFrame({"y": [2, 10, 2, 10], "p": [2, 10, 10, 3]})
    found = plm.evaluate(
        rows, task="multiclass", label="y", models="p", metrics=["precision(average=none)"]
    ).metrics
    assert found["class"].to_list() == ["2", "3", "10"]
    assert found["value"].to_list() == [1.0, 0.0, 0.5]


BAD: list[tuple[dict[str, Any], dict[str, Any], type[Exception], list[str]]] = [
    ({"p_a": 0.9}, {}, plm.DataError, ["do not sum to 1", "first is", '"normalise": True']),
    ({"p_a": -0.5}, {}, plm.DataError, ["p_a", "outside [0, 1]"]),
    ({"p_b": float("nan")}, {}, plm.DataError, ["p_b", "class 'b'", "NaN"]),
    ({"y": "e"}, {}, plm.DataError, ["label", "none of the classes ('a', 'b', 'c', 'd')", "'e'"]),
    ({}, {"classes": ["a", "b", "c"]}, plm.ConfigError, ["'d' is not one of the classes"]),
    ({}, {"classes": ["a", "b", "c", "d", "e"]}, plm.ConfigError, ["no probability of class 'e'"]),
    (
        {},
        {"models": {"m": {"proba": {"a": "p_a", "b": "nope"}}}},
        plm.DataError,
        ["nope", "probability of class 'b'"],
    ),
    ({}, {"models": {"m": {"proba": "q_"}}}, plm.DataError, ["no two columns begin with 'q_'"]),
    ({}, {"models": "y"}, plm.ConfigError, ["log_loss needs a probability for each class"]),
    ({}, {"metrics": [{"formula": "2 * support", "name": "f"}]}, plm.ConfigError, ["a value for each class"]),
    ({}, {"metrics": ["roc_auc(average=weighted, scheme=ovo)"]}, plm.ConfigError, ["scheme=ovo"]),
]


@pytest.mark.parametrize(("bad", "arguments", "kind", "words"), BAD)
def test_bad_input_is_said(bad: Any, arguments: Any, kind: type[Exception], words: list[str]) -> None:
    rows = table(50)
    for name, value in bad.items():
        rows = rows.with_columns(
            pl.when(pl.int_range(pl.len()) == 7).then(pl.lit(value)).otherwise(name).alias(name)
        )
    given = {"models": PROBA, "metrics": ["log_loss"], **arguments}
    with pytest.raises(kind) as error:
        plm.evaluate(rows, task="multiclass", label="y", **given)
    for word in words:
        assert word in str(error.value)


def test_metrics_of_a_suite_are_made_from_those_of_classes() -> None:
    rows = table()
    made: list[Any] = [
        {"name": "right", "mean": "label = prediction"},
        {"name": "both", "formula": "accuracy + recall"},
        {"name": "least", "over": {"slice_set": "g", "metric": "roc_auc", "agg": "min"}},
        "accuracy",
        "recall",
        "roc_auc",
    ]
    found = plm.evaluate(rows, task="multiclass", label="y", models=PROBA, metrics=made, slices=["g"]).metrics
    overall = {row["metric"]: row["value"] for row in found.filter(slice_set="overall").iter_rows(named=True)}
    assert overall["right"] == overall["accuracy"]
    assert overall["both"] == pytest.approx(overall["accuracy"] + overall["recall"])
    by_group = found.filter(pl.col("slice") != "all", slice_set="g", metric="roc_auc")["value"]
    assert found.filter(metric="least")["value"].item() == by_group.min()


def test_probabilities_may_be_normalised() -> None:
    rows = table()
    doubled = rows.with_columns(pl.col(f"p_{name}") * 2 for name in CLASSES)
    models = {"m": {"proba": "p_", "normalise": True}}
    found = plm.evaluate(doubled, task="multiclass", label="y", models=models, metrics=["log_loss"]).metrics
    assert found["value"].item() == pytest.approx(values(rows, ["log_loss"])["log_loss"], rel=1e-12)


def test_a_row_without_any_probability_is_not_normalised() -> None:
    rows = pl.DataFrame({"y": ["a", "b"], "p_a": [0.0, 1.0], "p_b": [0.0, 3.0]})
    models = {"m": {"proba": "p_", "normalise": True}}
    with pytest.raises(plm.DataError, match="in a row whose sum is 0; the first is"):
        plm.evaluate(rows, task="multiclass", label="y", models=models, metrics=["accuracy"])


@pytest.mark.parametrize("bad", [None, float("nan"), float("inf")])
def test_a_bad_probability_is_told_of_its_own_column_alone(bad: float | None) -> None:
    rows = pl.DataFrame({"y": ["a", "b"], "p_a": [2.0, 1.0], "p_b": [bad, 3.0], "p_c": [3.0, 4.0]})
    models = {"m": {"proba": "p_", "normalise": True}}
    with pytest.raises(plm.DataError) as refusal:
        plm.evaluate(rows, task="multiclass", label="y", models=models, metrics=["accuracy", "log_loss"])
    (problem,) = refusal.value.problems
    assert "column 'p_b'" in problem.message
    assert "in row 0" in problem.message


@pytest.mark.parametrize("metrics", [["accuracy"], ["accuracy", "log_loss"], ["roc_auc"]])
def test_logarithms_of_probabilities_are_not_normalised(metrics: list[str]) -> None:
    """Divided by their sum they would be positive, and the least likely class the largest: refused, or dropped."""
    rng = np.random.default_rng(4)
    probabilities = rng.dirichlet(np.ones(3), 60)
    frame = pl.DataFrame({name: np.log(probabilities[:, k]) for k, name in enumerate(("p_a", "p_b", "p_c"))})
    label = pl.Series("y", [("a", "b", "c")[k] for k in probabilities.argmax(axis=1)])
    given: dict[str, Any] = {"task": "multiclass", "label": "y", "metrics": metrics}
    given |= {"models": {"m": {"proba": "p_", "normalise": True}}}
    with pytest.raises(plm.DataError, match="below 0, and normalise divides by the sum of a row") as caught:
        plm.evaluate(frame.with_columns(label), **given)
    assert "give the exp of each" in str(caught.value)
    assert "sum to 1" not in str(caught.value)
    sound = frame.select(pl.all().exp() * 7).with_columns(label)
    mixed = pl.concat([frame[:20].with_columns(label[:20]), sound[20:]])
    dropped = plm.evaluate(mixed, missing="drop", **given).metrics
    expected = plm.evaluate(sound[20:], **given).metrics
    assert dropped["n"].to_list() == [40] * len(metrics)
    assert dropped["value"].to_list() == pytest.approx(expected["value"].to_list(), rel=1e-12)
    assert "accuracy" not in metrics or dropped.filter(metric="accuracy")["value"].item() == 1.0


@pytest.mark.parametrize(
    "metric",
    [
        "log_loss",
        {"name": "f", "formula": "1 - log_loss"},
        {"name": "f", "formula": "1 / (accuracy + roc_auc)"},
        {"name": "o", "over": {"slice_set": "g", "metric": "log_loss", "agg": "max"}},
        "disparity(log_loss, by=g)",
    ],
)
def test_what_is_made_of_a_metric_needs_its_columns(metric: Any) -> None:
    rows = pl.DataFrame({"y": ["a", "b", "c"] * 4, "called": ["a", "b", "b"] * 4, "g": [1, 2] * 6})
    models = {"m": {"prediction": "called"}}
    with pytest.raises(
        plm.ConfigError, match="needs a probability for each class, which model 'm' does not have"
    ):
        plm.evaluate(rows, task="multiclass", label="y", models=models, metrics=[metric], slices={"g": "g"})
