"""Functions and scorers of scikit-learn; a test compares the values of equal ones."""

from __future__ import annotations

from plmetrics.catalogue.synonyms.names import Names

_HIGHER = "lower is better here"
_AVERAGE = "scikit-learn's needs an average: write it here, too"
_BOTH = "that of the positive class here; averages over classes: task multiclass"
_CURVE = "a curve: curves: [{}]"

SCIKIT_LEARN = Names(
    "scikit-learn",
    equivalents={
        "binary multiclass": {
            "accuracy_score": "accuracy",
            "balanced_accuracy_score": "balanced_accuracy",
            "zero_one_loss hamming_loss": "error_rate",
            "matthews_corrcoef": "mcc",
            "cohen_kappa_score": "cohen_kappa",
            "brier_score_loss": "brier",
            "d2_log_loss_score": "log_loss_skill",
        },
        "binary": {
            "precision_score": "precision",
            "recall_score": "recall",
            "f1_score": "f1",
            "fbeta_score": "fbeta",
            "jaccard_score": "jaccard",
            "roc_auc_score": "roc_auc",
            "average_precision_score": "average_precision",
            "d2_brier_score": "brier_skill",
        },
        "multiclass": {
            "precision_macro": "precision(undefined=zero)",
            "precision_micro": "precision(average=micro)",
            "precision_weighted": "precision(average=weighted, undefined=zero)",
            "recall_macro": "recall(undefined=zero)",
            "recall_micro": "recall(average=micro)",
            "recall_weighted": "recall(average=weighted)",
            "f1_macro": "f1",
            "f1_micro": "f1(average=micro)",
            "f1_weighted": "f1(average=weighted)",
            "jaccard_macro": "jaccard",
            "jaccard_micro": "jaccard(average=micro)",
            "jaccard_weighted": "jaccard(average=weighted)",
            "top_k_accuracy_score": "top_k_accuracy(k=2)",
            "average_precision_score": "average_precision",
            "roc_auc_ovr": "roc_auc",
            "roc_auc_ovr_weighted": "roc_auc(average=weighted)",
            "roc_auc_ovo": "roc_auc(scheme=ovo)",
        },
        "multilabel": {
            "accuracy_score": "subset_accuracy",
            "label_ranking_average_precision_score": "label_ranking_average_precision",
            **{
                f"{name}_{average}": f"{name}({'' if average == 'macro' else f'average={average}, '}undefined=zero)"
                for name in ("precision", "recall", "f1", "jaccard")
                for average in ("macro", "weighted", "samples")
            },
        },
        "regression": {
            "mean_absolute_error": "mae",
            "mean_squared_error": "mse",
            "root_mean_squared_error": "rmse",
            "mean_squared_log_error": "msle",
            "root_mean_squared_log_error": "rmsle",
            "mean_pinball_loss": "quantile_loss(tau=0.5)",
            "r2_score": "r2",
            "explained_variance_score": "explained_variance",
            "mean_poisson_deviance": "tweedie_deviance(power=1)",
            "mean_gamma_deviance": "tweedie_deviance(power=2)",
        },
        "ranking": {"ndcg_score": "ndcg(empty=zero)", "dcg_score": "dcg"},
    },
    neighbours={
        "binary multiclass": {
            "neg_log_loss": ("log_loss", _HIGHER),
            "neg_brier_score": ("brier", _HIGHER),
            "confusion_matrix": (
                "",
                "a curve: curves: [confusion]; of two classes its cells are tp, fp, fn and tn as well",
            ),
            "multilabel_confusion_matrix": ("", "its cells are tp, fp, fn and tn, class by class"),
            "classification_report": ("", "it is several metrics: precision, recall, f1, and n or support"),
            "precision_recall_fscore_support": ("", "write precision, recall, f1, and n or support"),
            "hinge_loss": ("log_loss", "a hinge loss of margins can be a custom metric"),
        },
        "binary": {
            "class_likelihood_ratios": ("positive_likelihood_ratio", "and negative_likelihood_ratio"),
            "neg_negative_likelihood_ratio": ("negative_likelihood_ratio", _HIGHER),
            "roc_curve RocCurveDisplay det_curve": ("roc_auc", _CURVE.format("roc")),
            "precision_recall_curve PrecisionRecallDisplay": ("average_precision", _CURVE.format("pr")),
            "calibration_curve": ("ece", _CURVE.format("reliability")),
            "f1_macro f1_weighted": ("f1", _BOTH),
            "f1_micro precision_micro recall_micro": ("accuracy", "which it equals for two classes"),
            "precision_macro precision_weighted": ("precision", _BOTH),
            "recall_macro": ("balanced_accuracy", "which it equals for two classes"),
            "recall_weighted": ("accuracy", "which it equals"),
            "jaccard_macro jaccard_weighted": ("jaccard", _BOTH),
            "fowlkes_mallows_score": (
                "",
                "it compares clusterings; fowlkes_mallows is of the positive class",
            ),
        },
        "multiclass": {
            "precision_score": ("precision(undefined=zero)", _AVERAGE),
            "recall_score": ("recall(undefined=zero)", _AVERAGE),
            "f1_score": ("f1", _AVERAGE),
            "fbeta_score": ("fbeta(beta=2)", _AVERAGE),
            "jaccard_score": ("jaccard", _AVERAGE),
            "roc_auc_score": ("roc_auc", "scikit-learn's needs multi_class: scheme=ovr or scheme=ovo here"),
            "roc_auc_ovo_weighted": ("roc_auc(scheme=ovo)", "pairs of classes all count alike here"),
            "d2_brier_score": ("brier", "there is no skill score of it for several classes"),
        },
        "regression": {
            "neg_mean_absolute_error": ("mae", _HIGHER),
            "neg_mean_squared_error": ("mse", _HIGHER),
            "neg_root_mean_squared_error": ("rmse", _HIGHER),
            "neg_mean_squared_log_error": ("msle", _HIGHER),
            "neg_root_mean_squared_log_error": ("rmsle", _HIGHER),
            "neg_median_absolute_error": ("median_absolute_error", _HIGHER),
            "neg_max_error": ("max_error", _HIGHER),
            "mean_absolute_percentage_error": (
                "mape",
                "in percent here, and zeros= says what a label of 0 does",
            ),
            "neg_mean_absolute_percentage_error": ("mape", f"in percent here, and {_HIGHER}"),
            "d2_absolute_error_score": (
                "r2",
                "a share explained of absolute errors is a formula of two metrics",
            ),
            "d2_pinball_score": ("quantile_loss(tau=0.5)", "a share explained is a formula of two metrics"),
            "d2_tweedie_score": (
                "tweedie_deviance(power=1.5)",
                "of which it is 1 - the ratio to that of the mean label",
            ),
            "mean_tweedie_deviance": ("tweedie_deviance(power=1.5)", "with a power; 0 is mse"),
            "neg_mean_poisson_deviance": ("tweedie_deviance(power=1)", _HIGHER),
            "neg_mean_gamma_deviance": ("tweedie_deviance(power=2)", _HIGHER),
        },
        "quantile": {
            "mean_pinball_loss": ("quantile_loss(tau=0.5)", "of one level; wis and crps are of all")
        },
        "ranking": {
            "label_ranking_average_precision_score": (
                "map",
                "queries count alike here, if nothing is relevant, too",
            ),
            "label_ranking_loss": ("mean_rank", "which is of ranks, not of pairs"),
            "coverage_error": ("mean_rank", "which is of all that is relevant, not of the last"),
        },
    },
)
