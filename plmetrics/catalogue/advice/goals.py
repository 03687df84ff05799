"""Goals of an evaluation: the questions of metric-choice charts and usual domains, with their metrics.

Rules of a goal are rules of advice that hold where the goal is asked for; the metrics come first in a suite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from plmetrics.catalogue.advice.advice_rule import AdviceRule, TableFacts
from plmetrics.catalogue.advice.advice_rule import advise as _advise


@dataclass(frozen=True, slots=True)
class Goal:
    """Question to an evaluation, or a domain with metrics of its own.

    `rules` are the metrics by task, and `curves` those that belong to them, by task. `lacks` says what a table lacks on
    which no rule of the goal holds.
    """

    name: str
    kind: Literal["question", "domain"]
    question: str
    rules: tuple[AdviceRule, ...]
    lacks: str
    curves: tuple[tuple[str, str], ...] = ()

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks it has metrics for."""
        return tuple(dict.fromkeys(rule.task for rule in self.rules))

    def rules_of(self, facts: TableFacts) -> tuple[AdviceRule, ...]:
        """Applicable rules of a table."""
        return tuple(rule for rule in self.rules if rule.holds(facts))

    def curves_of(self, task: str) -> tuple[str, ...]:
        """Curves of a task with the same content."""
        return tuple(curve for owner, curve in self.curves if owner == task)


def goal_by_name(text: str) -> Goal | None:
    """Goal of a name, with any marks between its words.

    >>> goal_by_name("one-good-result").name
    'one_good_result'
    """
    name = text.strip().lower().replace("-", "_").replace(" ", "_")
    return next((goal for goal in GOALS if goal.name == name), None)


def goals_of(task: str) -> tuple[Goal, ...]:
    """Goals with metrics for a task."""
    return tuple(goal for goal in GOALS if task in goal.tasks)


_COSTS = "expected_cost(cost_fp={cost_fp},cost_fn={cost_fn},threshold=%s)"
_SHARES = "probabilities = 1 and smallest >= 1 and values > 2"
_ORDERED = "smallest >= 1 and values > 2"

