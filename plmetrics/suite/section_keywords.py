"""Types of the mappings of sections among the keyword arguments of `plmetrics.evaluate`.

Written by `python -m docs.generate` from the schema of suites.
"""
# ruff: noqa: TC001, TC003

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from os import PathLike
from typing import Literal, Never, Required, TypedDict

from plmetrics.states.state_format import State
from plmetrics.suite.python_types import MetricParameters, MetricText, RunFolder, Table

# fmt: off

class ModelColumns(TypedDict, total=False):
    """Predictions of one model: exactly one kind of column."""
    score: str | None
    margin: str | None
    threshold: float | Mapping[str, float] | None
    prediction: str | None
    proba: Mapping[str, str] | Mapping[int, str] | str | None
    normalise: bool
    quantiles: Mapping[float, str] | Mapping[str, str] | str | None
    mean: str | None
    sd: str | None
    members: Sequence[str] | None
    label: str | Mapping[str, str] | None
    weight: str | Literal[False] | Mapping[str, str] | None

class Calibrate(TypedDict, total=False):
    """A calibrator of scores, with one more model, MODEL_METHOD, as its result."""
    method: Required[Literal["platt", "isotonic", "temperature", "beta", "vector", "dirichlet"]]
    fit_on: Required[str]
    models: str | Sequence[str] | None
    smoothing: bool

class MetricInSlices(TypedDict, total=False):
    """A metric in some slice sets only, or with a threshold from other rows."""
    metric: Required[str]
    slices: str | Sequence[str]
    select_on: str

class Ratio(TypedDict, total=False):
    """Two sums over rows."""
    numerator: Required[str]
    denominator: Required[str]

class OverSlices(TypedDict, total=False):
    """A metric put together over the slices of a set."""
    slice_set: Required[str]
    metric: Required[str]
    agg: Literal["mean", "sum", "min", "max", "worst"]
    weight: str

class MetricDefinition(TypedDict, total=False):
    """A metric that the suite defines."""
    name: str
    mean: str | float
    sum: str | float
    ratio: Ratio | Sequence[str]
    std: str | float
    null_share: str | float
    quantile: str | float
    formula: str
    over: OverSlices
    where: str
    q: float
    direction: Literal["higher", "lower", "zero", "none"]
    slices: str | Sequence[str]

class SliceSet(TypedDict, total=False):
    """One named grouping: columns (crossed), bins or the largest values of one column, tags, or predicates."""
    columns: Sequence[str]
    bins: Sequence[float | str | date] | None
    quantiles: int | None
    top: int | None
    every: str | None
    expression: str | None
    rollup: Sequence[str] | None
    where: str | Mapping[str, str] | None
    exclude: Sequence[object]
    column: str

class Uncertainty(TypedDict, total=False):
    """Methods of intervals. Its absence means: no intervals."""
    method: Literal["auto", "bootstrap", "analytic", "jackknife"]
    methods: (
        Sequence[Literal["auto", "bootstrap", "analytic", "jackknife", "wilson", "clopper_pearson", "normal",
        "delong_logit", "delong", "hanley_mcneil", "hanley_mcneil_score", "logit", "chi2", "t", "delta", "percentile",
        "centred", "basic", "bca"]] | None
    )
    replicates: int
    level: float
    interval: Literal["auto", "percentile", "t", "centred", "basic", "normal", "bca"]
    seed: int
    blocks: int
    thresholds: Literal["fixed", "resampled"]
    keep: bool | None

class Mcnemar(TypedDict, total=False):
    """Parameters of mcnemar."""
    method: Literal["exact", "chi2", "mid_p"]
    alternative: Literal["two_sided", "greater"]

class Delong(TypedDict, total=False):
    """Parameters of delong."""
    alternative: Literal["two_sided", "greater"]

class Wilcoxon(TypedDict, total=False):
    """Parameters of wilcoxon."""
    zeros: Literal["drop", "pratt", "split"]
    continuity: bool

class PairedPermutation(TypedDict, total=False):
    """Parameters of paired_permutation."""
    permutations: int
    seed: int

class DieboldMariano(TypedDict, total=False):
    """Parameters of diebold_mariano."""
    time: str | None
    horizon: int

class AlwaysValid(TypedDict, total=False):
    """Parameters of always_valid."""
    mixture: float | None

class CorrectedResampledT(TypedDict, total=False):
    """Parameters of corrected_resampled_t."""
    ratio: float | None

class CorrelatedT(TypedDict, total=False):
    """Parameters of correlated_t."""
    rope: float
    ratio: float | None

