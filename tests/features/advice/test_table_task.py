"""The task and the columns of tables of many shapes; the suite of each runs, its gates too."""

import re
from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

import plmetrics as plm
from plmetrics.core.errors import ConfigError

ROWS = 600
DRAW = np.random.default_rng(11)
PLACE = np.arange(ROWS)
Y = (DRAW.random(ROWS) < 0.4).astype(int)
P = np.clip(0.3 * Y + 0.7 * DRAW.random(ROWS), 0.001, 0.999)
AMOUNT = 50 + 10 * DRAW.standard_normal(ROWS)
NEAR = AMOUNT + DRAW.standard_normal(ROWS)
KIND = np.array(["cat", "dog", "cow"])[PLACE % 3]
SHARES = DRAW.dirichlet([2, 2, 2], ROWS)
DAYS = [date(2025, 1, 1) + timedelta(days=int(place // 4)) for place in PLACE]


def frame(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame(columns)


def named(columns: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(columns)


def long_table() -> pl.DataFrame:
    rows = [
        {
            "row": place * 3 + at,
            "day": DAYS[place],
            "model": model,
            "tau": level,
            "value": AMOUNT[place] + shift,
            "observed": AMOUNT[place] + 0.1,
        }
        for place in range(0, ROWS, 4)
        for model in ("a", "b")
        for at, (level, shift) in enumerate(((0.1, -9.0), (0.5, 0.0), (0.9, 9.0)))
    ]
    return pl.DataFrame(rows).with_columns(row=pl.int_range(pl.len()))


SHAPES: dict[str, tuple[pl.DataFrame, str, dict[str, Any]]] = {
    "a column of each of two classes is one model": (
        frame(y=Y, p_0=1 - P, p_1=P),
        "binary",
        {"models": {"p_1": "p_1"}},
    ),
    "a label that a score is called after, beside keys and a flag": (
        frame(user=PLACE % 90, item=PLACE % 70, rating=1 + PLACE % 5, verified=Y, predicted_rating=1 + 4 * P),
        "regression",
        {"columns": {"label": "rating", "unit": "user"}, "models": {"predicted_rating": "predicted_rating"}},
    ),
    "texts as labels, a score called after one": (
        frame(truth=np.where(Y > 0, "spam", "ham"), spam=P),
        "binary",
        {"models": {"spam": "spam"}, "positive": "spam"},
    ),
    "texts as labels and two columns called after them": (
        frame(status=np.where(Y > 0, "yes", "no"), prob_no=1 - P, prob_yes=P),
        "binary",
        {"models": {"prob_yes": "prob_yes"}, "positive": "yes"},
    ),
    "labels -1 and 1 with margins": (
        frame(label=2 * Y - 1, margin=8 * P - 4),
        "binary",
        {"models": {"margin": "margin"}, "positive": 1},
    ),
    "booleans": (frame(churned=Y > 0, churn_prob=P), "binary", {"models": {"churn_prob": "churn_prob"}}),
    "two models whose names end in numbers": (
        frame(y=Y, score_1=P, score_2=P[::-1]),
        "binary",
        {"models": {"score_1": "score_1", "score_2": "score_2"}},
    ),
    "classes that were called": (
        frame(label=KIND, predicted=np.roll(KIND, 7)),
        "multiclass",
        {"models": {"predicted": {"prediction": "predicted"}}},
    ),
    "two classes that were called": (
        frame(truth=np.where(Y > 0, "ill", "well"), call=np.where(P > 0.5, "ill", "well")),
        "binary",
        {"models": {"call": {"prediction": "call"}}, "positive": "well"},
    ),
    "numbers of classes that were called": (
        frame(label=PLACE % 4, pred=np.roll(PLACE, 1) % 4),
        "multiclass",
        {"models": {"pred": {"prediction": "pred"}}},
    ),
    "probabilities of two models": (
        named(
            {"y": KIND}
            | {f"a_{name}": SHARES[:, i] for i, name in enumerate(("cat", "dog", "cow"))}
            | {f"b_{name}": SHARES[:, i] for i, name in enumerate(("cow", "cat", "dog"))}
        ),
        "multiclass",
        {
            "models": {
                "a": {"proba": {"cat": "a_cat", "dog": "a_dog", "cow": "a_cow"}},
                "b": {"proba": {"cat": "b_cat", "dog": "b_dog", "cow": "b_cow"}},
            }
        },
    ),
    "probabilities in the order of the classes": (
        frame(y=KIND, p0=SHARES[:, 0], p1=SHARES[:, 1], p2=SHARES[:, 2]),
        "multiclass",
        {"models": {"model": {"proba": {"cat": "p0", "cow": "p1", "dog": "p2"}}}},
    ),
    "several labels a row, by endings": (
        frame(id=PLACE, sport_true=Y, news_true=1 - Y, sport_prob=P, news_prob=1 - P * P),
        "multilabel",
        {"columns": {"label": {"sport": "sport_true", "news": "news_true"}}},
    ),
    "several labels a row of two models": (
        frame(is_a=Y, is_b=1 - Y, m1_a=P, m1_b=1 - P, m2_a=P * P, m2_b=1 - P),
        "multilabel",
        {
            "columns": {"label": "is_"},
            "models": {
                "m1": {"proba": {"a": "m1_a", "b": "m1_b"}},
                "m2": {"proba": {"a": "m2_a", "b": "m2_b"}},
            },
        },
    ),
    "amounts with dates": (
        frame(date=DAYS, actual=AMOUNT, forecast=NEAR),
        "regression",
        {
            "columns": {"label": "actual", "unit": "date"},
            "slices": {"date": {"column": "date", "every": "1mo"}},
        },
    ),
    "amounts with dates as texts": (
        frame(day=[str(day) for day in DAYS], actual=AMOUNT, forecast=NEAR),
        "regression",
        {"columns": {"label": "actual", "unit": "day"}},
    ),
    "stars from 1 to 5 and decimal predictions": (
        frame(label=PLACE % 5 + 1, pred=PLACE % 5 + DRAW.random(ROWS)),
        "regression",
        {"models": {"pred": "pred"}},
    ),
    "labels that are shares": (
        frame(label=(PLACE % 5) / 4, prob=P),
        "regression",
        {"models": {"prob": "prob"}},
    ),
    "a few draws": (
        named({"home win": np.where(PLACE % 100 == 0, 0.5, Y), "prob": P}),
        "binary",
        {"data": {"path": "predictions.parquet", "where": '"home win" IN (0, 1)'}},
    ),
    "quantiles of two models": (
        frame(y=AMOUNT, a_q10=NEAR - 5, a_q90=NEAR + 5, b_q10=NEAR - 9, b_q90=NEAR + 9),
        "quantile",
        {
            "models": {
                "a": {"quantiles": {0.1: "a_q10", 0.9: "a_q90"}},
                "b": {"quantiles": {0.1: "b_q10", 0.9: "b_q90"}},
            }
        },
    ),
    "a row per quantile": (long_table(), "quantile", {"models": {"forecast": {"quantiles": "value_"}}}),
    "queries called qid": (
        frame(qid=PLACE // 10, rel=PLACE % 3, score=P),
        "ranking",
        {"columns": {"label": "rel", "query": "qid"}},
    ),
    "queries of yes and no": (
        frame(query_id=PLACE // 10, label=Y, score=P, country=np.where(PLACE // 10 % 2, "de", "fr")),
        "ranking",
        {"columns": {"label": "label", "query": "query_id"}, "slices": {"country": "country"}},
    ),
    "groups that are ranked": (
        frame(group_id=PLACE // 12, label=PLACE % 4, score=10 * P - 20),
        "ranking",
        {"columns": {"label": "label", "query": "group_id"}},
    ),
    "groups that are slices": (
        frame(group=PLACE % 3, label=AMOUNT, pred=NEAR),
        "regression",
        {"columns": {"label": "label"}, "slices": {"group": "group"}},
    ),
    "an uplift by its name": (
        frame(treated=Y, converted=PLACE % 2, uplift_score=P - 0.5),
        "uplift",
        {"columns": {"label": "converted", "treatment": "treated"}},
    ),
    "an experiment": (
        frame(
            user_id=PLACE // 2,
            variant=np.where(PLACE // 2 % 2 > 0, "control", "new"),
            converted=Y,
            revenue=AMOUNT,
            pre_revenue=NEAR,
            country=KIND,
        ),
        "experiment",
        {
            "experiment": {
                "arm": "variant",
                "control": "control",
                "outcomes": ["converted", "revenue"],
                "covariates": {"revenue": "pre_revenue"},
            },
            "columns": {"unit": "user_id"},
        },
    ),
    "an experiment of 0 and 1": (
        frame(treatment=PLACE % 2, revenue=AMOUNT),
        "experiment",
        {"experiment": {"arm": "treatment", "control": 0, "outcomes": ["revenue"]}},
    ),
}


def suite_of(suggestion: Any, *, gates: bool) -> dict[str, Any]:
    """The suite, with its examples of gates if asked for."""
    text = suggestion.text
    if gates:
        text = re.sub(r"(?m)^(\s*)# ?(gates:|  - )", r"\1\2", text)
    content: dict[str, Any] = yaml.safe_load(text)
    return content


def run(content: dict[str, Any], data: pl.DataFrame) -> Any:
    """Run a suite on a frame, with few replicates."""
    arguments = {key: value for key, value in content.items() if key not in {"name", "data", "curves"}}
    columns = arguments.pop("columns", None) or {}
    quick = {"uncertainty": {"replicates": 5}} if "uncertainty" in arguments else {}
    source = {**content["data"], "path": data} if set(content["data"]) - {"path"} else data
    return plm.evaluate(source, **(arguments | columns | quick))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name: str, tmp_path: Any) -> None:
    table, task, expected = SHAPES[name]
    table.write_parquet(data := tmp_path / "t.parquet")
    suggestion = plm.suggest(table)
    content = suite_of(suggestion, gates=False)
    assert content["task"] == suggestion.task == task
    assert {key: content[key] for key in expected} == expected
    file = tmp_path / "suite.yaml"
    content = suite_of(suggestion, gates=True)
    content["data"]["path"] = str(data)
    if "uncertainty" in content:
        content["uncertainty"]["replicates"] = 5
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    result = plm.run(file)
    assert result.metrics.filter(pl.col("value").is_not_null()).height
    if "metrics" in content:
        assert set(result.metrics["metric"]) == set(content["metrics"])


def test_forecasts_are_told_apart_without_the_number_of_the_row() -> None:
    content = yaml.safe_load(plm.suggest(long_table()).text)
    assert content["data"]["long"] == {"by": ["day", "model"], "level": "tau", "value": "value"}
    assert content["slices"]["model"] == "model"


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (frame(weight=P), ("one column, 'weight'", "a label and a prediction")),
        (frame(first=KIND, second=np.roll(KIND, 1)), ("--label",)),
        (
            frame(a=np.where(Y > 0, "p", "q"), b=np.where(P > 0.5, "p", "q")),
            ("a, b", "--label a or --label b", "a holds 2 texts, p to q"),
        ),
        (frame(y=Y, first=P, second=P * P), ("first, second", "--score first or --score second")),
    ],
)
def test_what_is_open_names_two_guesses_and_the_option(table: pl.DataFrame, words: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError) as refused:
        plm.suggest(table)
    assert all(word in str(refused.value) for word in words)


@pytest.mark.parametrize(
    ("table", "options", "task", "expected"),
    [
        (frame(y=Y, p=P), {"task": "regression"}, "regression", {}),
        (frame(shop=PLACE // 10, y=Y, p=P), {"query": "shop"}, "ranking", {"label": "y", "query": "shop"}),
        (
            frame(group=PLACE // 10, y=Y, p=P),
            {"task": "ranking"},
            "ranking",
            {"label": "y", "query": "group"},
        ),
        (frame(y=PLACE % 4, pred=np.roll(PLACE, 1) % 4), {"task": "regression"}, "regression", {}),
        (
            frame(y=Y, flag=PLACE % 2, score=P),
            {"treatment": "flag", "task": "uplift"},
            "uplift",
            {"label": "y"},
        ),
        (frame(city=KIND, sales=AMOUNT), {"treatment": "city", "task": "experiment"}, "experiment", {}),
        (frame(is_a=Y, is_b=1 - Y, p_a=P, p_b=P), {"label": "is_a"}, "binary", {"label": "is_a"}),
    ],
)
def test_the_caller_decides(table: pl.DataFrame, options: Any, task: str, expected: Any) -> None:
    suggestion = plm.suggest(table, **options)
    content = yaml.safe_load(suggestion.text)
    assert (suggestion.task, content["task"]) == (task, task)
    assert expected.items() <= (content.get("columns") or {}).items()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"task": "quantile"}, ("does not look like one of task 'quantile'", "its columns are y, p")),
        ({"task": "multilabel"}, ("does not look like one of task 'multilabel'",)),
        ({"task": "ranking"}, ("no column is the query",)),
        ({"task": "uplift"}, ("--treatment",)),
        ({"task": "classification"}, ("unknown task 'classification'",)),
        ({"query": "session"}, ("column 'session' is not in the data",)),
        ({"goal": "search"}, ("goal 'search' belongs to task ranking", "fraud")),
        ({"goal": "frod"}, ("unknown goal 'frod'", "did you mean 'fraud'?")),
    ],
)
def test_what_does_not_fit_is_said(options: Any, words: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError) as refused:
        plm.suggest(frame(y=Y, p=P), **options)
    assert all(word in str(refused.value) for word in words)


@pytest.mark.parametrize(
    "values",
    [
        [timedelta(hours=int(place)) for place in PLACE],
        pl.Series(P).cast(pl.Decimal(9, 4)),
        pl.Series(KIND).cast(pl.Categorical),
        [{"a": 1}] * ROWS,
        [None] * ROWS,
    ],
    ids=["durations", "decimals", "categories", "structs", "nulls"],
)
def test_columns_of_any_type_do_no_harm(values: Any) -> None:
    table = named({"y": Y, "score": P, "": PLACE, "^.*$": P, "x\ny": KIND, "more": values})
    content = yaml.safe_load(plm.suggest(table).text)
    assert (content["task"], content["columns"], content["models"]) == (
        "binary",
        {"label": "y"},
        {"score": "score"},
    )


def test_goals_come_first_and_are_named() -> None:
    suggestion = plm.suggest(frame(y=Y, p=P), goal=["medical", "asymmetric-costs"])
    content = yaml.safe_load(suggestion.text)
    assert content["metrics"][:3] == ["roc_auc", "fpr_at_recall(recall=0.9)", "recall_at_fpr(fpr=0.1)"]
    assert {"net_benefit", "cost"} <= set(content["curves"])
    assert "# Goal medical: Diagnosis" in suggestion.text
    assert suggestion.note is not None
    assert "--cost-fp and --cost-fn" in suggestion.note


def test_a_goal_that_a_table_cannot_serve_says_why() -> None:
    note = plm.suggest(frame(y=Y, score=9 * P), goal="calibrated_probabilities").note
    assert note is not None
    assert "Goal calibrated_probabilities has no metric for this table: scores are no probabilities" in note
