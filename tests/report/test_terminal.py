import re
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl
import pytest
from rich.cells import cell_len

import plmetrics as plm
from plmetrics.core.results import COMPARISONS_SCHEMA, GATES_SCHEMA, METRICS_SCHEMA
from plmetrics.inference.comparisons.readings import with_readings
from plmetrics.report.html.page import html_text
from plmetrics.report.markdown import to_markdown
from plmetrics.report.sections.worst import worst_slices
from plmetrics.report.summary import Summary, summarise
from plmetrics.report.terminal import render

WIDTHS = [40, 60, 80, 100, 120, 140, 160]
NUMBER = r"[-+]?\d+(?:\.\d+)?(?:e[-+]\d+)?"
TRIPLE = re.compile(rf"({NUMBER}) +\[({NUMBER}), ({NUMBER})\]")


def row(schema: pl.Schema, **values: Any) -> dict[str, Any]:
    return {name: values.get(name) for name in schema}


def read_back(text: str) -> list[tuple[str, ...]]:
    return [match.groups() for match in TRIPLE.finditer(text)]


def agrees(texts: tuple[str, ...], numbers: tuple[float, ...]) -> bool:
    """Whether every text is its number rounded to the digits that are shown."""
    for text, value in zip(texts, numbers, strict=True):
        unit = 10.0 ** -len(text.partition(".")[2])
        if abs(float(text) - value) > 0.5000001 * unit:
            return False
    return True


@pytest.mark.exhaustive
@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_is_longer_than_the_terminal(summary: Summary, width: int) -> None:
    lines = render(summary, width).split("\n")
    assert max(map(cell_len, lines)) <= width
    assert "\x1b" not in "".join(lines)
    assert not any(line.endswith(" ") for line in lines)


@pytest.mark.parametrize("width", WIDTHS)
def test_all_gates_stand_there_with_the_failed_one_first(summary: Summary, width: int) -> None:
    text = " ".join(render(summary, width, brief=True).split())
    gates = text[text.index("Gates") :]
    for gate, metric, rule in summary.gates.select("gate", "metric", "rule").unique().rows():
        assert gate in gates
        assert f"{metric} {rule}" in gates
    outcomes = re.findall(r"\b(fail|inconclusive|warn|skipped|pass) (?=[a-z])", gates)
    assert outcomes == ["fail", "inconclusive", "inconclusive", "warn", "skipped", "pass", "pass"]
    assert "0.871 [0.830, 0.890]" in gates
    assert "- (no_positives)" in gates
    assert "region=west, device=set-top box" in gates
    assert text.startswith("FAIL credit-risk: 1 fail, 2 inconclusive, 1 warn, 1 skipped, 12 pass")


@pytest.mark.exhaustive
@pytest.mark.parametrize("width", WIDTHS)
def test_overall_numbers_and_differences_read_back(summary: Summary, width: int) -> None:
    shown = read_back(render(summary, width))
    overall = pl.col("slice_set") == "overall"
    frames = [(summary.metrics, "value"), (summary.comparisons, "difference")]
    for frame, column in frames:
        for numbers in frame.filter(overall).select(column, "lower", "upper").rows():
            assert any(agrees(texts, numbers) for texts in shown), numbers


@pytest.mark.parametrize("width", [60, 100, 160])
def test_without_intervals(bare_summary: Summary, width: int) -> None:
    text = render(bare_summary, width)
    assert max(map(cell_len, text.split("\n"))) <= width
    assert "[" not in text[text.index("Overall") : text.index("Worst")]
    assert "adjusted" not in text
    assert "No interval" not in text


def test_a_report_without_intervals_says_once_how_to_have_them(
    bare_summary: Summary, summary: Summary
) -> None:
    """In the words of the suite, where it has a run folder; else in those of Python."""
    of_python = replace(bare_summary, place=None)
    for short, key in ((of_python, "uncertainty=True"), (bare_summary, "uncertainty: true in the suite")):
        assert render(short, 100).count(f"Intervals are off: {key} adds them") == 1
        assert "Intervals are off" not in render(short, 100, brief=True)
    assert "Intervals are off" not in render(summary, 100)


