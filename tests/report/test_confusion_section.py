"""Confusion matrices in the terminal against counts by hand."""

import re
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from rich.cells import cell_len

import plmetrics as plm
from plmetrics.report.summary import summarise
from plmetrics.report.terminal import render


def made(classes: int) -> tuple[plm.Result, Counter[tuple[str, str]]]:
    draw = np.random.default_rng(classes)
    names = [f"class {number}" for number in range(classes)]
    truth = draw.choice(names, 900)
    called = np.where(draw.random(900) < 0.6, truth, draw.choice(names, 900))
    result = plm.evaluate(
        {"y": truth, "p": called},
        task="multiclass",
        label="y",
        models={"m": {"prediction": "p"}},
        metrics=["accuracy"],
        curves=["confusion"],
    )
    return result, Counter(zip(truth.tolist(), called.tolist(), strict=True))


def test_a_matrix_of_counts_and_shares() -> None:
    result, counts = made(3)
    text = render(summarise(result), 100)
    section = text[text.index("Confusion of m") :]
    for truth in ("class 0", "class 1", "class 2"):
        (line,) = re.findall(rf"^  {truth} .*", section, re.MULTILINE)
        total = sum(number for (name, _), number in counts.items() if name == truth)
        shown = [int(n) for n in re.findall(r"(\d+) +\(", line)]
        assert shown == [counts[truth, called] for called in ("class 0", "class 1", "class 2")]
        shares = [float(share) for share in re.findall(r"\(([\d.]+)%\)", line)]
        assert shares == [pytest.approx(100 * n / total, abs=0.051) for n in shown]
        assert line.endswith(f" {total}")


@pytest.mark.parametrize("width", [40, 60, 100])
def test_many_classes_are_their_largest_confusions(width: int) -> None:
    result, counts = made(30)
    text = render(summarise(result), width)
    assert max(map(cell_len, text.splitlines())) <= width
    section = text[text.index("Confusion of m") :]
    wrong = {pair: n for pair, n in counts.items() if pair[0] != pair[1]}
    largest = max(wrong.values())
    assert re.search(rf"\b{largest} +\(", section)
    assert f"and {len(wrong) - 10} other confusions in curves.parquet" in " ".join(section.split())


@pytest.mark.slow
def test_the_terminal_needs_no_charts() -> None:
    code = """
import sys, polars as pl, plmetrics as plm
frame = pl.DataFrame({"y": ["a", "b", "a"], "p": ["a", "b", "b"]})
asked = {"task": "multiclass", "models": {"p": {"prediction": "p"}}, "metrics": ["accuracy"]}
print(plm.evaluate(frame, label="y", **asked, curves=["confusion"]))
print("altair" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("False\n")
    assert "Confusion of p" in done.stdout


def test_two_classes_have_their_cells_in_slices_too() -> None:
    draw = np.random.default_rng(2)
    table = {"y": draw.integers(0, 2, 200), "p": draw.random(200), "g": draw.choice(["u", "v"], 200)}
    asked = {"label": "y", "models": {"m": "p"}, "metrics": ["accuracy"], "slices": ["g"]}
    result = plm.evaluate(table, **asked, curves=[{"curve": "confusion", "slices": "g"}])
    text = render(summarise(result), 100)
    section = text[text.index("Confusion in slices") :].split("\n\n")[0]
    for name in ("u", "v"):
        here = table["g"] == name
        cells = Counter(zip(table["y"][here], table["p"][here] >= 0.5, strict=True))
        (line,) = re.findall(rf"^  g={name} .*", section, re.MULTILINE)
        assert [int(n) for n in line.split()[2:]] == [cells[y, called] for y in (0, 1) for called in (0, 1)]
