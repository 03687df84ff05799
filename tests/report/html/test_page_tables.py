"""Tables of the page against the result tables, where columns, rows or metrics are many."""

import re

import numpy as np
import polars as pl
import pytest
from report.html.test_page import Page

import plmetrics as plm
from plmetrics.report.charts.slices.slice_differences import difference_finding
from plmetrics.report.html.blocks import MINUS
from plmetrics.report.html.page import html_text
from plmetrics.report.html.sections.features import shown_table
from plmetrics.report.summary import Summary, summarise

METRICS = ["roc_auc", "log_loss", "accuracy", "recall", "precision", "f1", "brier", "specificity", "fpr"]


def table(rows: int = 600) -> dict[str, object]:
    draw = np.random.default_rng(5)
    truth = draw.random(rows) < 0.4
    scores = {
        name: 1 / (1 + np.exp(-np.where(truth, 0.6, -0.6) - spread * draw.normal(size=rows)))
        for name, spread in (("a", 1.0), ("b", 1.6))
    }
    return {"y": truth, **scores, "g": draw.choice(list("uvwxyz"), rows)}


@pytest.fixture(scope="module")
def result() -> plm.Result:
    return plm.evaluate(
        table(),
        label="y",
        models=["a", "b"],
        metrics=[*METRICS, "mcc", "balanced_accuracy", "disparity(recall, by=g)"],
        slices={"g": "g"},
        compare={"baseline": "a", "slices": {"g": "rest"}, "tests": ["delong", "mcnemar"]},
        uncertainty={"replicates": 50},
    )


@pytest.fixture(scope="module")
def page(result: plm.Result) -> Page:
    return Page(html_text(summarise(result)))


def number(text: str) -> float:
    return float(text.replace(MINUS, "-").replace(",", "").split(" ")[0])


def test_an_interval_stands_beside_the_number_it_is_of() -> None:
    row = {"value": 0.4564, "rest": 0.1368, "difference": 0.3196, "lower": 0.291, "upper": 0.348}
    frame = pl.DataFrame(
        [{**row, "slice": "a=1", "p_adjusted": 1e-9, "confirmed": True, "status": "ok", "n": 1234}]
    )
    columns = ["value", "rest", "difference", "p_adjusted", "confirmed", "n"]
    shown = shown_table("Slices", "found_slices", frame, columns, 0.9)
    assert shown is not None
    assert list(shown.columns)[1:3] == ["rest", "difference [90% interval]"]
    value, rest, difference, p, confirmed, rows = shown.rows[0]
    assert (value.text, value.interval, value.value) == ("0.4564", "", 0.4564)
    assert (rest.text, rest.interval) == ("0.1368", "")
    assert (difference.text, difference.interval) == ("+0.320", "[+0.291, +0.348]")
    assert (p.text, confirmed.text, rows.text) == ("<0.001", "yes", "1,234")
    moved = pl.DataFrame([{"part": "mix", "value": 0.0123, "lower": -0.004, "upper": 0.029, "status": "ok"}])
    part = shown_table("Parts", "decomposition", moved, ["part", "value"])
    assert part is not None
    assert (part.rows[0][1].text, part.rows[0][1].interval) == ("+0.012", f"[{MINUS}0.004, +0.029]")


@pytest.mark.slow
def test_further_tests_stand_on_the_page(result: plm.Result, page: Page) -> None:
    head, *rows = page.tables["Tests"]
    assert [name for name, _ in head] == ["metric", "models", "test", "difference", "n", "p"]
    asked = result.comparisons.filter(
        pl.col("test").is_in(["delong", "mcnemar"]), slice_set="overall", contrast="model"
    )
    assert len(rows) == asked.height >= 2
    for cells, row in zip(rows, asked.rows(named=True), strict=True):
        assert [text for text, _ in cells[:3]] == [row["metric"], "b against a", row["test"]]
        if row["status"] == "ok":
            assert float(cells[3][1]["data-value"] or "") == row["difference"]
            assert number(cells[3][0]) == pytest.approx(row["difference"], abs=0.005)
            assert float(cells[5][1]["data-value"] or "") == (
                row["p_value"] if row["p_adjusted"] is None else row["p_adjusted"]
            )


