"""Texts of users: what a renderer stumbles over is replaced, and widths are those of the font."""

import sys
import unicodedata
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plmetrics.report.charts.texts import REPLACEMENT, clean, in_line, short, width, wrap_words


def allowed(code):
    """Whether XML 1.0 has the character."""
    return code in (9, 10, 13) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code >= 0x10000


@pytest.mark.slow
def test_every_character_becomes_one_that_xml_has_and_none_that_turns_texts():
    cleaned = [clean(f"a{chr(code)}b") for code in range(sys.maxunicode + 1)]
    assert all(allowed(ord(character)) for text in cleaned for character in text)
    left = {unicodedata.bidirectional(text[1]) for text in cleaned}
    assert not left & {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    for code, text in enumerate(cleaned):
        kept = text == f"a{chr(code)}b"
        assert kept or text in {"a b", f"a{REPLACEMENT}b"}
        assert kept or not chr(code).isprintable() or unicodedata.category(chr(code))[0] == "C"


@given(st.text(st.characters(), max_size=40))
def test_cleaned_texts_survive_xml(text):
    element = ElementTree.Element("text")
    element.text = clean(text)
    assert (ElementTree.fromstring(ElementTree.tostring(element)).text or "") == clean(text)
    assert clean(clean(text)) == clean(text)


@given(st.text(max_size=300), st.integers(5, 40))
def test_short_texts_keep_both_ends(text, most):
    cut = short(text, most)
    assert len(cut) <= most
    if len(clean(text)) > most:
        head, tail = cut.split("…")[0], cut.rsplit("…", 1)[1]
        assert clean(text).startswith(head)
        assert clean(text).endswith(tail)


def test_names_that_run_leftwards_are_set_apart_from_what_follows():
    assert in_line("\u05d0\u05d1") == "\u200e\u05d0\u05d1\u200e"
    assert in_line("model_a") == "model_a"


@pytest.mark.parametrize(
    ("text", "expected"), [("0.82 [0.81, 0.83]", 87.4), ("model_a", 41.6), ("Wide WM", 46.5), ("", 0)]
)
def test_widths_are_those_of_the_renderer(text, expected):
    """Measured as the width of a legend's label, 11 pixels high."""
    assert width(text) == pytest.approx(expected, rel=0.12)


@given(st.text(st.characters(codec="ascii", categories=["L", "Zs"]), max_size=200), st.integers(30, 400))
def test_lines_are_no_wider_than_they_may_be(text, most):
    lines = wrap_words(text, most)
    assert " ".join(lines) == text
    assert all(width(line, 11.5) <= most or " " not in line for line in lines)


@given(
    st.text("ab ", min_size=20, max_size=60),
    st.text("ab ", min_size=20, max_size=60),
    st.lists(st.text("xyz", min_size=1, max_size=3), min_size=2, max_size=6, unique=True),
    st.integers(12, 40),
)
def test_names_that_differ_in_their_middle_are_cut_apart(head, tail, middles, most):
    names = [f"{head}{middle:_<3}{tail}" for middle in middles]
    cut = [short(name, most, names) for name in names]
    assert len(set(cut)) == len(names)
    assert all(len(text) <= most for text in cut)
    assert all(
        text.strip("…") in name or text == short(name, most) for text, name in zip(cut, names, strict=True)
    )
