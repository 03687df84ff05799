"""Colours of charts are told apart and are read: contrast by WCAG, distances as colour-blind eyes have them."""

from itertools import combinations

import numpy as np
import pytest

from plmetrics.report.charts.decisions import confusion
from plmetrics.report.charts.theme import DARK, LIGHT

THEMES = {"light": LIGHT, "dark": DARK}
# Machado, Oliveira and Fernandes (2009), full severity, on linear RGB.
EYES = {
    "normal": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritan": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(color):
    parts = np.array([int(color[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(first, second):
    low, high = sorted(float(linear(color) @ TO_XYZ[1]) for color in (first, second))
    return (high + 0.05) / (low + 0.05)


def lab(color, eye):
    xyz = TO_XYZ @ np.clip(EYES[eye] @ linear(color), 0, 1) / (TO_XYZ @ np.ones(3))
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_the_arithmetic_is_that_of_the_standards():
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert np.allclose(lab("#ff0000", "normal"), [53.24, 80.09, 67.20], atol=0.05)


@pytest.mark.parametrize("theme", THEMES)
def test_texts_and_marks_have_contrast(theme):
    colors = THEMES[theme]
    for role in ("ink", "mute", "bad"):
        assert contrast(colors[role], colors["paper"]) >= 4.5, role
    for role in ("reference", *(f"series-{number}" for number in range(1, 6))):
        assert contrast(colors[role], colors["paper"]) >= 3, role


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("theme", THEMES)
def test_series_are_told_apart_by_all_eyes(theme, eye):
    series = [THEMES[theme][f"series-{number}"] for number in range(1, 6)]
    distances = [np.linalg.norm(lab(a, eye) - lab(b, eye)) for a, b in combinations(series, 2)]
    assert min(distances) > 15


@pytest.mark.parametrize("theme", THEMES)
def test_numbers_in_cells_are_read(theme):
    colors = THEMES[theme]
    for number in range(len(confusion.EDGES) + 1):
        ink = "paper" if number >= confusion.FROM_PAPER else "ink"
        assert contrast(colors[ink], colors[f"share-{number}"]) >= 4.5, number


@pytest.mark.parametrize("theme", THEMES)
def test_roles_have_colors_of_their_own(theme):
    """Colours are turned into those of the other theme by their value."""
    colors = THEMES[theme]
    assert colors.keys() == LIGHT.keys()
    assert len(set(LIGHT.values())) == len(LIGHT)
