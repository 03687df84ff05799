"""Names of yardstick, torchmetrics, TensorFlow Model Analysis and fairlearn, by their documentation.

Of measures of trec_eval a test compares values; those of ir-measures are beside them.
"""

from __future__ import annotations

from plmetrics.catalogue.synonyms.names import Names

_STRICT = "a score equal to the threshold is positive here, not there"
_EMPTY = "queries without anything relevant are left out here, and count as 0 there"
_SIGN = "prediction minus label here"
_PERCENT = "in percent here"
_EDGE = "a score at an edge belongs to the bin below here, to that above there"
_CLASSES = "of classes that are never called or never occur: see undefined="
_GROUP = "write disparity(METRIC, by=SET), or a gate on all slices of the set"

YARDSTICK = Names(
    "yardstick",
    equivalents={
        "binary multiclass": {"kap": "cohen_kappa", "mn_log_loss": "log_loss"},
        "binary": {
            "bal_accuracy": "balanced_accuracy",
            "detection_prevalence": "selection_rate",
            "f_meas": "f1",
            "j_index": "youden_j",
            "sens": "recall",
            "spec": "specificity",
            "brier_class": "brier",
        },
        "multiclass": {
            "brier_class": "brier(scale_by_half=true)",
            "roc_aunu": "roc_auc",
            "roc_aunp": "roc_auc(average=weighted)",
        },
        "regression": {"huber_loss": "huber", "rsq_trad": "r2"},
    },
    neighbours={
        "binary": {
            "gain_capture": ("gini", "the area between gain curve and diagonal, as a share of the best"),
            "classification_cost": ("expected_cost", "with cost_fp and cost_fn"),
            "f_measure": ("f1", "or fbeta(beta=2)"),
        },
        "multiclass": {
            "bal_accuracy": ("balanced_accuracy", "the mean recall here; (recall + specificity) / 2 there"),
            "j_index": ("balanced_accuracy", "there is no youden_j of several classes"),
            "f_meas": ("f1", _CLASSES),
            "sens": ("recall", _CLASSES),
            "spec": ("specificity", _CLASSES),
            "hand_till": ("roc_auc(scheme=ovo)", ""),
        },
        "regression": {
            "rsq": ("r2", "yardstick's rsq is the squared correlation, pearson^2; its rsq_trad is r2"),
            "ccc": ("concordance_ccc", "variances are divided by n here, by n - 1 in yardstick"),
            "mpe": ("mean_error", "there is no mean of signed relative errors"),
            "msd": ("mean_error", f"{_SIGN}, label minus prediction there"),
            "huber_loss_pseudo": ("huber", "which is not the smooth one; see log_cosh"),
            "iic": ("pearson", "there is no index of ideality"),
            "rpd": ("default_rmse", "rpd is a formula: default_rmse / rmse, but for n - 1"),
            "rpiq": ("rmse", "the interquartile range over rmse is no metric here"),
            "poisson_log_loss": ("", "a custom metric: docs, custom metrics"),
        },
    },
)

