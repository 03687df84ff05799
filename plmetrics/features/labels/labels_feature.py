"""The feature `labels`."""

from __future__ import annotations

from plmetrics.features.protocol import Feature, FeatureTable, Outputs, Run
from plmetrics.suite.sections.labels import Labels


class LabelsFeature(Feature):
    """Rows with delayed labels, and the differences of their scores to those of labelled rows."""

    key = "labels"
    section = Labels
    description = "Labels that come later than scores: a null label is no bad value; none if not given."
    after = "order"
    of_sums = True
    page = FeatureTable(
        "Labels",
        "labelling",
        "model slice share mean_labelled mean_unlabelled difference standardised n_labelled n_unlabelled status",
    )
    text = "plmetrics.features.labels.labelling_report:labelling"

    def run(self, run: Run) -> Outputs:
        """Compare the scores of rows with a label with those of rows without one; of queries there is nothing."""
        from plmetrics.features.labels.labelling_table import labelling_table, labelling_warnings

        if run.analysis is None or run.analysis.suite.task == "ranking":
            return Outputs({})
        table = labelling_table(run.analysis)
        record = {self.key: {"absent_labels": run.analysis.population.label_status}}
        return Outputs({"labelling": table}, warnings=tuple(labelling_warnings(table)), record=record)