def test_parts_of_a_difference_of_models_stand_with_it() -> None:
    compared = plm.evaluate(
        table(),
        label="y",
        models=["a", "b"],
        metrics=["brier"],
        slices=["g"],
        compare={"baseline": "a", "decompose": "g"},
    )
    text = html_text(summarise(compared))
    assert "Against the reference run</h2>" not in text
    assert (
        text.index("Differences of models</h2>")
        < text.index("Parts of the change")
        < text.index("Slices</h2>")
    )


def test_parts_of_classes_in_the_data_and_of_several_sets_are_told_apart() -> None:
    rows = pl.DataFrame({"y": list("abca") * 30, "g": list("uv") * 60, "h": [1, 1, 2] * 40})
    asked = {"task": "multiclass", "label": "y", "metrics": ["recall(average=none)"], "slices": ["g", "h"]}
    compared = plm.evaluate(
        rows.with_columns(p="y", q=pl.lit("a")),
        models={"p": {"prediction": "p"}, "q": {"prediction": "q"}},
        compare={"baseline": "p", "decompose": ["g", "h"]},
        **asked,
    )
    tables = Page(html_text(summarise(compared))).tables
    (head, *first), (_, *further) = (tables[f"Parts of the change{more}"] for more in ("", ", further rows"))
    titles = [cell[0] for cell in head]
    keys = [titles.index(title) for title in ("class", "slice set", "slice", "part")]
    places = {tuple(part[key][0] for key in keys) for part in (*first, *further)}
    assert len(places) == compared.decomposition.height == 48


def test_models_are_compared_by_metrics_across_slices_too(result: plm.Result, page: Page) -> None:
    cells = {row[0][0]: row for row in page.tables["b against a"][1:]}
    row = result.comparisons.filter(metric="disparity(recall, by=g)", contrast="model").row(0, named=True)
    shown = cells["disparity(recall, by=g) over g"]
    assert float(shown[1][1]["data-value"] or "") == row["difference"]


def test_metrics_and_comparisons_beyond_a_table_are_counted(result: plm.Result, page: Page) -> None:
    assert len(page.tables["Slices by metrics: a"][0]) == 2 + 10
    texts = [text.strip() for text in page.texts]
    assert texts.count("1 more metric in the table metrics") == 2
    contrasts = result.comparisons.filter(contrast="rest", model="a")
    left = contrasts["difference"].is_not_null().sum() - 20
    assert f"the smallest p values; {left} comparisons more in the table comparisons" in texts
    shown = [float(row[4][1]["data-value"] or "nan") for row in page.tables["Slices of a"][1:]]
    assert shown == sorted(shown)


def test_slices_without_a_test_are_those_with_the_largest_differences() -> None:
    plain = plm.evaluate(
        table(),
        label="y",
        models=["a"],
        metrics=[*METRICS, "tp"],
        slices={"g": "g"},
        compare={"slices": {"g": "rest"}},
    )
    page = Page(html_text(summarise(plain)))
    shown = [abs(float(row[3][1]["data-value"] or "")) for row in page.tables["Slices of a"][1:]]
    every = plain.comparisons["difference"].drop_nulls().abs().sort(descending=True).to_list()
    assert shown == every[:20]
    assert "6 comparisons without a value" in page.texts
    assert not [text for text in page.texts if text.startswith("shades:")], "nothing is shaded without errors"


def test_undefined_values_are_counted_by_slice_set_with_their_metrics() -> None:
    frame = {**table(40), "y": [True] * 40, "h": ["one"] * 40}
    result = plm.evaluate(
        frame, label="y", models=["a"], metrics=["roc_auc", "specificity"], slices={"g": ["g"], "h": ["h"]}
    )
    cells = Page(html_text(summarise(result))).tables["Values that are undefined"]
    undefined = result.metrics.filter(pl.col("value").is_null())
    places = undefined.select("slice_set", "slice").n_unique()
    assert [[text for text, _ in row] for row in cells[1:]] == [
        ["no_negatives", str(undefined.height), str(places), "roc_auc, specificity"]
    ]


