"""Index of modules by the metrics they define, by task: a metric is looked up by name, and only its module is imported.

A test compares it with what the modules register.
"""

from __future__ import annotations

MODULES: dict[str, dict[str, str]] = {
    "binary.counts": {"binary": "tp fp fn tn n prevalence selection_rate"},
    "binary.threshold": {
        "binary": "accuracy error_rate precision ppv false_discovery_rate recall tpr sensitivity "
        "fnr miss_rate specificity tnr fpr npv false_omission_rate"
    },
    "binary.overlap": {"binary": "f1 fbeta jaccard fowlkes_mallows"},
    "binary.agreement": {
        "binary": "balanced_accuracy balanced_error_rate youden_j g_mean markedness mcc cohen_kappa"
    },
    "binary.decision": {
        "binary": "positive_likelihood_ratio negative_likelihood_ratio diagnostic_odds_ratio "
        "expected_cost ppv_at_prevalence"
    },
    "binary.score_order": {"binary": "roc_auc gini average_precision ks"},
    "binary.areas": {"binary": "roc_hull_auc pr_auc interpolated_ap"},
    "binary.operating": {
        "binary": "precision_at_recall precision_at_volume recall_at_precision recall_at_fpr fpr_at_recall"
    },
    "binary.best": {"binary": "max_accuracy"},
    "binary.top": {"binary": "precision_at_k recall_at_k gain lift_at_k"},
    "binary.probability": {"binary": "log_loss brier spherical_score"},
    "binary.skill": {"binary": "default_log_loss default_accuracy log_loss_skill brier_skill"},
    "binary.decomposition": {
        "binary": "brier_reliability brier_resolution brier_uncertainty brier_within_bin"
    },
    "binary.calibration": {"binary": "ece mce calibration_ratio kernel_ce"},
    "binary.corp": {"binary": "corp_miscalibration corp_discrimination corp_uncertainty"},
    "binary.logistic": {"binary": "calibration_slope calibration_intercept"},
    "binary.goodness": {"binary": "hosmer_lemeshow hosmer_lemeshow_p_value"},
    "multiclass.rates": {
        "multiclass": "precision ppv recall tpr sensitivity specificity tnr npv support f1 fbeta jaccard"
    },
    "multiclass.agreement": {
        "multiclass": "accuracy error_rate default_accuracy balanced_accuracy mcc cohen_kappa"
    },
    "multiclass.probability": {"multiclass": "log_loss default_log_loss log_loss_skill brier top_k_accuracy"},
    "multiclass.ordinal": {
        "multiclass": "ranked_probability_score rps adjacent_accuracy off_by_one_accuracy"
    },
    "multiclass.ranking": {"multiclass": "roc_auc average_precision pr_auc ks"},
    "multiclass.operating": {
        "multiclass": "precision_at_recall precision_at_volume recall_at_precision recall_at_fpr fpr_at_recall "
        "precision_at_k recall_at_k lift_at_k"
    },
    "multiclass.calibration": {"multiclass": "classwise_ece top_label_ece"},
    "multilabel.label_rates": {
        "multilabel": "precision ppv recall tpr sensitivity specificity tnr npv f1 fbeta jaccard support"
    },
    "multilabel.label_order": {
        "multilabel": "hamming_loss subset_accuracy accuracy exact_match_ratio log_loss coverage_error "
        "label_ranking_loss ranking_loss label_ranking_average_precision lrap"
    },
    "multilabel.label_areas": {"multilabel": "roc_auc average_precision pr_auc ks classwise_ece"},
    "regression.errors": {"regression": "mae mse rmse mean_error error_variance bias_squared"},
    "regression.explained_variance": {
        "regression": "r2 adjusted_r2 explained_variance default_rmse rmse_skill"
    },
    "regression.relative": {"regression": "mape smape wmape msle rmsle"},
    "regression.correlation": {"regression": "pearson concordance_ccc spearman kendall"},
    "regression.scaled_errors": {"regression": "mase scaled_mae"},
    "regression.losses": {
        "regression": "huber log_cosh quantile_loss lin_lin linex "
        "tweedie_deviance poisson_deviance gamma_deviance"
    },
    "regression.quantiles": {"regression": "median_absolute_error absolute_error_quantile max_error"},
    "forecast.distributions": {"quantile": "quantile_loss wis weighted_interval_score crps"},
    "forecast.intervals": {
        "quantile": "interval_coverage interval_width interval_score crossing_rate mae mean_error"
    },
    "forecast.transform_tests": {
        "quantile": "pit_chi2 pit_chi2_p_value berkowitz berkowitz_p_value interval_coverage_p_value"
    },
    "ranking.gains": {"ranking": "ndcg dcg default_ndcg"},
    "ranking.relevance": {
        "ranking": "map mrr precision_at_k precision p recall_at_k recall hit_at_k hit success_at_k "
        "f1_at_k f1 r_precision mean_rank"
    },
    "ranking.judgements": {"ranking": "bpref judged_at_k rbp err"},
    "ranking.retrieval": {
        "ranking": "interpolated_precision interpolated_ap gmap set_precision set_recall set_f1"
    },
    "ranking.totals": {
        "ranking": "num_ret num_rel num_rel_ret num_q num_q_without_relevant documents_per_query"
    },
    "uplift.effects": {"uplift": "ate e_value ate_ipw ate_aipw"},
    "uplift.effect_order": {"uplift": "qini auuc uplift_at_k"},
    "uplift.heterogeneity": {"uplift": "cochran_q cochran_q_p_value"},
    "experiment.outcomes": {"experiment": "mean"},
    "labels": dict.fromkeys(
        ("binary", "multiclass", "multilabel", "regression", "quantile", "ranking", "uplift"), "labelled"
    ),
    "fairness.parity": {
        "binary": "demographic_parity_difference demographic_parity_ratio "
        "equal_opportunity_difference equal_opportunity_ratio equalized_odds_difference "
        "equalized_odds_ratio predictive_parity_difference accuracy_parity_difference "
        "fpr_parity_difference fnr_parity_difference calibration_gap"
    },
    "fairness.against": {"binary": "disparate_impact average_odds_difference"},
    "fairness.disparity": dict.fromkeys(
        ("binary", "multiclass", "multilabel", "regression", "quantile", "ranking", "uplift"), "disparity"
    ),
    "model_ratios": dict.fromkeys(("regression", "quantile"), "relative"),
    "fairness.shrinkage": dict.fromkeys(("binary", "multiclass", "quantile"), "shrunken_rate"),
}
"""By module and task the names of metrics, their aliases and presets, in the order of the catalogue."""
