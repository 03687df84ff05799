"""Earlier runs of a comparison: the selected, and the rejected ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from plmetrics.core.errors import DataError, Problem
from plmetrics.core.names import name_list

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.core.results import RunRecord
    from plmetrics.runs.history.data import RunData
    from plmetrics.runs.history.previous_runs import Reference
    from plmetrics.runs.outcome import Outcome
    from plmetrics.runs.reading import StoredResult, StoredRun
    from plmetrics.suite.model import Suite
    from plmetrics.suite.sections.references import Band, IntervalReference
    from plmetrics.table.storage.places import Place

T = TypeVar("T")


@dataclass(slots=True)
class EarlierRuns:
    """The earlier runs of one run.

    `data` is what this run covers, `home` the folder of its suite's runs, None where it has none. `record` says by
    key of the suite which run was taken and which later ones were passed over, `history` those whose gates count,
    `warnings` what else is odd about them.
    """

    data: RunData
    home: Place | None = None
    record: dict[str, Any] = field(default_factory=dict)
    history: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, suite: Suite, files: Sequence[Mapping[str, Any]], home: Place | None = None) -> EarlierRuns:
        """Runs before one over some files, as run.json lists these."""
        from plmetrics.runs.history.data import RunData, condition_identity

        return cls(RunData.of(files, condition_identity(suite)), home)

    def reference(
        self,
        key: str,
        path: Place,
        choice: str,
        reader: Callable[[StoredRun], T],
        check: Callable[[StoredRun], None] | None = None,
    ) -> T | None:
        """Reference run of a path: itself, or of a folder of runs the last suitable one.

        `key` is of the suite, such as `compare.run`, `path` a run folder, or that of a suite's runs, `choice` is
        `accepted` or `any`; `check` raises a DataError where a run has no such thing.

        Returns:
            None where no run of the suite itself may serve yet.

        Raises:
            DataError: the path is no run, or a folder of another suite without a run that may serve.
        """
        from plmetrics.runs.folder import LATEST
        from plmetrics.runs.history.previous_runs import reference_run
        from plmetrics.runs.work_folder import RECORD

        if path.name == RECORD or (path / RECORD).is_file():
            return self._by_name(key, path, reader, check)
        folder = path.parent if path.name == LATEST else path
        reference = reference_run(folder, self.data, choice, reader, check)
        self.warn(reference.warnings)
        self.record[key] = {"run": reference.run_id, "passed_over": reference.rejections}
        if reference.run_id is None and (self.home is None or folder.resolve() != self.home.resolve()):
            raise self._none(folder, reference)
        return reference.value

    def of_intervals(
        self,
        key: str,  # noqa: ARG002
        reference: IntervalReference,  # noqa: ARG002
        choice: str,  # noqa: ARG002
        reader: Callable[[StoredRun], T],  # noqa: ARG002
    ) -> list[T]:
        """Reference intervals before this one, the last one first.

        There are none before rows that are of no interval, as those of `validate`. `key` is of the suite, such as
        `compare.run`, `choice` is `accepted` or `any`; `reader` raises a DataError where a run has no such thing.
        """
        return []

    def sum_of_intervals(self, key: str, reference: IntervalReference, choice: str) -> Outcome | None:  # noqa: ARG002
        """Result of the states of the reference intervals before this one; None without one."""
        return None

    def pass_over(self, key: str, reasons: Mapping[str, str]) -> None:
        """Note the reasons against selected runs. `reasons` are by the id of each run."""
        raise NotImplementedError

    def results_before(self, most: int) -> list[StoredResult]:
        """Results of the last runs over other data, the latest first, for gates on consecutive failures."""
        from plmetrics.runs.history.previous_runs import distinct_results

        if self.home is None:
            return []
        results, warnings = distinct_results(self.home, self.data, most)
        self.warn(warnings)
        return results

    def values_before(self, band: Band, skip: int) -> list[tuple[int, pl.DataFrame]]:  # noqa: ARG002
        """The values in the accepted intervals of a band, as `gates.bands.interval_values` gives them.

        Each comes with the weekday of its interval, counted from that of this one. Runs without intervals have none.
        `skip` is how many of the last intervals before this one are left out, whatever their verdicts.
        """
        return []

    def warn(self, words: Sequence[str]) -> None:
        """Add warnings, each once."""
        self.warnings += [text for text in words if text not in self.warnings]

    def added_to(self, record: RunRecord) -> RunRecord:
        """Record of a run with its references in run.json, and their warnings."""
        whole: RunRecord = {**record, "warnings": [*record["warnings"], *self.warnings]}
        if self.record:
            whole["references"] = self.record
        if self.history:
            whole["history"] = self.history
        return whole

    def none_yet(self, key: str) -> str:
        """Reason for the absence of a reference, as the end of a sentence."""
        return passed_over_text(self.record.get(key, {}).get("passed_over", ()))

    def _by_name(
        self,
        key: str,
        path: Place,
        reader: Callable[[StoredRun], T],
        check: Callable[[StoredRun], None] | None,
    ) -> T:
        """Content of one run, with any data and outcome."""
        from plmetrics.runs.history.data import data_of
        from plmetrics.runs.reading import open_run

        run = open_run(path)
        if check is not None:
            check(run)
        self.record[key] = {"run": run.run_id, "passed_over": []}
        if data_of(run.record).same_as(self.data):
            self.warn([f"{key}: the run {run.run_id} is of the same data as this one"])
        return reader(run)

    def _none(self, folder: Place, reference: Reference[Any]) -> DataError:
        from plmetrics.runs.reading import RunFault, open_run

        if reference.lack is not None:
            return reference.lack
        if not reference.passed_over:
            open_run(folder).results()  # What is wrong with the folder is said there.
        msg = f"no run in {folder} can be the reference{passed_over_text(reference.rejections)}"
        return RunFault(Problem(msg, hint="name the folder of one run to compare with that one all the same"))


def passed_over_text(passed: Sequence[Mapping[str, Any]]) -> str:
    """Rejected runs, by their intervals where they have some, and the reasons, as the end of a sentence.

    >>> passed_over_text([{"run": name, "reason": "its gates failed"} for name in "abcde"])
    '; passed over: a, b, c and 2 more (its gates failed)'
    """
    if not passed:
        return ""
    reasons: dict[str, list[str]] = {}
    for run in passed:
        reasons.setdefault(run["reason"], []).append(run.get("interval", run["run"]))
    texts = [f"{name_list(names, 3)} ({reason})" for reason, names in reasons.items()]
    return f"; passed over: {name_list(texts, 3)}"
