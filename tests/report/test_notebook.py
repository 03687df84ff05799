"""The HTML of notebooks: small, inert, readable on any background, and the numbers of the report."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import html5lib
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.report.notebook import MOST_BYTES, to_html
from plmetrics.report.summary import Summary


class Tags(HTMLParser):
    """Tags and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.styles: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.styles |= {value or "" for name, value in attrs if name == "style"}


def text_of(page: str) -> str:
    tree = html5lib.parse(page, treebuilder="etree", namespaceHTMLElements=False)
    return " ".join(" ".join(tree.itertext()).split())


def check(page: str) -> None:
    parser = Tags()
    parser.feed(page)
    assert parser.tags <= {"div", "strong", "table", "tr", "th", "td"}
    assert parser.attributes <= {"class", "style"}
    for style in parser.styles:
        assert not re.search(r"url|expression|#[0-9a-f]{3}", style)
        assert set(re.findall(r"(?<![-\w])color:([^;]+)", style)) <= {"inherit"}
        assert set(re.findall(r"background[-\w]*:([^;]+)", style)) <= {"none"}
    assert len(page.encode()) <= MOST_BYTES
    assert html5lib.HTMLParser(strict=True).parseFragment(page) is not None


def test_what_a_notebook_shows(summary: Summary) -> None:
    page = to_html(summary)
    check(page)
    text = text_of(page)
    assert text.startswith("FAIL credit-risk: 1 fail, 2 inconclusive, 1 warn, 1 skipped, 12 pass")
    assert "0.871 [0.830, 0.890]" in text
    assert "champion challenger gradient_boosting_v2" in text
    assert "Worst slices by roc_auc" in text


EVIL = [
    "<script>alert(1)</script>",
    "\"' onload=x",
    "a&amp;b",
    "x" * 400,
    "北京" * 60,
    "\u202e\x1b[2J\n",
    "{{ 7*7 }}",
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", EVIL)
def test_names_are_text(name: str) -> None:
    frame = pl.DataFrame({"y": [0, 1] * 20, "p": [0.3, 0.6] * 20, "g": [name, "b"] * 20})
    result = plm.evaluate(
        frame,
        label="y",
        models={"p": "p"},
        metrics=["accuracy"],
        slices=["g"],
        gates=[{"metric": "accuracy", "at_least": 2, "slices": "g", "name": name}],
    )
    result.record["warnings"].append(name)
    page = result._repr_html_()
    assert page is not None
    check(page)
    if name == EVIL[0]:
        assert name in text_of(page)
    assert "49" not in text_of(page).replace(" ", "")


def test_large_results_are_cut_and_say_so(summary: Summary) -> None:
    gates = pl.concat([summary.gates.filter(verdict="fail").head(1)] * 900).with_columns(
        slice=pl.format("region={}{}", pl.int_range(pl.len()), pl.lit("ü" * 100)), note=pl.lit("n" * 200)
    )
    metrics = pl.concat(
        [
            summary.metrics.filter(model="champion").with_columns(model=pl.lit(f"{'é' * 60}{number}"))
            for number in range(40)
        ]
    )
    large = replace(summary, gates=gates, metrics=metrics, record={"warnings": ["ö" * 500] * 50})
    page = to_html(large)
    check(page)
    assert "more rows in print(result)" in text_of(page) or "not shown" in text_of(page)


def test_without_jinja_the_notebook_shows_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.delitem(sys.modules, "plmetrics.report.notebook", raising=False)
    result = plm.evaluate(pl.DataFrame({"y": [1, 0], "p": [0.5, 0.1]}), label="y", models="p")
    assert result._repr_html_() is None
    assert "roc_auc" in repr(result)
