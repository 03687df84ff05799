"""Section `uncertainty` of a suite: the resampling of units, and the methods of intervals."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from plmetrics.suite.sections.section import Strict

IntervalMethod = Literal[
    "auto",
    "bootstrap",
    "analytic",
    "jackknife",
    "wilson",
    "clopper_pearson",
    "normal",
    "delong_logit",
    "delong",
    "hanley_mcneil",
    "hanley_mcneil_score",
    "logit",
    "chi2",
    "t",
    "delta",
    "percentile",
    "centred",
    "basic",
    "bca",
]

BOOTSTRAP_FORMS = ("percentile", "t", "centred", "basic", "normal", "bca")
"""The methods that name a form of the bootstrap, some of which are closed forms as well."""


class Uncertainty(Strict):
    """Methods of intervals. Its absence means: no intervals."""

    method: Literal["auto", "bootstrap", "analytic", "jackknife"] = Field(
        default="bootstrap",
        description="bootstrap: resampled blocks; auto: the form that suits the metric (wilson, delong_logit, delta, "
        "...), the bootstrap for the rest; analytic: without the bootstrap; jackknife: one block left out at a time.",
    )
    methods: Annotated[tuple[IntervalMethod, ...], Field(min_length=1)] | None = Field(
        default=None,
        description="Several of them, or forms by name, in place of method: a row of results each where it applies. "
        "Gates, comparisons and reports read the first.",
    )
    replicates: Annotated[int, Field(ge=2, le=100_000)] = Field(
        default=1000, description="Number of replicates."
    )
    level: Annotated[float, Field(gt=0, lt=1)] = Field(
        default=0.95, description="Level of two-sided intervals."
    )
    interval: Literal["auto", "percentile", "t", "centred", "basic", "normal", "bca"] = Field(
        default="auto",
        description="Form of the bootstrap's intervals; auto chooses one by metric and number of blocks.",
    )
    seed: int = Field(default=0, description="Seed of the resampling.")
    blocks: Annotated[int, Field(ge=2, le=4000)] = Field(default=1000, description="Blocks above 4000 units.")
    thresholds: Literal["fixed", "resampled"] = Field(
        default="fixed",
        description="Whether a threshold that a rule chose stays as it is in every replicate, or is chosen anew in "
        "each, so that intervals tell how uncertain the choice is.",
    )
    keep: bool | None = Field(
        default=None,
        description="Whether replicates stay with the results, so that another run over the same units is compared "
        "with this one replicate by replicate; if not given, up to 8 MB of them, and up to 64 MB where compare names "
        "a run.",
    )

    @model_serializer(mode="wrap")
    def _as_before(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Suites without the key of fixed thresholds, added later, keep their fingerprint."""
        content: dict[str, Any] = serialise(self)
        if self.thresholds == "fixed":
            content.pop("thresholds", None)
        return content

    @property
    def names(self) -> tuple[str, ...]:
        """The methods, in order."""
        return self.methods or (self.method,)

    @property
    def may_resample(self) -> bool:
        """Whether some metric may get replicates of a bootstrap."""
        return bool({"auto", "bootstrap", *BOOTSTRAP_FORMS} & set(self.names))