class BayesianSignedRank(TypedDict, total=False):
    """Parameters of bayesian_signed_rank."""
    rope: float
    prior: float

class Friedman(TypedDict, total=False):
    """Parameters of friedman."""
    over: str
    tie_correction: bool

class ImanDavenport(TypedDict, total=False):
    """Parameters of iman_davenport."""
    over: str
    tie_correction: bool

class Nemenyi(TypedDict, total=False):
    """Parameters of nemenyi."""
    over: str
    df: Literal["infinite", "finite"]

class ComparisonTest(TypedDict, total=False):
    """A test of models by name, with its parameters."""
    mcnemar: Mcnemar | None
    delong: Delong | None
    paired_t: Mapping[str, Never] | None
    wilcoxon: Wilcoxon | None
    paired_permutation: PairedPermutation | None
    diebold_mariano: DieboldMariano | None
    always_valid: AlwaysValid | None
    corrected_resampled_t: CorrectedResampledT | None
    five_by_two_cv_f: Mapping[str, Never] | None
    correlated_t: CorrelatedT | None
    bayesian_signed_rank: BayesianSignedRank | None
    friedman: Friedman | None
    iman_davenport: ImanDavenport | None
    nemenyi: Nemenyi | None

class Compare(TypedDict, total=False):
    """Comparisons of models, slices and runs, always on shared replicates where the data are the same."""
    baseline: str | None
    pairs: Literal["all"] | None
    scales: (
        Literal["difference", "ratio", "relative_change"] | Sequence[Literal["difference", "ratio", "relative_change"]]
    )
    slices: Mapping[str, str | Sequence[str]]
    run: RunFolder | None
    reference: Literal["accepted", "any"]
    decompose: str | Sequence[str] | Mapping[str, str | Sequence[str]]
    correction: Literal["holm", "bonferroni", "benjamini_hochberg", "none"]
    family: Literal["metric", "suite"]
    p_value: Literal["t", "percentile"]
    tests: str | ComparisonTest | Sequence[str | ComparisonTest]

class Opponent(TypedDict, total=False):
    """Reference of a slice where it is no model: other slices, or the same slice of an earlier run."""
    slice: str | None
    run: Literal[True] | None

class Band(TypedDict, total=False):
    """A band around the values of earlier intervals, so many standard deviations of a new value wide on each side."""
    sd: Required[float]
    window: str | None
    last: int | None
    season: Literal["weekday"] | None
    min_intervals: int
    side: Literal["both", "worse"]

class Gate(TypedDict, total=False):
    """A rule on an estimate (`at_least`, `at_most`) or on a difference (`against`)."""
    name: str | None
    model: str | None
    slices: str | Sequence[str]
    level: Literal["fail", "warn"]
    at_least: float | None
    at_most: float | None
    against: str | Opponent | None
    no_worse_than: float | str | None
    better_than: float | str | None
    scale: Literal["difference", "ratio", "relative_change"]
    using: Literal["value", "interval"]
    correction: Literal["holm", "bonferroni", "benjamini_hochberg", "none"]
    consecutive: int
    min_rows: int | None
    min_positives: int | None
    on_insufficient: Literal["skip", "warn", "fail"]
    on_undefined: Literal["inconclusive", "fail", "skip"]
    metric: MetricText
    between: str | None
    ratio_at_least: float | None
    within: Band | None
    four_fifths: str | None

class Curve(TypedDict, total=False):
    """A curve and the slice sets it is drawn for, besides overall."""
    curve: (
        Required[Literal["confusion", "roc", "roc_hull", "pr", "pr_interpolated", "lift", "gain", "cost", "net_benefit",
        "reliability", "corp", "score_histogram", "residual_histogram", "residual_qq", "label_histogram",
        "conditional_label", "conditional_prediction", "conditional_recall", "residual_prediction",
        "residual_quantiles", "coverage", "quantile_coverage", "pit_histogram", "query_differences", "qini", "uplift",
        "guelman", "effect_calibration"]]
    )
    slices: str | Sequence[str]
    bins: int | None
    strategy: Literal["width", "count"]
    scheme: Literal["ovr", "ovo"]
    cost_fp: float
    cost_fn: float
    metric: str | None

class Labels(TypedDict, total=False):
    """Rows may have no label yet: a null label is no bad value."""
    mature_after: str | None
    coverage: float | None

class LeakageLimits(TypedDict, total=False):
    """Admissible leakage: so many rows, or below 1 a share of them."""
    keys: float
    time: float
    folds: float
    duplicates: float

