"""Reports as Markdown: parsed by a Markdown library, the tables are those of the result, and names do nothing."""

import html
import re
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from markdown_it import MarkdownIt

import plmetrics as plm
from plmetrics.core.results import GATES_SCHEMA
from plmetrics.report.markdown import escape, to_markdown
from plmetrics.report.summary import Summary

INVISIBLE = "\u200b"


def parsed(text: str) -> str:
    """The page as a reader of GitHub sees it."""
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)


def tables(text: str) -> dict[str, list[list[str]]]:
    """By heading the cells of the table below it."""
    out = {}
    for heading, table in re.findall(r"<h3>(.*?)</h3>\s*<table>(.*?)</table>", parsed(text), re.DOTALL):
        rows = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
        out[html.unescape(heading)] = [
            [html.unescape(cell).replace(INVISIBLE, "") for cell in re.findall(r"<t[hd]>(.*?)</t[hd]>", row)]
            for row in rows
        ]
    return out


def test_the_order_and_the_numbers(summary: Summary) -> None:
    text = to_markdown(summary)
    assert text.startswith("## FAIL credit-risk\n\n1 fail, 2 inconclusive, 1 warn, 1 skipped, 12 pass\n")
    found = tables(text)
    assert list(found) == ["Gates", "Models", "Differences", "Worst slices by roc_auc"]
    outcomes = [row[0] for row in found["Gates"][1:]]
    assert outcomes == ["fail", "inconclusive", "inconclusive", "warn", "skipped"]
    assert "0.871 [0.830, 0.890]" in found["Gates"][1]
    models = {row[0]: row[1:] for row in found["Models"]}
    assert models["metric"] == ["champion", "challenger", "gradient_boosting_v2"]
    rows = summary.metrics.filter(slice_set="overall", metric="log_loss")
    for cell, value in zip(models["log_loss"], rows["value"], strict=True):
        assert abs(float(cell.split(" ")[0]) - value) < 1e-3
    readings = {(row[0], row[2]): row[-1] for row in found["Differences"][1:]}
    expected = summary.comparisons.filter(slice_set="overall").select("model", "metric", "reading").rows()
    for model, metric, word in expected[:20]:
        assert readings[model, metric].removeprefix("▲ ").removeprefix("▼ ") == word
    assert "Run folder: runs/credit-risk/20261120T020000Z-4fa1c2" in parsed(text)


def test_the_head_says_which_runs_were_passed_over_in_all_forms(summary: Summary) -> None:
    from plmetrics.report.html.sections.verdict import verdict as page_head
    from plmetrics.report.terminal import render

    passed_over = [{"run": "b", "interval": "2026-03-05", "reason": "its gates failed"}]
    reference = {"run": "a", "intervals": ["2026-03-04"], "passed_over": passed_over}
    summary = replace(summary, record={**summary.record, "references": {"compare.run": reference}})
    words = "compared with 2026-03-04, run a; passed over: 2026-03-05 (its gates failed)"
    assert words in page_head(summary).lines
    assert words in parsed(to_markdown(summary)).replace(INVISIBLE, "")
    assert words in render(summary, width=120)


EVIL = [
    "a|b",
    "`code`",
    "<img src=x onerror=alert(1)>",
    "</td></table><script>alert(1)</script>",
    "line\nbreak\r\n# heading",
    "@everyone and @org/team",
    "#12 GH-3",
    "[link](javascript:alert(1))",
    "![picture](https://example.com/x.png)",
    "https://example.com www.example.com",
    "**bold** __bold__ ~~gone~~ *x* _y_",
    "&lt;b&gt; &amp;",
    "ends in \\",
    "\\| \\\\|",
    ":smile: $x^2$",
    "-  ---",
    "\u202etxt",
    "naïve 北京",
]


@pytest.mark.parametrize("name", EVIL)
def test_a_name_means_nothing_and_stays_itself(name: str) -> None:
    from plmetrics.core.names import printable

    text = f"### Table\n\n| {escape('head')} | x |\n| --- | --- |\n| {escape(name)} | 1 |\n"
    page = parsed(text)
    assert tables(text)["Table"] == [["head", "x"], [printable(name).strip(), "1"]]
    tags = set(re.findall(r"<(/?\w+)", page))
    assert tags <= {"h3", "/h3", "table", "/table", "thead", "/thead", "tbody", "/tbody"} | {
        f"{slash}{tag}" for slash in ("", "/") for tag in ("tr", "th", "td")
    }
    seen = html.unescape(page)
    assert not re.search(r"@\w|#\d|https?:|www\.|:\w+:", seen)


def test_long_names_and_many_checks_are_cut(summary: Summary) -> None:
    gates = pl.concat([summary.gates.filter(verdict="fail").head(1)] * 500).with_columns(
        slice=pl.format("region={}{}", pl.int_range(pl.len()), pl.lit("x" * 500))
    )
    text = to_markdown(replace(summary, gates=gates))
    assert len(tables(text)["Gates"]) == 21
    assert "480 more checks in the table gates" in text
    assert len(text) < 20_000


