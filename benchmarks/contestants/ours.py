"""Our own contestants, and the two measures that they are held against: a bare scan and a bare import."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.contestants.contestant import Contestant, Values, with_bytecode

SUMS = ["accuracy", "precision", "recall", "f1", "brier", "log_loss"]
COUNTS = ["accuracy", "precision", "recall", "f1", "mcc", "brier"]
CUBE = [*SUMS, "mcc", "selection_rate"]
MANY = ["roc_auc", "average_precision", "ks", "ece", *SUMS]
FLAGSHIP = ["roc_auc", "average_precision", "ks", "log_loss", "brier", "ece"]
FLAGSHIP += ["accuracy", "precision", "recall", "f1", "mcc", "selection_rate"]

CELL = {"cell": ["country", "device"]}
SLICES = {"country": "country", "device": "device"} | CELL
SLICE_COUNT = 20 + 3 + 60 + 1
REPLICATES = {"replicates": 1000, "seed": 7}


def models(number: int) -> dict[str, str]:
    """The first models, by the name of their score column."""
    return {f"s{index}": f"s{index}" for index in range(number)}


def values_of(result: Any) -> Values:
    """All defined values, each off by no more than its bound, and the number of rows."""
    frame = result.metrics.filter(status="ok")
    key = frame.select(pl.format("{} {} {}", "model", "metric", "slice")).to_series()
    bound = frame["bound"].fill_null(0.0)
    found = dict(zip(key, zip(frame["value"], bound, strict=True), strict=True))
    return found | {"rows": (float(result.metrics["n"].max()), 0.0)}


def facts_of(result: Any) -> dict[str, Any]:
    """How much was found, the largest bound of each metric that has one, and the seconds of the stages."""
    bounds = result.metrics.group_by("metric").agg(pl.col("bound").max()).drop_nulls().sort("metric")
    return {
        "estimates": result.metrics.height,
        "comparisons": result.comparisons.height,
        "bounds": dict(bounds.iter_rows()),
        "stages": result.record["timings"],
    }


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A call of `evaluate` on the folder."""

    arguments: dict[str, Any]

    def __call__(self, folder: Path) -> Any:
        """Evaluate the table in the folder."""
        import plmetrics as plm

        return plm.evaluate(str(folder), label="label", **self.arguments)


def ours(name: str, what: str, **arguments: Any) -> Contestant:
    """A contestant that evaluates the folder with these arguments."""
    work = Evaluation(arguments)
    return Contestant(name, f"parquet; {what}", lambda folder: folder, work, values_of, facts_of)


def flagship(name: str, *, exact: bool) -> Contestant:
    """The whole table of the flagship, exactly or on the grid; it fails unless nothing is left out."""
    estimates = 4 * SLICE_COUNT * len(FLAGSHIP)
    comparisons = 3 * SLICE_COUNT * len(FLAGSHIP)

    def checked(result: Any) -> Values:
        if (result.metrics.height, result.comparisons.height) != (estimates, comparisons):
            msg = (
                f"{name}: {result.metrics.height} estimates and {result.comparisons.height} comparisons, "
                f"not {estimates} and {comparisons}; are there rows enough for all cells?"
            )
            raise RuntimeError(msg)
        return values_of(result)

    work = Evaluation(
        {
            "models": models(4),
            "slices": SLICES,
            "metrics": FLAGSHIP,
            "unit": "customer",
            "uncertainty": REPLICATES,
            "compare": {"baseline": "s0"},
            "exact": exact,
        }
    )
    given = "parquet; 4 models, 84 slices, 12 metrics, 1000 replicates by customer, every difference to s0"
    return Contestant(name, given, lambda folder: folder, work, checked, facts_of)


@dataclass(frozen=True, slots=True)
class Scan:
    """A bare streaming scan of the label, the scores of some models and columns of text: a sum of each, no more."""

    models: int
    texts: tuple[str, ...] = ()

    def __call__(self, folder: Path) -> pl.DataFrame:
        """Scan the table in the folder."""
        columns = [pl.col(name).sum() for name in ("label", *models(self.models))]
        columns += [pl.col(name).str.len_bytes().sum() for name in self.texts]
        return pl.scan_parquet(folder).select(pl.len().alias("rows"), *columns).collect(engine="streaming")


def scan(name: str, of: Scan) -> Contestant:
    """A bare scan as a contestant."""
    return Contestant(
        name,
        "parquet; a sum of each column, nothing else",
        load=lambda folder: folder,
        work=of,
        values=lambda frame: {"rows": (float(frame["rows"].item()), 0.0)},
    )