def test_a_description_begins_with_what_is_worse_and_counts_the_rest(result: plm.Result) -> None:
    rows = result.comparisons.filter(contrast="model", slice_set="overall", test="paired_bootstrap")
    unread = rows.with_columns(reading=pl.when(pl.col("metric") == "roc_auc").then(None).otherwise("reading"))
    text = difference_finding("Title", unread)
    worse = unread.filter(reading="worse")
    assert not worse.is_empty()
    first = re.split(r"\. (?=b, )", text, maxsplit=1)[1].split(";")[0]
    assert first.startswith(f"b, {worse['metric'][0]}: ")
    assert text.endswith(f"; and {rows.height - 5} more.")


def test_values_without_an_interval_are_counted_by_reason() -> None:
    frame = {"y": [1] * 50, "p": [0.5] * 50, "g": ["a", "b"] * 25}
    result = plm.evaluate(
        frame, label="y", models="p", metrics=["log_loss", "accuracy"], slices=["g"], uncertainty=True
    )
    cells = Page(html_text(summarise(result))).tables["Values without an interval"]
    degenerate = result.metrics.filter(interval_status="degenerate")
    assert degenerate.height == 3
    assert [[text for text, _ in row] for row in cells[1:]] == [["degenerate", "3", "3", "log_loss"]]


def test_a_page_of_an_experiment_names_outcomes_and_the_sample_ratio() -> None:
    draw = np.random.default_rng(2)
    frame = {
        "arm": draw.choice(["a", "b"], 400),
        "bought": draw.integers(0, 2, 400),
        "spent": draw.random(400),
    }
    plan = {"arm": "arm", "control": "a", "outcomes": ["bought", "spent"], "level": 0.9}
    result = plm.evaluate(frame, task="experiment", experiment=plan)
    page = Page(html_text(summarise(result)))
    assert any("2 outcomes" in text and "90% intervals" in text for text in page.texts)
    head, *rows = page.tables["Experiment"]
    columns = [name for name, _ in head]
    assert [row[0][0] for row in rows] == ["sample ratio", "bought", "spent"]
    table = result.tables["experiment"][[2, 0, 1]]
    p_values = [float(row[columns.index("p value")][1]["data-value"] or "") for row in rows]
    assert p_values == table["p_value"].to_list()
    shown = rows[1][columns.index("difference [90% interval]")]
    assert float(shown[1]["data-value"] or "") == table["difference"][1]
    assert "[" in shown[0]
    classes = {name: facts.get("class") for name, facts in head}
    assert classes["units"] == classes["mean"] == classes["p adjusted"] == "number"
    assert classes["slice"] is None
    assert rows[0][columns.index("note")][1]["class"] == "long"


def test_a_slice_of_two_sets_is_named_with_its_set_and_is_the_worst_once() -> None:
    sets = {"g": "g", "both": {"rollup": ["g", "h"]}}
    frame = {**table(), "h": ["x", "y"] * 300}
    result = plm.evaluate(frame, label="y", models=["a"], metrics=["roc_auc"], slices=sets)
    page = Page(html_text(summarise(result)))
    names = [row[0][0] for row in page.tables["Slices by metrics: a"][1:]]
    assert {"g=u (g)", "g=u (both)", "g=u, h=x"} <= set(names)
    assert len(set(names)) == len(names)
    worst = [row[0][0] for row in page.tables["Worst slices by roc_auc"][1:]]
    assert worst
    assert len(set(worst)) == len(worst)


def test_what_is_best_at_0_is_shaded_by_its_distance_to_it() -> None:
    draw = np.random.default_rng(6)
    group = np.repeat(["far below", "near", "far above", "alike"], 300)
    bias = np.repeat([-1.6, 0.0, 1.6, -0.4], 300)
    label = draw.normal(size=1200)
    frame = {"y": label, "p": label + bias - 0.3 + draw.normal(size=1200) / 4, "g": group}
    result = plm.evaluate(
        frame, task="regression", label="y", models="p", metrics="mean_error", slices=["g"], uncertainty=True
    )
    page = Page(html_text(summarise(result)))
    rows = {
        row[0][0]: (row[2][1].get("class") or "").split()[1:]
        for row in page.tables["Slices by metrics: p"][1:]
    }
    values = dict(result.metrics.filter(slice_set="g").select("slice", "value").rows())
    overall = abs(result.metrics.filter(slice_set="overall")["value"].item())
    assert {name: classes[0].split("-")[0] for name, classes in rows.items() if classes} == {
        name: "better" if abs(value) < overall else "worse" for name, value in values.items()
    }
    assert {rows["g=far below"][0], rows["g=far above"][0]} == {"worse-3"}
    assert any("nearer where 0 is best" in text for text in page.texts)


