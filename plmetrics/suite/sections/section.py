"""Base of the sections of a suite: strict models, short forms, and the reading and checking of a feature's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Protocol, Self, TypeGuard

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError
from pydantic_core.core_schema import no_info_before_validator_function

from plmetrics.catalogue.metric import Metric
from plmetrics.core.names import SuitePath, is_address
from plmetrics.core.text import value_text

if TYPE_CHECKING:
    from pathlib import Path

    from plmetrics.states.sums import Total
    from plmetrics.suite.problems import Findings
    from plmetrics.table.prediction_table import PredictionTable

    ReadMetric = Callable[[Any, SuitePath], Metric | None]

Column = Annotated[str, Field(min_length=1)]
SliceSelection = str | Annotated[tuple[str, ...], Field(min_length=1)]
MOST_ROWS = 10**12
"""Numbers of rows, or of slices, above this are a slip of the pen."""


class OrOne:
    """List, or a single text in its place."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return no_info_before_validator_function(_as_tuple, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        several = handler(schema)
        item = several["items"]
        return {"anyOf": [next(iter(item.get("anyOf", [item]))), several]}


def _as_tuple(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


HANDED_OVER = "@frame"
"""Value of a key of paths where a table, a state or a result was handed over as an object."""


def plain_path(value: Any) -> Any:
    """Path or several as texts; `HANDED_OVER` for any other value.

    >>> from pathlib import Path
    >>> plain_path([Path("a.csv"), "b.csv"]), plain_path(None), plain_path({"y": [1]})
    (['a.csv', 'b.csv'], None, '@frame')
    """
    paths = value if isinstance(value, (list, tuple)) else [value]
    if value is not None and not all(isinstance(path, (str, PathLike)) for path in paths):
        return HANDED_OVER
    texts = [path if path is None else str(path) for path in paths]
    return texts if isinstance(value, (list, tuple)) else texts[0]


def anchored_path(path: str | tuple[str, ...], folder: Path) -> str | tuple[str, ...]:
    """A path or several, where relative ones start from a folder."""
    if isinstance(path, tuple):
        return tuple(str(anchored_path(each, folder)) for each in path)
    return path if path == HANDED_OVER or is_address(path) else str((folder / path).absolute())


def names_of(value: str | Sequence[str]) -> tuple[str, ...]:
    """One name or several as several."""
    return (value,) if isinstance(value, str) else tuple(value)


def is_name_list(value: Any) -> TypeGuard[Sequence[str]]:
    """Whether a value is a list of texts."""
    return isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value)


def with_label_columns(columns: Any) -> Any:
    """Columns of roles with a label of several columns by class, and a text with all their names."""
    label = columns.get("label") if isinstance(columns, Mapping) else None
    if is_name_list(label):
        label = {name: name for name in label}
    if not isinstance(label, Mapping) or not all(isinstance(name, str) for name in label.values()):
        return columns
    by_class = {str(of_class): name for of_class, name in label.items()}
    return {**columns, "label": ", ".join(label.values()), "label_columns": by_class}