TORCHMETRICS = Names(
    "torchmetrics",
    equivalents={
        "binary": {"BinaryAUROC": "roc_auc", "BinaryAveragePrecision": "average_precision"},
        "multiclass": {
            "MulticlassF1Score": "f1",
            "MulticlassFBetaScore": "fbeta",
            "MulticlassJaccardIndex": "jaccard",
            "MulticlassCohenKappa": "cohen_kappa",
            "MulticlassMatthewsCorrCoef": "mcc",
            "MulticlassAUROC": "roc_auc",
            "MulticlassAveragePrecision": "average_precision",
        },
        "regression": {
            "MeanAbsoluteError": "mae",
            "MeanSquaredError": "mse",
            "MeanSquaredLogError": "msle",
            "R2Score": "r2",
            "ExplainedVariance": "explained_variance",
            "PearsonCorrCoef": "pearson",
            "SpearmanCorrCoef": "spearman",
            "KendallRankCorrCoef": "kendall",
            "LogCoshError": "log_cosh",
        },
        "ranking": {"RetrievalMRR": "mrr", "RetrievalNormalizedDCG": "ndcg(empty=zero)"},
    },
    neighbours={
        "binary": {
            "BinaryAccuracy": ("accuracy", _STRICT),
            "BinaryPrecision": ("precision", _STRICT),
            "BinaryRecall": ("recall", _STRICT),
            "BinarySpecificity": ("specificity", _STRICT),
            "BinaryNegativePredictiveValue": ("npv", _STRICT),
            "BinaryF1Score": ("f1", _STRICT),
            "BinaryFBetaScore": ("fbeta(beta=1)", _STRICT),
            "BinaryJaccardIndex": ("jaccard", _STRICT),
            "BinaryMatthewsCorrCoef": ("mcc", _STRICT),
            "BinaryCohenKappa": ("cohen_kappa", _STRICT),
            "BinaryHammingDistance": ("error_rate", _STRICT),
            "BinaryStatScores BinaryConfusionMatrix": ("", "write tp, fp, tn and fn"),
            "BinaryCalibrationError": ("ece", _EDGE),
            "BinaryROC": ("roc_auc", "a curve: curves: [roc]"),
            "BinaryPrecisionRecallCurve": ("average_precision", "a curve: curves: [pr]"),
            "BinaryPrecisionAtFixedRecall": (
                "precision_at_recall(recall=0.9)",
                "precision is that at the threshold",
            ),
            "BinaryRecallAtFixedPrecision": (
                "recall_at_precision(precision=0.9)",
                "null, not 0, if none reaches it",
            ),
        },
        "multiclass": {
            "MulticlassAccuracy": ("balanced_accuracy", "the mean recall there; accuracy with average=micro"),
            "MulticlassPrecision": ("precision(undefined=zero)", _CLASSES),
            "MulticlassRecall": ("recall(undefined=zero)", _CLASSES),
            "MulticlassSpecificity": ("specificity(undefined=zero)", _CLASSES),
            "MulticlassCalibrationError": ("top_label_ece", _EDGE),
            "MulticlassConfusionMatrix MulticlassStatScores": ("", "a curve: curves: [confusion]"),
        },
        "regression": {
            "MeanAbsolutePercentageError": ("mape", f"{_PERCENT}; a share in torchmetrics, percent in Keras"),
            "SymmetricMeanAbsolutePercentageError": ("smape", _PERCENT),
            "WeightedMeanAbsolutePercentageError": ("wmape", _PERCENT),
            "ConcordanceCorrCoef": ("concordance_ccc", "variances are divided by n here, by n - 1 there"),
            "RelativeSquaredError": ("r2", "which is 1 minus it"),
            "NormalizedRootMeanSquaredError": (
                "rmse_skill",
                "rmse over the mean label is a formula of metrics",
            ),
            "ContinuousRankedProbabilityScore": ("", "crps belongs to task 'quantile'"),
        },
        "ranking": {
            "RetrievalMAP": ("map", _EMPTY),
            "RetrievalPrecision": ("precision_at_k(k=10)", "with a rank"),
            "RetrievalRecall": ("recall_at_k(k=10)", _EMPTY),
            "RetrievalHitRate": ("hit_at_k(k=10)", "with a rank"),
            "RetrievalRPrecision": ("r_precision", _EMPTY),
            "RetrievalFallOut": ("precision_at_k(k=10)", "of what is relevant here"),
            "RetrievalAUROC": ("", "task binary has roc_auc, also by slice"),
        },
    },
)

TFMA = Names(
    "TFMA",
    equivalents={
        "binary": {
            "AUC": "roc_auc",
            "Calibration": "calibration_ratio",
            "MeanLabel": "prevalence",
            "ExampleCount": "n",
        },
        "regression": {
            "MeanAbsoluteError": "mae",
            "MeanSquaredError": "mse",
            "RootMeanSquaredError": "rmse",
            "MeanSquaredLogarithmicError": "msle",
        },
    },
    neighbours={
        "binary": {
            "BinaryAccuracy Accuracy": ("accuracy", _STRICT),
            "BalancedAccuracy": ("balanced_accuracy", _STRICT),
            "Precision": ("precision", _STRICT),
            "Recall": ("recall", _STRICT),
            "TruePositives": ("tp", _STRICT),
            "FalsePositives": ("fp", _STRICT),
            "TrueNegatives": ("tn", _STRICT),
            "FalseNegatives": ("fn", _STRICT),
            "F1Score": ("f1", _STRICT),
            "MatthewsCorrelationCoefficient": ("mcc", _STRICT),
            "DiagnosticOddsRatio": ("diagnostic_odds_ratio", _STRICT),
            "AUCPrecisionRecall AUCPR": ("average_precision", "or pr_auc, whose area is of trapezoids"),
            "BinaryCrossentropy": ("log_loss", "probabilities are clipped at 2e-16 here, at 1e-7 there"),
            "BinaryCrossEntropy": ("log_loss", "probabilities are clipped at 2e-16 here, at 1e-7 there"),
            "MeanPrediction": ("calibration_ratio", "mean prediction over mean label"),
            "WeightedExampleCount": ("n", "rows, not their weights"),
            "PrecisionAtRecall": ("precision_at_recall(recall=0.9)", "at the last threshold that reaches it"),
            "RecallAtPrecision": ("recall_at_precision(precision=0.9)", "null, not 0, if none reaches it"),
            "SensitivityAtSpecificity": ("recall_at_fpr(fpr=0.1)", "with fpr = 1 - specificity"),
            "Lift": ("lift_at_k(k=100)", "with a k"),
        },
        "multiclass": {
            "CategoricalAccuracy": ("accuracy", "classes are columns of probabilities here"),
            "SparseCategoricalAccuracy": ("accuracy", "classes are columns of probabilities here"),
            "CategoricalCrossentropy": ("log_loss", "probabilities are clipped at 2e-16 here, at 1e-7 there"),
            "SparseCategoricalCrossentropy": (
                "log_loss",
                "probabilities are clipped at 2e-16 here, at 1e-7 there",
            ),
            "TopKCategoricalAccuracy": ("top_k_accuracy(k=5)", ""),
        },
        "regression": {
            "MeanAbsolutePercentageError": ("mape", f"{_PERCENT}; a share in torchmetrics, percent in Keras"),
            "RSquare": ("r2", ""),
            "SquaredPearsonCorrelation": ("pearson", "which it is the square of"),
        },
        "ranking": {"MinLabelPosition": ("mrr", "the mean of 1 / that rank")},
    },
)

