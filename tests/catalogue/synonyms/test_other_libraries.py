"""Names of other libraries against the definitions that they document."""

import fairlearn.metrics
import numpy as np
import polars as pl
import pytest
import pytrec_eval

import plmetrics as plm
from plmetrics.catalogue.synonyms.other_libraries import FAIRLEARN, IR_MEASURES, TREC_EVAL

ROWS = 400


def test_names_of_fairlearn_give_its_values() -> None:
    """Groups below our share of rows are judged as well, as fairlearn does."""
    rng = np.random.default_rng(5)
    p = rng.random(ROWS)
    y, group = (rng.random(ROWS) < p).astype(int), np.where(np.arange(ROWS) < 6, 0, rng.integers(1, 4, ROWS))
    frame, called = pl.DataFrame({"y": y, "p": p, "g": group}), p >= 0.5
    names = FAIRLEARN.equivalents["binary"]
    of_groups = [name for name in names if name.endswith(("_difference", "_ratio"))]
    assert len(of_groups) >= 7
    texts = [f"{name}(sensitive_features=g)" if name in of_groups else name for name in names]
    values = plm.evaluate(frame, label="y", models="p", slices={"g": "g"}, metrics=texts).metrics
    overall = values.filter((pl.col("slice_set") == "overall") | pl.col("metric").str.contains("by=g"))
    by_metric = dict(overall.select("metric", "value").iter_rows())
    for name, text in zip(names, texts, strict=True):
        function = getattr(fairlearn.metrics, name)
        expected = function(y, called, sensitive_features=group) if name in of_groups else function(y, called)
        assert by_metric[plm.metric(text).text] == pytest.approx(expected), name


def test_yardstick_halves_the_brier_score_of_several_classes() -> None:
    """Its documentation: the sum of squared distances over all classes, divided by 2 n."""
    rng = np.random.default_rng(6)
    y, p = rng.integers(0, 3, ROWS), rng.dirichlet([1.0, 1.0, 1.0], ROWS)
    frame = pl.DataFrame({"y": y} | {f"p{k}": p[:, k] for k in range(3)})
    asked = {"label": "y", "models": {"m": {"proba": {k: f"p{k}" for k in range(3)}}}, "classes": [0, 1, 2]}
    value = plm.evaluate(frame, task="multiclass", metrics=["brier_class"], **asked).metrics["value"].item()
    assert value == pytest.approx(((np.eye(3)[y] - p) ** 2).sum() / (2 * ROWS))


def test_yardsticks_rsq_is_a_squared_correlation_and_no_metric() -> None:
    rng = np.random.default_rng(7)
    y = rng.normal(size=ROWS)
    p = 2 * y + rng.normal(size=ROWS)
    values = plm.evaluate(
        pl.DataFrame({"y": y, "p": p}),
        task="regression",
        label="y",
        models="p",
        metrics=["rsq_trad", "huber_loss"],
    ).metrics["value"]
    far = np.abs(y - p)
    huber = np.where(far <= 1, far**2 / 2, far - 0.5).mean()
    expected = [1 - ((y - p) ** 2).sum() / ((y - y.mean()) ** 2).sum(), huber]
    assert values.to_list() == pytest.approx(expected)
    assert abs(values[0] - np.corrcoef(y, p)[0, 1] ** 2) > 0.1
    with pytest.raises(plm.ConfigError, match="squared correlation"):
        plm.metric("rsq", "regression")


def test_calibration_of_tfma_is_mean_prediction_over_mean_label() -> None:
    rng = np.random.default_rng(8)
    p = rng.random(ROWS)
    y = (rng.random(ROWS) < p).astype(int)
    values = plm.evaluate(
        pl.DataFrame({"y": y, "p": p}),
        label="y",
        models="p",
        metrics=["Calibration", "MeanLabel", "ExampleCount"],
    ).metrics["value"]
    assert values.to_list() == pytest.approx([p.mean() / y.mean(), y.mean(), ROWS])


def test_torchmetrics_averages_f1_over_classes_that_occur_or_are_called() -> None:
    """Its documentation: classes without true positives, false positives and false negatives weigh nothing."""
    y, c = np.array([0, 0, 1, 1, 1, 0]), np.array([0, 2, 1, 1, 0, 0])
    frame = pl.DataFrame({"y": y, "c": c})
    asked = {"task": "multiclass", "label": "y", "models": "c", "classes": [0, 1, 2, 3]}
    values = plm.evaluate(frame, **asked, metrics=["MulticlassF1Score", "MulticlassJaccardIndex"]).metrics[
        "value"
    ]
    tp = np.array([((y == k) & (c == k)).sum() for k in range(3)])
    wrong = np.array([((y == k) != (c == k)).sum() for k in range(3)])
    assert values.to_list() == pytest.approx([(2 * tp / (2 * tp + wrong)).mean(), (tp / (tp + wrong)).mean()])


NAMES = [name.replace("_K", "_5") for name in TREC_EVAL.equivalents["ranking"]]
TIES = {"document": "{}(ties=document)", "none": "{}"}


def rows(ties: str) -> pl.DataFrame:
    rng = np.random.default_rng(8)
    sizes = rng.integers(2, 25, 40)
    total = int(sizes.sum())
    relevance = rng.choice(4, total, p=[0.6, 0.2, 0.15, 0.05])
    relevance[np.cumsum(sizes) - 1] = 2
    score = rng.permutation(total).astype(float) if ties == "none" else rng.normal(relevance, 1.0).round()
    return pl.DataFrame(
        {
            "query": np.repeat([f"q{number}" for number in range(40)], sizes),
            "document": [f"d{number:04d}" for number in rng.permutation(total)],
            "relevance": relevance,
            "score": score,
        }
    )


@pytest.mark.parametrize("ties", TIES)
def test_names_of_trec_eval_give_its_values(ties: str) -> None:
    frame = rows(ties)
    judged: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for query, document, relevance, score in frame.iter_rows():
        judged.setdefault(query, {})[document] = relevance
        run.setdefault(query, {})[document] = score
    measures = {name.replace("_5", ".5") for name in NAMES}
    by_query = pytrec_eval.RelevanceEvaluator(judged, measures).evaluate(run)
    roles = {"label": "relevance", "query": "query", "document": "document", "models": "score"}
    texts = [name if name.startswith("set") else TIES[ties].format(name) for name in NAMES]
    values = plm.evaluate(frame, task="ranking", **roles, metrics=texts).metrics["value"].to_list()
    expected = [np.mean([measured[name] for measured in by_query.values()]) for name in NAMES]
    geometric = NAMES.index("gm_map")
    expected[geometric] = np.exp(expected[geometric])  # of a query it is the logarithm
    assert values == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("nDCG@10", "ndcg_cut_10"),
        ("AP", "map"),
        ("AP@100", "map_cut_100"),
        ("RR", "recip_rank"),
        ("P@5", "P_5"),
        ("R@100", "recall_100"),
        ("Rprec", "Rprec"),
        ("Success@1", "success_1"),
    ],
)
def test_names_of_ir_measures_are_measures_of_trec_eval(name: str, measure: str) -> None:
    """As ir-measures says what trec_eval calls its measures."""
    assert plm.metric(name, "ranking") == plm.metric(measure, "ranking")
    assert name.partition("@")[0] in IR_MEASURES.equivalents["ranking"]
