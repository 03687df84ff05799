import re
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest
from report.html.hostile import CLOSED, MARKUP, table

import plmetrics as plm
from plmetrics.report.charts import rendering
from plmetrics.report.html.blocks import MINUS
from plmetrics.report.html.page import html_text
from plmetrics.report.leaderboard import clear_bests
from plmetrics.report.numbers import row_estimate
from plmetrics.report.summary import summarise
from plmetrics.report.terminal import render

VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """Cells of tables by caption, texts, and whether all tags are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tables: dict[str, list[list[tuple[str, dict[str, str | None]]]]] = {}
        self.texts: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._caption = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "caption":
            self._caption = ""
        if tag == "tr" and self._caption:
            self.tables[self._caption].append([])
        if tag in ("td", "th") and self._caption:
            self.tables[self._caption][-1].append(("", dict(attrs)))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag == "caption":
            self.tables[self._caption] = []

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if "caption" in self.open:
            self._caption += data
        elif self._caption and self.open[-1] in ("td", "th", "span") and self.tables.get(self._caption):
            text, attributes = self.tables[self._caption][-1][-1]
            self.tables[self._caption][-1][-1] = (text + data, attributes)


@pytest.fixture(scope="module")
def text(result: plm.Result) -> str:
    return html_text(summarise(result))


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


@pytest.mark.slow
def test_every_number_of_the_models_is_that_of_the_table(result: plm.Result, page: Page) -> None:
    head, *rows = next(cells for caption, cells in page.tables.items() if caption.startswith("All rows"))
    models = [name for name, _ in head][1:]
    assert models == ["good", MARKUP]
    seen = 0
    for (name, _), *cells in rows:
        for model, (shown, attributes) in zip(models, cells, strict=True):
            metric = name.split(" ")[0]
            row = result.metrics.filter(slice_set="overall", metric=metric, model=model).row(0, named=True)
            assert float(attributes["data-value"] or "") == row["value"]
            numbers = [
                float(part.replace(MINUS, "-")) for part in re.findall(rf"[{MINUS}+]?\d+\.?\d*", shown)
            ]
            digits = len(shown.split(" ")[0].partition(".")[2])
            expected = [row["value"], row["lower"], row["upper"]]
            assert numbers == pytest.approx(expected, abs=0.5000001 * 10**-digits)
            seen += 1
    assert seen == 8


def test_shaded_slices_hold_the_values_of_the_table(result: plm.Result, page: Page) -> None:
    cells = page.tables["Slices by metrics: good"]
    assert [name for name, _ in cells[0]] == ["slice", "rows", "roc_auc", "log_loss", "recall", "tp"]
    frame = result.metrics.filter(slice_set="region", model="good")
    for index, (metric, _) in enumerate(cells[0][2:], 2):
        shown = [float(row[index][1]["data-value"] or "") for row in cells[1:]]
        assert shown == frame.filter(metric=metric)["value"].to_list()


def test_distances_of_the_worst_slices_are_those_of_the_terminal(result: plm.Result, page: Page) -> None:
    head, *rows = page.tables["Worst slices by roc_auc"]
    assert [name for name, _ in head] == ["slice", "model", "roc_auc", "to overall", "rows"]
    values = {
        (row["slice"], row["model"]): row["value"]
        for row in result.metrics.filter(metric="roc_auc").rows(named=True)
    }
    terminal = render(summarise(result), 200)
    assert rows
    for (name, _), (model, _), _, (shown, attributes), _ in rows:
        assert shown.replace(MINUS, "-") in terminal
        distance = values[name, model] - values["all", model]
        assert float(attributes["data-value"] or "") == pytest.approx(distance, abs=1e-15)
        text = shown.split(" ")[0].replace(MINUS, "-")
        assert float(text) == pytest.approx(distance, abs=0.5000001 * 10 ** -len(text.partition(".")[2]))


def test_a_shade_says_how_many_errors_a_value_is_worse(result: plm.Result, page: Page) -> None:
    cells = page.tables["Slices by metrics: good"]
    frame = result.metrics.filter(slice_set="region", model="good", metric="roc_auc")
    overall = result.metrics.filter(slice_set="overall", model="good", metric="roc_auc")["value"].item()
    estimates = frame.select("value", "std_error", "lower", "upper").rows()
    for row, (value, error, lower, upper) in zip(cells[1:], estimates, strict=True):
        reach = upper - value if value < overall else value - lower
        told = reach / 1.96 if lower <= overall <= upper else 0.0
        steps = min(int(abs(value - overall) / max(error, told)), 3)
        side = "better" if value > overall else "worse"
        assert (row[2][1].get("class") or "").split()[1:] == ([f"{side}-{steps}"] if steps else [])


def test_gates_that_failed_come_first(page: Page) -> None:
    verdicts = [row[0][0] for row in page.tables["Checks"][1:]]
    assert verdicts == ["fail", "fail", "pass", "pass"]


def test_names_are_text_and_never_markup(text: str, page: Page) -> None:
    assert not {tag for tag, _ in page.tags} & {"script", "b", "iframe", "object", "link"}
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert any(MARKUP in part for part in page.texts)
    assert any(CLOSED in part for part in page.texts)
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\u202a-\u202e]", text)
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_nothing_is_requested(text: str, page: Page) -> None:
    links = [
        value for _, attributes in page.tags for name, value in attributes.items() if name in ("href", "src")
    ]
    assert links
    assert all((link or "").startswith("#") for link in links)
    assert "url(" not in text
    assert "default-src 'none'" in text


def test_charts_are_in_the_page(page: Page) -> None:
    titles = [attributes["aria-label"] for tag, attributes in page.tags if tag == "figure"]
    assert any(str(title).startswith("ROC curve") for title in titles)
    assert sum(tag == "svg" for tag, _ in page.tags) == len(titles)


def test_without_the_extra_all_tables_are_there(result: plm.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "find_spec", lambda _: None)
    page = Page(html_text(summarise(result)))
    assert "Slices by metrics: good" in page.tables
    assert not [tag for tag, _ in page.tags if tag == "svg"]
    assert any("Not drawn: roc" in part and "plmetrics[report]" in part for part in page.texts)


def test_a_chart_that_the_renderer_refuses_costs_the_chart_alone(
    result: plm.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendering.Renderer, "_ask", lambda *_: {"error": "its process ended"})
    page = Page(html_text(summarise(result)))
    assert "Slices by metrics: good" in page.tables
    assert any("is missing: the renderer refused it: its process ended" in part for part in page.texts)


def test_thousands_of_slices_are_cut_and_counted() -> None:
    frame = table(20_000).with_columns(region=pl.int_range(pl.len()) % 4000)
    large = plm.evaluate(frame, label="y", models="good", metrics=["recall", "log_loss"], slices=["region"])
    text = html_text(summarise(large))
    assert len(text) < 200_000
    assert "the 50 largest of 4,000 slices; the others are in the table metrics" in text


@pytest.mark.slow
def test_work_on_tables_of_many_slices_is_that_of_the_rows_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows went through Python for the 50 slices shown, and each look at comparisons grouped all of them."""
    frame = table(4_000).with_columns(region=pl.int_range(pl.len()) % 800)
    asked = {
        "label": "y",
        "models": ["good", "poor"],
        "metrics": ["recall", "log_loss"],
        "slices": ["region"],
    }
    result = plm.evaluate(frame, compare="good", uncertainty={"replicates": 50}, min_rows=1, **asked)
    assert result.comparisons.height > 1_600
    iter_rows, over = pl.DataFrame.iter_rows, pl.Expr.over
    iterated, grouped = [], []

    def counted_rows(frame: pl.DataFrame, **options: bool) -> object:
        iterated.append(frame.height)
        return iter_rows(frame, **options)

    def counted_groups(expr: pl.Expr, *keys: object) -> pl.Expr:
        grouped.extend(keys)
        return over(expr, *keys)

    monkeypatch.setattr(pl.DataFrame, "iter_rows", counted_rows)
    monkeypatch.setattr(pl.Expr, "over", counted_groups)
    text = html_text(summarise(result))
    assert "the 50 largest of 800 slices" in text
    assert max(iterated) <= 400
    assert all("contrast" not in keys for keys in map(str, grouped))