# A table: a rule takes a few lines, not one for each of its parts.
# fmt: off
GOALS: tuple[Goal, ...] = (
    Goal("one_good_result", "question", "One good result is enough: an answer, a page that was looked for", (
        _advise("ranking/goal-one", "mrr hit_at_k(k=1)", "documents >= 2",
            "goal: how soon the first good result comes, and how often it is the very first", "voorhees"),
        _advise("multiclass/goal-one", "accuracy", "classes >= 2",
            "goal: how often the first class is right", "manning"),
        _advise("multilabel/goal-one", "label_ranking_average_precision", "classes >= 2",
            "goal: how high the classes that a row has stand", "schapire"),
    ), "queries have fewer than 2 documents"),
    Goal("candidate_retrieval", "question", "Candidates for a second stage: nothing good may be lost", (
        _advise("ranking/goal-candidates", "recall_at_k(k={candidates}) hit_at_k(k={candidates})", "documents >= 2",
            "goal: what the first {candidates} of {documents} documents keep of the relevant ones", "covington"),
        _advise("multiclass/goal-candidates", "top_k_accuracy(k=5)", "classes >= 10 and probabilities = 1",
            "goal: how often the class is among the first 5 of {classes}", "covington"),
        _advise("multilabel/goal-candidates", "coverage_error", "classes >= 2",
            "goal: how far down the list goes on until all classes of a row are there", "schapire"),
        _advise("binary/goal-candidates", "recall_at_k(k=0.1) recall_at_k(k=0.2)", _ORDERED,
            "goal: the share of the positives that the highest tenth and fifth of the scores keep", "covington"),
    ), "it has too few documents or classes, or one class alone"),
    Goal("calibrated_probabilities", "question", "Probabilities are read as such: prices, risks, expected values", (
        _advise("binary/goal-calibrated", "log_loss brier calibration_slope calibration_intercept", _SHARES,
            "goal: proper scores, and whether probabilities are too sure (slope below 1) or too high", "calster"),
        _advise("binary/goal-miscalibration", "corp_miscalibration ece", _SHARES,
            "goal: what calibration alone could gain, and the gaps of the reliability diagram", "dimitriadis"),
        _advise("multiclass/goal-calibrated", "log_loss brier classwise_ece top_label_ece", "probabilities = 1",
            "goal: proper scores, and gaps by class and of the class that was called", "kull"),
        _advise("multilabel/goal-calibrated", "log_loss classwise_ece", "probabilities = 1",
            "goal: a proper score of every class, and gaps by class", "kull"),
        _advise("quantile/goal-calibrated", "interval_coverage(level={widest}) wis", "widest > 0",
            "goal: intervals hold as often as they say, and no more than that is sharp", "gneiting_sharpness"),
    ), "scores are no probabilities: {margin: COLUMN} with the section calibrate makes them so",
        (("binary", "reliability"), ("binary", "corp"), ("multiclass", "reliability"), ("multilabel", "reliability"))),
    Goal("relative_errors", "question", "Errors count in per cent of the size, not in units", (
        _advise("regression/goal-relative", "mape", "label_low > 0 and nearness >= 0.05",
            "goal: errors in per cent of each label, none of which is near 0", "hyndman"),
        _advise("regression/goal-relative-total", "wmape", "label_low >= 0 and label_high > 0",
            "goal: errors in per cent of the total", "kolassa"),
        _advise("regression/goal-ratios", "rmsle", "label_low > 0 and decades >= 1 and score_low > -1",
            "goal: ratios of prediction and label, up and down alike", "tofallis"),
    ), "labels go below 0, where per cent mean nothing"),
    Goal("asymmetric_costs", "question", "One error costs more than the other", (
        _advise("binary/goal-costs", _COSTS % "optimal(cost_fp={cost_fp},cost_fn={cost_fn})",
            "cost_fp > 0 and cost_fn > 0 and probabilities = 1",
            "goal: what errors cost a row, at the threshold that these costs give", "elkan"),
        _advise("binary/goal-costs-no-probabilities",
            _COSTS % "min(expected_cost(cost_fp={cost_fp},cost_fn={cost_fn}))",
            "cost_fp > 0 and cost_fn > 0 and probabilities = 0",
            "goal: what errors cost a row, at the threshold that is cheapest here", "elkan"),
        _advise("binary/goal-rates", "recall_at_fpr(fpr=0.1) fpr_at_recall(recall=0.9)", _ORDERED,
            "goal: both errors apart, each at a limit of the other", "provost"),
        _advise("regression/goal-costs", "lin_lin(over=1,under=3)", "rows >= 1",
            "goal: too little costs 3 times as much as too much here: write your own prices", "granger"),
        _advise("quantile/goal-costs", "quantile_loss(tau=0.5)", "median = 1",
            "goal: write the quantile under / (over + under) of your prices for 0.5", "granger"),
    ), "it has one class alone, or no median", (("binary", "cost"),)),
    Goal("medical", "domain", "Diagnosis and prognosis: who is missed, who is alarmed, how sure the risk is", (
        _advise("binary/goal-medical", "roc_auc fpr_at_recall(recall=0.9) recall_at_fpr(fpr=0.1)", _ORDERED,
            "medical: discrimination, false alarms where 90 % of the ill are seen, and the ill that 10 % of false "
            "alarms buy", "pepe"),
        _advise("binary/goal-medical-risk", "calibration_slope calibration_intercept brier", _SHARES,
            "medical: whether a risk of 20 % is one of 20 %", "steyerberg"),
        _advise("binary/goal-medical-decisions", "recall specificity precision npv",
            "probabilities = 1 and top_score >= 0.5 and bottom_score < 0.5 and smallest >= 1",
            "medical: sensitivity, specificity and predictive values at 0.5: write your threshold", "pepe"),
        _advise("binary/goal-medical-calls", "recall specificity precision npv", "called = 1",
            "medical: sensitivity, specificity and predictive values", "pepe"),
        _advise("multiclass/goal-medical", "recall(average=none) cohen_kappa", "classes >= 2",
            "medical: who is missed by class, and agreement beyond chance", "pepe"),
        _advise("regression/goal-medical", "mean_error concordance_ccc", "rows >= 1",
            "medical: bias, and agreement of two methods of measurement", "lin"),
    ), "it has one class alone", (("binary", "net_benefit"),)),
    Goal("fraud", "domain", "Few cases, and people who can look at few alerts", (
        _advise("binary/goal-fraud", "average_precision recall_at_fpr(fpr=0.01)", _ORDERED,
            "fraud: precision along the alerts, and the cases that 1 % of false alarms finds", "pozzolo"),
        _advise("binary/goal-fraud-alerts", "precision_at_k(k=0.01) recall_at_k(k=0.01)",
            f"{_ORDERED} and rows >= 1000",
            "fraud: the first 1 % is what can be looked at: write your number of alerts, as k=200", "pozzolo"),
    ), "it has one class alone"),
    Goal("spam", "domain", "A good message that is lost is worse than a bad one that comes through", (
        _advise("binary/goal-spam", "recall_at_fpr(fpr=0.01) precision_at_recall(recall=0.95) roc_auc", _ORDERED,
            "spam: what is filtered while 1 % of good messages is lost, and the area of TREC's filters", "cormack"),
        _advise("binary/goal-spam-rows", "recall_at_fpr(fpr=0.001)", f"{_ORDERED} and rows >= 10000",
            "spam: the same with one good message in a thousand lost", "cormack"),
    ), "it has one class alone"),
    Goal("search", "domain", "Pages of results that people read from the top", (
        _advise("ranking/goal-search", "ndcg(k={cut}) mrr precision_at_k(k={cut})", "documents >= 2",
            "search: gain on the first page, the first good result, and how much of the page is good", "jarvelin"),
        _advise("ranking/goal-search-grades", "err(k={cut})", "grades > 2 and grades <= 6",
            "search: people stop at what satisfies them, so what follows counts less", "chapelle"),
    ), "queries have fewer than 2 documents"),
    Goal("credit", "domain", "Scorecards and probabilities of default", (
        _advise("binary/goal-credit", "gini ks roc_auc", _ORDERED,
            "credit: what supervisors and scorecards report of discrimination", "basel"),
        _advise("binary/goal-credit-default", "calibration_ratio brier hosmer_lemeshow_p_value",
            f"{_SHARES} and rows <= 25000",
            "credit: expected defaults over those that came, and a test of the groups", "basel"),
        _advise("binary/goal-credit-many", "calibration_ratio brier", f"{_SHARES} and rows > 25000",
            "credit: expected defaults over those that came", "basel"),
        _advise("binary/goal-credit-refusals", "recall_at_k(k=0.1) lift_at_k(k=0.1)", _ORDERED,
            "credit: the defaults that refusing the worst tenth avoids", "thomas"),
    ), "it has one class alone"),
    Goal("advertising", "domain", "Clicks and conversions: bids are probabilities, places are few", (
        _advise("binary/goal-advertising", "log_loss_skill log_loss calibration_ratio", _SHARES,
            "advertising: 1 less the normalised entropy, and whether bids are too high on average", "he"),
        _advise("binary/goal-advertising-order", "roc_auc", _ORDERED,
            "advertising: the order of the auction", "he"),
        _advise("ranking/goal-advertising", "ndcg(k={cut}) hit_at_k(k=1)", "documents >= 2",
            "advertising: the few places that are shown, and the first of them", "jarvelin"),
        _advise("uplift/goal-advertising", "ate uplift_at_k(k=0.1) qini", "treated > 0 and treated < 1",
            "advertising: what a campaign adds, and whether it goes first to those it moves", "radcliffe"),
    ), "it has one class alone"),
)
# fmt: on
"""Every goal: questions first, then domains."""
