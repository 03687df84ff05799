"""Share of labelled rows, and whether a metric needs labels or scores: as it declares, or by its columns."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from plmetrics.catalogue.bases import RowMean
from plmetrics.catalogue.metric import Metric
from plmetrics.catalogue.needs import OrderedRows, Quantiles, Queries, Sums
from plmetrics.catalogue.registry import register_for
from plmetrics.states.sums import Atom, Rows, as_tuple
from plmetrics.table.prediction_columns import part_column

LABELLED_ROWS = Atom("labelled", lambda rows: rows.label.is_not_null(), counts=True)


class LabelShare(RowMean):
    """Share of rows with a label: weight of those with one over the weight of all.

    Weighted by row (in rankings by query, of those whose every row has one); in [0, 1]; undefined (`no_rows`) without
    rows. 1 in a run whose rows must have labels: the section `labels` lets them come later. Source: Little and Rubin
    (2019), for the mechanism behind absent values.

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [1, 0, None, None], "p": [0.9, 0.2, 0.4, 0.1]})
    >>> result = plm.evaluate(rows, label="y", models="p", metrics=["labelled"], labels=True)
    >>> result.metrics["value"].item()
    0.5
    """

    name = "labelled"
    needs_label = False
    range = (0.0, 1.0)
    direction = "higher"
    kind = "proportion"
    mean = "rows"
    interval_form = None
    row_atom = LABELLED_ROWS
    formula = "sum of w over rows with a label / W"
    use_when = "Labels come later than scores: gate it, so that no verdict rests on a few early ones."
    beware = "Labels that come early may be those of special rows: look at the table `labelling`."
    reference = "Little and Rubin (2019), Statistical analysis with missing data, 3rd edition, Wiley"


register_for(("binary", "multiclass", "multilabel", "regression", "quantile"), LabelShare)
# Of its rows, queries, no further number is read.
register_for(("ranking",), LabelShare, needs=Queries((), of_labels=True))
register_for(("uplift",), LabelShare)


def needs_label(metric: Metric, rows: Rows) -> bool:
    """Whether rows without a label are none of its rows: of a metric of a state family.

    A metric of sums needs none if it has some, and none of them reads the label of a row.
    """
    if metric.needs_label is not None:
        return metric.needs_label
    label = {*rows.label.meta.root_names(), *rows.positive.meta.root_names()}
    read = [set(value.meta.root_names()) for value in _row_values(metric, rows)]
    return not read or any(names & label for names in read)


def reads_score(metric: Metric, rows: Rows) -> bool:
    """Whether a model's predictions are in a metric of a state family: of sums and quantiles, whether these read any.

    >>> import polars as pl, plmetrics as plm
    >>> rows = Rows(pl.col("y"), pl.col("p"), pl.col("y") == 1)
    >>> [reads_score(plm.metric(name), rows) for name in ("prevalence", "accuracy", "roc_auc")]
    [False, True, True]
    """
    need = metric.needs
    if isinstance(need, Queries):
        return not need.of_labels
    if isinstance(need, Quantiles) and need.by is not None:
        values = [need.by.build(rows)]
    elif isinstance(need, Sums):
        values = [atom.build(rows) for part in metric.atoms().values() for atom in as_tuple(part)]
    else:
        return True
    predicted = {part_column(rows.model, part) for part in rows.parts} | set(rows.score.meta.root_names())
    return any(not predicted.isdisjoint(value.meta.root_names()) for value in values)


def _row_values(metric: Metric, rows: Rows) -> Iterator[pl.Expr]:
    """Numbers read of a row, as far as they need no label; nothing where all do."""
    need = metric.needs
    if isinstance(need, OrderedRows) and need.by is not None and need.by.positive is None:
        yield need.by.build(rows)
    if not isinstance(need, Sums) or isinstance(need, Queries) or need.classes:
        return
    for part in metric.atoms().values():
        for atom in as_tuple(part):
            yield atom.build(rows)
