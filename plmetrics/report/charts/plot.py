"""`result.plot`: the charts of a result, a method each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from plmetrics.core.names import did_you_mean
from plmetrics.report.charts.index import charts, draw, drawable
from plmetrics.report.charts.selection import Selection
from plmetrics.report.leaderboard import canonical_text

if TYPE_CHECKING:
    from plmetrics.report.charts.figure import Figure
    from plmetrics.report.summary import Summary

    Name: TypeAlias = str | None
    Names: TypeAlias = Sequence[str] | None


class Plot:
    """Charts of a result, a method each; `dir` lists those with rows in the result.

    `models` are names of models, `slice_set` is that of the slices, `slices` are their texts, and `metric` is one of
    the metrics, by any of its names; without them a chart shows all models on all rows.
    """

    def __init__(self, summary: Summary) -> None:
        self._summary = summary

    def roc(self, models: Names = None, slice_set: Name = None, slices: Names = None) -> Figure:
        """ROC curves with the area under each, from the curve `roc`."""
        return self._draw("roc", models=models, slice_set=slice_set, slices=slices)

    def pr(
        self, models: Names = None, slice_set: Name = None, slices: Names = None, *, iso_f1: bool = False
    ) -> Figure:
        """Precision against recall with average precision and prevalence, from the curve `pr`; with lines of one F1."""
        options = {"iso_f1": iso_f1}
        return self._draw("pr", options, models=models, slice_set=slice_set, slices=slices)

    def gain(self, models: Names = None, slice_set: Name = None, slices: Names = None) -> Figure:
        """Recall against the share of rows called, highest scores first, from the curve `gain`."""
        return self._draw("gain", models=models, slice_set=slice_set, slices=slices)

    def lift(self, models: Names = None, slice_set: Name = None, slices: Names = None) -> Figure:
        """Precision as a multiple of the prevalence against the share of rows called, from the curve `lift`."""
        return self._draw("lift", models=models, slice_set=slice_set, slices=slices)

    def ks(self, models: Names = None, slice_set: Name = None, slices: Names = None) -> Figure:
        """Shares of both classes below each score, with the largest gap between them, from the curve `roc`."""
        return self._draw("ks", models=models, slice_set=slice_set, slices=slices)

    def cost(self, models: Names = None, slice_set: Name = None, slices: Names = None) -> Figure:
        """Expected cost of a row by threshold, with the lowest, from the curve `cost`."""
        return self._draw("cost", models=models, slice_set=slice_set, slices=slices)

    def thresholds(self, models: Names = None, slice_set: Name = None, slices: Names = None) -> Figure:
        """Precision, recall, F1 and the share of rows called by threshold, from the curve `pr`."""
        return self._draw("thresholds", models=models, slice_set=slice_set, slices=slices)

    def net_benefit(self, models: Names = None, slice_set: Name = None, slices: Names = None) -> Figure:
        """Net benefit by threshold probability, beside treating all and none, from the curve `net_benefit`."""
        return self._draw("net_benefit", models=models, slice_set=slice_set, slices=slices)

    def reliability(self, models: Names = None, slice_set: Name = None, slices: Names = None) -> Figure:
        """Rates of positives against mean scores in bins, with the range of calibrated ones, from `reliability`."""
        return self._draw("reliability", models=models, slice_set=slice_set, slices=slices)

    def score_histogram(self, models: Names = None, slice_set: Name = None, slices: Names = None) -> Figure:
        """Scores of positives and of negatives, with thresholds of metrics, from the curve `score_histogram`."""
        return self._draw("score_histogram", models=models, slice_set=slice_set, slices=slices)

    def confusion(self, models: Names = None, slice_set: Name = None, slices: Names = None) -> Figure:
        """Rows by true and called class: from the curve `confusion`, or from the metrics `tp`, `fp`, `fn` and `tn`."""
        return self._draw("confusion", models=models, slice_set=slice_set, slices=slices)

    def forest(
        self, metric: Name = None, models: Names = None, slice_set: Name = None, slices: Names = None
    ) -> Figure:
        """Values of a metric in slices with their intervals, beside that of all rows; of all sets without a set."""
        return self._draw("forest", metric=metric, models=models, slice_set=slice_set, slices=slices)

    def differences(
        self, metric: Name = None, models: Names = None, slice_set: Name = None, slices: Names = None
    ) -> Figure:
        """Differences of models to their baseline: of every metric on all rows, or of one in the slices of a set."""
        return self._draw("differences", metric=metric, models=models, slice_set=slice_set, slices=slices)

    def residuals(self, models: Names = None, slice_set: Name = None, slices: Names = None) -> Figure:
        """Residuals by prediction, a panel a model, from the curves `residual_prediction` and `residual_quantiles`."""
        return self._draw("residuals", models=models, slice_set=slice_set, slices=slices)

    def residual_histogram(
        self, models: Names = None, slice_set: Name = None, slices: Names = None
    ) -> Figure:
        """Histogram of residuals, from the curve `residual_histogram`."""
        return self._draw("residual_histogram", models=models, slice_set=slice_set, slices=slices)

    def residual_qq(self, models: Names = None, slice_set: Name = None, slices: Names = None) -> Figure:
        """Quantiles of residuals against normal ones, from the curve `residual_qq`."""
        return self._draw("residual_qq", models=models, slice_set=slice_set, slices=slices)

    def conditional(self, models: Names = None, slice_set: Name = None, slices: Names = None) -> Figure:
        """Means of labels by prediction and of predictions by label, from the conditional curves."""
        return self._draw("conditional", models=models, slice_set=slice_set, slices=slices)

    def uplift(self, models: Names = None, slice_set: Name = None, slices: Names = None) -> Figure:
        """Uplift curves over the line of a random order, from the curve `uplift`."""
        return self._draw("uplift", models=models, slice_set=slice_set, slices=slices)

    def qini(self, models: Names = None, slice_set: Name = None, slices: Names = None) -> Figure:
        """Qini curves over the line of a random order, from the curve `qini`."""
        return self._draw("qini", models=models, slice_set=slice_set, slices=slices)

    def effect_calibration(
        self, models: Names = None, slice_set: Name = None, slices: Names = None
    ) -> Figure:
        """Observed effects against predicted ones by tenth, from the curve `effect_calibration`."""
        return self._draw("effect_calibration", models=models, slice_set=slice_set, slices=slices)

    def heatmap(self, models: Names = None, slice_set: Name = None, slices: Names = None) -> Figure:
        """Slices by metrics of one model: the number in every cell, and its distance to that of all rows."""
        return self._draw("heatmap", models=models, slice_set=slice_set, slices=slices)

    def slice_differences(
        self, metric: Name = None, models: Names = None, slice_set: Name = None, slices: Names = None
    ) -> Figure:
        """Differences of slices to all other rows, or to the references of `compare.slices`, by a metric."""
        return self._draw(
            "slice_differences", metric=metric, models=models, slice_set=slice_set, slices=slices
        )

    def fairness(self, metric: Name = None, models: Names = None, slice_set: Name = None) -> Figure:
        """Groups of each fairness gap, with the two at its ends, from the table `metrics`."""
        return self._draw("fairness", metric=metric, models=models, slice_set=slice_set)

    def critical_difference(self, metric: Name = None, slice_set: Name = None) -> Figure:
        """Mean ranks of models, and groups without a significant difference by Nemenyi's test."""
        return self._draw("critical_difference", metric=metric, slice_set=slice_set)

    def query_differences(self, models: Names = None, slice_set: Name = None, slices: Names = None) -> Figure:
        """Differences to the baseline query by query, in order of size, from the curve `query_differences`."""
        return self._draw("query_differences", models=models, slice_set=slice_set, slices=slices)

    def coverage(self, models: Names = None, slice_set: Name = None, slices: Names = None) -> Figure:
        """Shares of labels in intervals against their levels, from the curve `coverage`."""
        return self._draw("coverage", models=models, slice_set=slice_set, slices=slices)

    def pit(self, models: Names = None, slice_set: Name = None, slices: Names = None) -> Figure:
        """Histogram of the probability integral transform, from the curve `pit_histogram`."""
        return self._draw("pit", models=models, slice_set=slice_set, slices=slices)

    def drift(self, slice_set: Name = None, slices: Names = None) -> Figure:
        """Drift of columns by each measure, with the limits of gates, from the table `drift`."""
        return self._draw("drift", slice_set=slice_set, slices=slices)

    def drift_histograms(self, slice_set: Name = None, slices: Names = None) -> Figure:
        """Both windows of the columns with the largest drift on shared bins, from the table `drift_histograms`."""
        return self._draw("drift_histograms", slice_set=slice_set, slices=slices)

    def learning(self, metric: Name = None, models: Names = None) -> Figure:
        """A metric by the number of rows trained on, from the tables `cross_validation` and `folds`."""
        return self._draw("learning", metric=metric, models=models)

    def validation(self, metric: Name = None, models: Names = None) -> Figure:
        """A metric by the value of a parameter, from the tables `cross_validation` and `folds`."""
        return self._draw("validation", metric=metric, models=models)

    def found_slices(self, models: Names = None) -> Figure:
        """Slices of a search, by their excess over the rest, from the table `found_slices`."""
        return self._draw("found_slices", models=models)

    def experiment(self, models: Names = None, slice_set: Name = None, slices: Names = None) -> Figure:
        """Differences of arms from the control by outcome, in slices too, from the table `experiment`."""
        return self._draw("experiment", models=models, slice_set=slice_set, slices=slices)

    def history(
        self, metric: Name = None, models: Names = None, slice_set: Name = None, slices: Names = None
    ) -> Figure:
        """Values of the last intervals up to that of the result, with limits of gates, from the runs beside it."""
        return self._draw("history", metric=metric, models=models, slice_set=slice_set, slices=slices)

    def _draw(
        self, name: str, options: Mapping[str, object] = MappingProxyType({}), **chosen: object
    ) -> Figure:
        names, asked = self._summary.slice_names, chosen.get("slices")
        metric, definitions = chosen.get("metric"), self._summary.definitions
        if metric is not None and definitions:
            chosen["metric"] = canonical_text(definitions[0].task, str(metric)) or metric
        if isinstance(asked, (str, list, tuple)) and not charts()[name].entry:
            texts = [asked] if isinstance(asked, str) else asked
            chosen["slices"] = [names.names.get(text, text) for text in texts]
        figure = draw(name, Selection(summary=self._summary, **chosen), **options)  # type: ignore[arg-type]
        return replace(figure, frame=names.texts.rename(figure.frame))

    def __dir__(self) -> list[str]:
        return drawable(self._summary)

    def __getattr__(self, name: str) -> object:
        hint = (
            None if name.startswith("_") else did_you_mean(name, charts()) or f"known: {', '.join(dir(self))}"
        )
        raise AttributeError(f"there is no chart '{name}'" + (f"; {hint}" if hint else ""))

    def __repr__(self) -> str:
        return "Plot: " + ", ".join(dir(self))