FAIRLEARN = Names(
    "fairlearn",
    equivalents={
        "binary": {
            "count": "n",
            "true_positive_rate": "recall",
            "true_negative_rate": "specificity",
            "false_positive_rate": "fpr",
            "false_negative_rate": "fnr",
            "selection_rate_difference": "demographic_parity_difference(min_share=0)",
            "selection_rate_ratio": "demographic_parity_ratio(min_share=0)",
            "true_positive_rate_difference": "equal_opportunity_difference(min_share=0)",
            "true_positive_rate_ratio": "equal_opportunity_ratio(min_share=0)",
            "false_positive_rate_difference": "fpr_parity_difference(min_share=0)",
            "false_negative_rate_difference": "fnr_parity_difference(min_share=0)",
            "accuracy_score_difference": "accuracy_parity_difference(min_share=0)",
        }
    },
    neighbours={
        "binary": {
            "mean_prediction": ("selection_rate", "or calibration_ratio, mean prediction over mean label"),
            "true_negative_rate_difference": ("fpr_parity_difference(by=SET)", "which it equals"),
            "accuracy_score_ratio": ("disparity(accuracy, by=SET, kind=ratio)", ""),
            "accuracy_score_group_min": ("accuracy", _GROUP),
            "balanced_accuracy_score_group_min": ("balanced_accuracy", _GROUP),
            "f1_score_group_min": ("f1", _GROUP),
            "precision_score_group_min": ("precision", _GROUP),
            "recall_score_group_min": ("recall", _GROUP),
            "roc_auc_score_group_min": ("roc_auc", _GROUP),
            "log_loss_group_max": ("log_loss", _GROUP),
            "statistical_parity_difference": (
                "demographic_parity_difference(by=SET)",
                "largest minus smallest here",
            ),
            "demographic_parity": ("demographic_parity_difference(by=SET)", "or demographic_parity_ratio"),
            "equalized_odds": ("equalized_odds_difference(by=SET)", "or equalized_odds_ratio"),
            "equal_opportunity": ("equal_opportunity_difference(by=SET)", "or equal_opportunity_ratio"),
        },
        "regression": {
            "mean_absolute_error_group_max": ("mae", _GROUP),
            "mean_squared_error_group_max": ("mse", _GROUP),
            "r2_score_group_min": ("r2", _GROUP),
        },
    },
)

_NONE = "there is none here: bpref is for rows that were not judged"

TREC_EVAL = Names(
    "trec_eval",
    equivalents={
        "ranking": {
            "map_cut_K": "map(k=K)",
            "recip_rank": "mrr",
            "ndcg_cut_K": "ndcg(k=K)",
            "P_K": "precision_at_k(k=K)",
            "recall_K": "recall_at_k(k=K)",
            "success_K": "hit_at_k(k=K)",
            "Rprec": "r_precision",
            "relative_P_K": "precision_at_k(k=K, denominator=min_k)",
            "gm_map": "gmap",
            "set_P": "set_precision",
            "set_F": "set_f1",
        }
    },
    neighbours={
        "ranking": {
            "map_cut": ("map(k=10)", "with a rank"),
            "ndcg_cut": ("ndcg(k=10)", "with a rank"),
            "success": ("hit_at_k(k=10)", "with a rank"),
            "infAP infap": ("", _NONE),
            "ndcg_rel": ("ndcg", "gains are labels, or 2^label - 1, here"),
            "Rndcg": ("ndcg", "with one k for all queries here"),
            "iprec_at_recall": (
                "interpolated_precision(recall=0.1)",
                "with a recall; version 9: rounding=up",
            ),
            "Rprec_mult": ("r_precision(multiple=0.2)", "with a multiple"),
            "set_map": ("set_precision", "its product with set_recall, query by query"),
            "unj": ("judged_at_k(k=10)", "which is 1 - that"),
        }
    },
)

IR_MEASURES = Names(
    "ir-measures",
    equivalents={
        "ranking": {
            "nDCG": "ndcg",
            "AP": "map",
            "MAP": "map",
            "RR": "mrr",
            "MRR": "mrr",
            "P": "precision_at_k",
            "R": "recall_at_k",
            "Recall": "recall_at_k",
            "Precision": "precision_at_k",
            "Rprec": "r_precision",
            "RPrec": "r_precision",
            "Success": "hit_at_k",
            "Bpref": "bpref",
            "ERR": "err",
            "RBP": "rbp",
            "Judged": "judged_at_k(denominator=retrieved)",
            "NumQ": "num_q",
            "NumRet": "num_ret",
            "NumRel": "num_rel",
            "SetP": "set_precision",
            "SetR": "set_recall",
            "SetF": "set_f1",
        }
    },
    neighbours={"ranking": {"IPrec": ("interpolated_precision(recall=0.1, rounding=up)", "with a recall")}},
)
