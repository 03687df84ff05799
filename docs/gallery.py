"""Writes the gallery of charts, a page and an image each, from the example suites: python -m docs.gallery."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import plmetrics as plm
from plmetrics.report.charts.index import charts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from plmetrics.report.charts.figure import Figure

FOLDER = Path(__file__).parent
PAGE, IMAGES = FOLDER / "gallery.md", FOLDER / "gallery"
CONFIGS = FOLDER.parent / "configs"
SUITES: dict[str, dict[str, Any]] = {
    "quickstart": {
        "curves": [
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
        "slices.age": {"column": "age", "bins": [25, 35, 45, 55, 65]},
        "compare": {
            "baseline": "gbdt",
            "slices": {"age": "rest"},
            "tests": [{"friedman": {"over": "age"}}, {"nemenyi": {"over": "age"}}],
        },
    },
    "multiclass": {"curves": ["confusion"]},
    "regression": {
        "curves": [
            "residual_histogram",
            "residual_qq",
            "residual_prediction",
            "conditional_label",
            "conditional_prediction",
            "conditional_recall",
        ]
    },
    "forecast": {"curves": ["coverage", "quantile_coverage", "pit_histogram"]},
    "uplift": {"curves": ["qini", "uplift", "effect_calibration"]},
    "fairness": {},
    "drift": {},
    "cross_validation": {},
    "find_slices": {},
}
"""The example suites, each with what it is asked for beside its own keys."""
REPRODUCIBLE: dict[str, Any] = {"reproducible": True}
"""Last bits of sums would be others in each run, and with them places of marks in the images."""
INTRODUCTION = """\
# Gallery

Every chart, as `result.plot.NAME()` draws it from the run of an example suite. See [curves](curves.md) for what the
points are, and [the notebook](notebook.md) for how to choose models and slices, and to save a chart.
"""


def results(replicates: int = 500) -> Iterator[tuple[str, plm.Result]]:
    """The example suites with their results, and two models of the rankings."""
    with tempfile.TemporaryDirectory() as folder:
        for name, keys in SUITES.items():
            changes = {"output.report": False, "uncertainty.replicates": replicates, **REPRODUCIBLE, **keys}
            yield name, plm.run(CONFIGS / f"{name}.yaml", output=Path(folder) / name, set=changes)
        yield "nightly", _nights(Path(folder), min(replicates, 100))
    yield "ranking", _rankings(replicates)
    yield "experiment", _experiment()
    yield "cross_validation", _folds("train_size", [100, 200, 400, 800])
    yield "cross_validation", _folds("parameter", [1.0, 2.0, 3.0, 4.0])


def _rankings(replicates: int) -> plm.Result:
    """The rankings of an example suite beside those with noise, query by query."""
    noise = pl.int_range(pl.len()) % 7 / 5
    table = pl.read_csv(CONFIGS / "data" / "synthetic_ranking.csv").with_columns(
        noisy=pl.col("score") + noise
    )
    return plm.evaluate(
        table,
        task="ranking",
        label="label",
        query="group",
        models={"model": "score", "noisy": "noisy"},
        metrics=["ndcg", "map"],
        uncertainty={"replicates": replicates},
        compare="model",
        curves=[{"curve": "query_differences", "metric": "ndcg"}],
        **REPRODUCIBLE,
    )


def _experiment() -> plm.Result:
    """Three invented arms, of which one sells more and one is slower, in two countries."""
    draw, rows = np.random.default_rng(4), 6000
    arm = draw.choice(["old", "new", "short"], rows)
    sells, slower = (arm == "new") * 0.06, (arm == "short") * 0.15
    table = {
        "arm": arm,
        "country": draw.choice(["de", "fr"], rows),
        "bought": draw.random(rows) < 0.2 + sells,
        "seconds": draw.gamma(4, 8, rows) * (1 + slower),
    }
    plan: Any = {"arm": "arm", "control": "old", "outcomes": ["bought", "seconds"]}
    return plm.evaluate(
        pl.DataFrame(table), task="experiment", experiment=plan, slices=["country"], **REPRODUCIBLE
    )


def _folds(key: str, places: list[float]) -> plm.Result:
    """Invented predictions of five folds that get better with each place of a configuration."""
    draw = np.random.default_rng(2)
    parts = []
    for step, place in enumerate(places):
        label = draw.random(500) < 0.4
        score = label * (1 + step) / 2 + draw.normal(size=500)
        fold = np.arange(500) % 5
        row = np.arange(500) + 500 * step
        parts.append(pl.DataFrame({"y": label, "p": score, key: place, "fold": fold, "row": row}))
    table = pl.concat(parts)
    keys: Any = {key: key}
    asked: Any = {"metrics": ["roc_auc"], "fold": "fold", "unit": "row", "uncertainty": {"replicates": 20}}
    return plm.evaluate(table, label="y", models="p", cross_validation=keys, **asked, **REPRODUCIBLE)


def _nights(folder: Path, replicates: int) -> plm.Result:
    """The last of invented days of two models, of which one has bad scores and one is absent."""
    keys: Any = {
        "data": {"path": "scores"},
        "interval": {"partition": "day"},
        "columns": {"label": "y"},
        "models": {"champion": "old", "challenger": "new"},
        "metrics": ["roc_auc", "brier"],
        "uncertainty": {"replicates": replicates},
        "gates": [{"metric": "roc_auc", "at_least": 0.8}],
        **REPRODUCIBLE,
    }
    suite = folder / "nightly.yaml"
    suite.write_text(json.dumps(keys), encoding="utf-8")
    results = []
    for number in (day for day in range(14) if day != 4):
        draw = np.random.default_rng(number)
        label = draw.random(1000) < 0.3
        worse = 0.4 if number == 9 else 1.0
        scores = {
            "old": draw.normal(2.0 * worse * label),
            "new": draw.normal(2.4 * label),
        }
        partition = folder / "scores" / f"day=2026-03-{number + 1:02}"
        partition.mkdir(parents=True)
        table = pl.DataFrame(
            {"y": label, **{name: 1 / (1 + np.exp(-score)) for name, score in scores.items()}}
        )
        table.write_parquet(partition / "part.parquet")
        results.append(plm.run(suite, interval=f"2026-03-{number + 1:02}", output=folder / "runs"))
    return results[-1]


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