@pytest.mark.parametrize(
    ("metrics", "warned"),
    [(["average_precision"], True), (["average_precision", "prevalence"], False), (["roc_auc"], False)],
)
def test_worst_slices_by_what_rises_with_the_prevalence(metrics: list[str], warned: bool) -> None:
    """Unless the run says that slices have about the same."""
    rows = pl.DataFrame({"y": [0, 1] * 40, "p": [0.1, 0.9, 0.3, 0.2] * 20, "g": [0, 0, 1, 1] * 20})
    call = {"label": "y", "models": "p", "metrics": metrics, "slices": ["g"]}
    short = summarise(plm.evaluate(rows, **call))
    words = "average_precision rises with the prevalence"
    assert [words in text for text in (render(short, 100), to_markdown(short))] == [warned, warned]
    unlike = rows.filter((pl.col("g") == 0) | (pl.col("y") == 1) | (pl.int_range(pl.len()) < 8))
    if "average_precision" in metrics:
        assert words in render(summarise(plm.evaluate(unlike, **call)), 100)


def test_slices_of_rankings_are_of_queries() -> None:
    rows = pl.DataFrame({"q": [0, 0, 0, 1, 1, 2, 2], "y": [0, 1, 0, 0, 1, 1, 0], "p": [3, 2, 1, 2, 1, 2, 1]})
    rows = rows.with_columns(g=pl.col("q") // 2)
    call: dict[str, Any] = {"task": "ranking", "label": "y", "query": "q", "models": "p", "slices": ["g"]}
    result = plm.evaluate(rows, metrics=["mrr", "map"], **call)
    text = render(summarise(result), 100, slices=["g"])
    assert re.search(r"g=0 .* 2 queries$", text, re.MULTILINE)
    assert re.search(r"slice +model +queries", text)
    page = html_text(summarise(result))
    assert page.count(">queries</th>") == 3
    assert "| value | overall | queries |" in result.to_markdown()


@pytest.mark.exhaustive
@pytest.mark.parametrize(("metric", "warned"), [("ece", True), ("ece(debias=true)", False), ("brier", False)])
def test_slices_of_other_sizes_by_what_noise_makes_larger(metric: str, warned: bool) -> None:
    """Small slices of a calibrated model look worse by it: they are not shaded, and the list says why."""
    draw = np.random.default_rng(3)
    scores = draw.random(1500)
    rows = {"y": draw.random(1500) < scores, "p": scores, "g": np.arange(1500) ** 2 // 140625}
    metrics = [metric] if warned else [metric, "recall"]
    short = summarise(
        plm.evaluate(rows, label="y", models="p", metrics=metrics, slices=["g"], uncertainty=True)
    )
    words = f"noise alone makes {metric} larger"
    assert [words in text for text in (render(short, 200), to_markdown(short))] == [warned, warned]
    page = html_text(short)
    assert ("shades: by how many standard errors of the slice" in page) is not warned


def test_colour_only_on_request(summary: Summary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" not in render(summary, 100)
    monkeypatch.delenv("FORCE_COLOR")
    monkeypatch.setenv("NO_COLOR", "1")
    colored = render(summary, 100, color=True)
    assert "\x1b[1;31m" in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored).split() == render(summary, 100).split()


SMALL = [
    row(
        METRICS_SCHEMA,
        model=model,
        slice_set=slice_set,
        slice=text,
        metric=metric,
        value=value,
        lower=low,
        upper=high,
        std_error=None if low is None else 0.01,
        interval_status=interval,
        n=n,
        status=status,
    )
    for model, slice_set, text, metric, value, low, high, interval, n, status in [
        ("old", "overall", "all", "roc_auc", 0.81, 0.79, 0.83, "ok", 900, "ok"),
        ("old", "overall", "all", "brier", 0.1, 0.09, 0.11, "ok", 900, "ok"),
        ("old", "region", "region=north", "roc_auc", 0.75, 0.71, 0.79, "ok", 400, "ok"),
        ("old", "region", "region=south", "roc_auc", None, None, None, "too_few_units", 5, "no_positives"),
        ("new", "overall", "all", "roc_auc", 0.84, 0.82, 0.86, "ok", 900, "ok"),
        ("new", "overall", "all", "brier", 0.12, 0.11, 0.13, "ok", 900, "ok"),
    ]
]
SMALL_DIFFERENCES = [
    row(
        COMPARISONS_SCHEMA,
        contrast="model",
        scale="difference",
        slice_set="overall",
        slice="all",
        metric=metric,
        model="new",
        baseline="old",
        difference=value,
        lower=low,
        upper=high,
        p_value=p,
        p_adjusted=p,
        status="ok",
        interval_status="ok",
    )
    for metric, value, low, high, p in [
        ("roc_auc", 0.03, 0.01, 0.05, 0.0004),
        ("brier", 0.02, 0.005, 0.035, 0.012),
    ]
]
SMALL_GATES = [
    row(
        GATES_SCHEMA,
        gate=f"{metric} {rule}",
        level="fail",
        metric=metric,
        model="new",
        slice_set="overall",
        slice="all",
        observed=value,
        lower=low,
        upper=high,
        rule=rule,
        verdict=verdict,
        status="ok",
    )
    for metric, rule, value, low, high, verdict in [
        ("roc_auc", ">= 0.8", 0.84, 0.82, 0.86, "pass"),
        ("brier", "<= 0.1", 0.12, 0.11, 0.13, "fail"),
    ]
]
SNAPSHOT = """\
FAIL  nightly: 1 fail, 1 pass
1,000 rows read, 100 of weight 0, 900 used, 2 models, 2 metrics, 2 slices,
95% intervals

Gates
  verdict  rule            model  slice    observed
  fail     brier <= 0.1    new    overall  0.120 [0.110, 0.130]
  pass     roc_auc >= 0.8  new    overall  0.840 [0.820, 0.860]

Overall
  metric   old                   new
  roc_auc  0.810 [0.790, 0.830]  0.840 [0.820, 0.860]
  brier    0.100 [0.090, 0.110]  0.120 [0.110, 0.130]

new against old (difference, p adjusted by holm)
  metric   difference                    p  reading
  roc_auc  +0.030 [+0.010, +0.050]  <0.001  ▲ better
  brier    +0.020 [+0.005, +0.035]  0.0120  ▼ worse

Worst slices by roc_auc (worse than the model's overall value by one standard
error, SE, or more)
  slice         model  value                 to overall
  region=north  old    0.750 [0.710, 0.790]  -0.060 (6.0 SE)  400 rows

No value
  no_positives  1 value  in 1 slice  roc_auc

Run folder  runs/nightly/20261120T020000Z-4fa1c2
"""


def small(**changes: Any) -> Summary:
    keys: dict[str, Any] = {
        "name": "nightly",
        "verdict": "fail",
        "metrics": pl.DataFrame(SMALL, schema=METRICS_SCHEMA),
        "comparisons": with_readings(
            pl.DataFrame(SMALL_DIFFERENCES, schema=COMPARISONS_SCHEMA),
            {"roc_auc": "higher", "brier": "lower"},
        ),
        "gates": pl.DataFrame(SMALL_GATES, schema=GATES_SCHEMA),
        "directions": {"roc_auc": "higher", "brier": "lower"},
        "record": {
            "rows": {
                "read": 1000,
                "zero_weight": 100,
                "used": {"old": 900, "new": 900},
                "dropped": {"old": 0, "new": 0},
            }
        },
        "level": 0.95,
        "correction": "holm",
        "place": "runs/nightly/20261120T020000Z-4fa1c2",
    }
    return Summary(**(keys | changes))


def test_snapshot() -> None:
    assert render(small(), 80) == SNAPSHOT


@pytest.mark.parametrize("width", [40, 60, 80, 160])
def test_hostile_names_are_shown_and_do_nothing(width: int) -> None:
    evil = [
        "\x1b[2J\x1b]0;owned\x07",
        "[bold red]x[/bold red]",
        "line\nbreak\r",
        "北京市朝阳区" * 12,
        "x" * 300,
        "\u202etxt",
        ":smile:",
    ]
    rows = [
        {
            **SMALL[2],
            "model": f"m {name}",
            "slice_set": "region",
            "slice": f"region={name}",
            "value": 0.5 + i / 100,
        }
        for i, name in enumerate(evil)
    ]
    overall = [{**SMALL[0], "model": entry["model"]} for entry in rows]
    gates = [
        {**SMALL_GATES[1], "gate": f"g {name}", "model": f"m {name}", "slice_set": "r", "slice": name}
        for name in evil
    ]
    changes = {
        "metrics": pl.DataFrame(overall + rows, schema=METRICS_SCHEMA),
        "gates": pl.DataFrame(gates, schema=GATES_SCHEMA),
        "place": "runs/" + "y" * 200,
        "name": "n\x1b[1m",
    }
    text = render(small(**changes), width)
    assert max(map(cell_len, text.split("\n"))) <= width
    assert all(character.isprintable() for character in text.replace("\n", ""))
    together = "".join(text.split())
    for shown in (
        "\\x1b[2J\\x1b]0;owned\\x07",
        "[boldred]x[/boldred]",
        "line\\x0abreak\\x0d",
        ":smile:",
        "\\u202etxt",
    ):
        assert f"region={shown}" in together
    assert "x" * 300 in together
    assert "y" * 200 in together


def test_empty_tables() -> None:
    empty = {
        "metrics": METRICS_SCHEMA.to_frame(),
        "comparisons": COMPARISONS_SCHEMA.to_frame(),
        "gates": GATES_SCHEMA.to_frame(),
    }
    text = render(small(**empty, verdict="none", record={}, level=None, place=None), 80)
    assert text == "DONE  nightly: no gates\n0 models, 0 metrics, 0 slices\n"


def test_many_failures_are_cut_short() -> None:
    gates = [{**SMALL_GATES[1], "slice_set": "r", "slice": f"r={i}"} for i in range(75)]
    text = render(small(gates=pl.DataFrame(gates, schema=GATES_SCHEMA)), 100, brief=True)
    assert text.count("brier <= 0.1") == 60
    assert "and 15 more" in text


def expected_worst(frame: pl.DataFrame, metric: str, sign: int, most: int) -> set[tuple[str, str, str]]:
    """The same in plain loops: best of each set first, then by standard errors."""
    rows = [
        entry for entry in frame.rows(named=True) if entry["metric"] == metric and entry["value"] is not None
    ]
    whole = {entry["model"]: entry["value"] for entry in rows if entry["slice_set"] == "overall"}
    scored = []
    for entry in rows:
        short = sign * (whole[entry["model"]] - entry["value"])
        if entry["slice_set"] != "overall" and short / entry["std_error"] >= 1:
            scored.append((short / entry["std_error"], entry["slice_set"], entry["slice"], entry["model"]))
    scored.sort(reverse=True)
    best: dict[tuple[str, str], tuple[float, str, str, str]] = {}
    for entry in scored:
        best.setdefault(entry[1:3], entry)
    leaders, others = [], []
    for entry in best.values():
        (others if entry[1] in {leader[1] for leader in leaders} else leaders).append(entry)
    return {(entry[3], entry[1], entry[2]) for entry in [*leaders, *others][:most]}


@pytest.mark.parametrize("most", [1, 4, 6, 10])
@pytest.mark.parametrize(
    ("metric", "direction"), [("roc_auc", "higher"), ("log_loss", "lower"), ("fp", "lower")]
)
def test_worst_slices(summary: Summary, metric: str, direction: str, most: int) -> None:
    found = worst_slices(summary.metrics, metric, direction, most)
    assert {(entry["model"], entry["slice_set"], entry["slice"]) for entry in found} == expected_worst(
        summary.metrics, metric, 1 if direction == "higher" else -1, most
    )


def test_worst_slices_are_not_those_of_a_total(summary: Summary) -> None:
    """A slice has fewer true positives than all rows have, whatever the model is like there."""
    directions = {"fp": "lower", "roc_auc": "higher"}
    for totals, metric in ((frozenset({"fp"}), "roc_auc"), (frozenset(), "fp")):
        text = render(replace(summary, directions=directions, totals=totals), 120)
        assert f"Worst slices by {metric}" in text
    every = frozenset(directions)
    assert "Worst slices" not in render(replace(summary, directions=directions, totals=every), 120)


def test_a_slice_of_few_units_is_not_far_from_what_its_interval_holds() -> None:
    """One hit of five in the small slice, 60 % overall: its interval reaches far beyond that."""
    hits = [1.0] * 59 + [0.0] * 36 + [1.0, 0.0, 0.0, 0.0, 0.0]
    rows = {"y": [1] * 100, "p": hits, "g": ["large"] * 95 + ["small"] * 5}
    asked = {"label": "y", "models": "p", "metrics": ["recall"], "slices": ["g"]}
    result = plm.evaluate(rows, **asked, uncertainty={"replicates": 200, "level": 0.9})
    (found,) = worst_slices(result.metrics, "recall", "higher", level=0.9)
    assert found["slice"] == "g=small"
    assert found["lower"] < found["whole"] < found["upper"]
    reach = (found["upper"] - found["value"]) / NormalDist().inv_cdf(0.95)
    assert found["errors"] == pytest.approx((found["whole"] - found["value"]) / reach)
    assert found["errors"] < (found["whole"] - found["value"]) / found["std_error"]


def test_worst_slices_without_standard_errors(bare_summary: Summary) -> None:
    found = worst_slices(bare_summary.metrics, "roc_auc", "higher")
    assert len(found) == 10
    assert all(entry["errors"] is None and entry["shortfall"] > 0 for entry in found)


@pytest.mark.parametrize("width", [60, 100])
def test_classes_have_titles_and_their_gates_one_rule(width: int) -> None:
    rows = pl.DataFrame({"y": list("abc") * 40, "p": list("abcabcacb") * 13 + list("abc")})
    names = ["recall", "precision", "f1", "specificity", "npv"]
    result = plm.evaluate(
        rows,
        task="multiclass",
        label="y",
        models={"m": {"prediction": "p"}},
        metrics=[f"{name}(average=none)" for name in names],
        uncertainty={"replicates": 20},
        gates=[{"metric": "recall(average=none)", "at_least": 0.99}],
    )
    text = render(summarise(result), width)
    titles = [line for line in text.split("\n") if line.startswith("  class  ")]
    assert " ".join(titles).replace("class", "").split() == names
    assert (
        text.count("recall(average=none) >= 0.99 [b]") == text.count("recall(average=none) >= 0.99") - 2 == 1
    )


def test_a_gate_on_classes_says_its_rule_once_with_the_class() -> None:
    rows = {"y": list("ab") * 20, "p": list("abbb") * 10}
    gate = {"metric": "recall(average=none)", "at_least": 0.9}
    result = plm.evaluate(
        rows,
        task="multiclass",
        label="y",
        models={"m": {"prediction": "p"}},
        metrics=["recall(average=none)"],
        gates=[gate, gate | {"name": "floor", "at_most": 1.0} | {"at_least": None}],
    )
    text = render(summarise(result), 120)
    lines = [line.split() for line in text.split("Gates\n")[1].split("\n\n")[0].splitlines()[1:]]
    assert lines[0][:5] == ["fail", "recall(average=none)", ">=", "0.9", "[a]"]
    assert [line[:4] for line in lines[1:] if "floor" in line] == [
        ["pass", "floor", f"[{name}]", "recall(average=none)"] for name in "ab"
    ]


def test_a_slice_of_one_row_has_one_row() -> None:
    frame = pl.DataFrame({"y": [1, 0, 1, 1], "p": [0.9, 0.2, 0.1, 0.8], "who": ["Ada", "Bo", "Cy", "Ada"]})
    result = plm.evaluate(frame, label="y", models="p", metrics=["accuracy"], slices=["who"])
    lines = [line for line in str(result).splitlines() if "who=Cy" in line]
    assert [line.split()[-2:] for line in lines] == [["1", "row"]]


@pytest.mark.parametrize("models", [["p"], ["p", "q", "r", "s"]])
def test_a_pass_names_the_groups_that_were_not_judged(models: list[str]) -> None:
    """A regulator reads of a passed gate which groups it says nothing of."""
    group = pl.Series("group", ["a", "b"] * 100 + ["tiny"])
    frame = pl.DataFrame({"y": [1, 0, 0, 1] * 50 + [1], **{name: [0.9] * 200 + [0.1] for name in models}})
    asked: dict[str, Any] = {"metrics": ["selection_rate"], "slices": ["group"]}
    result = plm.evaluate(
        frame.with_columns(group), label="y", models=models, gates=[{"four_fifths": "group"}], **asked
    )
    text = str(result)
    gates = text[text.index("Gates") : text.index("Overall")]
    assert " ".join(gates.split()).count("not judged: group=tiny (below_min_share)") == 1
    assert "not judged: group=tiny (below_min_share)" in html_text(summarise(result))
    passed = plm.evaluate(
        frame, label="y", models=models, metrics=["f1"], gates=[{"metric": "f1", "at_least": 0.1}]
    )
    assert "not judged" not in str(passed)


def of_classes(names: list[str], rows: int, metrics: list[str]) -> plm.Result:
    """Two models of several classes in two groups; each calls every other row of a class by the next class."""
    truth = [names[row % len(names)] for row in range(rows)]
    wrong = [names[(row + row // len(names) % 2) % len(names)] for row in range(rows)]
    group = ["u" if row % 4 < 3 else "v" for row in range(rows)]
    return plm.evaluate(
        pl.DataFrame({"y": truth, "p": wrong, "q": truth, "g": group}),
        task="multiclass",
        label="y",
        models={"p": {"prediction": "p"}, "q": {"prediction": "q"}},
        metrics=metrics,
        slices={"g": "g"},
    )


def test_values_of_classes_across_slices_stand_with_those_of_all_rows() -> None:
    result = of_classes(list("abc"), 300, ["recall(average=none)", "disparity(recall(average=none), by=g)"])
    gaps = result.metrics.filter(slice="all", slice_set="g", model="p").select("class", "value").rows()
    assert [label for label, _ in gaps] == list("abc")
    text = render(summarise(result), 100)
    lines = text[text.index("Classes of p") : text.index("Classes of q")].splitlines()
    assert lines[1].split() == ["class", "recall", "disparity(recall,", "by=g)", "over", "g"]
    for line, (label, value) in zip(lines[2:5], gaps, strict=True):
        assert line.split()[0] == label
        assert float(line.split()[2]) == pytest.approx(value, rel=1e-3)
    assert lines[5:] == [""]


@pytest.mark.parametrize(("number", "words"), [(51, "and 1 class more"), (53, "and 3 classes more")])
def test_classes_beyond_the_first_are_counted(number: int, words: str) -> None:
    result = of_classes([f"c{place:02}" for place in range(number)], 2 * number, ["recall(average=none)"])
    assert render(summarise(result), 100).count(f"\n  {words} in metrics.parquet\n") == 2


def test_a_common_note_counts_all_checks_that_have_it() -> None:
    """Those of lines that are joined, and those beyond the last line."""
    frame = {"y": [0, 1] * 200, "p": [0.2, 0.7, 0.6, 0.9] * 100, "g": [row // 4 for row in range(400)]}
    gate = {"at_least": 0.5, "slices": ["g"], "min_rows": 50}
    gates = [gate | {"metric": name} for name in ("roc_auc", "brier", "recall", "precision")]
    metrics = ["roc_auc", "brier", "recall", "precision"]
    result = plm.evaluate(frame, label="y", models="p", metrics=metrics, slices={"g": "g"}, gates=gates)
    (note,) = result.gates["note"].unique()
    assert f"{note} (400 checks)" in render(summarise(result), 160)


def test_slices_that_are_asked_for_have_the_values_of_classes() -> None:
    """As many columns as a reader may bear; what is left out is counted."""
    names = [f"c{place:02}" for place in range(41)]
    result = of_classes(names, 41 * 8, ["recall(average=none)"])
    text = render(summarise(result), 60, slices=["g"])
    text = text[text.index("Slices of g") :]
    values = result.metrics.filter(slice_set="g", model="p")
    expected = {(row["slice"], row["class"]): row["value"] for row in values.iter_rows(named=True)}
    found = {}
    for block in text.split("\n\n"):
        labels = re.findall(r"recall\(average=none\) \[(c\d\d)\]", block)
        for name, *numbers in re.findall(r"^  (g=[uv]) +p +\d+(.*)$", block, re.MULTILINE):
            found |= {
                (name, label): float(value) for label, value in zip(labels, numbers[0].split(), strict=True)
            }
    assert len(found) == 80
    assert found == pytest.approx({place: expected[place] for place in found}, abs=1e-3)
    assert "and 1 column more in metrics.parquet" in text
