"""References of intervals: an earlier one, several as one, or a band of their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from plmetrics.suite.sections.section import Column, Strict

PREVIOUS = "previous"
"""The text for the last interval before."""

_FORMS = "previous, {ago: 7d}, {window: 28d}, {same_weekday: 4} or {run: ID}"


def _duration(value: object) -> str:
    from plmetrics.core.durations import Duration

    return str(Duration.of(value))


DurationText = Annotated[str, BeforeValidator(_duration)]
"""A length of time, such as 28d."""


class IntervalReference(Strict):
    """Earlier intervals of a suite, several of them added up; exactly one key."""

    previous: bool = Field(default=False, description="The last interval before this one that has a result.")
    ago: DurationText | None = Field(default=None, description="The interval that was so long before, as 7d.")
    window: DurationText | None = Field(
        default=None, description="All intervals of so long a time before this one, as 28d, added up."
    )
    same_weekday: Annotated[int, Field(ge=1, le=520)] | None = Field(
        default=None, description="The intervals of as many weeks before, each of the same weekday, added up."
    )
    run: Column | None = Field(default=None, description="The id of one run, whatever its verdict.")

    @model_validator(mode="before")
    @classmethod
    def _one_key(cls, value: Any) -> Any:
        if isinstance(value, dict) and len(value) != 1:
            msg = f"one of {_FORMS}"
            raise ValueError(msg)
        return value

    @property
    def adds(self) -> bool:
        """Whether several intervals are added up, from their states."""
        return self.window is not None or self.same_weekday is not None

    def __str__(self) -> str:
        ((key, value),) = self.model_dump(exclude_defaults=True).items()
        return PREVIOUS if key == "previous" else f"{key} {value}"


def interval_references(fields: Mapping[str, Any]) -> dict[tuple[str, str], IntervalReference]:
    """References to intervals in the fields of a suite, by their keys."""
    compared = getattr(fields.get("compare"), "run", None)
    drift = getattr((fields.get("sections") or {}).get("drift"), "reference", None)
    named = {("compare", "run"): compared, ("drift", "reference"): drift}
    return {path: value for path, value in named.items() if isinstance(value, IntervalReference)}


def _with_key(value: Any) -> Any:
    return {PREVIOUS: True} if value == PREVIOUS else value


ByInterval = BeforeValidator(_with_key)
"""Reads the text `previous` as a reference, where paths are texts as well: a folder of that name is ./previous."""


class Band(Strict):
    """A band around the values of earlier intervals, so many standard deviations of a new value wide on each side."""

    sd: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        description="Half width of the band, in standard deviations of a new value."
    )
    window: DurationText | None = Field(
        default=None, description="The accepted intervals of so long a time before this one, as 56d."
    )
    last: Annotated[int, Field(ge=3, le=10_000)] | None = Field(
        default=None, description="The last accepted intervals before this one, so many."
    )
    season: Literal["weekday"] | None = Field(
        default=None, description="weekday: the values of each weekday vary around a mean of their own."
    )
    min_intervals: Annotated[int, Field(ge=3, le=10_000)] = Field(
        default=8, description="Fewest values that make a band; with fewer the gate is inconclusive."
    )
    side: Literal["both", "worse"] = Field(
        default="both", description="Whether a value beyond the band on the metric's better side fails, too."
    )

    @property
    def span(self) -> str:
        """The intervals it is made of, as text."""
        return self.window if self.window is not None else f"the last {self.last} intervals"

    @property
    def text(self) -> str:
        """The band in words, without its ends."""
        season = "" if self.season is None else f" by {self.season}"
        return f"within {self.sd:g} sd of {self.span}{season}"
