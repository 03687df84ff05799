"""The tables of synonyms as a whole, and what they make of names and parameters."""

import polars as pl
import pytest

import plmetrics as plm
from plmetrics.catalogue import registry
from plmetrics.catalogue.parameters import parameters
from plmetrics.catalogue.synonyms import table
from plmetrics.core.text import parse_call

TASKS = registry.tasks()
KNOWN = [(task, known) for task in TASKS for known in table.synonyms(task)]
REQUIRED = {
    "tau": 0.5,
    "k": 3,
    "beta": 2,
    "level": 0.9,
    "by": "g",
    "predictors": 2,
    "power": 2,
    "cost_fp": 1,
    "cost_fn": 5,
}


def given(task: str, name: str) -> dict[str, object]:
    """Values for the parameters that a metric requires."""
    fields = parameters(registry.find(task, name))
    required = {key: REQUIRED[key] for key, field in fields.items() if field.kw_only}
    return required | ({"time": "day"} if name == "mase" else {})


@pytest.mark.parametrize("task", TASKS)
def test_every_name_that_is_the_same_is_a_metric(task: str) -> None:
    for known in table.synonyms(task):
        if known.is_equal:
            call = parse_call(known.metric.replace("k=K", "k=7"))
            values = given(task, call.name) | call.parameters
            metric = registry.create(task, known.name.replace("_K", "_7"), values)
            assert metric == registry.create(task, call.name, values), known


def test_what_comes_near_is_a_metric_that_exists() -> None:
    for task, known in KNOWN:
        if known.metric and not known.is_equal:
            name = parse_call(known.metric.replace("SET", "g"), unnamed=True).name
            assert name in registry.reserved_names(task), known


def test_a_name_means_one_thing_in_a_task() -> None:
    meanings: dict[tuple[str, str], set[tuple[str, bool]]] = {}
    for task, known in KNOWN:
        meanings.setdefault((task, known.name), set()).add((known.metric, known.is_equal))
    assert not {name: found for name, found in meanings.items() if len(found) > 1}


def test_no_name_of_ours_is_a_synonym() -> None:
    assert not [(task, known.name) for task, known in KNOWN if known.name in registry.reserved_names(task)]


def test_what_differs_is_said_in_few_words() -> None:
    for _, known in KNOWN:
        assert known.is_equal or known.metric or known.difference
        assert len(known.hint) <= 120, known


@pytest.mark.parametrize(
    ("task", "text", "metric"),
    [
        ("binary", "auc", "roc_auc"),
        ("binary", "AUC", "roc_auc"),
        ("binary", "auroc", "roc_auc"),
        ("binary", "ap", "average_precision"),
        ("binary", "acc", "accuracy"),
        ("binary", "f1_score", "f1"),
        ("binary", "recall_score", "recall"),
        ("binary", "recall_score(threshold=0.3)", "recall(threshold=0.3)"),
        ("binary", "brier_score", "brier"),
        ("binary", "brier_score_loss", "brier"),
        ("binary", "cross_entropy", "log_loss"),
        ("binary", "matthews_corrcoef", "mcc"),
        ("binary", "ks_stat", "ks"),
        ("binary", "roc_auc_score(max_fpr=0.1)", "roc_auc(max_fpr=0.1)"),
        ("binary", "fbeta_score(beta=2)", "fbeta(beta=2)"),
        ("binary", "expected_calibration_error(n_bins=10)", "ece(bins=10)"),
        ("binary", "disparity(f1_score, by=g)", "disparity(f1, by=g)"),
        ("binary", "recall(threshold=max(f1_score))", "recall(threshold=max(f1))"),
        (
            "binary",
            "selection_rate_ratio(sensitive_features=g)",
            "demographic_parity_ratio(by=g, min_share=0)",
        ),
        ("binary", "ROC_AUC", "roc_auc"),
        ("multiclass", "f1_macro", "f1"),
        ("multiclass", "weighted_f1", "f1(average=weighted)"),
        ("multiclass", "cohen_kappa_score(weights=linear)", "cohen_kappa(weighting=linear)"),
        ("multiclass", "kap", "cohen_kappa"),
        ("regression", "mean_absolute_error", "mae"),
        ("regression", "mean_squared_error", "mse"),
        ("regression", "RMSE", "rmse"),
        ("regression", "r2_score", "r2"),
        ("regression", "pinball(alpha=0.9)", "quantile_loss(tau=0.9)"),
        ("regression", "mean_pinball_loss", "quantile_loss(tau=0.5)"),
        ("regression", "mean_pinball_loss(alpha=0.9)", "quantile_loss(tau=0.9)"),
        ("ranking", "recip_rank", "mrr"),
        ("ranking", "ndcg_cut_10", "ndcg(k=10)"),
        ("ranking", "ndcg_cut_10(ties=document)", "ndcg(k=10, ties=document)"),
        ("ranking", "P_5", "precision_at_k(k=5)"),
        ("ranking", "map_cut_100", "map(k=100)"),
        ("ranking", "nDCG@10", "ndcg(k=10)"),
        ("ranking", "P@5", "precision_at_k(k=5)"),
        ("ranking", "P(rel=2)@5", "precision_at_k(k=5, relevant_at=2)"),
        ("ranking", "RBP(p=0.5, rel=2)@5", "rbp(persistence=0.5, k=5, relevant_at=2)"),
        ("ranking", "R@100", "recall_at_k(k=100)"),
        ("ranking", "AP", "map"),
        ("ranking", "RR@10", "mrr(k=10)"),
        ("ranking", "Rprec", "r_precision"),
        ("ranking", "Success@1", "hit_at_k(k=1)"),
    ],
)
def test_a_name_with_one_meaning_is_that_metric(task: str, text: str, metric: str) -> None:
    assert plm.metric(text, task).text == plm.metric(metric, task).text