class Leakage(TypedDict, total=False):
    """Checks that the rows to evaluate were not known in training. An excess over a limit is a failed gate."""
    train: Table | None
    keys: str | Sequence[str] | None
    train_keys: str | Sequence[str] | None
    time: str | None
    train_time: str | None
    duplicates: bool | str | Sequence[str]
    attributes: bool | str | Sequence[str]
    perfect: float
    limit: LeakageLimits
    level: Literal["fail", "warn"]

class DriftGate(TypedDict, total=False):
    """A limit on one measure of drift, wherever it was taken: exactly one of at_most, at_least and p_at_least."""
    name: str | None
    measure: Required[str]
    subject: Literal["score", "label", "column"] | None
    column: str | None
    model: str | None
    slices: str | Sequence[str]
    level: Literal["fail", "warn"]
    at_most: float | None
    at_least: float | None
    p_at_least: float | None
    on_undefined: Literal["inconclusive", "fail", "skip"]

class Drift(TypedDict, total=False):
    """Whether scores, labels and attributes are as they were in a reference window."""
    reference: Table | None
    where: str | None
    state: State | PathLike[str] | str | Sequence[PathLike[str] | str] | None
    run: RunFolder | None
    scores: bool
    label: bool
    columns: str | Sequence[str]
    measures: str | Sequence[str | MetricParameters] | None
    bins: int
    floor: float
    slices: str | Sequence[str]
    correction: Literal["holm", "bonferroni", "benjamini_hochberg", "none"]
    gates: Sequence[DriftGate]

class HighBias(TypedDict, total=False):
    """Rule for models too simple: even their training rows miss the level, other rows little more."""
    level: Required[float]
    gap: float

class HighVariance(TypedDict, total=False):
    """Rule for models that overfit: other rows are much worse than their training rows."""
    gap: float

class StillImproving(TypedDict, total=False):
    """Rule for more training rows: the last of three sizes is better than the first by more than `delta`."""
    delta: float

class Diagnosis(TypedDict, total=False):
    """Limits of the plain rules on training and learning curves."""
    high_bias: HighBias | None
    high_variance: HighVariance
    still_improving: StillImproving

class CrossValidation(TypedDict, total=False):
    """Estimates fold by fold, next to the pooled ones; the column of the fold itself is `columns.fold`."""
    repeat: str | None
    inner: str | None
    configuration: str | None
    split: str | None
    train_size: str | None
    parameter: str | None
    slices: str | Sequence[str]
    metric: MetricText | None
    diagnosis: Diagnosis
    repeated: Mapping[str, Sequence[str]]
    truth: str | None

class Sequential(TypedDict, total=False):
    """Sequential analysis of an experiment while it runs: intervals and p values valid at all looks together."""
    mixture: float | Mapping[str, float] | None
    spending: Literal["obrien_fleming", "pocock"] | None
    planned: float | None
    looks: Sequence[float]

class ExperimentGate(TypedDict, total=False):
    """A limit on an arm's difference from the control, or on the sample ratio: at_least, at_most or both."""
    name: str | None
    measure: Literal["difference", "lift", "mean", "p_value", "sample_ratio"]
    outcome: str | None
    arm: str | float | bool | None
    slices: str | Sequence[str]
    level: Literal["fail", "warn"]
    at_least: float | None
    at_most: float | None
    using: Literal["value", "interval"]
    on_undefined: Literal["inconclusive", "fail", "skip"]

class ExperimentPlan(TypedDict, total=False):
    """Arms of an experiment, its outcomes, and the plan for comparisons of each arm with the control."""
    arm: Required[str]
    control: Required[str | float | bool]
    outcomes: str | Sequence[str]
    ratios: Mapping[str, Sequence[str]]
    quantiles: Mapping[str, Sequence[str | float]]
    covariates: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None
    strata: str | Sequence[str]
    level: float
    power: float
    mde: float | Mapping[str, float] | None
    shares: Mapping[str, float] | None
    correction: Literal["holm", "bonferroni", "benjamini_hochberg", "none"]
    ranks: bool
    shifts: bool
    sequential: Sequential | bool
    gates: Sequence[ExperimentGate]

class FindSlices(TypedDict, total=False):
    """A search for slices worse than the rest: found on one part of the units, confirmed on the other."""
    columns: Required[str | Sequence[str]]
    metric: Required[MetricText]
    model: str | Sequence[str] | None
    depth: int
    bins: int
    top: int
    min_rows: int
    level: float
    correction: Literal["holm", "bonferroni", "benjamini_hochberg", "none"]
    share: float
    seed: int
    largest: int
    blocks: int
