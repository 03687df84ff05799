"""The pages of all example suites in a real browser, with every chart that there is."""

import pytest
from conftest import THOROUGH
from report.html.test_browser import OUTSIDE, browser, open_page  # noqa: F401

from docs import gallery
from plmetrics.features.registry import features
from plmetrics.report.charts.index import charts

pytestmark = pytest.mark.slow
SCREENS = [
    (390, "dark", "screen", 1),
    (390, "light", "print", 3),
    (1280, "light", "screen", 3),
    (1280, "dark", "print", 3),
]
"""Width, scheme and medium; unless all are asked for, every which page is opened."""
DRAWN: set[str] = set()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("pages")
    for number, (name, result) in enumerate(gallery.results(replicates=40)):
        DRAWN.update(dir(result.plot))
        result.report(folder / f"{number}-{name}.html")
    return folder


@pytest.mark.parametrize(("width", "scheme", "media", "step"), SCREENS)
def test_charts_fit_and_are_all_there(
    browser,  # noqa: F811
    pages,
    width: int,
    scheme: str,
    media: str,
    step: int,
) -> None:
    for path in sorted(pages.iterdir())[:: 1 if THOROUGH else step]:
        text = path.read_text("utf-8")
        assert "is missing" not in text
        assert len(text) < 1_000_000
        context, page, events = open_page(browser, path, width, scheme, media)
        assert events == [path.as_uri()]
        if media == "screen":
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(OUTSIDE) == []
        context.close()


def test_example_suites_draw_every_chart(pages) -> None:
    assert set(charts()) - DRAWN == set()
    assert {name for feature in features() for name in feature.charts} <= DRAWN
    shown = {path.stem for path in gallery.IMAGES.glob("*.svg")}
    assert shown == set(charts()), "run python -m docs.gallery"
    assert all(f"(gallery/{name}.svg)" in gallery.PAGE.read_text("utf-8") for name in shown)
