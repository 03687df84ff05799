"""Features: optional parts of a run, from a key in the suite to a part of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Protocol, cast

from plmetrics.core.names import SuitePath, function_of
from plmetrics.suite.sections.section import Section, anchored_path, plain_path

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl
    from rich.text import Text

    from plmetrics.catalogue.metric import Metric
    from plmetrics.core.errors import Problem
    from plmetrics.core.results import Json
    from plmetrics.engine.inquiry import Question, Step
    from plmetrics.engine.request import Request, TableView
    from plmetrics.engine.run_plan import RunPlan
    from plmetrics.features.stored.alignment import AlignedStates, StateReference
    from plmetrics.inference.analysis import OrderedByPlace
    from plmetrics.inference.subject import Analysis
    from plmetrics.report.charts.entry import Entry
    from plmetrics.report.summary import Summary
    from plmetrics.runs.history.earlier_runs import EarlierRuns
    from plmetrics.states.state_format import Builder, SavedState, State
    from plmetrics.suite.model import Suite
    from plmetrics.suite.problems import Findings
    from plmetrics.table.checks import Requirement
    from plmetrics.table.slice_keys import SliceKey
    from plmetrics.table.slices import Slices, SliceSet
    from plmetrics.table.source import Source

    ReadMetric = Callable[[object, SuitePath], Metric | None]
    from plmetrics.table.storage.places import Place


@dataclass(frozen=True, slots=True)
class Run:
    """A run, as features read it.

    `source` is the table, `plan` the constants of the run, `counted` the counts of features from the scan of its sums,
    and `counts` earlier counts that features read in place of tables, by key. From the stage `order` on there are the
    subject of the estimates, `analysis`, and the values of ordered metrics. `state` is the one that a run without rows
    was restored from.
    """

    source: Source
    plan: RunPlan
    counts: Mapping[str, object]
    counted: Mapping[str, object] = field(default_factory=dict)
    analysis: Analysis | None = None
    ordered: OrderedByPlace = field(default_factory=dict)
    state: SavedState | None = None

    @property
    def request(self) -> Request:
        """The suite as it was bound to the table."""
        return self.plan.request

    @property
    def view(self) -> TableView:
        """The rows to evaluate as they are in the data, not the queries made from them."""
        return self.plan.view if self.plan.rows.pairs is None else self.request.view

    def values(self, *metrics: Metric) -> pl.DataFrame:
        """Rows of the form of the table `metrics`: summed metrics of the section, of every model in every slice.

        They are there behind the stage `order`.
        """
        from plmetrics.inference.analysis import tables

        assert self.analysis is not None
        alone: dict[str, object] = {
            "metrics": metrics,
            "metric_slices": {},
            "gates": (),
            "compare": None,
            "curves": (),
        }
        suite = self.analysis.suite.model_copy(update=alone)
        return tables(replace(self.analysis, suite=suite, pairs=()), self.ordered)[0]


@dataclass(frozen=True, slots=True)
class Outputs:
    """Additions of a feature to a result.

    `tables` are tables by name, `gates` rows of the table `gates`, `record` entries of run.json, and `state` the counts
    of the rows, as a reference of later runs.
    """

    tables: Mapping[str, pl.DataFrame]
    gates: pl.DataFrame | None = None
    warnings: Sequence[str] = ()
    record: Mapping[str, Json] = field(default_factory=dict)
    state: State | None = None


@dataclass(frozen=True, slots=True)
class CountedRows:
    """Rows for a feature's counts in a stored state.

    `view` has the rows as they are in the data, `source` is the table, and `constants` are those of the feature, looked
    up in these rows or in others.
    """

    request: Request
    view: TableView
    source: Source
    constants: Mapping[str, Json]


class Counting(Protocol):
    """Constants of the rows of a feature, and its counts with them."""

    def count(self) -> Question[object]:
        """Question for the counts of rows: its first plans share the scan of the sums."""


@dataclass(frozen=True, slots=True)
class FeatureTable:
    """The table of a feature on a page: a title, the result table, and its columns to show where they hold anything."""

    title: str
    table: str
    columns: str


class Feature:
    """Feature: hooks into the stages of a run, without effect by default. Methods import their modules themselves.

    Attributes:
        key: its key in the suite.
        section: the model of what stands there.
        description: the purpose of the key, in the schema of suites.
        stage: the name of its stage of a run; its key by default.
        after: the stage of a run that it follows: `aggregate`, `order` or `tests`.
        paths: keys of the section that hold paths.
        state_paths: those of them that stored states read, too.
        state_refusal: the reason why stored states cannot hold it; None where they can.
        state_rounding: the reason why its counts in stored states depend on the order of the rows; None if not.
        of_sums: whether its tables follow from sums, or from its counts in a state, so that merged states have them;
            other features have tables of merged states where there are `merged_counts`.
        counts_rows: whether it counts rows beside the sums, after a question about them (`prepare`).
        shares_constants: whether its counts in stored states add only where its constants are the same.
        divides_units: whether its counts depend on the unit of a row, also without intervals.
        charts: the charts of its tables, by name.
        page: the table of its section on a page; None without one.
        text: the function that writes its section of the report, as `package.module:function`; empty without one.
    """

    key: ClassVar[str]
    section: ClassVar[type[Section]]
    description: ClassVar[str]
    stage: ClassVar[str] = ""
    after: ClassVar[str] = "aggregate"
    paths: ClassVar[tuple[str, ...]] = ()
    state_paths: ClassVar[tuple[str, ...]] = ()
    state_refusal: ClassVar[str | None] = None
    state_rounding: ClassVar[str | None] = None
    of_sums: ClassVar[bool] = False
    counts_rows: ClassVar[bool] = False
    shares_constants: ClassVar[bool] = False
    divides_units: ClassVar[bool] = False
    charts: ClassVar[Mapping[str, Entry]] = MappingProxyType({})
    page: ClassVar[FeatureTable | None] = None
    text: ClassVar[str] = ""

    def read(self, value: object, problems: Findings, read_metric: ReadMetric) -> Section | None:
        """The section from plain values, short forms written out; None where it is wrong."""
        return self.section.read(value, (self.key,), problems, read_metric)

    def fill(self, raw: Mapping[str, object]) -> Mapping[str, object]:
        """Plain suite with further keys implied by the section."""
        return raw

    def path(self, suite: Suite) -> SuitePath:  # noqa: ARG002
        """Path of the section in a suite."""
        return (self.key,)

    def argument(self, value: object) -> object:
        """The section as plain values, from the argument of `plmetrics.evaluate`: objects are replaced by a name."""
        if not isinstance(value, Mapping):
            return value
        return {key: plain_path(item) if key in self.paths else item for key, item in value.items()}

    def table(self, suite: Suite, argument: object, base: Path | None) -> Source | None:  # noqa: ARG002
        """Table beside the rows; relative paths start from `base`."""
        return None

    def counts(self, suite: Suite, argument: object, base: Path | None, runs: EarlierRuns) -> object:  # noqa: ARG002
        """Counts of earlier rows in place of a table; `runs` chooses among the runs of a folder."""
        return None

    def state_digests(self, suite: Suite, base: Path | None) -> Sequence[str]:  # noqa: ARG002
        """Hashes of the stored states that the suite names, whose counts stand in place of a table."""
        return ()

    def columns(self, suite: Suite) -> Sequence[str]:  # noqa: ARG002
        """Columns of the rows beside those of roles, metrics and slices."""
        return ()

    def number_columns(self, suite: Suite) -> Sequence[str]:  # noqa: ARG002
        """Columns whose numbers are computed with as Float64, among its columns."""
        return ()

    def bind(self, suite: Suite, schema: pl.Schema, table: Source | None) -> None:
        """Check its columns and types on zero rows.

        Raises:
            DataError: columns are absent or of a wrong type; all are named.
        """

    def check_request(self, request: Request) -> None:
        """Check the plans of a bound request on zero rows.

        Raises:
            DataError: columns of its table are absent or of a wrong type.
        """

    def check_counts(self, request: Request, counts: object) -> object:  # noqa: ARG002
        """Check counts against the needs of the suite.

        Returns:
            The counts to use.

        Raises:
            DataError: they do not; everything that they lack is named.
        """
        return counts

    def requirements(self, suite: Suite) -> Sequence[Requirement]:  # noqa: ARG002
        """Requirements on columns of the rows; rows in violation of one are bad."""
        return ()

    def slice_sets(
        self,
        suite: Suite,  # noqa: ARG002
        sets: Sequence[SliceSet],
        schema: pl.Schema,  # noqa: ARG002
    ) -> tuple[Sequence[SliceSet], Sequence[SliceKey]]:
        """Slice sets of the run with those derived from them, and the additional keys."""
        return sets, ()

    def check_slices(self, suite: Suite, slices: Sequence[Slices]) -> Sequence[str]:  # noqa: ARG002
        """Warnings on the slices in the data."""
        return ()

    def compares(self, suite: Suite) -> bool:  # noqa: ARG002
        """Whether it compares estimates, with replicates of one kind."""
        return False

    def rows(self, suite: Suite) -> str | None:  # noqa: ARG002
        """Condition on further counted rows of the table."""
        return None

    def prepare(self, request: Request, view: TableView, counts: object) -> Question[Counting] | None:  # noqa: ARG002
        """Question about the rows for the constants of a count, asked with those of the preparation.

        Args:
            request: the suite as it was bound.
            view: the rows that are evaluated, as they are in the data.
            counts: earlier counts that it reads in place of a table; None without any.
        """
        return None

    def steps(self, request: Request) -> Iterable[Step]:  # noqa: ARG002
        """Steps with reads of rows for it."""
        return ()

    def run(self, run: Run) -> Outputs:  # noqa: ARG002
        """Its tables, gates and warnings."""
        return Outputs({})

    def constants(self, request: Request, source: Source) -> Mapping[str, Json]:  # noqa: ARG002
        """Constants, looked up in rows, shared by additive states; only with `shares_constants`."""
        return {}

    def refusal(self, suite: Suite) -> str | None:  # noqa: ARG002
        """Reason against a suite's section in stored states; None without one."""
        return self.state_refusal

    def anchor(self, section: Section, folder: Path) -> Section:
        """Section for stored states, with relative paths (`state_paths`) from the folder of the suite."""
        paths = {key: path for key in self.state_paths if (path := getattr(section, key)) is not None}
        return section.model_copy(update={key: anchored_path(path, folder) for key, path in paths.items()})

    def state_table(self, suite: Suite) -> Source | None:  # noqa: ARG002
        """Table beside the rows for its counts in stored states; see `anchor`."""
        return None

    def merge_gap(self, suite: Suite) -> Problem | None:  # noqa: ARG002
        """Problem of results from merged states, with a hint; None where there is none."""
        return None

    def merged_counts(self, suite: Suite, runs: EarlierRuns) -> object:  # noqa: ARG002
        """Reference counts of merged states, as `counts`; absent files raise no error."""
        return None

    def capture(self, rows: CountedRows, builder: Builder) -> Mapping[str, Json] | None:  # noqa: ARG002
        """Add its counts of the rows to a stored state.

        Returns:
            Their entry in the head of the state.
        """
        return None

    def check_states(self, first: StateReference, other: StateReference) -> None:
        """Check its counts in two stored states for equal meaning.

        Raises:
            ConfigError: they have another meaning in the second.
        """

    def merge(self, layouts: Sequence[AlignedStates], builder: Builder) -> Mapping[str, Json] | None:  # noqa: ARG002
        """Add its counts in stored states to the merged state.

        Returns:
            Their entry in the head of the state.
        """
        return None

    def files(self, state: State) -> Mapping[str, bytes]:  # noqa: ARG002
        """Files of its counts of the rows in a run folder, by name."""
        return {}

    def stored_state(self, folder: Place) -> State | None:  # noqa: ARG002
        """Its counts of a run's rows from the run folder; None without any."""
        return None

    def page_rows(self, summary: Summary) -> pl.DataFrame | None:
        """The rows of the feature's section on a page; None without any."""
        return None if self.page is None else summary.tables.get(self.page.table)

    def report(self, summary: Summary, width: int) -> list[Text]:
        """Its section of the report as lines; none where there is nothing to report."""
        return cast("list[Text]", function_of(self.text)(summary, width)) if self.text else []
