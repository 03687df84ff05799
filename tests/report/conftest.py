"""A made-up result of a realistic shape: 3 models, 12 metrics, 13 slices, every outcome of gates."""

import random
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from plmetrics.core.results import COMPARISONS_SCHEMA, GATES_SCHEMA, METRICS_SCHEMA, TABLES
from plmetrics.inference.comparisons.readings import with_readings
from plmetrics.report.summary import Summary

MODELS = {"champion": 0.0, "challenger": 0.004, "gradient_boosting_v2": -0.012}
METRICS = {
    "roc_auc": (0.927, "higher"),
    "average_precision": (0.8312, "higher"),
    "ks": (0.701, "higher"),
    "log_loss": (0.2891, "lower"),
    "brier": (0.0893, "lower"),
    "ece": (0.0082, "lower"),
    "precision(threshold=0.3)": (0.6423, "higher"),
    "recall(threshold=0.3)": (0.8121, "higher"),
    "recall_at_precision(precision=0.9)": (0.3987, "higher"),
    "lift_at_k(k=0.1)": (3.71, "higher"),
    "selection_rate": (0.2413, "none"),
    "fp": (1204.0, "lower"),
}
SLICES = {
    "overall": [("all", 48842)],
    "region": [
        ("region=north", 11021),
        ("region=south", 10233),
        ("region=east", 9120),
        ("region=west", 18468),
    ],
    "age": [
        ("age=(-inf, 25)", 8300),
        ("age=[25, 40)", 19411),
        ("age=[40, 65)", 19011),
        ("age=[65, inf)", 2120),
    ],
    "region_device": [
        ("region=north, device=mobile", 812),
        ("region=north, device=desktop", 10209),
        ("region=west, device=set-top box", 412),
        ("region=west, device=null", 12),
    ],
    "vip": [("vip=true", 320)],
}


def _row(schema: pl.Schema, **values: Any) -> dict[str, Any]:
    return {name: values.get(name) for name in schema}


def _values(text: str) -> list[dict[str, str]]:
    return [
        dict(zip(("column", "value"), part.split("="), strict=True))
        for part in text.split(", ")
        if "=" in part
    ]


def metric_rows(*, intervals: bool = True) -> list[dict[str, Any]]:
    draw = random.Random(7)
    rows = []
    for model, shift in MODELS.items():
        for slice_set, slices in SLICES.items():
            for text, n in slices:
                for metric, (base, direction) in METRICS.items():
                    sign = -1 if direction == "lower" else 1
                    error = 1.4 * max(base, 0.02) / n**0.5
                    value = base * (1 + sign * shift) + draw.gauss(0, 1.4) * error * (slice_set != "overall")
                    status = "ok"
                    if n < 100:
                        status = "too_few_rows"
                    elif slice_set == "vip" and metric in {"recall(threshold=0.3)", "roc_auc"}:
                        status = "no_positives"
                    ok = status == "ok"
                    interval = ok and intervals and not (slice_set == "vip" and metric == "ece")
                    rows.append(
                        _row(
                            METRICS_SCHEMA,
                            model=model,
                            slice_set=slice_set,
                            slice=text,
                            slice_values=_values(text) if slice_set != "age" else [],
                            metric=metric,
                            value=value if ok else None,
                            lower=value - 1.96 * error if interval else None,
                            upper=value + 1.96 * error if interval else None,
                            std_error=error if interval else None,
                            method="percentile" if interval else None,
                            interval_status="ok"
                            if interval
                            else "degenerate"
                            if intervals
                            else "not_requested",
                            n=n,
                            weight=float(n),
                            blocks=min(n, 1000),
                            undefined_replicates=0,
                            status=status,
                            note="21 units: intervals are rough" if slice_set == "vip" and interval else None,
                        )
                    )
    return rows


def comparison_rows(*, intervals: bool = True) -> list[dict[str, Any]]:
    draw = random.Random(11)
    rows = []
    for model, shift in list(MODELS.items())[1:]:
        for slice_set, slices in SLICES.items():
            for text, n in slices:
                for metric, (base, _) in METRICS.items():
                    error = 0.4 * max(base, 0.02) / n**0.5
                    value = base * shift + draw.gauss(0, 1) * error * (slice_set != "overall")
                    same = metric == "selection_rate" and model == "challenger"
                    p = min(1.0, 2.718 ** (-((value / error) ** 2) / 2))
                    rows.append(
                        _row(
                            COMPARISONS_SCHEMA,
                            contrast="model",
                            scale="difference",
                            slice_set=slice_set,
                            slice=text,
                            slice_values=[],
                            metric=metric,
                            model=model,
                            baseline="champion",
                            difference=0.0 if same else value,
                            lower=None if not intervals else 0.0 if same else value - 1.96 * error,
                            upper=None if not intervals else 0.0 if same else value + 1.96 * error,
                            p_value=None if not intervals else 1.0 if same else p,
                            p_adjusted=None if not intervals else 1.0 if same else min(1.0, 2 * p),
                            interval_status="ok" if intervals else "not_requested",
                            n=n,
                            status="ok",
                        )
                    )
    return rows


