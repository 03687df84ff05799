"""What a run finds out about its rows to warn of."""

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

import plmetrics as plm
from plmetrics.diagnostics.run_warnings import _ends


@pytest.mark.parametrize(
    ("scores", "ends"),
    [
        ([0.5, -1.0, 2.0], (-1.0, 2.0)),
        ([0.5, None, math.nan, 0.25], (0.25, 0.5)),
        ([math.inf, 1.0, -math.inf, 3.0], (1.0, 3.0)),
        ([math.nan, math.nan], None),
        ([math.inf, None], None),
        ([None], None),
        ([], None),
    ],
)
def test_ends_of_scores_are_finite(scores: list[float | None], ends: tuple[float, float] | None) -> None:
    assert _ends(pl.Series(scores, dtype=pl.Float64)) == ends


@pytest.mark.parametrize("weight", [1 / 900, 1e-200, 1e-320, 50.0])
def test_weights_do_not_make_two_classes_one(weight: float) -> None:
    """The sizes of classes are rows, whatever these weigh: weights may sum to 1."""
    rows = pl.DataFrame({"y": [0, 1] * 450, "p": np.linspace(0, 1, 900), "w": [weight] * 900})
    result = plm.evaluate(rows, label="y", models="p", weight="w", metrics=["roc_auc"])
    assert not [warning for warning in result.warnings if "one class" in warning]


@pytest.mark.parametrize(
    ("scale", "warned"), [(1e-162, True), (1e-120, False), (1e120, False), (1e155, True)]
)
def test_weights_whose_products_are_no_numbers_are_told(scale: float, warned: bool) -> None:
    rng = np.random.default_rng(2)
    y, p, w = rng.integers(0, 2, 200), rng.random(200), rng.gamma(2.0, 1.0, 200)
    rows = pl.DataFrame({"y": y, "p": p, "w": w * scale})
    result = plm.evaluate(rows, label="y", models="p", weight="w", metrics=["roc_auc"])
    assert any("multiply all weights" in text for text in result.warnings) == warned
    if not warned:
        assert result.metrics["value"].item() == pytest.approx(roc_auc_score(y, p, sample_weight=w))


def test_columns_that_a_role_hides_are_told() -> None:
    """A table of patients has their weight; expressions see that of a row, which is 1."""
    rows = pl.DataFrame({"y": [0, 1] * 4, "p": [0.2, 0.7] * 4, "weight": [60.0, 95.0] * 4})
    heavy = {"name": "heavy", "mean": "weight > 80"}
    found = plm.evaluate(rows, label="y", models="p", metrics=[heavy])
    assert found.metrics["value"].item() == 0
    (words,) = (text for text in found.warnings if "reads the role" in text)
    assert words.startswith("metric 'heavy' reads the role weight, not the column 'weight'")
    derived = {"derive": {"mass": "weight"}, "metrics": [heavy | {"mean": "mass > 80"}]}
    assert plm.evaluate(rows, label="y", models="p", **derived).metrics["value"].item() == 0.5
    for roles in ({"weight": "weight"}, {"models": {"m": "weight"}, "task": "regression"}):
        asked = {"label": "y", "models": "p", "metrics": [heavy], **roles}
        assert not [text for text in plm.evaluate(rows, **asked).warnings if "reads the role" in text]  # type: ignore[arg-type]


QUERIES = pl.DataFrame(
    {"q": np.repeat(np.arange(50), 8), "y": [0, 1] * 200, "p": np.random.default_rng(1).random(400)}
)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("metric", "warned"), [("recall@10", 1), ("hit@8", 1), ("recall@5", 0), ("ndcg@10", 0)]
)
def test_a_cut_that_reaches_all_documents(metric: str, warned: int) -> None:
    """Every order has the recall 1 there; the state of the run says so, too."""
    call = {"task": "ranking", "label": "y", "query": "q", "models": "p", "metrics": [metric]}
    for result in (plm.evaluate(QUERIES, **call), plm.merge(plm.state(QUERIES, **call))):
        assert (
            sum("k reaches all documents of 100% of the queries" in text for text in result.warnings)
            == warned
        )


@pytest.mark.parametrize(("short", "warned"), [(40, 1), (28, 1), (20, 0)])
def test_a_cut_that_reaches_all_documents_of_most_queries(short: int, warned: int) -> None:
    """However many documents a few others have: of 50 queries some have 8, the others 800."""
    sizes = [8] * short + [800] * (50 - short)
    query = np.repeat(np.arange(50), sizes)
    rows = pl.DataFrame({"q": query, "y": np.arange(len(query)) % 2, "p": np.arange(len(query)) * 7 % 11})
    call = {"task": "ranking", "label": "y", "query": "q", "models": "p", "metrics": ["recall@10", "hit@5"]}
    for result in (plm.evaluate(rows, **call), plm.merge(plm.state(rows, **call))):
        texts = [text for text in result.warnings if "k reaches all documents" in text]
        assert len(texts) == warned
        assert not warned or texts[0].startswith(
            f"recall_at_k(k=10) may mislead: k reaches all documents of {short / 50:.0%} of the queries"
        )


def test_macro_averages_alone_where_one_class_is_nearly_all_rows() -> None:
    label = np.repeat(["a", "b", "c"], [1900, 50, 50])
    scores = np.random.default_rng(0).dirichlet([1, 1, 1], 2000)
    rows = pl.DataFrame({"y": label, **{f"p_{name}": scores[:, i] for i, name in enumerate("abc")}})
    call = {"task": "multiclass", "label": "y", "models": {"m": {"proba": "p_"}}}
    (text,) = plm.evaluate(rows, **call, metrics=["f1"]).warnings
    assert text.startswith("f1 may mislead: every class counts alike, and the largest has 95 % of the rows")
    assert plm.evaluate(rows, **call, metrics=["f1", "support"]).warnings == ()


