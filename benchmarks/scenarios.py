"""What is compared: contestants, their table, and the ratios and differences that are aimed at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Aim:
    """`of` / `to` (or `of` - `to`, in seconds) is to be at most `most`; None: it is only told."""

    of: str
    to: str
    most: float | None
    by: Literal["ratio", "difference"] = "ratio"


@dataclass(frozen=True, slots=True)
class Scenario:
    """Contestants that do comparable work on one table; `repeats` are timed runs in each process."""

    name: str
    what: str
    rows: int
    contestants: tuple[str, ...]
    aims: tuple[Aim, ...]
    files: int = 5
    models: int = 2
    repeats: int = 1
    table: str = "scores"


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            "sums",
            "24 sums for six metrics of 4 models, overall and in 60 cells, against bare scans of the same columns",
            5_000_000,
            ("scan_scores", "sums_overall", "scan_cells", "sums_by_cell"),
            (Aim("sums_overall", "scan_scores", 2.5), Aim("sums_by_cell", "scan_cells", 2.5)),
            models=4,
        ),
        Scenario(
            "cube",
            "eight sums metrics of 2 models by country, by device, by both and overall (84 slices)",
            5_000_000,
            ("duckdb_cube", "polars_ds_cube", "cube"),
            (Aim("cube", "duckdb_cube", 1.0), Aim("cube", "polars_ds_cube", None)),
        ),
        Scenario(
            "counts",
            "accuracy, precision, recall, F1, MCC and Brier score of one model, no slices",
            5_000_000,
            ("sklearn_counts", "rapidstats_counts", "polars_ds_counts", "counts"),
            (
                Aim("counts", "sklearn_counts", None),
                Aim("counts", "rapidstats_counts", None),
                Aim("counts", "polars_ds_counts", None),
            ),
        ),
        Scenario(
            "classes",
            "precision, recall and F1 of each of 20 classes and their averages, and the accuracy",
            5_000_000,
            ("sklearn_report", "classes"),
            (Aim("classes", "sklearn_report", 1 / 5),),
            models=0,
            table="classes",
        ),
        Scenario(
            "ranking",
            "NDCG@10, MAP, MRR and precision@10 of one model, 100 documents a query, without and with intervals",
            10_000_000,
            ("pytrec_eval", "ir_measures", "rankings", "rankings_with_intervals"),
            (
                Aim("rankings", "pytrec_eval", None),
                Aim("rankings", "ir_measures", 1 / 20),
                Aim("rankings_with_intervals", "rankings", None),
            ),
            models=1,
            table="queries",
        ),
        Scenario(
            "regression",
            "MAE, RMSE, R2 and the median absolute error of one model",
            10_000_000,
            ("sklearn_errors", "polars_ds_errors", "errors"),
            (Aim("errors", "sklearn_errors", 1 / 10), Aim("errors", "polars_ds_errors", 1 / 2)),
            models=1,
            table="task-regression",
        ),
        Scenario(
            "ensembles",
            "CRPS of nine members",
            2_000_000,
            ("properscoring_crps", "scoringrules_crps", "ensemble"),
            (Aim("ensemble", "properscoring_crps", 1 / 2), Aim("ensemble", "scoringrules_crps", 1 / 2)),
            models=1,
            table="corners quantile",
        ),
        Scenario(
            "uplift",
            "the effect among the first three tenths, Qini and AUUC of one model (areas on other scales)",
            10_000_000,
            ("sklift_areas", "uplift"),
            (Aim("uplift", "sklift_areas", 1 / 10),),
            models=1,
            table="task-uplift",
        ),
        Scenario(
            "fairness",
            "demographic parity and equalized odds differences of one model over 20 regions",
            10_000_000,
            ("fairlearn_disparities", "disparities"),
            (Aim("disparities", "fairlearn_disparities", 1 / 10),),
            models=1,
            table="task-binary",
        ),
        Scenario(
            "calibration",
            "Brier score, log loss and the calibration error of 15 bins of one model",
            10_000_000,
            ("sklearn_calibration", "calibration"),
            (Aim("calibration", "sklearn_calibration", 1 / 10),),
            models=1,
            table="task-binary",
        ),
        Scenario(
            "drift",
            "Kolmogorov-Smirnov and Wasserstein distances of a score and a number between halves of a year",
            10_000_000,
            ("scipy_distances", "distances"),
            (Aim("distances", "scipy_distances", 1 / 10),),
            models=1,
            table="task-binary",
        ),
        Scenario(
            "auc",
            "exact ROC AUC of one model, no slices",
            5_000_000,
            ("sklearn_auc", "rapidstats_auc", "polars_ds_auc", "auc"),
            (
                Aim("auc", "sklearn_auc", 1 / 10),
                Aim("auc", "rapidstats_auc", 1 / 2.5),
                Aim("auc", "polars_ds_auc", None),
            ),
        ),
        Scenario(
            "slices",
            "exact ROC AUC and Brier score of one model in 60 cells",
            2_000_000,
            ("fairlearn_by_cell", "polars_ds_by_cell", "auc_by_cell"),
            (Aim("auc_by_cell", "fairlearn_by_cell", 1 / 60), Aim("auc_by_cell", "polars_ds_by_cell", None)),
        ),
        Scenario(
            "search",
            "slices of 8 columns, alone and crossed in pairs, searched for those that are worse by log loss",
            10_000_000,
            ("scan_attributes", "search"),
            (Aim("search", "scan_attributes", None),),
            models=1,
            table="attributes",
        ),
        Scenario(
            "bootstrap",
            "10 metrics of 2 models in 61 slices, 1000 replicates by customer against none",
            5_000_000,
            ("everything", "everything_with_intervals"),
            (Aim("everything_with_intervals", "everything", 2.2),),
        ),
        Scenario(
            "pairs",
            "6 metrics of 8 models in 61 slices, 1000 replicates by customer, and the differences of all 28 pairs of "
            "them; against one of the models: at most twice that for each",
            2_000_000,
            ("one_of_eight", "eight_models", "all_pairs"),
            (Aim("all_pairs", "one_of_eight", 16.0), Aim("all_pairs", "eight_models", None)),
            models=8,
        ),
        Scenario(
            "intervals",
            "bootstrap interval of the ROC AUC of one model, no slices, 1000 replicates by row, against a "
            "tenth of them: 1/20 of that is 200 times faster",
            1_000_000,
            ("rapidstats_tenth", "auc_interval"),
            (Aim("auc_interval", "rapidstats_tenth", 1 / 20),),
        ),
        Scenario(
            "delong",
            "DeLong's test of all 6 pairs of 4 models, and DeLong's interval of each model's ROC AUC",
            1_000_000,
            ("mlstatkit_pairs", "confidenceinterval_areas", "delong_tests", "delong_intervals"),
            (
                Aim("delong_tests", "mlstatkit_pairs", 1 / 20),
                Aim("delong_intervals", "confidenceinterval_areas", None),
            ),
            models=4,
        ),
        Scenario(
            "flagship",
            "4 models, 84 slices, 12 metrics, 1000 replicates by customer (4,032 estimates and 3,024 paired "
            "differences, all with intervals), against one `roc_auc_score` of one model without slices",
            20_000_000,
            ("sklearn_auc", "flagship_binned", "flagship_exact"),
            (Aim("flagship_binned", "sklearn_auc", 1.0), Aim("flagship_exact", "sklearn_auc", None)),
            files=20,
            models=4,
        ),
        Scenario(
            "merge",
            "a year of sums and 12 days of scores merged into results, against bare scans of the same files",
            3_000_000,
            (
                "scan_states",
                "add_states",
                "merge_states",
                "scan_score_states",
                "add_score_states",
                "merge_score_states",
            ),
            (
                Aim("merge_states", "scan_states", None),
                Aim("add_states", "scan_states", None),
                Aim("add_score_states", "scan_score_states", 2.0),
                Aim("merge_score_states", "scan_score_states", None),
            ),
            files=12,
            models=4,
        ),
        Scenario(
            "nights",
            "a night of a table that has 365, against a run of its rows alone, and a window of states",
            7_000_000,
            ("plain", "night", "night_against_window", "window", "import_nothing"),
            (
                Aim("night", "plain", 0.5, "difference"),
                Aim("night_against_window", "night", None, "difference"),
                Aim("window", "import_nothing", 1.0, "difference"),
            ),
            files=7,
            repeats=3,
        ),
        Scenario(
            "runners",
            "sums of a table counted in units by one process and by two, each of one thread, and 1,000 units of 100 "
            "rows against one scan of their files: the seconds between them are the milliseconds of a unit",
            64_000_000,
            ("one_scan", "one_process", "two_processes", "one_bare", "two_bare", "tiny_files", "tiny_units"),
            (
                Aim("two_processes", "one_process", 1 / 1.7),
                Aim("two_bare", "one_bare", None),
                Aim("one_process", "one_scan", None),
                Aim("tiny_units", "tiny_files", None, "difference"),
            ),
            files=16,
        ),
        Scenario(
            "small",
            "what a suite costs on few rows, and an import",
            10_000,
            (
                "scan",
                "sums",
                "suite_run",
                "everything",
                "everything_with_intervals",
                "import_nothing",
                "import_polars",
                "import_plmetrics",
                "import_and_use",
            ),
            (
                Aim("sums", "scan", 0.05, "difference"),
                Aim("suite_run", "sums", 0.05, "difference"),
                Aim("import_and_use", "import_polars", 0.05, "difference"),
            ),
            files=1,
            repeats=5,
        ),
    )
}