def test_rows_of_many_models_are_said_by_their_numbers() -> None:
    frame = pl.DataFrame({"y": [0, 1] * 50, **{f"score_of_model_{n}": [0.3, 0.7] * 50 for n in "abcdef"}})
    held = frame.with_columns(score_of_model_f=pl.when(pl.int_range(100) > 3).then("score_of_model_f"))
    models = [name for name in held.columns if name != "y"]
    text = plm.evaluate(
        held, label="y", models=models, metrics=["brier"], missing="drop_per_model"
    ).to_markdown()
    assert (
        "100 used for 5 models, 96 used for score_of_model_f, 4 dropped for score_of_model_f, 6 models"
        in text
    )


def test_changes_against_an_earlier_run_and_warnings() -> None:
    frame = pl.DataFrame({"y": [0, 1] * 100, "p": [0.3, 0.7, 0.6, 0.4] * 50})
    asked: dict[str, Any] = {
        "label": "y",
        "models": "p",
        "metrics": ["brier"],
        "uncertainty": {"replicates": 30},
    }
    before = plm.evaluate(frame, name="before-run", **asked)
    after = plm.evaluate(frame.with_columns(p=pl.col("p") / 2), **asked, compare={"run": before})
    after.record["warnings"].append("mind | the <gap>")
    text = after.to_markdown()
    (title,) = [title for title in tables(text) if title.startswith("Changes")]
    assert title == "Changes against run before-run"
    assert tables(text)[title][1][:2] == ["p", "brier"]
    assert "<li>mind | the &lt;gap&gt;</li>" in parsed(text)


def test_many_models_are_a_board() -> None:
    frame = pl.DataFrame(
        {"y": [0, 1] * 50} | {f"m{number:02}": [number / 40, 0.9] * 50 for number in range(12)}
    )
    result = plm.evaluate(
        frame, label="y", models=[f"m{n:02}" for n in range(12)], metrics=["log_loss", "brier"]
    )
    rows = tables(result.to_markdown())["Models by log_loss"]
    assert rows[0] == ["rank", "model", "log_loss", "brier"]
    assert [row[:2] for row in rows[1:4]] == [["1", "m00"], ["2", "m01"], ["3", "m02"]]
    assert len(rows) == 13


def test_nothing_but_names() -> None:
    result = plm.evaluate(pl.DataFrame({"y": [1], "p": [0.5]}), label="y", models="p", metrics=["roc_auc"])
    assert "| roc_auc | - (no_negatives) |" in result.to_markdown().replace("\\", "")


def test_failing_checks_come_worst_first() -> None:
    def row(name: str, observed: float | None, **more: Any) -> dict[str, Any]:
        usual = {
            "gate": name,
            "verdict": "fail",
            "level": "fail",
            "metric": "m",
            "slice": "all",
            "slice_set": "overall",
        }
        values = usual | {"observed": observed, "status": "ok"} | more
        return {column: values.get(column) for column in GATES_SCHEMA}

    from plmetrics.report.sections.gates import gate_checks

    rows = [
        row("none", None, at_least=0.9),
        row("near", 0.89, at_least=0.9),
        row("far", 0.3, at_least=0.9),
        row("above", 2.7, at_most=0.9),
        row("sure", 0.85, at_least=0.9, lower=0.84, upper=0.86),
        row("difference", -0.02, at_least=-0.01, baseline="a >= 3 b"),
        row("outside", 0.75, band_lower=0.8, band_upper=0.9),
        row("passed", 0.1, at_least=0.0, verdict="pass"),
        row("soft", 0.0, at_least=0.9, level="warn"),
    ]
    order = [check["gate"] for check in gate_checks(pl.DataFrame(rows, schema=GATES_SCHEMA))]
    assert order == ["sure", "above", "difference", "far", "outside", "near", "none", "soft", "passed"]


def test_a_gate_without_a_name_says_its_rule_once_with_its_class() -> None:
    from plmetrics.core.results import GATES_SCHEMA
    from plmetrics.report.sections.gates import check_texts

    row = dict.fromkeys(GATES_SCHEMA) | {
        "outcome": "pass",
        "metric": "recall",
        "rule": ">= 0.7",
        "class": "x",
    }
    row |= {"slice": "all", "slice_set": "overall", "status": "ok"}
    assert check_texts(row | {"gate": "recall >= 0.7 [x]"})[1:3] == ["", "recall >= 0.7 [x]"]
    assert check_texts(row | {"gate": "recall >= 0.7", "class": None})[1:3] == ["", "recall >= 0.7"]
    assert check_texts(row | {"gate": "finds all [x]"})[1:3] == ["finds all [x]", "recall >= 0.7"]


def test_readings_have_the_arrows_of_the_report() -> None:
    """Of metrics without a better side, too."""
    draws = np.random.default_rng(3).random((2, 400))
    frame = {"y": draws[0] < 0.5, "a": draws[1] * 0.4, "b": 0.3 + draws[1] * 0.7}
    result = plm.evaluate(
        frame, label="y", models=["a", "b"], metrics=["selection_rate"], uncertainty=True, compare="a"
    )
    assert result.comparisons["reading"].to_list() == ["higher"]
    (row,) = [row for row in tables(result.to_markdown())["Differences"] if row[0] == "b"]
    assert row[-1] == "▲ higher"
    assert "▲ higher" in str(result)