class BySet:
    """A mapping by slice set. With `alone`, names may stand in its place, with nothing asked of them."""

    def __init__(self, example: str, *, alone: bool = False) -> None:
        self._example = example
        self._alone = alone

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return no_info_before_validator_function(self._mapping, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        name = {"type": "string", "minLength": 1}
        several = [name, {"type": "array", "items": name}] if self._alone else []
        return {"anyOf": [*several, handler(schema)]} if several else handler(schema)

    def _mapping(self, value: Any) -> Any:
        names = _as_tuple(value)
        if self._alone and is_name_list(names):
            return dict.fromkeys(names, ())
        if isinstance(value, Mapping):
            return value
        kind, expected = "slice_sets", "a mapping of slice sets"
        raise PydanticCustomError(kind, expected, {"hint": f"write {self._example}"})


def each_once(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Distinct values, in order."""
    return tuple(dict.fromkeys(values))


OneOrMore = Annotated[tuple[Column, ...], Field(min_length=1), OrOne()]
"""Names, at least one."""


class Strict(BaseModel):
    """Frozen, and an unknown key is an error. Models of unused sections are not built."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True, strict=True, defer_build=True
    )

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Copy, with cached properties computed anew from the update."""
        copied = super().model_copy(update=update, deep=deep)
        for name in copied.__dict__.keys() - type(self).model_fields.keys():
            del copied.__dict__[name]
        return copied

    def __getstate__(self) -> dict[Any, Any]:
        """Content for pickle: cached properties are left out, as the reader computes its own."""
        state = super().__getstate__()
        fields = type(self).model_fields
        return state | {
            "__dict__": {name: value for name, value in state["__dict__"].items() if name in fields}
        }


class SectionHolder(Protocol):
    """A suite, as far as its sections are asked for."""

    @property
    def sections(self) -> Mapping[str, Section]:
        """The sections by their keys."""


class Section(Strict):
    """The section of a feature.

    Attributes:
        cosmetic: its keys that change no number, such as paths, as Pydantic's `exclude` takes them.
        example: what to write in place of what is no mapping.
        switch: whether `true` stands for it with all its defaults, and `false` for its absence.
    """

    cosmetic: ClassVar[Mapping[str, Any]] = {}
    example: ClassVar[str | None] = None
    switch: ClassVar[bool] = False

    @property
    def interval_level(self) -> float | None:
        """Level of its intervals, where that is its own and not that of `uncertainty`."""
        return None

    @classmethod
    def of(cls, suite: SectionHolder) -> Self:
        """Section of this kind of a suite."""
        section = cls.find(suite)
        assert section is not None
        return section

    @classmethod
    def find(cls, suite: SectionHolder) -> Self | None:
        """The section of this kind of a suite, None where it has none."""
        return next((section for section in suite.sections.values() if isinstance(section, cls)), None)

    @classmethod
    def read(cls, value: Any, path: SuitePath, problems: Findings, read_metric: ReadMetric) -> Self | None:
        """Section from plain values, its metric by `read_metric`; None, with a problem noted, if it is invalid."""
        if cls.switch and isinstance(value, bool):
            return cls() if value else None
        metric = value.get("metric") if isinstance(value, Mapping) else None
        if isinstance(metric, (str, Mapping, Metric)) and "metric" in cls.model_fields:
            value = {**value, "metric": read_metric(metric, (*path, "metric"))}
            if value["metric"] is None:
                return None
        return problems.model(cls, value, path, cls.example)

    def check(self, fields: Mapping[str, Any], problems: Findings) -> None:
        """Note inconsistencies with other sections of the suite, those in `fields`; None for invalid ones."""

    @property
    def reads_other_rows(self) -> bool:
        """Whether it reads rows of the table outside the evaluated ones."""
        return False

    @property
    def reads_every_column(self) -> bool:
        """Whether it reads columns of the table without a name in the suite."""
        return False

    @property
    def gate_count(self) -> int:
        """Number of gates of its own."""
        return len(getattr(self, "gates", ()))

    def of_part(self, where: str | None) -> Self:  # noqa: ARG002
        """Section of a run over a part, such as an interval, of the rows of the condition `where`."""
        return self

    def metrics(self) -> Sequence[Metric]:
        """Summed metrics of the feature in the scan of the run, in every slice, and listed nowhere."""
        return ()

    def totals(self, table: PredictionTable, *, every: bool) -> Sequence[Total]:  # noqa: ARG002
        """Sums of the feature in the scan of the run, once for all models: their names begin with `@`.

        With `every`, rows that fail checks are among those of the table.
        """
        return ()


TEST_PARAMETERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "mcnemar": ("method", "alternative"),
        "delong": ("alternative",),
        "paired_t": (),
        "wilcoxon": ("zeros", "continuity"),
        "paired_permutation": ("permutations", "seed"),
        "diebold_mariano": ("time", "horizon"),
        "always_valid": ("mixture",),
        "corrected_resampled_t": ("ratio",),
        "five_by_two_cv_f": (),
        "correlated_t": ("rope", "ratio"),
        "bayesian_signed_rank": ("rope", "prior"),
        "friedman": ("over", "tie_correction"),
        "iman_davenport": ("over", "tie_correction"),
        "nemenyi": ("over", "df"),
    }
)
"""The tests of models, each with its parameters."""


class ComparisonTest(Strict):
    """A test of two models, or of all together, and its parameters."""

    test: str = Field(description="Name of the test.")
    method: Literal["exact", "chi2", "mid_p"] = Field(default="exact", description="Form of the p value.")
    alternative: Literal["two_sided", "greater"] = Field(
        default="two_sided", description="greater: whether the model is better than the baseline."
    )
    time: Column | None = Field(
        default=None, description="Column that orders the rows; equal times are averaged."
    )
    horizon: Annotated[int, Field(ge=1, le=MOST_ROWS)] = Field(
        default=1, description="Number of steps ahead of the forecasts."
    )
    mixture: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="About how large differences are expected to be."
    )
    ratio: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="n_test / n_train of a fold; found from the folds if not given."
    )
    over: Column = Field(
        default="folds", description="Blocks in which models are ranked: folds, or the slices of a set."
    )
    zeros: Literal["drop", "pratt", "split"] = Field(
        default="drop", description="Differences of 0: dropped, ranked and then dropped, or split."
    )
    continuity: bool = Field(default=False, description="Whether normal p values allow for continuity.")
    permutations: Annotated[int, Field(ge=99, le=1_000_000)] = Field(
        default=9999, description="How many choices of signs are drawn."
    )
    seed: Annotated[int, Field(ge=0)] = Field(default=0, description="Seed of the signs.")
    rope: Annotated[float, Field(ge=0)] = Field(
        default=0.0, description="Differences up to this size are practically none."
    )
    prior: Annotated[float, Field(gt=0)] = Field(
        default=0.5, description="Weight of one more difference, of 0, that is the prior."
    )
    tie_correction: bool = Field(default=True, description="Whether chi squared is corrected for ties.")
    df: Literal["infinite", "finite"] = Field(
        default="infinite", description="Degrees of freedom of the studentised range; finite: k (N - 1)."
    )

    @property
    def text(self) -> str:
        """Name in results: parameters at their default are left out."""
        parameters = {key: getattr(self, key) for key in TEST_PARAMETERS[self.test]}
        fields = type(self).model_fields
        parts = [
            f"{key}={value_text(value)}" for key, value in parameters.items() if value != fields[key].default
        ]
        return f"{self.test}({', '.join(parts)})" if parts else self.test
