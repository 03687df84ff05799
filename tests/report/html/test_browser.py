"""The page in a real browser: no message, no request, nothing too wide, nothing that readers aloud miss."""

import os
import shutil
from itertools import product

import pytest

import plmetrics as plm

pytestmark = pytest.mark.slow
BROWSER = os.environ.get("PLMETRICS_BROWSER") or shutil.which("chromium") or shutil.which("google-chrome")
SCREENS = list(product((390, 1280), ("light", "dark"), ("screen", "print")))
OUTSIDE = """() => [...document.querySelectorAll('svg')].flatMap(svg => {
        const box = svg.getBoundingClientRect();
        return [...svg.querySelectorAll('text')].filter(text => {
            const part = text.getBoundingClientRect();
            return part.width && (part.left < box.left - 1 || part.right > box.right + 1
                || part.top < box.top - 1 || part.bottom > box.bottom + 1);
        }).map(text => text.textContent)})"""
"""Texts of charts that stand outside them."""


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api")
    if BROWSER is None:
        pytest.skip("no browser: set PLMETRICS_BROWSER, or install chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def path(result: plm.Result, tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    result.report(path)
    return path


def open_page(browser, path, width: int = 1280, scheme: str = "light", media: str = "screen"):
    """A page with its context, and what it says and asks for."""
    context = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme, bypass_csp=media == "axe"
    )
    page = context.new_page()
    page.emulate_media(media="screen" if media == "axe" else media)
    events: list[str] = []
    page.on("console", lambda message: events.append(message.text))
    page.on("pageerror", lambda error: events.append(str(error)))
    page.on("request", lambda request: events.append(request.url))
    page.goto(path.as_uri())
    return context, page, events


@pytest.fixture(scope="module")
def visit(browser, path):
    contexts = []

    def opened(*screen: object, **keywords: object):
        context, page, events = open_page(browser, path, *screen, **keywords)
        contexts.append(context)
        return page, events

    yield opened
    for context in contexts:
        context.close()


@pytest.mark.alike
@pytest.mark.parametrize(("width", "scheme", "media"), SCREENS)
def test_a_page_fits_its_screen_and_asks_for_nothing(visit, path, width, scheme, media) -> None:
    page, events = visit(width, scheme, media)
    assert events == [path.as_uri()]
    if media == "screen":
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(OUTSIDE) == []


def test_paper_is_white_where_the_screen_is_dark(visit) -> None:
    page, _ = visit(scheme="dark", media="print")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    page, _ = visit(scheme="dark")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(21, 25, 30)"


def test_colours_of_charts_follow_the_page(visit) -> None:
    stroke = "[...document.querySelectorAll('figure svg path[stroke]')].map(p => getComputedStyle(p).stroke)"
    light, dark = (visit(scheme=scheme)[0].evaluate(stroke) for scheme in ("light", "dark"))
    assert "rgb(0, 114, 178)" in light
    assert "rgb(77, 178, 255)" in dark
    assert "rgb(0, 114, 178)" not in dark


def test_every_folded_row_is_printed(visit) -> None:
    page, _ = visit(media="print")
    hidden = (
        "[...document.querySelectorAll('details')].filter(d => d.getBoundingClientRect().height < 30).length"
    )
    assert page.evaluate(hidden) == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_readers_aloud_miss_nothing(visit, scheme) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page, _ = visit(scheme=scheme, media="axe")
    violations = axe.Axe().run(page).response["violations"]
    assert [(violation["id"], violation["nodes"][0]["html"]) for violation in violations] == []


def test_sections_are_reached_by_keyboard(visit) -> None:
    page, _ = visit()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "A"
    page.keyboard.press("Enter")
    assert page.evaluate("document.querySelector(':target') !== null")
