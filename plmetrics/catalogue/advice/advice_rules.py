"""Rules of advice: suitable and misleading metrics of a table.

`plmetrics suggest` advises by them; `validate` and runs warn by them.
"""

from __future__ import annotations

from plmetrics.catalogue.advice.advice_rule import PUBLICATIONS, AdviceRule, TableFacts, Verdict
from plmetrics.catalogue.advice.advice_rule import advise as _advise


def rules_for(facts: TableFacts, verdict: Verdict) -> tuple[AdviceRule, ...]:
    """Applicable rules of a table, in the order of the table of rules."""
    return tuple(rule for rule in RULES if rule.verdict == verdict and rule.holds(facts))


def matching_rules(task: str, name: str) -> tuple[AdviceRule, ...]:
    """Rules of a task on a metric, with any parameters."""
    return tuple(
        rule
        for rule in RULES
        if rule.task == task and any(text.partition("(")[0] == name for text in rule.metrics)
    )


def _against(
    name: str, metrics: str, when: str, reason: str, source: str, companions: str = ""
) -> AdviceRule:
    named, others = tuple(metrics.split()), tuple(companions.split())
    return AdviceRule(name, "advise_against", named, when, reason, PUBLICATIONS[source], others)


_DECISIONS = (
    "accuracy error_rate precision false_discovery_rate recall fnr specificity fpr npv false_omission_rate f1 fbeta "
    "jaccard fowlkes_mallows balanced_accuracy balanced_error_rate youden_j g_mean markedness mcc cohen_kappa"
)
_AT_HALF = " ".join(f"{name}(threshold=0.5)" for name in _DECISIONS.split())
_PROBABILITY = (
    "log_loss brier spherical_score log_loss_skill brier_skill brier_reliability brier_resolution "
    "brier_within_bin ece calibration_ratio kernel_ce corp_miscalibration corp_discrimination "
    "calibration_slope calibration_intercept hosmer_lemeshow hosmer_lemeshow_p_value"
)
_TRANSFORM_TESTS = "pit_chi2_p_value berkowitz_p_value interval_coverage_p_value"
_OF_UNITS = "rows are taken as independent, and those of a unit are alike: p is far too small far too often"
_OF_WEIGHTS = "weights count as numbers of rows: with others, as of areas, p is too small or too large"
_OF_THE_TOP = (
    "precision_at_k recall_at_k lift_at_k precision_at_volume precision_at_recall recall_at_precision"
)