@pytest.mark.parametrize(
    ("task", "text", "words"),
    [
        ("binary", "neg_log_loss", "did you mean 'log_loss'? lower is better here"),
        ("regression", "neg_mean_absolute_error", "did you mean 'mae'? lower is better here"),
        ("regression", "rsq", "did you mean 'r2'? yardstick's rsq is the squared correlation"),
        ("regression", "mean_absolute_percentage_error", "did you mean 'mape'? in percent here"),
        ("regression", "mean_absolute_eror", "did you mean 'mae'?"),
        ("binary", "f1_macro", "did you mean 'f1'? that of the positive class here"),
        ("binary", "weighted_f1", "did you mean 'f1'?"),
        ("binary", "confusion_matrix", "its cells are tp, fp, fn and tn"),
        ("binary", "auprc", "did you mean 'average_precision'?"),
        ("binary", "lift", "did you mean 'lift_at_k(k=100)'?"),
        ("binary", "BinaryAccuracy", "a score equal to the threshold is positive here, not there"),
        ("multiclass", "auc", "did you mean 'roc_auc'? one class against the rest"),
        ("multiclass", "roc_auc_score", "scikit-learn's needs multi_class"),
        ("multiclass", "MulticlassAccuracy", "did you mean 'balanced_accuracy'?"),
        ("uplift", "auc", "did you mean 'auuc'?"),
        ("ranking", "infAP", "there is none here"),
        ("binary", "ndcg_at_k", "'ndcg_at_k' is 'ndcg(k=10)' of task 'ranking'"),
        ("binary", "pinball", "'pinball' is 'quantile_loss' of task 'regression', 'quantile'"),
        ("regression", "roc_auc", "'roc_auc' belongs to task 'binary', 'multiclass'"),
        ("binary", "precision@10", "did you mean 'precision_at_k(k=10)'?"),
        ("binary", "P@5", "did you mean 'precision_at_k'?"),
        ("binary", "ece(n_bins=10)", "did you mean 'bins'?"),
        ("binary", "demographic_parity_difference(sensitive_features=g)", "did you mean 'by'?"),
        ("binary", "roc_acu", "did you mean 'roc_auc'?"),
        ("binary", "f1_score(pos_label=0)", "unknown parameter 'pos_label' (known: threshold)"),
    ],
)
def test_another_meaning_is_told(task: str, text: str, words: str) -> None:
    with pytest.raises(plm.ConfigError) as caught:
        plm.metric(text, task)
    assert words in str(caught.value)


def test_a_definition_of_the_suite_comes_first() -> None:
    frame = {"y": [0, 1, 1, 0], "p": [0.1, 0.9, 0.4, 0.6]}
    asked = {"label": "y", "models": "p", "metrics": [{"name": "auc", "mean": "score"}, "auroc"]}
    values = plm.evaluate(pl.DataFrame(frame), **asked).metrics
    assert dict(values.select("metric", "value").iter_rows()) == {"auc": 0.5, "roc_auc": 0.75}