def test_slices_of_a_search_that_were_not_confirmed_stand_below_in_grey() -> None:
    frame = pl.DataFrame(
        {
            "slice": ["a=1", "a=2", "b=1", "b=2"],
            "model": ["p"] * 4,
            "metric": ["brier"] * 4,
            "value": [0.3, 0.31, 0.5, 0.29],
            "difference": [0.05, 0.06, 0.3, None],
            "confirmed": [False, True, True, False],
            "n": [100, 200, 300, 400],
        }
    )
    found = plm.evaluate({"y": [0, 1], "p": [0.2, 0.6]}, label="y", models="p", metrics="brier").found_slices
    whole = pl.concat([found, frame.cast({"n": found.schema["n"]})], how="diagonal")
    page = Page(html_text(Summary(name="s", verdict="none", found_slices=whole)))
    head, *rows = page.tables["Slices of the search"]
    assert [row[0][0] for row in rows] == ["a=2", "b=1", "a=1", "b=2"]
    grey = ["mute" in (row[0][1].get("class") or "").split() for row in rows]
    assert grey == [False, False, True, True]
    assert [row[[name for name, _ in head].index("confirmed")][0] for row in rows] == [
        "yes",
        "yes",
        "no",
        "no",
    ]
    assert sum("grey: not confirmed" in text for text in page.texts) == 1


def test_values_of_classes_across_slices_stand_with_those_of_all_rows() -> None:
    """In a table whose caption no name of a model turns round."""
    names = [f"c{place:02}" for place in range(21)]
    model = "\u202emodel"
    rows = {"y": names * 10, "p": (names[1:] + names[:1]) * 3 + names * 7, "g": list("uv") * 105}
    result = plm.evaluate(
        rows,
        task="multiclass",
        label="y",
        models={model: {"prediction": "p"}},
        metrics=["recall(average=none)", "disparity(recall(average=none), by=g)"],
        slices={"g": "g"},
    )
    text = html_text(summarise(result))
    assert "\u202e" not in text
    assert "<summary>1 more row</summary>" in text
    head, *body = Page(text).tables["Classes of \ufffdmodel"]
    assert [cell for cell, _ in head] == [
        "class",
        "recall(average=none)",
        "disparity(recall(average=none), by=g) over g",
    ]
    gaps = result.metrics.filter(slice="all", slice_set="g")
    values = dict(gaps.select("class", "value").rows())
    assert len(body) == 20
    assert all(number(row[2][0]) == pytest.approx(values[row[0][0]], abs=1e-3) for row in body)


def test_marks_of_direction_around_a_name_in_a_chart_stay() -> None:
    """They keep a name that runs leftwards from turning the words behind it."""
    rows = {"y": [0, 1, 0, 1] * 10, "\u05d0\u05d1": [0.1, 0.8, 0.4, 0.3] * 10}
    result = plm.evaluate(rows, label="y", models="\u05d0\u05d1", metrics=["roc_auc"], curves=["roc"])
    text = html_text(summarise(result))
    assert "\ufffd" not in text
    assert "ROC curve: \u200e\u05d0\u05d1\u200e" in text


def test_a_page_says_how_exact_values_of_binned_scores_are() -> None:
    result = plm.evaluate(table(3000), label="y", models=["a"], metrics=["roc_auc"], exact=False)
    bound = result.metrics["bound"].item()
    assert bound > 0
    (note,) = re.findall(r"values are exact to within ([^ ]*)", html_text(summarise(result)))
    assert float(note) == pytest.approx(bound, rel=1e-3)


def test_classes_beyond_a_hundred_are_counted() -> None:
    names = [f"c{place:03}" for place in range(103)]
    rows = {"y": names * 2, "p": names + names[1:] + names[:1]}
    models = {"m": {"prediction": "p"}}
    metrics = ["recall(average=none)"]
    text = html_text(
        summarise(plm.evaluate(rows, task="multiclass", label="y", models=models, metrics=metrics))
    )
    assert '<p class="note">3 more classes in the table metrics</p>' in text
    assert "<summary>80 more rows</summary>" in text
    assert "c099" in text
    assert "c100" not in text