# A table: a rule takes a few lines, not one for each of its parts.
# fmt: off
RULES: tuple[AdviceRule, ...] = (
    # Two classes: what suits.
    _advise("binary/base-rate", "prevalence", "rows >= 1",
        "what every other number is read against", "fawcett"),
    _advise("binary/ranks", "roc_auc", "smallest >= 1 and values > 2",
        "how well scores order the classes, at no threshold and whatever their shares", "fawcett"),
    _advise("binary/rare", "average_precision", "prevalence < 0.2 and smallest >= 1 and values > 2",
        "only {prevalence} are positive: what matters is what stands among the highest scores", "saito"),
    _advise("binary/common", "average_precision", "prevalence >= 0.2 and prevalence < 1 and values > 2",
        "precision over all recalls; read it against the prevalence, {prevalence}", "davis"),
    _advise("binary/very-rare", "lift_at_k(k=0.01) recall_at_fpr(fpr=0.01)",
        "prevalence < 0.01 and smallest >= 1 and values > 2 and rows >= 1000",
        "with {prevalence} positive only the top of the list is ever acted on", "saito"),
    _advise("binary/costs",
        "expected_cost(cost_fp={cost_fp},cost_fn={cost_fn},threshold=optimal(cost_fp={cost_fp},cost_fn={cost_fn}))",
        "cost_fp > 0 and cost_fn > 0 and probabilities = 1",
        "errors cost {cost_fp} and {cost_fn}, and scores as probabilities give the threshold", "elkan"),
    _advise("binary/costs-no-probabilities",
        "expected_cost(cost_fp={cost_fp},cost_fn={cost_fn},threshold=min(expected_cost(cost_fp={cost_fp},cost_fn={cost_fn})))",
        "cost_fp > 0 and cost_fn > 0 and probabilities = 0",
        "errors cost {cost_fp} and {cost_fn}; scores are no probabilities, so the threshold is chosen, here "
        "on the same rows", "elkan"),
    _advise("binary/decisions", "precision recall mcc",
        "probabilities = 1 and top_score >= 0.5 and bottom_score < 0.5 and smallest >= 1",
        "decisions at threshold 0.5; write precision(threshold=0.3) for another", "chicco"),
    _advise("binary/unequal", "balanced_accuracy",
        "largest >= 0.8 and probabilities = 1 and top_score >= 0.5 and bottom_score < 0.5 and smallest >= 1",
        "both classes count alike, though one has {largest} of the rows", "brodersen"),
    _advise("binary/equal", "accuracy",
        "largest < 0.8 and probabilities = 1 and top_score >= 0.5 and bottom_score < 0.5",
        "the larger class has {largest} of the rows, and accuracy must beat that", "chicco"),
    _advise("binary/out-of-reach", "precision_at_recall(recall=0.8)",
        "top_score < 0.5 and probabilities = 1 and smallest >= 1 and values > 2",
        "a threshold that is solved for, as 0.5 is out of reach", "davis"),
    _advise("binary/no-threshold", "precision_at_recall(recall=0.8)",
        "probabilities = 0 and smallest >= 1 and values > 2",
        "a threshold that is solved for, as scores are no probabilities", "davis"),
    _advise("binary/proper", "log_loss brier", "probabilities = 1 and values > 2",
        "scores are probabilities: proper scores, best for honest ones", "gneiting"),
    _advise("binary/skill", "brier_skill", "probabilities = 1 and values > 2 and smallest >= 1",
        "brier against {constant_brier}, that of giving every row the prevalence", "benedetti"),
    _advise("binary/in-the-large", "calibration_ratio", "probabilities = 1 and values > 2 and smallest >= 1",
        "whether probabilities are right on average: 1 is", "calster"),
    _advise("binary/gaps", "ece", "probabilities = 1 and values > 2 and rows >= 2000",
        "gaps of the reliability diagram; chance alone gives about {noise} here", "kumar"),
    _advise("binary/called", "precision recall f1 mcc", "called = 1 and smallest >= 1",
        "a model gives classes and no score: there is no threshold to choose, and no order", "chicco"),
    # Two classes: what misleads.
    _against("binary/accuracy-imbalance", "accuracy error_rate max_accuracy", "largest >= 0.9",
        "calling every row the larger class scores {largest}; it tells little of the other class", "chicco",
        "balanced_accuracy mcc cohen_kappa f1 average_precision default_accuracy expected_cost"),
    _against("binary/roc-area-rare", "roc_auc gini roc_hull_auc", "prevalence < 0.01",
        "alone it hides that most of what is flagged is wrong: with {prevalence} positive, few false "
        "positives in a hundred negatives outnumber all positives", "saito",
        f"average_precision pr_auc interpolated_ap {_OF_THE_TOP} recall_at_fpr"),
    _against("binary/specificity-rare", "specificity npv", "prevalence < 0.05",
        "with {prevalence} positive it is near 1 for nearly every model", "saito",
        "precision recall f1 mcc balanced_accuracy average_precision"),
    _against("binary/f1-common", "f1 jaccard", "prevalence > 0.7",
        "calling every row positive has an F1 of {constant_f1}", "flach", "mcc balanced_accuracy cohen_kappa"),
    _against("binary/threshold-unreached", _AT_HALF, "top_score < 0.5",
        "the scores of a model end at {top_score}: at threshold 0.5 all its rows are called negative", "elkan"),
    _against("binary/threshold-passed", _AT_HALF, "bottom_score >= 0.5",
        "the scores of a model begin at {bottom_score}: at threshold 0.5 all its rows are called positive", "elkan"),
    _against("binary/threshold-of-logits", _AT_HALF, "logits = 1 and at_half = 1",
        "scores run from {score_low} to {score_high}, as logits do, which are 0 where probabilities are 0.5: write "
        "threshold=0, or name the column as the model's margin and calibrate it", "elkan"),
    _against("binary/threshold-of-margins", _AT_HALF, "probabilities = 0 and logits = 0 and at_half = 1",
        "scores run from {score_low} to {score_high}, where 0.5 is one threshold of many: say which you mean", "elkan"),
    _against("binary/equal-errors", "accuracy f1 balanced_accuracy mcc", "cost_ratio >= 2",
        "one error costs {cost_ratio} times the other, and it counts them without that", "elkan", "expected_cost"),
    _against("binary/no-probabilities", _PROBABILITY, "probabilities = 0",
        "scores run from {score_low} to {score_high}: they are no probabilities", "gneiting"),
    _against("binary/ece-few-rows", "ece(debias=false) brier_reliability brier_resolution", "rows < 1000",
        "{rows:row}: chance alone gives a calibrated model an ece of about {noise} in 15 bins", "kumar",
        "calibration_slope calibration_ratio kernel_ce corp_miscalibration"),
    _against("binary/test-many-rows", "hosmer_lemeshow hosmer_lemeshow_p_value", "rows > 25000",
        "with {rows:row} it finds gaps that do not matter; look at their size", "calster",
        "ece calibration_slope calibration_ratio"),
    _against("binary/test-units", "hosmer_lemeshow_p_value", "units = 1", _OF_UNITS, "kish"),
    _against("binary/test-weights", "hosmer_lemeshow_p_value", "weighted = 1", _OF_WEIGHTS, "kish"),
    _against("binary/brier-rare", "brier log_loss", "prevalence < 0.01",
        "giving every row the prevalence, {prevalence}, has a brier score of {constant_brier} already", "benedetti",
        "brier_skill log_loss_skill default_log_loss"),
    _against("binary/scores-are-decisions", "roc_auc gini average_precision pr_auc ks", "values <= 2",
        "a model's scores have {values:value}: its curve has one point, and the area adds nothing to it", "fawcett"),
    _against("binary/one-class", "roc_auc gini average_precision pr_auc ks mcc balanced_accuracy", "smallest < 1",
        "there is one class only, with {prevalence} positive: it is undefined or says nothing", "fawcett"),
    # Several classes: what suits.
    _advise("multiclass/equal", "accuracy", "largest < 0.6",
        "the largest class has {largest} of the rows, and accuracy must beat that", "sokolova"),
    _advise("multiclass/unequal", "balanced_accuracy", "largest >= 0.3",
        "every class counts alike, though one has {largest} of the rows", "brodersen"),
    _advise("multiclass/coefficient", "mcc", "classes >= 2",
        "one number from the whole confusion table", "gorodkin"),
    _advise("multiclass/harmonic", "f1", "classes >= 2",
        "precision and recall in one, the mean over {classes} classes that count alike", "sokolova"),
    _advise("multiclass/per-class", "recall(average=none) support", "classes <= 30",
        "a row for each of {classes} classes: which are found, and how many rows there are", "sokolova"),
    _advise("multiclass/many-classes", "top_k_accuracy(k=5)", "classes > 30 and probabilities = 1",
        "with {classes} classes a near miss counts for something", "sokolova"),
    _advise("multiclass/proper", "log_loss brier", "probabilities = 1",
        "a probability for each class: proper scores, best for honest ones", "gneiting"),
    _advise("multiclass/ranks", "roc_auc", "probabilities = 1 and smallest >= 1",
        "how well each probability orders its own class", "hand"),
    _advise("multiclass/gaps", "classwise_ece", "probabilities = 1 and rows >= 2000 and smallest >= 100",
        "gaps of the reliability diagrams of the classes", "kull"),
    # Several classes: what misleads.
    _against("multiclass/accuracy-imbalance", "accuracy error_rate f1(average=micro)", "largest >= 0.8",
        "calling every row the largest class scores {largest}", "sokolova",
        "balanced_accuracy mcc cohen_kappa f1(average=macro) default_accuracy"),
    _against("multiclass/macro-imbalance",
        "f1(average=macro) precision(average=macro) recall(average=macro) balanced_accuracy", "largest >= 0.9",
        "every class counts alike, and the largest has {largest} of the rows: what befalls most rows hardly shows",
        "sokolova", "accuracy error_rate mcc cohen_kappa support log_loss f1(average=micro) f1(average=weighted) "
        "f1(average=none) precision(average=none) recall(average=none)"),
    _against("multiclass/macro-few-rows",
        "f1(average=macro) precision(average=macro) recall(average=macro) balanced_accuracy", "smallest < 10",
        "the smallest class has {smallest:row} and counts as much as the largest", "sokolova",
        "f1(average=weighted) f1(average=none) recall(average=none) support"),
    _against("multiclass/area-few-rows", "roc_auc(average=macro) average_precision(average=macro)", "smallest < 10",
        "the area of a class with {smallest:row} is nearly chance, and counts as much as the others", "hand",
        "roc_auc(average=weighted) average_precision(average=weighted)"),
    _against("multiclass/ece-few-rows", "classwise_ece", "smallest < 100",
        "the smallest class has {smallest:row}, and bins of it hold a handful", "kull",
        "top_label_ece log_loss brier"),
    _against("multiclass/no-probabilities", "log_loss brier classwise_ece top_label_ece", "probabilities = 0",
        "scores run from {score_low} to {score_high}: they are no probabilities; of logits these are the softmax",
        "gneiting"),
    _against("multiclass/top-k-few-classes", "top_k_accuracy", "classes <= 4",
        "with {classes} classes chance alone finds the class among the first ones", "sokolova",
        "accuracy balanced_accuracy mcc"),
    # Numbers: what suits.
    _advise("regression/typical", "mae", "rows >= 1",
        "the size of a typical error, in units of the label", "willmott"),
    _advise("regression/large-errors", "rmse", "tail < 0.5",
        "large errors count more than in proportion, and no few rows decide it", "chai"),
    _advise("regression/bias", "mean_error", "rows >= 1",
        "whether predictions are too high on average", "hyndman"),
    _advise("regression/explained", "r2", "spread >= 0.01 and commonest < 0.9 and tail < 0.5",
        "against the mean of the labels as prediction", "kvalseth"),
    _advise("regression/heavy-tails", "median_absolute_error huber", "tail >= 0.5 and zeros <= 0.5",
        "one row in a hundred brings {tail} of the label's variation: these do not follow it", "huber"),
    _advise("regression/relative", "mape", "label_low > 0 and nearness >= 0.05",
        "all labels are above 0 and none is near it: errors in per cent are safe", "hyndman"),
    _advise("regression/relative-total", "wmape", "label_low >= 0 and nearness < 0.05 and label_high > 0",
        "errors in per cent of the total, which small labels cannot blow up", "kolassa"),
    _advise("regression/relative-zeros", "wmape", "label_low >= 0 and zeros > 0 and zeros < 1 and nearness >= 0.05",
        "errors in per cent of the total, as {zeros} of the labels are 0", "kolassa"),
    _advise("regression/shares", "mse", "label_low >= 0 and label_high <= 1 and score_low >= 0 and score_high <= 1",
        "labels and predictions are from 0 to 1: the Brier score of labels that are shares", "gneiting"),
    _advise("regression/decades", "rmsle", "label_low >= 0 and decades >= 3 and score_low > -1",
        "labels span {decades} powers of ten: ratios matter, not differences", "tofallis"),
    _advise("regression/counts", "tweedie_deviance(power=1)", "label_low >= 0 and zeros > 0.5 and score_low > 0",
        "the Poisson deviance: {zeros} of the labels are 0 and none is below, as of counts and claims",
        "gneiting_points"),
    # Numbers: what misleads.
    _against("regression/mape-zeros", "mape", "zeros > 0",
        "{zeros} of the labels are 0, and an error cannot be divided by that", "hyndman"),
    _against("regression/mape-near-zero", "mape", "zeros = 0 and nearness < 0.01",
        "the smallest label is {nearness} of the mean: a few small labels decide it", "kolassa", "wmape mae"),
    _against("regression/smape-zeros", "smape", "zeros > 0",
        "{zeros} of the labels are 0, and each brings 200 % unless the prediction is exactly 0", "hyndman",
        "wmape mae"),
    _against("regression/r2-constant", "r2 adjusted_r2 explained_variance rmse_skill", "spread < 0.01",
        "the label hardly varies (standard deviation over mean {spread}): what is explained is noise", "kvalseth"),
    _against("regression/r2-one-value", "r2 adjusted_r2 explained_variance rmse_skill", "commonest >= 0.9",
        "{commonest} of the labels are the same number: the few others decide it", "kvalseth",
        "mae median_absolute_error absolute_error_quantile"),
    _against("regression/squares-tails", "mse rmse r2 adjusted_r2 explained_variance", "tail >= 0.5",
        "one row in a hundred brings {tail} of the label's variation, and decides it", "huber",
        "mae median_absolute_error huber absolute_error_quantile"),
    _against("regression/median-zeros", "median_absolute_error mae", "zeros > 0.5",
        "{zeros} of the labels are 0: predicting 0 everywhere looks best", "gneiting_points",
        "tweedie_deviance rmse mse mean_error r2"),
    _against("regression/logarithm-negative", "msle rmsle", "label_low <= -1",
        "the lowest label is {label_low}, which has no logarithm after adding 1", "tofallis"),
    _against("regression/logarithm-predictions", "msle rmsle", "score_low <= -1",
        "the lowest prediction is {score_low}, which has no logarithm after adding 1", "tofallis"),
    # Quantiles: what suits.
    _advise("quantile/proper", "wis", "levels >= 1",
        "a proper score of all {levels} quantiles together", "bracher"),
    _advise("quantile/whole", "crps", "levels >= 9",
        "with {levels} quantiles near the score of the whole distribution", "gneiting"),
    _advise("quantile/distribution", "crps", "levels = 0",
        "the proper score of whole distributions", "gneiting"),
    _advise("quantile/median", "mae mean_error", "median = 1",
        "error and bias of the median", "gneiting_points"),
    _advise("quantile/intervals", "interval_coverage(level={widest}) interval_score(level={widest})", "widest > 0",
        "whether the widest interval holds what it says, and how narrow it is for that", "winkler"),
    _advise("quantile/order", "crossing_rate", "levels >= 2",
        "quantiles that cross belong to no distribution", "bracher"),
    # Quantiles: what misleads.
    _against("quantile/crps-few-levels", "crps", "levels > 0 and levels < 9",
        "{levels} quantiles stand for the whole distribution only roughly", "bracher", "wis quantile_loss"),
    _against("quantile/coverage-alone", "interval_coverage", "widest > 0",
        "alone it rewards wide intervals", "gneiting_sharpness", "interval_score interval_width wis crps"),
    _against("quantile/test-units", _TRANSFORM_TESTS, "units = 1", _OF_UNITS, "kish"),
    _against("quantile/test-weights", _TRANSFORM_TESTS, "weighted = 1", _OF_WEIGHTS, "kish"),
    _against("quantile/no-median", "mae mean_error", "median = 0",
        "there is no median: it judges the quantile nearest to it", "gneiting_points", "wis quantile_loss"),
    # Rankings: what suits.
    _advise("ranking/graded", "ndcg(k={cut})", "grades > 2",
        "relevance has {grades} grades, and early places count", "jarvelin"),
    _advise("ranking/binary", "map ndcg(k={cut})", "grades <= 2",
        "all relevant documents count, the early ones more", "manning"),
    _advise("ranking/one", "mrr hit_at_k(k={cut})", "relevant <= 1.5",
        "a query has {relevant:relevant document}", "manning"),
    _advise("ranking/several", "recall_at_k(k={cut})", "relevant > 1.5",
        "how many of {relevant} relevant ones come first", "manning"),
    # Rankings: what misleads.
    _against("ranking/precision-few-relevant", "precision_at_k f1_at_k", "relevant < 2",
        "a query has {relevant:relevant document}: k places cannot all be right", "manning",
        "recall_at_k r_precision map ndcg mrr"),
    _against("ranking/first-only", "mrr hit_at_k", "relevant >= 5",
        "a query has {relevant:relevant document}, and it looks at the first alone", "manning",
        "map ndcg recall_at_k r_precision"),
    _against("ranking/grades-lost", "map mrr precision_at_k recall_at_k hit_at_k f1_at_k r_precision", "grades > 2",
        "relevance has {grades} grades, and it knows two", "jarvelin", "ndcg dcg"),
    _against("ranking/few-documents", "ndcg recall_at_k hit_at_k", "documents < 3",
        "a query has {documents:document}: any order of so few scores high", "jarvelin", "default_ndcg"),
    # Several classes a row: what suits.
    _advise("multilabel/average", "f1 f1(average=micro)", "classes >= 2",
        "rates of calls at threshold 0.5: each of {classes} classes counts alike, or each pair of row and class",
        "sokolova"),
    _advise("multilabel/rows", "f1(average=samples) hamming_loss", "classes >= 2",
        "rows have {per_row:class|classes} on average: how right the set of a row is", "tsoumakas"),
    _advise("multilabel/per-class", "precision(average=none) recall(average=none)", "classes <= 20",
        "{classes} classes: each is looked at alone", "sokolova"),
    _advise("multilabel/ranks", "label_ranking_average_precision roc_auc average_precision", "smallest >= 1",
        "the order of scores, at no threshold: of the classes of a row, and of the rows of a class", "schapire"),
    _advise("multilabel/proper", "log_loss", "probabilities = 1",
        "scores are probabilities: a proper score of each class", "gneiting"),
    # Several classes a row: what misleads.
    _against("multilabel/exact", "subset_accuracy", "classes > 5",
        "all of {classes} classes must be right at once: near 0 for good models, and blind to near hits", "tsoumakas",
        "f1(average=samples) hamming_loss jaccard(average=samples)"),
    _against("multilabel/empty-rows", "hamming_loss", "per_row < 0.5",
        "rows have {per_row:class|classes} on average: calling none is right nearly everywhere", "tsoumakas",
        "f1 f1(average=micro) average_precision"),
    _against("multilabel/few-rows", "f1 precision recall roc_auc average_precision", "smallest < 10",
        "the smallest class has {smallest:row} and counts as much as the largest", "sokolova",
        "f1(average=micro) f1(average=weighted) recall(average=none) support"),
    _against("multilabel/no-probabilities", "log_loss classwise_ece", "probabilities = 0",
        "scores run from {score_low} to {score_high}: they are no probabilities", "gneiting"),
    # Experiments.
    _advise("experiment/outcomes", "mean", "rows >= 1",
        "of each outcome over all arms; the table experiment compares them arm by arm", "imbens"),
    # Effects: what suits.
    _advise("uplift/effect", "ate", "treated > 0 and treated < 1",
        "the effect that a ranking can only distribute", "imbens"),
    _advise("uplift/ranks", "qini uplift_at_k(k=0.1)", "treated > 0.05 and treated < 0.95",
        "whether those it pays to treat come first", "radcliffe"),
    # Effects: what misleads.
    _against("uplift/small-arm", "qini auuc uplift_at_k", "treated <= 0.05",
        "{treated} are treated: the curve rests on these few", "devriendt", "ate"),
    _against("uplift/small-control", "qini auuc uplift_at_k", "treated >= 0.95",
        "{treated} are treated: the curve rests on the few others", "devriendt", "ate"),
)
# fmt: on
"""Every rule, by task: what suits a table, then what misleads on it."""