def bootstrap_values(result: Any) -> Values:
    """Estimate and ends of its interval; other resamples of the same rows may move an end by half a standard error."""
    row = result.metrics.row(0, named=True)
    key = f"{row['model']} {row['metric']} {row['slice']}"
    ends = {f"{key} {end}": (row[end], row["std_error"] / 2) for end in ("lower", "upper")}
    return {key: (row["value"], 0.0)} | ends


def suite_beside(folder: Path) -> tuple[Path, tempfile.TemporaryDirectory[str]]:
    """A suite for the table in a folder of its own, which lives as long as it is held."""
    import yaml

    place = tempfile.TemporaryDirectory(prefix="plmetrics-benchmarks-")
    suite = {
        "name": "small",
        "data": {"path": f"{folder.resolve()}/*.parquet"},
        "columns": {"label": "label"},
        "models": models(2),
        "metrics": SUMS,
        "slices": CELL,
    }
    path = Path(place.name) / "small.yaml"
    path.write_text(yaml.safe_dump(suite), encoding="utf-8")
    return path, place


def run_suite(loaded: tuple[Path, object]) -> Any:
    """Run the suite, which writes a run folder."""
    import plmetrics as plm

    return plm.run(loaded[0])


def imports(name: str, statement: str) -> Contestant:
    """A Python process that does nothing but a statement."""
    command = [sys.executable, "-c", statement]
    return Contestant(
        name,
        f"a new process: `{statement}`",
        load=with_bytecode,
        work=lambda folder: subprocess.run(command, check=True),  # noqa: ARG005
    )


OURS = (
    scan("scan", Scan(2, ("country", "device"))),
    scan("scan_scores", Scan(4)),
    scan("scan_cells", Scan(4, ("country", "device"))),
    ours("sums_overall", "4 models, 6 metrics", metrics=SUMS, models=models(4)),
    ours("sums_by_cell", "4 models, 6 metrics, 61 slices", metrics=SUMS, models=models(4), slices=CELL),
    ours("sums", "2 models, 6 metrics, 61 slices", metrics=SUMS, models=models(2), slices=CELL),
    ours("cube", "2 models, 8 metrics, 84 slices", metrics=CUBE, models=models(2), slices=SLICES),
    ours("counts", "1 model, 6 metrics", metrics=COUNTS, models=models(1)),
    ours("auc", "1 model", metrics=["roc_auc"], models=models(1), exact=True),
    ours(
        "auc_by_cell",
        "1 model, 2 metrics, 61 slices",
        metrics=["roc_auc", "brier"],
        models=models(1),
        slices=CELL,
    ),
    ours(
        "everything",
        "2 models, 10 metrics, 61 slices, no intervals",
        metrics=MANY,
        models=models(2),
        slices=CELL,
        unit="customer",
    ),
    ours(
        "everything_with_intervals",
        "the same with 1000 replicates by customer",
        metrics=MANY,
        models=models(2),
        slices=CELL,
        unit="customer",
        uncertainty=REPLICATES,
    ),
    *(
        ours(
            name,
            f"{what}, 6 metrics, 61 slices, 1000 replicates by customer",
            metrics=SUMS,
            models=models(number),
            slices=CELL,
            unit="customer",
            uncertainty=REPLICATES,
            compare=compare,
        )
        for name, what, number, compare in (
            ("one_of_eight", "1 model", 1, None),
            ("eight_models", "8 models", 8, None),
            ("all_pairs", "8 models and their 28 pairs", 8, {"pairs": "all"}),
        )
    ),
    Contestant(
        "auc_interval",
        "parquet; 1 model, 1000 replicates by row",
        load=lambda folder: folder,
        work=Evaluation({"metrics": ["roc_auc"], "models": models(1), "uncertainty": REPLICATES}),
        values=bootstrap_values,
        facts=facts_of,
    ),
    Contestant(
        "suite_run",
        "parquet and a YAML suite; as sums, with checks of the suite and a run folder written",
        load=suite_beside,
        work=run_suite,
        values=values_of,
        facts=facts_of,
    ),
    flagship("flagship_binned", exact=False),
    flagship("flagship_exact", exact=True),
    imports("import_nothing", "pass"),
    imports("import_polars", "import polars"),
    imports("import_plmetrics", "import plmetrics"),
    imports("import_and_use", "import plmetrics; plmetrics.evaluate"),
)
