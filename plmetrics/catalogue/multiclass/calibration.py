"""Calibration errors of the probabilities of several classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from plmetrics.catalogue.binary.calibration import (
    ExpectedCalibrationError,
    check_debias,
    debias_parameter,
    norm_parameter,
    strategy_parameter,
)
from plmetrics.catalogue.composite_metrics import DerivedMetric
from plmetrics.catalogue.metric import Metric, Noise
from plmetrics.catalogue.multiclass.base import ClassScoreMetric, Multiclass, confidence, one_vs_rest
from plmetrics.catalogue.parameters import bins_parameter
from plmetrics.catalogue.registry import register


@dataclass(frozen=True)
class _BinnedCalibration(Multiclass, DerivedMetric):
    """Base of the calibration errors of binned probabilities."""

    range = (0.0, 1.0)
    direction = "lower"
    kind = "norm"
    probability = True
    reads_parts = True

    bins: int = bins_parameter(15, "number of bins")
    strategy: str = strategy_parameter()
    norm: str = norm_parameter()
    debias: bool = debias_parameter()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_debias(self.name, self.norm, debias=self.debias)

    @property
    def noise(self) -> Noise:  # type: ignore[override]
        return self.binary_metric().noise

    def binary_metric(self) -> Metric:
        """The binary calibration error."""
        return ExpectedCalibrationError(
            bins=self.bins, strategy=self.strategy, norm=self.norm, debias=self.debias
        )

    def finalise(self, state: Any) -> Any:
        return np.mean([state[part.text] for part in self.parts()], axis=0)

    def combined_deviations(self, parts: Mapping[str, Any]) -> Any:
        """Mean of the parts': the gaps of all classes are one vector, with the mean of theirs as its norm."""
        deviations = [parts[part.text] for part in self.parts()]
        return None if any(part is None for part in deviations) else np.mean(deviations, axis=0)


@register
class ClasswiseEce(_BinnedCalibration):
    """Mean over classes of the calibration error of each class's probability against the rest.

    Each as the binary `ece` with the same parameters. In [0, 1]; undefined (`no_rows`) without rows. Source: Kull and
    others (2019), who bin by equal width.

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "b"], "pa": [0.5, 0.25], "pb": [0.5, 0.75]})
    >>> models = {"m": {"proba": {"a": "pa", "b": "pb"}}}
    >>> found = plm.evaluate(rows, task="multiclass", label="y", models=models, metrics=["classwise_ece"]).metrics
    >>> found["value"].item()
    0.375
    """

    name = "classwise_ece"
    formula = "mean over classes of ece(p_c, [class is c])"
    use_when = "The probability of every class is used, not only that of the one that is called."
    beware = (
        "With many classes most probabilities are near 0 and well calibrated: it is small by number alone."
    )
    reference = "Kull and others (2019), Beyond temperature scaling, NeurIPS"

    def parts(self) -> tuple[Metric, ...]:
        """Each class against the rest."""
        return one_vs_rest(self.binary_metric(), self.classes)


@register
class TopLabelEce(_BinnedCalibration):
    """Calibration error of the confidence: the largest probability, against whether its class is right.

    As the binary `ece` of the largest probability, with rows called rightly as positives. In [0, 1]; undefined
    (`no_rows`) without rows. Source: Guo and others (2017).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "b"], "pa": [0.5, 0.25], "pb": [0.5, 0.75]})
    >>> models = {"m": {"proba": {"a": "pa", "b": "pb"}}}
    >>> found = plm.evaluate(rows, task="multiclass", label="y", models=models, metrics=["top_label_ece"]).metrics
    >>> found["value"].item()
    0.375
    """

    name = "top_label_ece"
    presets = MappingProxyType({})
    formula = "ece(max p_c, [called class is right])"
    use_when = "The class that is called is shown with its probability, and people act on it."
    beware = (
        "It says nothing about the other classes' probabilities; noise alone adds about 0.32 sqrt(bins / n)."
    )
    reference = "Guo and others (2017), On calibration of modern neural networks, ICML"

    def parts(self) -> tuple[ClassScoreMetric]:
        return (confidence(self.binary_metric()),)
