"""Rule of advice: suitable or misleading metrics of a table, with the reason; and the facts of a table for rules."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from math import sqrt
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from plmetrics.core.names import name_list, number_text
from plmetrics.core.text import parse_call

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from plmetrics.catalogue.metric import Metric

PUBLICATIONS = {
    "basel": "Basel Committee, Studies on the validation of internal rating systems, working paper 14, 2005",
    "benedetti": "Benedetti, Scoring rules for forecast verification, Monthly Weather Review 138, 2010",
    "bracher": "Bracher et al., Evaluating epidemic forecasts in an interval format, PLOS Comput. Biol. 17, 2021",
    "brodersen": "Brodersen et al., The balanced accuracy and its posterior distribution, ICPR 2010",
    "calster": "Van Calster et al., Calibration: the Achilles heel of predictive analytics, BMC Medicine 17:230, 2019",
    "chai": "Chai and Draxler, Root mean square error or mean absolute error?, Geosci. Model Dev. 7, 2014",
    "chapelle": "Chapelle et al., Expected reciprocal rank for graded relevance, CIKM 2009",
    "chicco": "Chicco and Jurman, The advantages of the Matthews correlation coefficient, BMC Genomics 21:6, 2020",
    "cormack": "Cormack and Lynam, Online supervised spam filter evaluation, ACM TOIS 25(3), 2007",
    "covington": "Covington, Adams and Sargin, Deep neural networks for YouTube recommendations, RecSys 2016",
    "davis": "Davis and Goadrich, The relationship between precision-recall and ROC curves, ICML 2006",
    "devriendt": "Devriendt et al., Learning to rank for uplift modeling, IEEE TKDE 34, 2022",
    "dimitriadis": "Dimitriadis, Gneiting and Jordan, Stable reliability diagrams, PNAS 118, 2021",
    "elkan": "Elkan, The foundations of cost-sensitive learning, IJCAI 2001",
    "fawcett": "Fawcett, An introduction to ROC analysis, Pattern Recognition Letters 27, 2006",
    "flach": "Flach and Kull, Precision-recall-gain curves, NeurIPS 2015",
    "gneiting": "Gneiting and Raftery, Strictly proper scoring rules, JASA 102, 2007",
    "gneiting_points": "Gneiting, Making and evaluating point forecasts, JASA 106, 2011",
    "gneiting_sharpness": "Gneiting, Balabdaoui and Raftery, Probabilistic forecasts, JRSS B 69, 2007",
    "gorodkin": "Gorodkin, Comparing two K-category assignments, Comput. Biol. Chem. 28, 2004",
    "granger": "Granger, Prediction with a generalized cost of error function, Oper. Res. Quarterly 20, 1969",
    "hand": "Hand and Till, A simple generalisation of the area under the ROC curve, Machine Learning 45, 2001",
    "he": "He et al., Practical lessons from predicting clicks on ads at Facebook, ADKDD 2014",
    "huber": "Huber, Robust estimation of a location parameter, Ann. Math. Statist. 35, 1964",
    "hyndman": "Hyndman and Koehler, Another look at measures of forecast accuracy, Int. J. Forecasting 22, 2006",
    "imbens": "Imbens and Rubin, Causal inference for statistics, ch. 6, 2015",
    "jarvelin": "Jarvelin and Kekalainen, Cumulated gain-based evaluation of IR techniques, ACM TOIS 20, 2002",
    "kish": "Kish, Survey sampling, ch. 5 and 8, Wiley 1965",
    "kolassa": "Kolassa and Schuetz, Advantages of the MAD/mean ratio over the MAPE, Foresight 6, 2007",
    "kull": "Kull et al., Beyond temperature scaling, NeurIPS 2019",
    "kumar": "Kumar, Liang and Ma, Verified uncertainty calibration, NeurIPS 2019",
    "kvalseth": "Kvalseth, Cautionary note about R2, The American Statistician 39, 1985",
    "lin": "Lin, A concordance correlation coefficient to evaluate reproducibility, Biometrics 45, 1989",
    "manning": "Manning, Raghavan and Schuetze, Introduction to information retrieval, ch. 8, 2008",
    "pepe": "Pepe, The statistical evaluation of medical tests for classification and prediction, 2003",
    "pozzolo": "Dal Pozzolo et al., Learned lessons in credit card fraud detection, Expert Syst. Appl. 41, 2014",
    "provost": "Provost and Fawcett, Robust classification for imprecise environments, Machine Learning 42, 2001",
    "radcliffe": "Radcliffe, Using control groups to target on predicted lift, Direct Marketing Analytics J., 2007",
    "saito": "Saito and Rehmsmeier, The precision-recall plot is more informative, PLOS ONE 10(3), 2015",
    "schapire": "Schapire and Singer, BoosTexter: a boosting-based system for text categorization, "
    "Mach. Learn. 39, 2000",
    "sokolova": "Sokolova and Lapalme, A systematic analysis of performance measures, Inf. Proc. Man. 45, 2009",
    "steyerberg": "Steyerberg et al., Assessing the performance of prediction models, Epidemiology 21, 2010",
    "thomas": "Thomas, Edelman and Crook, Credit scoring and its applications, SIAM 2002",
    "tofallis": "Tofallis, A better measure of relative prediction accuracy, J. Oper. Res. Soc. 66, 2015",
    "tsoumakas": "Tsoumakas and Katakis, Multi-label classification: an overview, IJDWM 3(3), 2007",
    "voorhees": "Voorhees, The TREC-8 question answering track report, TREC 1999",
    "willmott": "Willmott and Matsuura, Advantages of the mean absolute error, Climate Research 30, 2005",
    "winkler": "Winkler, A decision-theoretic approach to interval estimation, JASA 67, 1972",
}


_SHARES = frozenset({"prevalence", "largest", "zeros", "commonest", "tail", "treated", "constant_f1"})
_EXACT = frozenset({"cost_fp", "cost_fn", "widest"})
_DERIVED = ("cost_ratio", "constant_f1", "constant_brier", "noise", "cut", "candidates")
_CUTS = (100, 50, 20, 10, 5, 3)
_NOISE = 0.64
_BINS = 15
_TOLERANCE = 1e-9

Verdict = Literal["advise", "advise_against"]
_LISTED = 3


class NumberText(str):
    """Text of a number, which a template may follow by a noun: in the singular, or with its plural.

    >>> "{rows:row} of {classes:class|classes}".format(rows=NumberText("2,500"), classes=NumberText("1"))
    '2,500 rows of 1 class'
    """

    __slots__ = ()

    def __format__(self, noun: str) -> str:
        """The number, and the noun in the form that goes with it."""
        singular, _, plural = noun.partition("|")
        return " ".join(
            filter(None, (self, singular if self == "1" else plural or (singular and f"{singular}s")))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """Figures of a table; None is unknown, or foreign to the task, and disables every rule on it.

    `prevalence` is the share of positives and `largest` that of the largest class; `smallest` counts rows of the
    smallest. Of a label that is a number: the share of `zeros` and of the `commonest` value, its ends, its `spread`
    (standard deviation over the absolute mean), `nearness` (smallest absolute value that is not 0, over the mean of
    absolute values), `decades` (power of ten from the lowest to the highest) and `tail` (share of its variation that
    one row in a hundred brings). `top_score` is the highest score of the model whose scores end first,
    `bottom_score` the lowest of the one whose scores begin last, of models without a threshold of their own;
    `at_half` is 0 where a suite has none of these. `values` the number of different scores of the
    model that has fewest. `levels` counts quantiles, `widest` is the level of the widest central interval, `median`
    is 1 where the middle quantile is there. `documents` and `relevant` are means per query, `grades` the different
    labels of a ranking, `treated` the share of treated rows. `called` is 1 where a model gives classes in place of
    scores, `per_row` the mean number of classes that a row has. `units` is 1 where a suite names units, `weighted`
    where it names weights.
    """

    task: str
    rows: int | None = None
    prevalence: float | None = None
    largest: float | None = None
    smallest: float | None = None
    classes: int | None = None
    zeros: float | None = None
    commonest: float | None = None
    label_low: float | None = None
    label_high: float | None = None
    spread: float | None = None
    nearness: float | None = None
    decades: float | None = None
    tail: float | None = None
    score_low: float | None = None
    score_high: float | None = None
    top_score: float | None = None
    bottom_score: float | None = None
    at_half: int = 1
    values: int | None = None
    levels: int | None = None
    widest: float | None = None
    median: int | None = None
    documents: float | None = None
    relevant: float | None = None
    grades: int | None = None
    treated: float | None = None
    called: int | None = None
    per_row: float | None = None
    units: int | None = None
    weighted: int | None = None
    cost_fp: float | None = None
    cost_fn: float | None = None

    @property
    def probabilities(self) -> int | None:
        """1 where all scores lie in [0, 1], else 0."""
        if self.score_low is None or self.score_high is None:
            return None
        return int(self.score_low >= 0 and self.score_high <= 1)

    @property
    def logits(self) -> int | None:
        """1 where scores are on either side of [0, 1], as log odds are, else 0."""
        if self.score_low is None or self.score_high is None:
            return None
        return int(self.score_low < 0 and self.score_high > 1)

    @property
    def cost_ratio(self) -> float | None:
        """The dearer error's cost over the cheaper one's."""
        if not self.cost_fp or not self.cost_fn:
            return None
        return max(self.cost_fp, self.cost_fn) / min(self.cost_fp, self.cost_fn)

    @property
    def constant_f1(self) -> float | None:
        """F1 of calling every row positive."""
        return None if self.prevalence is None else 2 * self.prevalence / (1 + self.prevalence)

    @property
    def constant_brier(self) -> float | None:
        """Brier score of giving every row the prevalence."""
        return None if self.prevalence is None else self.prevalence * (1 - self.prevalence)

    @property
    def noise(self) -> float | None:
        """Estimated calibration error of a calibrated model by chance alone, with 15 bins."""
        if not self.rows:
            return None
        variance = 0.25 if self.prevalence is None else self.prevalence * (1 - self.prevalence)
        return _NOISE * sqrt(variance * _BINS / self.rows)

    @property
    def cut(self) -> int | None:
        """Places of a query on a first page: 10, less where a query has hardly more documents."""
        return None if self.candidates is None else min(10, self.candidates)

    @property
    def candidates(self) -> int | None:
        """Places of a query for a second stage: at most half of its documents."""
        if self.documents is None:
            return None
        return next((cut for cut in _CUTS if 2 * cut <= self.documents), 1)

    def texts(self) -> dict[str, NumberText]:
        """Every figure as a sentence shows it; an unknown one is `?`.

        >>> TableFacts(task="binary", rows=2500, prevalence=0.0312).texts()["prevalence"]
        '3.12 %'
        """
        names = (*(field.name for field in fields(self) if field.name != "task"), *_DERIVED)
        return {name: NumberText(_text(name, getattr(self, name))) for name in names}


def class_sizes(counts: NDArray[np.float64], weights: NDArray[np.float64]) -> dict[str, float | None]:
    """Figures of classes, from the rows and the weight of each."""
    mass = weights.sum()
    return {
        "classes": len(counts),
        "largest": float(weights.max() / mass) if mass else None,
        "smallest": int(counts.min()),
    }


def score_ends(
    ends: Mapping[str, tuple[float, float]], own_threshold: Collection[str]
) -> dict[str, float | None]:
    """Figures of scores, from the lowest and the highest of each model; of thresholds those of models without one."""
    at_half = [pair for model, pair in ends.items() if model not in own_threshold]
    return {
        "score_low": min(low for low, _ in ends.values()),
        "score_high": max(high for _, high in ends.values()),
        "top_score": min((high for _, high in at_half), default=None),
        "bottom_score": max((low for low, _ in at_half), default=None),
    }


def coefficient_of_variation(mean: float, deviation: float) -> float | None:
    """Standard deviation over absolute mean: 0 for a constant, None around 0."""
    if deviation <= _TOLERANCE * abs(mean):
        return 0.0
    return deviation / abs(mean) if mean else None


def _text(name: str, value: float | None) -> str:
    if value is None:
        return "?"
    if name in _EXACT:
        return number_text(value)
    if name in _SHARES:
        return f"{number_text(float(f'{100 * value:.3g}'))} %"
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}"
    return number_text(float(f"{value:.3g}"))


_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {">=": operator.ge, ">": operator.gt, "<": operator.lt, "<=": operator.le, "=": operator.eq}
)


@dataclass(frozen=True, slots=True)
class AdviceRule:
    """One piece of advice; its `id` begins with its task.

    `metrics` are metric texts without blanks: parameters named there must agree, others may be anything. An advised
    metric's text may hold figures in braces, as the reason may, there with a noun (`{rows:row}`). `when` is the
    condition on the facts, which cards of metrics print: terms `FACT OPERATOR NUMBER` joined by `and`, false where a
    fact is unknown. `companions` are metrics beside which one that is advised against does no harm.
    """

    id: str
    verdict: Verdict
    metrics: tuple[str, ...]
    when: str
    reason: str
    source: str
    companions: tuple[str, ...] = ()

    @property
    def task(self) -> str:
        """The task it is about."""
        return self.id.partition("/")[0]

    def holds(self, facts: TableFacts) -> bool:
        """Whether the condition is true of a table."""
        return facts.task == self.task and all(_true(term, facts) for term in self.when.split(" and "))

    def explanation(self, facts: TableFacts) -> str:
        """The reason, with the figures."""
        return self.reason.format(**facts.texts())

    def caution(self, facts: TableFacts) -> str:
        """The reason, and the companions to read beside a metric."""
        advice = f"; read {names_text(self.companions, 'or')} beside it" if self.companions else ""
        return self.explanation(facts) + advice

    def texts(self, facts: TableFacts) -> tuple[str, ...]:
        """The metrics, with the figures."""
        figures = {name: text.replace(",", "") for name, text in facts.texts().items()}
        return tuple(metric.format(**figures) for metric in self.metrics)

    def targets(self, metrics: Iterable[Metric]) -> list[Metric]:
        """Metrics named by the rule, if none of its companions is among them."""
        candidates = list(metrics)
        if any(matches(pattern, metric) for pattern in self.companions for metric in candidates):
            return []
        return [metric for metric in candidates if any(matches(pattern, metric) for pattern in self.metrics)]


def matches(pattern: str, metric: Metric) -> bool:
    """Whether a metric has the name and the parameters of a rule's pattern.

    >>> from plmetrics.catalogue import registry
    >>> metric = registry.create("binary", "precision", {"threshold": 0.3})
    >>> matches("precision", metric), matches("precision(threshold=0.5)", metric)
    (True, False)
    """
    call = parse_call(pattern)
    return metric.name == call.name and all(
        getattr(metric, key, None) == value for key, value in call.parameters.items()
    )


def names_text(texts: Sequence[str], last: str = "and") -> str:
    """The first three names of a list, in words."""
    if len(texts) > _LISTED and last == "and":
        return name_list(texts, _LISTED)
    listed = list(texts[:_LISTED])
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} {last} {listed[-1]}"


def _true(term: str, facts: TableFacts) -> bool:
    fact, sign, number = term.split()
    value = getattr(facts, fact)
    return value is not None and _OPERATORS[sign](value, float(number))


def advise(name: str, metrics: str, when: str, reason: str, source: str) -> AdviceRule:
    """Rule for metrics, with texts set apart by blanks; `source` is one of `PUBLICATIONS`."""
    return AdviceRule(name, "advise", tuple(metrics.split()), when, reason, PUBLICATIONS[source])
