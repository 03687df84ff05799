"""The feature `engine`: it says where rows are counted, and adds nothing to a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from plmetrics.core.errors import ConfigError
from plmetrics.features.protocol import Feature
from plmetrics.runners.choice import split_name
from plmetrics.runs.files import place_of
from plmetrics.suite.sections.section import Section

if TYPE_CHECKING:
    from plmetrics.core.names import SuitePath
    from plmetrics.suite.problems import Findings
    from plmetrics.suite.sections.section import ReadMetric

MOST_PROCESSORS = 4096


class EngineSection(Section):
    """Runner and options for the counts of a table's units."""

    cosmetic: ClassVar[Any] = True
    example: ClassVar[str | None] = "write engine: processes:4, or engine: {on: ray, address: auto}"

    on: Annotated[str, Field(min_length=1)] = Field(
        default="inline",
        description="The runner: `inline`, `processes:N`, `dask:ADDRESS`, `ray` or `ray:ADDRESS`.",
    )
    address: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="Address of the cluster, where `on` does not have it."
    )
    cpus_per_task: Annotated[int, Field(ge=1, le=MOST_PROCESSORS)] | None = Field(
        default=None,
        description="Processors of a unit; 1, or those of the machine shared out among processes, if not given.",
    )
    unit: Literal["file", "folder"] = Field(
        default="file", description="Kind of unit: a file, or the files of a folder, such as a partition."
    )
    states: Annotated[str, Field(min_length=1)] | None = Field(
        default=None,
        description="Folder of the units' states, which all workers must see, or its address in a bucket; "
        "`unit-states` beside the runs if not given.",
    )
    coverage: Annotated[float, Field(ge=0, le=1)] = Field(
        default=1.0, description="The least share of the rows that a result may rest on."
    )

    @classmethod
    def read(cls, value: Any, path: SuitePath, problems: Findings, read_metric: ReadMetric) -> Self | None:
        """The section from plain values; the name of a runner may stand for it, and `{processes: 4}` for a name."""
        content = {"on": value} if isinstance(value, str) else value
        on = content.get("on") if isinstance(content, Mapping) else None
        if isinstance(on, Mapping) and len(on) == 1:
            content = {**content, "on": ":".join(str(part) for item in on.items() for part in item)}
        return super().read(content, path, problems, read_metric)

    def check(self, fields: Mapping[str, Any], problems: Findings) -> None:  # noqa: ARG002
        """Note an unknown runner, and an invalid folder."""
        for key, read in (("on", split_name), ("states", place_of)):
            try:
                read(getattr(self, key) or "")
            except ConfigError as error:
                for problem in error.problems:
                    problems.add(problem.message, ("engine", key), problem.hint)
        if self.address is not None and self.on not in {"dask", "ray"}:
            msg = f"address is that of a cluster whose name lacks one, and on is {self.on}"
            problems.add(msg, ("engine", "address"), "leave it out, or write on: dask or on: ray")


class EngineFeature(Feature):
    """Runner for the counts of a table's units: this process by default."""

    key = "engine"
    section = EngineSection
    description = "Where the units of the table are counted: in this process if not given."
