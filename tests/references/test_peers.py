"""Numbers that the test suites of other libraries expect, by hand there: scikit-learn of labels, ranx of rankings."""

from math import log2
from typing import Any

import polars as pl
import pytest

import plmetrics as plm

UP, DOWN, MIDDLE, TIES = (0.25, 0.5, 0.75), (0.75, 0.5, 0.25), (0.5, 0.75, 0.25), (0.25, 0.5, 0.5)
TOYS: list[tuple[str, tuple[float, ...], float, float]] = [
    ("000", UP, 1, 0),
    ("001", UP, 1, 1),
    ("010", UP, 1 / 2, 2),
    ("011", UP, 1, 2),
    ("100", UP, 1 / 3, 3),
    ("101", UP, (2 / 3 + 1) / 2, 3),
    ("110", UP, (2 / 3 + 1 / 2) / 2, 3),
    ("000", DOWN, 1, 0),
    ("001", DOWN, 1 / 3, 3),
    ("010", DOWN, 1 / 2, 2),
    ("011", DOWN, (1 / 2 + 2 / 3) / 2, 3),
    ("100", DOWN, 1, 1),
    ("101", DOWN, (1 + 2 / 3) / 2, 3),
    ("110", DOWN, 1, 2),
    ("111", DOWN, 1, 3),
    ("001", MIDDLE, 1 / 3, 3),
    ("010", MIDDLE, 1, 1),
    ("011", MIDDLE, (1 + 2 / 3) / 2, 3),
    ("100", MIDDLE, 1 / 2, 2),
    ("101", MIDDLE, (1 / 2 + 2 / 3) / 2, 3),
    ("110", MIDDLE, 1, 2),
    ("000", TIES, 1, 0),
    ("001", TIES, 1 / 2, 2),
    ("010", TIES, 1 / 2, 2),
    ("011", TIES, 1, 2),
    ("100", TIES, 1 / 3, 3),
    ("101", TIES, (2 / 3 + 1 / 2) / 2, 3),
    ("110", TIES, (2 / 3 + 1 / 2) / 2, 3),
    ("111", TIES, 1, 3),
]
"""Labels, their scores, label ranking average precision and coverage error: scikit-learn (BSD 3-Clause),
sklearn/metrics/tests/test_ranking.py, check_lrap_toy and test_coverage_error."""


def test_toy_rows_of_scikit_learn() -> None:
    """Each row a slice of one."""
    columns: dict[str, Any] = {"row": range(len(TOYS))}
    for place in range(3):
        columns |= {f"y_{place}": [int(toy[0][place]) for toy in TOYS]}
        columns |= {f"p_{place}": [toy[1][place] for toy in TOYS]}
    found = plm.evaluate(
        pl.DataFrame(columns),
        task="multilabel",
        label="y_",
        models={"m": {"proba": "p_"}},
        metrics=["label_ranking_average_precision", "coverage_error"],
        slices=["row"],
    ).metrics.filter(slice_set="row")
    for text, place in (("label_ranking_average_precision", 2), ("coverage_error", 3)):
        values = dict(found.filter(metric=text).select("slice", "value").iter_rows())
        expected = {f"row={row}": toy[place] for row, toy in enumerate(TOYS)}
        assert values == pytest.approx(expected)


DCG = [5 / log2(3) + 4 / log2(5) + 3 / log2(6), 2 + 3 / log2(3) + 5 / log2(4) + 4 / log2(5), 0.0]
BEST = 5 + 4 / log2(3) + 3 / log2(4) + 2 / log2(5)
BURGES = [31 / log2(3) + 15 / log2(5) + 7 / log2(6), 3 + 7 / log2(3) + 31 / log2(4) + 15 / log2(5), 0.0]
BEST_BURGES = 31 + 15 / log2(3) + 7 / log2(4) + 3 / log2(5)
GRADED = {"2": 5, "4": 4, "5": 3, "10": 2}
LISTS = [["1", "2", "3", "4", "5"], ["10", "5", "2", "4", "3"], ["1", "3", "6", "7", "8"]]
TWENTY = {"1": 1, "2": 1, "6": 1, "11": 1, "17": 1}
JUDGED: list[tuple[dict[str, int], str, float]] = [
    ({"2": 1, "5": 1, "1": 0, "4": 0}, "1234", 1 / 4),
    ({"2": 1, "5": 1, "1": 0, "6": 0}, "123456", 1 / 2),
    ({"2": 1, "5": 1, "7": 1, "1": 0, "6": 0, "8": 0}, "12345678", (2 / 3 + 2 / 3 + 1 / 3) / 3),
    (
        {"2": 1, "4": 1, "6": 1, "9": 1, "1": 0, "3": 0, "7": 0, "8": 0},
        "1234678",
        (3 / 4 + 1 / 2 + 1 / 2) / 4,
    ),
]
RANX: list[tuple[dict[str, int], list[str], dict[str, float]]] = [
    *(
        (
            GRADED,
            ranked,
            {
                "dcg(k=10)": dcg,
                "ndcg(k=10)": dcg / BEST,
                "dcg(k=10, gain=exponential)": burges,
                "ndcg(k=10, gain=exponential)": burges / BEST_BURGES,
            },
        )
        for ranked, dcg, burges in zip(LISTS, DCG, BURGES, strict=True)
    ),
    (
        TWENTY,
        [str(place) for place in range(1, 21)],
        {"rbp(persistence=0.5)": 0.7661, "rbp": 0.4526, "rbp(persistence=0.95)": 0.1881},
    ),
    *((judged, list(ranked), {"bpref": value}) for judged, ranked, value in JUDGED),
    ({"1": 1, "2": 1, "3": 1}, list("2431567"), {"r_precision": 2 / 3, "recall_at_k(k=2)": 1 / 3}),
    ({"1": 1, "2": 1}, list("2431567"), {"r_precision": 1 / 2, "recall_at_k(k=2)": 1 / 2}),
    ({"3": 1}, list("23145"), {"mrr(k=5)": 1 / 2}),
    ({"3": 1}, list("2145"), {"mrr(k=5)": 0.0}),
    ({"9": 1, "6": 1, "8": 1}, list("123457"), {"hit_at_k(k=5)": 0.0}),
    ({"1": 1, "2": 1, "4": 1}, list("124357"), {"hit_at_k(k=5)": 1.0}),
]
"""Judgements, documents as a run ranks them, and values: ranx (MIT), tests/unit/ranx/metrics_test.py and
metrics/{rank_biased_precision,bpref}_test.py. What was not ranked is 0 in its lists."""


@pytest.mark.exhaustive
@pytest.mark.parametrize(("judged", "ranked", "expected"), RANX)
def test_rankings_of_ranx(
    judged: dict[str, int], ranked: list[str], expected: dict[str, float], tmp_path: Any
) -> None:
    files = {
        "qrels": [f"q 0 {document} {grade}" for document, grade in judged.items()],
        "run": [f"q Q0 {document} 0 {-place} r" for place, document in enumerate(ranked)],
    }
    for name, lines in files.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    trec = {name: str(tmp_path / name) for name in files}
    found = plm.evaluate({"trec": trec}, task="ranking", metrics=list(expected)).metrics
    for value, text in zip(found["value"], expected, strict=True):
        assert value == pytest.approx(expected[text], abs=5e-5), text
