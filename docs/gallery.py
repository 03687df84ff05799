"""Writes the gallery of charts, a page and an image each, from the example suites: python -m docs.gallery."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import plmetrics as plm
from plmetrics.report.charts.index import charts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from plmetrics.report.charts.figure import Figure

FOLDER = Path(__file__).parent
PAGE, IMAGES = FOLDER / "gallery.md", FOLDER / "gallery"
CONFIGS = FOLDER.parent / "configs"
SUITES: dict[str, list[Any]] = {
    "quickstart": [
        "roc",
        "pr",
        "gain",
        "lift",
        "reliability",
        "corp",
        "score_histogram",
        "net_benefit",
        {"curve": "cost", "cost_fp": 1, "cost_fn": 5},
    ],
    "multiclass": ["confusion"],
    "regression": [
        "residual_histogram",
        "residual_qq",
        "residual_prediction",
        "conditional_label",
        "conditional_prediction",
        "conditional_recall",
    ],
    "uplift": ["qini", "uplift", "effect_calibration"],
    "fairness": [],
    "drift": [],
    "cross_validation": [],
    "find_slices": [],
    "forecast": [],
    "ranking": [],
}
"""The example suites, each with the curves that it draws."""
INTRODUCTION = """\
# Gallery

Every chart, as `result.plot.NAME()` draws it from the run of an example suite. See [curves](curves.md) for what the
points are, and [the notebook](notebook.md) for how to choose models and slices, and to save a chart.
"""


def results() -> Iterator[tuple[str, plm.Result]]:
    """The example suites with their results."""
    with tempfile.TemporaryDirectory() as folder:
        for name, curves in SUITES.items():
            changes: dict[str, object] = {"curves": curves, "output.report": False} if curves else {}
            yield name, plm.run(CONFIGS / f"{name}.yaml", output=Path(folder) / name, set=changes)


def figures() -> dict[str, tuple[str, Figure]]:
    """The charts by name, each of the first suite that has rows for it, with the suite's name."""
    drawn: dict[str, tuple[str, Figure]] = {}
    for name, result in results():
        for chart in dir(result.plot):
            if chart not in drawn:
                drawn[chart] = (name, getattr(result.plot, chart)())
    return {chart: drawn[chart] for chart in charts() if chart in drawn}


def page(drawn: dict[str, tuple[str, Figure]]) -> str:
    """The page in Markdown."""
    parts = [INTRODUCTION]
    for chart, (suite, figure) in drawn.items():
        words = figure.description.replace("[", "(").replace("]", ")").replace("\n", " ")
        parts.append(f"## {chart}\n\n`{suite}.yaml`\n\n![{words}](gallery/{chart}.svg)\n")
    return "\n".join(parts)


def main() -> None:
    """Write the page and its images."""
    drawn = figures()
    IMAGES.mkdir(exist_ok=True)
    for path in IMAGES.glob("*.svg"):
        path.unlink()
    for chart, (_, figure) in drawn.items():
        figure.save(IMAGES / f"{chart}.svg")
    PAGE.write_text(page(drawn), encoding="utf-8")


if __name__ == "__main__":
    main()