def test_many_models_are_rows_the_best_first() -> None:
    frame = table(500)
    models = {f"m{index:02d}": f"s{index}" for index in range(50)}
    scores = [
        (pl.col("good") * (50 - index) + pl.col("poor") * index).alias(f"s{index}") / 50
        for index in range(50)
    ]
    many = plm.evaluate(frame.with_columns(scores), label="y", models=models, metrics=["roc_auc"])
    page = Page(html_text(summarise(many)))
    cells = page.tables["All rows"][1:]
    values = [float(row[1][1]["data-value"] or "") for row in cells]
    assert values == sorted(values, reverse=True)


@pytest.mark.slow
def test_result_writes_the_page(result: plm.Result, text: str, tmp_path) -> None:
    result.report(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == text
    with pytest.raises(plm.EnvironmentFault, match="cannot be written"):
        result.report(tmp_path / "absent" / "page.html")
    with pytest.raises(plm.ConfigError, match=r"'page.PDF' is no name of"):
        result.report(tmp_path / "page.PDF")
    assert not (tmp_path / "page.PDF").exists()


@pytest.mark.slow
def test_bold_is_what_was_read_as_better_than_every_other_model(result: plm.Result) -> None:
    summary = summarise(result)
    page = Page(html_text(summary))
    bests = clear_bests(summary)
    assert ("roc_auc", "good") in bests
    head, *rows = page.tables["All rows, with intervals"]
    bold = {
        (row[0][0].split(" ")[0], head[place][0])
        for row in rows
        for place, (_, attributes) in enumerate(row)
        if "best" in (attributes.get("class") or "").split()
    }
    assert bold == bests
    notebook, markdown = result._repr_html_(), result.to_markdown()
    for text, pattern in ((notebook, r"font-weight:600\">([^<]*)<"), (markdown, r"\*\*([^*]*)\*\*")):
        shown = [cell.replace("\\", "") for cell in re.findall(pattern, text)]
        rows_of_bests = [result.metrics.filter(slice_set="overall", metric=m, model=n) for m, n in bests]
        assert sorted(shown) == sorted(str(row_estimate(row.row(0, named=True))) for row in rows_of_bests)
        assert "bold: read as better than every other model" in text


def test_pages_rank_models_as_the_terminal_does() -> None:
    frame = table(300)
    models = {f"m{index:02d}": "good" if index % 2 else "poor" for index in range(9)}
    many = plm.evaluate(frame, label="y", models=models, metrics=["tp", "fn", "brier", "roc_auc"])
    summary = summarise(many)
    order = summary.metrics.filter(metric="brier", slice_set="overall").sort("value", maintain_order=True)[
        "model"
    ]
    page = Page(html_text(summary))
    assert [row[0][0] for row in page.tables["All rows"][1:]] == order.to_list()
    assert any("the best by brier first" in text for text in page.texts)
    terminal = render(summary, 100)
    assert "Models by brier" in terminal
    assert re.findall(r"^ +(m\d\d) ", terminal, re.MULTILINE) == order.to_list()
    assert re.findall(r"\| (m\d\d) \|", many.to_markdown()) == order.to_list()


@pytest.mark.slow
def test_many_pairs_of_models_are_tables_by_metric_and_the_best_models_have_curves() -> None:
    draw = np.random.default_rng(4)
    label = draw.random(400) < 0.5
    noise = {f"m{index:02d}": draw.normal(size=400) * (3.2 - index / 5) for index in range(15)}
    frame = pl.DataFrame(
        {"y": label} | {name: 1 / (1 + np.exp(-1.0 * label - part)) for name, part in noise.items()}
    )
    many = plm.evaluate(
        frame,
        label="y",
        models=list(noise),
        metrics=["fp", "log_loss", "roc_auc"],
        uncertainty={"replicates": 20},
        compare="m00",
        curves=["roc"],
    )
    page = Page(html_text(summarise(many)))
    captions = [caption for caption in page.tables if caption.startswith("Differences in")]
    assert captions == ["Differences in fp", "Differences in log_loss", "Differences in roc_auc"]
    rows = many.comparisons.filter(metric="log_loss").sort("difference")
    shown = page.tables["Differences in log_loss"][1:]
    assert [row[0][0] for row in shown] == rows["model"].to_list()
    assert [float(row[2][1]["data-value"] or "") for row in shown] == rows["difference"].to_list()
    best = many.metrics.filter(metric="log_loss").sort("value")["model"].head(12).to_list()
    assert set(many.plot.roc().frame["model"]) == set(best)


def test_ratios_of_many_pairs_are_called_ratios():
    scores = {f"m{index:02d}": [0.9, 0.2, 0.8 - index / 20, 0.3] for index in range(15)}
    many = plm.evaluate(
        {"y": [1, 0, 1, 0], **scores},
        label="y",
        models=list(scores),
        metrics=["log_loss"],
        compare={"baseline": "m00", "scales": ["ratio"]},
    )
    captions = Page(html_text(summarise(many))).tables
    assert "Ratios in log_loss" in captions
    assert "Differences in log_loss" not in captions


def test_differences_without_a_test_have_no_columns_of_tests():
    frame = {"y": [1, 0, 1, 0, 1], "A": [0.9, 0.2, 0.4, 0.3, 0.6], "B": [0.8, 0.4, 0.3, 0.2, 0.5]}
    result = plm.evaluate(frame, label="y", models=["A", "B"], metrics=["brier"], compare={"baseline": "A"})
    text = html_text(summarise(result))
    assert [cell for cell, _ in Page(text).tables["B against A"][0]] == ["metric", "difference"]
    assert "p values" not in text
