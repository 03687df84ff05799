"""The rules of advice: which metrics suit a table, and which mislead on it.

`plmetrics suggest` advises by them; `validate` and runs warn by them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.catalogue.advice.advice_rule import Rule, Verdict
from plmetrics.catalogue.advice.advice_rule import advise as _advise

if TYPE_CHECKING:
    from plmetrics.catalogue.advice.advice_rule import TableFacts


def rules_for(facts: TableFacts, verdict: Verdict) -> tuple[Rule, ...]:
    """The rules that speak of a table, in the order of the table of rules."""
    return tuple(rule for rule in RULES if rule.verdict == verdict and rule.holds(facts))


def matching_rules(task: str, name: str) -> tuple[Rule, ...]:
    """The rules of a task that speak of a metric, whatever its parameters."""
    return tuple(
        rule
        for rule in RULES
        if rule.task == task and any(text.partition("(")[0] == name for text in rule.metrics)
    )


def _against(name: str, metrics: str, when: str, reason: str, source: str, companions: str = "") -> Rule:
    named, others = tuple(metrics.split()), tuple(companions.split())
    return Rule(name, "advise_against", named, when, reason, source, others)


_BRODERSEN = "Brodersen et al., The balanced accuracy and its posterior distribution, ICPR 2010"
_CHICCO = "Chicco and Jurman, The advantages of the Matthews correlation coefficient, BMC Genomics 21:6, 2020"
_DAVIS = "Davis and Goadrich, The relationship between precision-recall and ROC curves, ICML 2006"
_ELKAN = "Elkan, The foundations of cost-sensitive learning, IJCAI 2001"
_FAWCETT = "Fawcett, An introduction to ROC analysis, Pattern Recognition Letters 27, 2006"
_FLACH = "Flach and Kull, Precision-recall-gain curves, NeurIPS 2015"
_GNEITING = "Gneiting and Raftery, Strictly proper scoring rules, JASA 102, 2007"
_POINTS = "Gneiting, Making and evaluating point forecasts, JASA 106, 2011"
_BENEDETTI = "Benedetti, Scoring rules for forecast verification, Monthly Weather Review 138, 2010"
_CALSTER = (
    "Van Calster et al., Calibration: the Achilles heel of predictive analytics, BMC Medicine 17:230, 2019"
)
_KUMAR = "Kumar, Liang and Ma, Verified uncertainty calibration, NeurIPS 2019"
_SAITO = "Saito and Rehmsmeier, The precision-recall plot is more informative, PLOS ONE 10(3), 2015"
_HYNDMAN = "Hyndman and Koehler, Another look at measures of forecast accuracy, Int. J. Forecasting 22, 2006"
_KOLASSA = "Kolassa and Schuetz, Advantages of the MAD/mean ratio over the MAPE, Foresight 6, 2007"
_KVALSETH = "Kvalseth, Cautionary note about R2, The American Statistician 39, 1985"
_TOFALLIS = "Tofallis, A better measure of relative prediction accuracy, J. Oper. Res. Soc. 66, 2015"
_WILLMOTT = "Willmott and Matsuura, Advantages of the mean absolute error, Climate Research 30, 2005"
_CHAI = "Chai and Draxler, Root mean square error or mean absolute error?, Geosci. Model Dev. 7, 2014"
_HUBER = "Huber, Robust estimation of a location parameter, Ann. Math. Statist. 35, 1964"
_HAND = "Hand and Till, A simple generalisation of the area under the ROC curve, Machine Learning 45, 2001"
_SOKOLOVA = "Sokolova and Lapalme, A systematic analysis of performance measures, Inf. Proc. Man. 45, 2009"
_GORODKIN = "Gorodkin, Comparing two K-category assignments, Comput. Biol. Chem. 28, 2004"
_KULL = "Kull et al., Beyond temperature scaling, NeurIPS 2019"
_BRACHER = "Bracher et al., Evaluating epidemic forecasts in an interval format, PLOS Comput. Biol. 17, 2021"
_SHARPNESS = "Gneiting, Balabdaoui and Raftery, Probabilistic forecasts, JRSS B 69, 2007"
_WINKLER = "Winkler, A decision-theoretic approach to interval estimation, JASA 67, 1972"
_JARVELIN = "Jarvelin and Kekalainen, Cumulated gain-based evaluation of IR techniques, ACM TOIS 20, 2002"
_MANNING = "Manning, Raghavan and Schuetze, Introduction to information retrieval, ch. 8, 2008"
_RADCLIFFE = (
    "Radcliffe, Using control groups to target on predicted lift, Direct Marketing Analytics J., 2007"
)
_DEVRIENDT = "Devriendt et al., Learning to rank for uplift modeling, IEEE TKDE 34, 2022"
_NEYMAN = "Imbens and Rubin, Causal inference for statistics, ch. 6, 2015"

_TSOUMAKAS = "Tsoumakas and Katakis, Multi-label classification: an overview, IJDWM 3(3), 2007"
_SCHAPIRE = (
    "Schapire and Singer, BoosTexter: a boosting-based system for text categorization, Mach. Learn. 39, 2000"
)

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
_OF_THE_TOP = (
    "precision_at_k recall_at_k lift_at_k precision_at_volume precision_at_recall recall_at_precision"
)

# A table: a rule takes a few lines, not one for each of its parts.
# fmt: off
RULES: tuple[Rule, ...] = (
    # Two classes: what suits.
    _advise("binary/base-rate", "prevalence", "rows >= 1",
        "what every other number is read against", _FAWCETT),
    _advise("binary/ranks", "roc_auc", "smallest >= 1 and values > 2",
        "how well scores order the classes, at no threshold and whatever their shares", _FAWCETT),
    _advise("binary/rare", "average_precision", "prevalence < 0.2 and smallest >= 1 and values > 2",
        "only {prevalence} are positive: what matters is what stands among the highest scores", _SAITO),
    _advise("binary/common", "average_precision", "prevalence >= 0.2 and prevalence < 1 and values > 2",
        "precision over all recalls; read it against the prevalence, {prevalence}", _DAVIS),
    _advise("binary/very-rare", "lift_at_k(k=0.01) recall_at_fpr(fpr=0.01)",
        "prevalence < 0.01 and smallest >= 1 and values > 2 and rows >= 1000",
        "with {prevalence} positive only the top of the list is ever acted on", _SAITO),
    _advise("binary/costs",
        "expected_cost(cost_fp={cost_fp},cost_fn={cost_fn},threshold=optimal(cost_fp={cost_fp},cost_fn={cost_fn}))",
        "cost_fp > 0 and cost_fn > 0 and probabilities = 1",
        "errors cost {cost_fp} and {cost_fn}, and scores as probabilities give the threshold", _ELKAN),
    _advise("binary/costs-no-probabilities",
        "expected_cost(cost_fp={cost_fp},cost_fn={cost_fn},threshold=min(expected_cost(cost_fp={cost_fp},cost_fn={cost_fn})))",
        "cost_fp > 0 and cost_fn > 0 and probabilities = 0",
        "errors cost {cost_fp} and {cost_fn}; scores are no probabilities, so the threshold is chosen, here "
        "on the same rows", _ELKAN),
    _advise("binary/decisions", "precision recall mcc",
        "probabilities = 1 and top_score >= 0.5 and bottom_score < 0.5 and smallest >= 1",
        "decisions at threshold 0.5; write precision(threshold=0.3) for another", _CHICCO),
    _advise("binary/unequal", "balanced_accuracy",
        "largest >= 0.8 and probabilities = 1 and top_score >= 0.5 and bottom_score < 0.5 and smallest >= 1",
        "both classes count alike, though one has {largest} of the rows", _BRODERSEN),
    _advise("binary/equal", "accuracy",
        "largest < 0.8 and probabilities = 1 and top_score >= 0.5 and bottom_score < 0.5",
        "the larger class has {largest} of the rows, and accuracy must beat that", _CHICCO),
    _advise("binary/out-of-reach", "precision_at_recall(recall=0.8)",
        "top_score < 0.5 and probabilities = 1 and smallest >= 1 and values > 2",
        "a threshold that is solved for, as 0.5 is out of reach", _DAVIS),
    _advise("binary/no-threshold", "precision_at_recall(recall=0.8)",
        "probabilities = 0 and smallest >= 1 and values > 2",
        "a threshold that is solved for, as scores are no probabilities", _DAVIS),
    _advise("binary/proper", "log_loss brier", "probabilities = 1 and values > 2",
        "scores are probabilities: proper scores, best for honest ones", _GNEITING),
    _advise("binary/skill", "brier_skill", "probabilities = 1 and values > 2 and smallest >= 1",
        "brier against {constant_brier}, that of giving every row the prevalence", _BENEDETTI),
    _advise("binary/in-the-large", "calibration_ratio", "probabilities = 1 and values > 2 and smallest >= 1",
        "whether probabilities are right on average: 1 is", _CALSTER),
    _advise("binary/gaps", "ece", "probabilities = 1 and values > 2 and rows >= 2000",
        "gaps of the reliability diagram; chance alone gives about {noise} here", _KUMAR),
    _advise("binary/called", "precision recall f1 mcc", "called = 1 and smallest >= 1",
        "a model gives classes and no score: there is no threshold to choose, and no order", _CHICCO),
    # Two classes: what misleads.
    _against("binary/accuracy-imbalance", "accuracy error_rate max_accuracy", "largest >= 0.9",
        "calling every row the larger class scores {largest}; it tells little of the other class", _CHICCO,
        "balanced_accuracy mcc cohen_kappa f1 average_precision default_accuracy expected_cost"),
    _against("binary/roc-area-rare", "roc_auc gini roc_hull_auc", "prevalence < 0.01",
        "alone it hides that most of what is flagged is wrong: with {prevalence} positive, few false "
        "positives in a hundred negatives outnumber all positives", _SAITO,
        f"average_precision pr_auc interpolated_ap {_OF_THE_TOP} recall_at_fpr"),
    _against("binary/specificity-rare", "specificity npv", "prevalence < 0.05",
        "with {prevalence} positive it is near 1 for nearly every model", _SAITO,
        "precision recall f1 mcc balanced_accuracy average_precision"),
    _against("binary/f1-common", "f1 jaccard", "prevalence > 0.7",
        "calling every row positive has an F1 of {constant_f1}", _FLACH, "mcc balanced_accuracy cohen_kappa"),
    _against("binary/threshold-unreached", _AT_HALF, "top_score < 0.5",
        "the scores of a model end at {top_score}: at threshold 0.5 all its rows are called negative", _ELKAN),
    _against("binary/threshold-passed", _AT_HALF, "bottom_score >= 0.5",
        "the scores of a model begin at {bottom_score}: at threshold 0.5 all its rows are called positive", _ELKAN),
    _against("binary/threshold-of-logits", _AT_HALF, "logits = 1",
        "scores run from {score_low} to {score_high}, as logits do, which are 0 where probabilities are 0.5: write "
        "threshold=0, or name the column as the model's margin and calibrate it", _ELKAN),
    _against("binary/threshold-of-margins", _AT_HALF, "probabilities = 0 and logits = 0",
        "scores run from {score_low} to {score_high}, where 0.5 is one threshold of many: say which you mean", _ELKAN),
    _against("binary/equal-errors", "accuracy f1 balanced_accuracy mcc", "cost_ratio >= 2",
        "one error costs {cost_ratio} times the other, and it counts them without that", _ELKAN, "expected_cost"),
    _against("binary/no-probabilities", _PROBABILITY, "probabilities = 0",
        "scores run from {score_low} to {score_high}: they are no probabilities", _GNEITING),
    _against("binary/ece-few-rows", "ece brier_reliability brier_resolution", "rows < 1000",
        "{rows} rows in 15 bins: chance alone gives a calibrated model an ece of about {noise}", _KUMAR,
        "calibration_slope calibration_ratio kernel_ce corp_miscalibration"),
    _against("binary/test-many-rows", "hosmer_lemeshow hosmer_lemeshow_p_value", "rows > 25000",
        "with {rows} rows it finds gaps that do not matter; look at their size", _CALSTER,
        "ece calibration_slope calibration_ratio"),
    _against("binary/brier-rare", "brier log_loss", "prevalence < 0.01",
        "giving every row the prevalence, {prevalence}, has a brier score of {constant_brier} already", _BENEDETTI,
        "brier_skill log_loss_skill default_log_loss"),
    _against("binary/scores-are-decisions", "roc_auc gini average_precision pr_auc ks", "values <= 2",
        "a model's scores have {values} values: its curve has one point, and the area adds nothing to it", _FAWCETT),
    _against("binary/one-class", "roc_auc gini average_precision pr_auc ks mcc balanced_accuracy", "smallest < 1",
        "there is one class only, with {prevalence} positive: it is undefined or says nothing", _FAWCETT),
    # Several classes: what suits.
    _advise("multiclass/equal", "accuracy", "largest < 0.6",
        "the largest class has {largest} of the rows, and accuracy must beat that", _SOKOLOVA),
    _advise("multiclass/unequal", "balanced_accuracy", "largest >= 0.3",
        "every class counts alike, though one has {largest} of the rows", _BRODERSEN),
    _advise("multiclass/coefficient", "mcc", "classes >= 2",
        "one number from the whole confusion table", _GORODKIN),
    _advise("multiclass/harmonic", "f1", "classes >= 2",
        "precision and recall in one, the mean over {classes} classes that count alike", _SOKOLOVA),
    _advise("multiclass/per-class", "recall(average=none) support", "classes <= 30",
        "a row for each of {classes} classes: which are found, and how many rows there are", _SOKOLOVA),
    _advise("multiclass/many-classes", "top_k_accuracy(k=5)", "classes > 30 and probabilities = 1",
        "with {classes} classes a near miss counts for something", _SOKOLOVA),
    _advise("multiclass/proper", "log_loss brier", "probabilities = 1",
        "a probability for each class: proper scores, best for honest ones", _GNEITING),
    _advise("multiclass/ranks", "roc_auc", "probabilities = 1 and smallest >= 1",
        "how well each probability orders its own class", _HAND),
    _advise("multiclass/gaps", "classwise_ece", "probabilities = 1 and rows >= 2000 and smallest >= 100",
        "gaps of the reliability diagrams of the classes", _KULL),
    # Several classes: what misleads.
    _against("multiclass/accuracy-imbalance", "accuracy error_rate f1(average=micro)", "largest >= 0.8",
        "calling every row the largest class scores {largest}", _SOKOLOVA,
        "balanced_accuracy mcc cohen_kappa f1(average=macro) default_accuracy"),
    _against("multiclass/macro-imbalance",
        "f1(average=macro) precision(average=macro) recall(average=macro) balanced_accuracy", "largest >= 0.9",
        "every class counts alike, and the largest has {largest} of the rows: what befalls most rows hardly shows",
        _SOKOLOVA, "accuracy error_rate mcc cohen_kappa support log_loss f1(average=micro) f1(average=weighted) "
        "f1(average=none) precision(average=none) recall(average=none)"),
    _against("multiclass/macro-few-rows",
        "f1(average=macro) precision(average=macro) recall(average=macro) balanced_accuracy", "smallest < 10",
        "the smallest class has {smallest} rows and counts as much as the largest", _SOKOLOVA,
        "f1(average=weighted) f1(average=none) recall(average=none) support"),
    _against("multiclass/area-few-rows", "roc_auc(average=macro) average_precision(average=macro)", "smallest < 10",
        "the area of a class with {smallest} rows is nearly chance, and counts as much as the others", _HAND,
        "roc_auc(average=weighted) average_precision(average=weighted)"),
    _against("multiclass/ece-few-rows", "classwise_ece", "smallest < 100",
        "the smallest class has {smallest} rows, and bins of it hold a handful", _KULL,
        "top_label_ece log_loss brier"),
    _against("multiclass/no-probabilities", "log_loss brier classwise_ece top_label_ece", "probabilities = 0",
        "scores run from {score_low} to {score_high}: they are no probabilities; of logits these are the softmax",
        _GNEITING),
    _against("multiclass/top-k-few-classes", "top_k_accuracy", "classes <= 4",
        "with {classes} classes chance alone finds the class among the first ones", _SOKOLOVA,
        "accuracy balanced_accuracy mcc"),
    # Numbers: what suits.
    _advise("regression/typical", "mae", "rows >= 1",
        "the size of a typical error, in units of the label", _WILLMOTT),
    _advise("regression/large-errors", "rmse", "tail < 0.5",
        "large errors count more than in proportion, and no few rows decide it", _CHAI),
    _advise("regression/bias", "mean_error", "rows >= 1",
        "whether predictions are too high on average", _HYNDMAN),
    _advise("regression/explained", "r2", "spread >= 0.01 and commonest < 0.9 and tail < 0.5",
        "against the mean of the labels as prediction", _KVALSETH),
    _advise("regression/heavy-tails", "median_absolute_error huber", "tail >= 0.5",
        "one row in a hundred brings {tail} of the label's variation: these do not follow it", _HUBER),
    _advise("regression/relative", "mape", "label_low > 0 and nearness >= 0.05",
        "all labels are above 0 and none is near it: errors in per cent are safe", _HYNDMAN),
    _advise("regression/relative-total", "wmape", "label_low >= 0 and nearness < 0.05 and label_high > 0",
        "errors in per cent of the total, which small labels cannot blow up", _KOLASSA),
    _advise("regression/relative-zeros", "wmape", "label_low >= 0 and zeros > 0 and zeros < 1 and nearness >= 0.05",
        "errors in per cent of the total, as {zeros} of the labels are 0", _KOLASSA),
    _advise("regression/shares", "mse", "label_low >= 0 and label_high <= 1 and score_low >= 0 and score_high <= 1",
        "labels and predictions are from 0 to 1: the Brier score of labels that are shares", _GNEITING),
    _advise("regression/decades", "rmsle", "label_low >= 0 and decades >= 3 and score_low > -1",
        "labels span {decades} powers of ten: ratios matter, not differences", _TOFALLIS),
    # Numbers: what misleads.
    _against("regression/mape-zeros", "mape", "zeros > 0",
        "{zeros} of the labels are 0, and an error cannot be divided by that", _HYNDMAN),
    _against("regression/mape-near-zero", "mape", "zeros = 0 and nearness < 0.01",
        "the smallest label is {nearness} of the mean: a few small labels decide it", _KOLASSA, "wmape mae"),
    _against("regression/smape-zeros", "smape", "zeros > 0",
        "{zeros} of the labels are 0, and each brings 200 % unless the prediction is exactly 0", _HYNDMAN,
        "wmape mae"),
    _against("regression/r2-constant", "r2 adjusted_r2 explained_variance rmse_skill", "spread < 0.01",
        "the label hardly varies (standard deviation over mean {spread}): what is explained is noise", _KVALSETH),
    _against("regression/r2-one-value", "r2 adjusted_r2 explained_variance rmse_skill", "commonest >= 0.9",
        "{commonest} of the labels are the same number: the few others decide it", _KVALSETH,
        "mae median_absolute_error absolute_error_quantile"),
    _against("regression/squares-tails", "mse rmse r2 adjusted_r2 explained_variance", "tail >= 0.5",
        "one row in a hundred brings {tail} of the label's variation, and decides it", _HUBER,
        "mae median_absolute_error huber absolute_error_quantile"),
    _against("regression/median-zeros", "median_absolute_error mae", "zeros > 0.5",
        "{zeros} of the labels are 0: predicting 0 everywhere looks best", _POINTS, "rmse mse mean_error r2"),
    _against("regression/logarithm-negative", "msle rmsle", "label_low <= -1",
        "the lowest label is {label_low}, which has no logarithm after adding 1", _TOFALLIS),
    _against("regression/logarithm-predictions", "msle rmsle", "score_low <= -1",
        "the lowest prediction is {score_low}, which has no logarithm after adding 1", _TOFALLIS),
    # Quantiles: what suits.
    _advise("quantile/proper", "wis", "levels >= 1",
        "a proper score of all {levels} quantiles together", _BRACHER),
    _advise("quantile/whole", "crps", "levels >= 9",
        "with {levels} quantiles near the score of the whole distribution", _GNEITING),
    _advise("quantile/distribution", "crps", "levels = 0",
        "the proper score of whole distributions", _GNEITING),
    _advise("quantile/median", "mae mean_error", "median = 1",
        "error and bias of the median", _POINTS),
    _advise("quantile/intervals", "interval_coverage(level={widest}) interval_score(level={widest})", "widest > 0",
        "whether the widest interval holds what it says, and how narrow it is for that", _WINKLER),
    _advise("quantile/order", "crossing_rate", "levels >= 2",
        "quantiles that cross belong to no distribution", _BRACHER),
    # Quantiles: what misleads.
    _against("quantile/crps-few-levels", "crps", "levels > 0 and levels < 9",
        "{levels} quantiles stand for the whole distribution only roughly", _BRACHER, "wis quantile_loss"),
    _against("quantile/coverage-alone", "interval_coverage", "widest > 0",
        "alone it rewards wide intervals", _SHARPNESS, "interval_score interval_width wis crps"),
    _against("quantile/no-median", "mae mean_error", "median = 0",
        "there is no median: it judges the quantile nearest to it", _POINTS, "wis quantile_loss"),
    # Rankings: what suits.
    _advise("ranking/graded", "ndcg(k={cut})", "grades > 2",
        "relevance has {grades} grades, and early places count", _JARVELIN),
    _advise("ranking/binary", "map ndcg(k={cut})", "grades <= 2",
        "all relevant documents count, the early ones more", _MANNING),
    _advise("ranking/one", "mrr hit_at_k(k={cut})", "relevant <= 1.5",
        "a query has {relevant} relevant documents", _MANNING),
    _advise("ranking/several", "recall_at_k(k={cut})", "relevant > 1.5",
        "how many of {relevant} relevant ones come first", _MANNING),
    # Rankings: what misleads.
    _against("ranking/precision-few-relevant", "precision_at_k f1_at_k", "relevant < 2",
        "a query has {relevant} relevant documents: k places cannot all be right", _MANNING,
        "recall_at_k r_precision map ndcg mrr"),
    _against("ranking/first-only", "mrr hit_at_k", "relevant >= 5",
        "a query has {relevant} relevant documents, and it looks at the first alone", _MANNING,
        "map ndcg recall_at_k r_precision"),
    _against("ranking/grades-lost", "map mrr precision_at_k recall_at_k hit_at_k f1_at_k r_precision", "grades > 2",
        "relevance has {grades} grades, and it knows two", _JARVELIN, "ndcg dcg"),
    _against("ranking/few-documents", "ndcg recall_at_k hit_at_k", "documents < 3",
        "a query has {documents} documents: any order of so few scores high", _JARVELIN, "default_ndcg"),
    # Several classes a row: what suits.
    _advise("multilabel/average", "f1 f1(average=micro)", "classes >= 2",
        "rates of calls at threshold 0.5: each of {classes} classes counts alike, or each pair of row and class",
        _SOKOLOVA),
    _advise("multilabel/rows", "f1(average=samples) hamming_loss", "classes >= 2",
        "rows have {per_row} classes on average: how right the set of a row is", _TSOUMAKAS),
    _advise("multilabel/per-class", "precision(average=none) recall(average=none)", "classes <= 20",
        "{classes} classes: each is looked at alone", _SOKOLOVA),
    _advise("multilabel/ranks", "label_ranking_average_precision roc_auc average_precision", "smallest >= 1",
        "the order of scores, at no threshold: of the classes of a row, and of the rows of a class", _SCHAPIRE),
    _advise("multilabel/proper", "log_loss", "probabilities = 1",
        "scores are probabilities: a proper score of each class", _GNEITING),
    # Several classes a row: what misleads.
    _against("multilabel/exact", "subset_accuracy", "classes > 5",
        "all of {classes} classes must be right at once: near 0 for good models, and blind to near hits", _TSOUMAKAS,
        "f1(average=samples) hamming_loss jaccard(average=samples)"),
    _against("multilabel/empty-rows", "hamming_loss", "per_row < 0.5",
        "rows have {per_row} classes on average: calling none is right nearly everywhere", _TSOUMAKAS,
        "f1 f1(average=micro) average_precision"),
    _against("multilabel/few-rows", "f1 precision recall roc_auc average_precision", "smallest < 10",
        "the smallest class has {smallest} rows and counts as much as the largest", _SOKOLOVA,
        "f1(average=micro) f1(average=weighted) recall(average=none) support"),
    _against("multilabel/no-probabilities", "log_loss classwise_ece", "probabilities = 0",
        "scores run from {score_low} to {score_high}: they are no probabilities", _GNEITING),
    # Experiments.
    _advise("experiment/outcomes", "mean", "rows >= 1",
        "of each outcome over all arms; the table experiment compares them arm by arm", _NEYMAN),
    # Effects: what suits.
    _advise("uplift/effect", "ate", "treated > 0 and treated < 1",
        "the effect that a ranking can only distribute", _NEYMAN),
    _advise("uplift/ranks", "qini uplift_at_k(k=0.1)", "treated > 0.05 and treated < 0.95",
        "whether those it pays to treat come first", _RADCLIFFE),
    # Effects: what misleads.
    _against("uplift/small-arm", "qini auuc uplift_at_k", "treated <= 0.05",
        "{treated} are treated: the curve rests on these few", _DEVRIENDT, "ate"),
    _against("uplift/small-control", "qini auuc uplift_at_k", "treated >= 0.95",
        "{treated} are treated: the curve rests on the few others", _DEVRIENDT, "ate"),
)
# fmt: on
"""Every rule, by task: what suits a table, then what misleads on it."""
