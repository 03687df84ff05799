"""Vocabulary of column names: the usual words for labels, scores, weights, units, queries and arms."""

from __future__ import annotations

import re
from collections.abc import Iterable


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LABELS = (
    _words("label target y y_true truth ground_truth gold"),
    _words(
        "outcome actual observed response class result default defaulted churn churned converted clicked fraud "
        "is_fraud event obs"
    ),
)
"""Names of labels, the surer ones first."""

RELEVANCE = _words("relevance rel grade relevance_grade judgement judgment relevant")
_SCORES = _words(
    "score scores prob proba probs probability pred preds prediction predicted predictions yhat phat forecast logit "
    "logits margin uplift cate"
)
_SCORE_NAMES = _words("p p_hat y_hat y_pred y_score pr ite")
_WEIGHTS = _words("weight weights w wt sample_weight case_weight row_weight instance_weight exposure")
_UNIT_ENDS = _words("id uuid guid")
_UNITS = _words("customer user patient account client household session member")
_FOLDS = _words("resample cv")
QUERIES = _words("query query_id qid query_key search_id topic topic_id search")
"""Names of a ranking's queries, of which nothing else is called so."""

GROUPS = _words("group group_id list_id session session_id impression_id request_id")
"""Names that queries have, and much else."""

ARMS = _words(
    "treatment treated treat is_treated arm treatment_group w variant experiment_arm experiment_group ab_group bucket"
)
_CONTROLS = _words("control ctrl a baseline placebo holdout none untreated old 0 false")
LEVELS = _words("quantile_level quantile level tau q alpha quantile_id probability_level output_type_id")
_VALUES = _words("predicted prediction value forecast pred yhat y_hat quantile_value q_value")
_AMOUNTS = _words(
    "revenue spend spent sales orders order value balance amount clicks clicked conversion conversions converted "
    "visits retained retention profit cost signups signup purchases purchase defaulted outcome churned"
)
_EARLIER = _words("pre previous prior before last past baseline")
_POSITIVE = _words("1 yes y true t positive pos bad default fraud churn spam abnorm event")
_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def pieces(name: str) -> list[str]:
    """The words of a name, lower case.

    >>> pieces("predRegression_RF2")
    ['pred', 'regression', 'rf', '2']
    """
    return [piece.lower() for piece in _PIECES.findall(name)]


def bare_name(name: str) -> str:
    """A name for look-ups: words joined, digits at the end gone."""
    words = pieces(name)
    while len(words) > 1 and words[-1].isdigit():
        words.pop()
    return "_".join(words)


def is_score_name(name: str) -> bool:
    """Whether a column is called like a score."""
    words = pieces(name)
    return (
        bool(_SCORES & set(words))
        or bare_name(name) in _SCORE_NAMES
        or (words[:1] == ["p"] and len(words) > 1)
    )


def predicted_name(score: str) -> str:
    """What a score is called after: the words of its name but those for scores.

    >>> predicted_name("predicted_rating"), predicted_name("Churn_proba"), predicted_name("score")
    ('rating', 'churn', '')
    """
    return "_".join(piece for piece in pieces(score) if piece not in _SCORES)


def is_weight_name(name: str) -> bool:
    """Whether a column is called like a weight."""
    return bare_name(name) in _WEIGHTS


def is_unit_name(name: str) -> bool:
    """Whether a column is called like a key, such as `customer_id`."""
    last = pieces(name)[-1:]
    return bool(last) and (last[0] in _UNIT_ENDS or bare_name(name) in _UNITS)


def is_fold_name(name: str) -> bool:
    """Whether a column is called like a fold of a cross-validation."""
    return bare_name(name) in _FOLDS or "fold" in pieces(name)


def is_value_name(name: str) -> bool:
    """Whether a column is called like the value of a quantile."""
    return bare_name(name) in _VALUES or is_score_name(name)


def is_outcome_name(name: str) -> bool:
    """Whether a column is called like an outcome of an experiment."""
    return bool(_AMOUNTS & set(pieces(name))) or is_label_name(name)


def is_earlier(name: str) -> bool:
    """Whether a column is called like something from before an experiment."""
    return pieces(name)[:1] != [] and pieces(name)[0] in _EARLIER


def is_control(value: object) -> bool:
    """Whether a value is called like the control of an experiment."""
    return str(value).strip().lower() in _CONTROLS


def is_positive(value: object) -> bool:
    """Whether a label is called like the positive one."""
    return str(value).lower() in _POSITIVE


def column_by_name(names: Iterable[str], words: frozenset[str]) -> str | None:
    """First column with one of some names."""
    return next((name for name in names if "_".join(pieces(name)) in words), None)


def is_label_name(name: str) -> bool:
    """Whether a column is named as labels are."""
    return any(bare_name(name) in names for names in LABELS)
