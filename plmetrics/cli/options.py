"""Arguments and options shared by several commands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from typer import Argument, Option

from plmetrics.cli.terminal.guard import UsageError
from plmetrics.core.errors import Problem

if TYPE_CHECKING:
    from plmetrics.runs.outcome import ExitPolicy

_MOST = 200


def suite_files(incomplete: str) -> list[str]:
    """YAML files for a prefix, also one folder down; none leaves the word to the shell."""
    return _matches(incomplete, ("*.yaml", "*.yml", "*/*.yaml", "*/*.yml"))


def run_folders(incomplete: str) -> list[str]:
    """Folders of a suite's runs and of single runs, for a prefix."""
    records = _matches(incomplete, ("*/latest.json", "*/*/latest.json", "*/run.json"), prefix_only=False)
    return [folder for record in records if (folder := str(Path(record).parent)).startswith(incomplete)]


def metric_names(incomplete: str) -> list[str]:
    """Names of metrics for a prefix."""
    from plmetrics.catalogue import registry

    names = dict.fromkeys(metric.name for metric in registry.classes())
    return [name for name in names if name.startswith(incomplete)]


def _matches(incomplete: str, patterns: Iterable[str], *, prefix_only: bool = True) -> list[str]:
    """Paths below the folder of a word, written as the word begins."""
    folder, _, _ = incomplete.rpartition("/")
    start = f"{folder}/" if "/" in incomplete else ""
    root = Path(start or ".").expanduser()
    matches: list[str] = []
    with suppress(OSError):
        for pattern in patterns:
            paths = (start + path.relative_to(root).as_posix() for path in sorted(root.glob(pattern)))
            visible = (path for path in paths if "/." not in f"/{path.removeprefix(start)}")
            matches += islice(
                (path for path in visible if not prefix_only or path.startswith(incomplete)), _MOST
            )
    return matches


SuiteFile = Annotated[
    Path,
    Argument(metavar="SUITE", help="The suite, a YAML file.", readable=False, autocompletion=suite_files),
]
Settings = Annotated[
    list[str] | None,
    Option(
        "--set",
        metavar="KEY=VALUE",
        help="Replace a key of the suite, dotted: uncertainty.replicates=200. May be given several times.",
    ),
]
RunPath = Annotated[
    Path,
    Argument(
        metavar="RUN",
        help="A run folder, or a folder with latest.json.",
        readable=False,
        autocompletion=run_folders,
    ),
]
OutputFolder = Annotated[
    Path | None,
    Option(
        "--output",
        metavar="DIR",
        readable=False,
        help="Write run folders here instead of `output.directory`; may be anywhere, also in a bucket.",
    ),
]
LabelColumn = Annotated[
    str | None, Option(metavar="COLUMN", help="The column of the label, if it cannot be guessed.")
]
ScoreColumns = Annotated[
    list[str] | None, Option(metavar="COLUMN", help="A column of scores; may be given several times.")
]
ReplaceFile = Annotated[bool, Option("--force", help="Replace a file that is there.")]
Debug = Annotated[bool, Option("--debug", help="Show the traceback of an error.")]

TableFormat: TypeAlias = Literal["text", "json", "csv"]
ReportFormat: TypeAlias = Literal["text", "json", "csv", "markdown"]
OutcomeFormat: TypeAlias = Literal["text", "json"]

Outcome = Annotated[OutcomeFormat, Option("--format", help="text for people, json for programs.")]
ResultFormat = Annotated[
    ReportFormat,
    Option(
        "--format",
        help="text for people, markdown for pull requests, json for programs, csv for the metrics table.",
    ),
]
SliceSets = Annotated[
    list[str] | None,
    Option(
        "--slices", metavar="SET", help="List the values in the slices of a set. May be given several times."
    ),
]
PlanFile = Annotated[
    Path | None, Option("--plan", metavar="FILE", readable=False, help="The file of a plan of units.")
]
ConstantsFile = Annotated[
    Path | None,
    Option(
        "--constants",
        metavar="STATE",
        readable=False,
        help="Take the constants of an earlier state: edges of quantiles, centres, thresholds, the grid of scores.",
    ),
]
HtmlFile = Annotated[
    Path | None,
    Option("--html", metavar="FILE", readable=False, help="Write an HTML file and print nothing."),
]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Only the verdict and the gates; no progress.")]

FailOnWords = Annotated[
    list[str] | None,
    Option(
        "--fail-on",
        metavar="WORD",
        help="Exit with 3 also where a gate of level warn fails (warn) or a gate is not decided (inconclusive). "
        "May be given several times, or with commas.",
    ),
]
Labels = Annotated[
    list[str] | None,
    Option(
        "--label",
        metavar="KEY=VALUE",
        help="A label for run.json and reports, such as git=abc123. May be given several times.",
    ),
]
SkipIfEmpty = Annotated[
    bool, Option("--skip-if-empty", help="Exit with 99 instead of 5 where there is no data yet.")
]


def exit_policy(fail_on: Sequence[str] | None, *, skip_if_empty: bool) -> ExitPolicy:
    """Policy of exit codes from `--fail-on` and `--skip-if-empty`.

    Raises:
        UsageError: there is no such word.
    """
    from typing import get_args

    from plmetrics.runs.outcome import ExitPolicy, FailOn

    allowed = {word: word for word in get_args(FailOn)}
    words = [word.strip() for text in fail_on or () for word in text.split(",")]
    for word in words:
        if word not in allowed:
            raise UsageError.unknown(word, allowed, "word of --fail-on")
    return ExitPolicy(tuple(allowed[word] for word in dict.fromkeys(words)), skip_if_empty)


def check_slice_sets(sets: Sequence[str] | None, known: Sequence[str]) -> tuple[str, ...]:
    """The slice sets of `--slices`.

    Raises:
        UsageError: one is not there.
    """
    for name in sets or ():
        if name not in known:
            raise UsageError.unknown(name, known, "slice set")
    return tuple(sets or ())


def label_texts(labels: Sequence[str] | None) -> dict[str, str]:
    """Texts by name of `--label`."""
    return _by_key(labels, "--label", "git=abc123")


def overrides(settings: Sequence[str] | None) -> dict[str, str]:
    """Keys and texts of `--set`, the last one of a key in force."""
    return _by_key(settings, "--set", "uncertainty.replicates=200")


def _by_key(texts: Sequence[str] | None, option: str, example: str) -> dict[str, str]:
    """Values of an option KEY=VALUE by key.

    Raises:
        UsageError: one has no key or no `=`.
    """
    parts = [text.partition("=") for text in texts or ()]
    wrong = [
        Problem(f"{option} {''.join(part)}: expected KEY=VALUE", hint=f"{option} {example}")
        for part in parts
        if not part[0].strip() or not part[1]
    ]
    if wrong:
        raise UsageError(wrong)
    return {key.strip(): value for key, _, value in parts}