def test_logits_are_told_what_to_write() -> None:
    rng = np.random.default_rng(3)
    logits = rng.normal(0, 3, 600)
    rows = pl.DataFrame({"y": rng.integers(0, 2, 600), "z": logits, "percent": rng.random(600) * 100})
    (text,) = plm.evaluate(rows, label="y", models="z", metrics=["roc_auc", "recall", "precision"]).warnings
    assert "as logits do, which are 0 where probabilities are 0.5: write threshold=0" in text
    at_zero = ["roc_auc", "recall(threshold=0)", "precision(threshold=0)"]
    assert not [
        w for w in plm.evaluate(rows, label="y", models="z", metrics=at_zero).warnings if "logits" in w
    ]
    (text,) = plm.evaluate(rows, label="y", models="percent", metrics=["roc_auc", "recall"]).warnings[:1]
    assert "0.5 is one threshold of many" in text
    own = {"score": "percent", "threshold": 50}
    assert plm.evaluate(rows, label="y", models={"m": own}, metrics=["roc_auc", "recall"]).warnings == ()
    with pytest.raises(
        plm.DataError, match="if these are logits or margins, name the column as the model's margin"
    ):
        plm.evaluate(rows, label="y", models="z", metrics=["log_loss"])
    slip = rows.select("y", p=pl.when(pl.int_range(pl.len()) == 0).then(1.5).otherwise(0.5))
    with pytest.raises(plm.DataError, match=r"outside \[0, 1\]") as caught:
        plm.evaluate(slip, label="y", models="p", metrics=["log_loss"])
    assert "logits" not in str(caught.value)


@pytest.mark.parametrize(
    ("labels", "warned"),
    [
        ([None] * 6, []),
        ([None, "no", "yes", None, None, "no"], []),
        (
            [None, "no", "yes", None, "no", None],
            ["no score of a labelled row of model 'p' is 0.5 or more: nothing is called positive there"],
        ),
    ],
)
def test_unreached_thresholds_are_those_of_labelled_rows(labels: list[str | None], warned: list[str]) -> None:
    """Rows without a label are counted nowhere: their scores are unknown here, and their labels, too."""
    rows = pl.DataFrame({"y": labels, "p": [0.9, 0.2, 0.4, 0.6, 0.1, 0.7]}, schema_overrides={"y": pl.String})
    result = plm.evaluate(
        rows, label="y", positive="yes", models="p", metrics=["f1", "labelled"], labels=True
    )
    said = [words for words in result.warnings if "no score" in words or "no row is positive" in words]
    assert said == warned


def test_a_model_without_rows_has_no_score_below_a_threshold() -> None:
    rows = pl.DataFrame(
        {"y": [0, 1, 0, 1], "p": [0.9, 0.8, 0.1, 0.7], "q": [None] * 4}, schema_overrides={"q": pl.Float64}
    )
    result = plm.evaluate(rows, label="y", models=["p", "q"], metrics=["f1"], missing="drop_per_model")
    assert result.metrics["status"].to_list() == ["ok", "no_rows"]
    assert not [words for words in result.warnings if "no score" in words]
    (words,) = [words for words in result.warnings if "has no rows left" in words]
    assert "model 'q' has no rows left: column 'q' (score of model 'q'): 4 of 4 values are null" in words


def test_a_model_whose_own_weights_are_all_0_is_a_warning_that_says_so() -> None:
    data = pl.DataFrame({"y": [1, 0], "p": [0.9, 0.2], "none": [0, 0]})
    models = {"m": "p", "k": {"score": "p", "weight": "none"}}
    result = plm.evaluate(data, label="y", models=models, metrics=["brier"])
    assert "model 'k' has no rows left: each has weight 0" in result.warnings


@pytest.mark.exhaustive
@pytest.mark.parametrize("how", ["run", "validate"])
@pytest.mark.parametrize(
    ("low", "high", "warned"), [(0.01, 0.02, 0), (None, 0.02, 0.1), (0.01, None, 0.2), (None, None, 0.1)]
)
def test_scores_that_end_below_a_half_are_no_news_of_models_with_thresholds_of_their_own(
    tmp_path: Path, how: str, low: float | None, high: float | None, warned: float
) -> None:
    rows = pl.DataFrame({"y": [0, 1] * 50, "low": np.linspace(0, 0.1, 100), "high": np.linspace(0, 0.2, 100)})
    models = {
        name: {"score": name} | ({} if threshold is None else {"threshold": threshold})
        for name, threshold in {"low": low, "high": high}.items()
    }
    rows.write_parquet(tmp_path / "rows.parquet")
    suite = {"name": "s", "task": "binary", "data": {"path": "rows.parquet"}, "columns": {"label": "y"}}
    (tmp_path / "s.yaml").write_text(
        json.dumps({**suite, "models": models, "metrics": ["recall", "roc_auc"]})
    )
    found = plm.run(tmp_path / "s.yaml") if how == "run" else plm.validate(tmp_path / "s.yaml")
    texts = [text for text in found.warnings if "threshold-unreached" in text]
    assert [f"end at {warned}:" in text for text in texts] == ([True] if warned else [])