def gate_rows() -> list[dict[str, Any]]:
    rows = []

    def add(
        gate: str, metric: str, model: str, place: tuple[str, str], rule: str, verdict: str, **more: Any
    ) -> None:
        slice_set, text = place
        row = {
            "gate": gate,
            "level": "fail",
            "metric": metric,
            "model": model,
            "rule": rule,
            "verdict": verdict,
        }
        rows.append(
            _row(GATES_SCHEMA, **(row | {"slice_set": slice_set, "slice": text, "status": "ok"} | more))
        )

    everywhere = [(slice_set, text) for slice_set, slices in SLICES.items() for text, _ in slices]
    for place in everywhere[:-2]:
        failed = place[1] == "region=west, device=set-top box"
        seen = (
            {"observed": 0.871, "lower": 0.83, "upper": 0.89}
            if failed
            else {"observed": 0.931, "lower": 0.92}
        )
        verdict = "fail" if failed else "pass"
        add("auc floor", "roc_auc", "challenger", place, ">= 0.9", verdict, **({"upper": 0.95} | seen))
    overall = ("overall", "all")
    add("roc_auc difference to champion >= -0.005", "roc_auc", "challenger", overall,
        "difference to champion >= -0.005", "pass", observed=0.0037)  # fmt: skip
    add("ece <= 0.008", "ece", "champion", overall, "<= 0.008", "inconclusive", observed=0.0082, lower=0.0071,
        upper=0.0094)  # fmt: skip
    add("vip recall", "recall(threshold=0.3)", "champion", ("vip", "vip=true"), ">= 0.7", "inconclusive",
        status="no_positives", note="no interval: undefined")  # fmt: skip
    add("few false alarms", "fp", "gradient_boosting_v2", overall, "<= 1200", "fail", level="warn",
        observed=1218.0, lower=1150.0, upper=1290.0)  # fmt: skip
    add("brier <= 0.2", "brier", "champion", ("vip", "all"), "<= 0.2", "skipped", status="no_match")
    return rows


def make_summary(*, intervals: bool = True, **changes: Any) -> Summary:
    frames = {
        "metrics": pl.DataFrame(metric_rows(intervals=intervals), schema=METRICS_SCHEMA),
        "comparisons": with_readings(
            pl.DataFrame(comparison_rows(intervals=intervals), schema=COMPARISONS_SCHEMA),
            {metric: direction for metric, (_, direction) in METRICS.items()},
        ),
        "gates": pl.DataFrame(gate_rows(), schema=GATES_SCHEMA),
    }
    facts: dict[str, Any] = {
        "name": "credit-risk",
        "verdict": "fail",
        "directions": {metric: direction for metric, (_, direction) in METRICS.items()},
        "record": {
            "rows": {"read": 48844, "used": dict.fromkeys(MODELS, 48842), "dropped": dict.fromkeys(MODELS, 2)}
        },
        "level": 0.95 if intervals else None,
        "correction": "holm",
        "place": "runs/credit-risk/20261120T020000Z-4fa1c2",
    }
    return Summary(**(frames | facts | changes))


@pytest.fixture(scope="session")
def summary() -> Summary:
    return make_summary()


@pytest.fixture(scope="session")
def bare_summary() -> Summary:
    """The same without uncertainty."""
    return make_summary(intervals=False)


class ResultOfTables(SimpleNamespace):
    """A result that consists of its tables."""

    @property
    def tables(self):
        return {name: getattr(self, name) for name in TABLES}


@pytest.fixture(scope="session")
def result() -> SimpleNamespace:
    made = make_summary()
    record = {
        "name": "credit-risk",
        "run_id": "20261120T020000Z-4fa1c2",
        "rows": dict(made.record["rows"]),
        "verdict": "fail",
    }
    tables = {name: schema.to_frame() for name, schema in TABLES.items()}
    tables |= {"metrics": made.metrics, "comparisons": made.comparisons, "gates": made.gates}
    return ResultOfTables(
        **tables, verdict="fail", record=record, folder=None, suite=SimpleNamespace(name="credit-risk")
    )
