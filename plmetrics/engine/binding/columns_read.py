"""Raw columns of a suite in a table, determined without rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from plmetrics.core.errors import PlmetricsError
from plmetrics.core.names import is_word_in
from plmetrics.core.rowsql import compile_row
from plmetrics.engine.binding.bind import bind
from plmetrics.features.registry import features_of
from plmetrics.suite.sections.basics import BY_FOLD
from plmetrics.table.opening import open_source

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.engine.request import Request
    from plmetrics.suite.model import Suite

_ESCAPES = frozenset('"`\\')


def columns_read(request: Request) -> tuple[str, ...]:
    """Raw columns of a run, in the order of the table."""
    suite, roles = request.suite, request.view.roles
    named = {
        *(roles.label_columns.values() or (roles.label,)),
        *(name for model in roles.models.values() for name in model.columns.values()),
        *roles.columns,
    }
    named |= {name for key in roles.keys for name in key.expression.meta.root_names()}
    named |= {name for name in (roles.weight, roles.treatment) if name is not None}
    named |= {name for feature in features_of(suite) for name in feature.columns(suite)}
    if suite.uncertainty is not None and suite.columns.unit is not None:
        named.add(suite.columns.unit)
    if request.view.where is not None:
        named |= set(request.view.where.meta.root_names())
    for spec in suite.calibrate:
        named |= (
            {str(suite.columns.fold)} if spec.fit_on == BY_FOLD else set(compile_row(spec.fit_on).columns)
        )
    return tuple(name for name in request.view.schema if name in named)


def columns_to_fetch(suite: Suite, schema: pl.Schema) -> list[str]:
    """Candidate columns of a suite, for sources with a cost per column.

    These are the columns that it names, and those that stand for a prefix of it. Where it does not fit the table all
    that can be read: what is wrong is said of all columns, when rows are there.
    """
    if any(section.reads_every_column for section in suite.sections.values()):
        return list(schema)
    named = set(columns_in_texts(suite, schema))
    if suite.data.long is None:
        import polars as pl

        try:
            named |= set(columns_read(bind(suite, open_source(pl.LazyFrame(schema=schema)), classes=())))
        except PlmetricsError:
            return [name for name, dtype in schema.items() if name in named or dtype != pl.Null]
    return [name for name in schema if name in named]


def columns_in_texts(suite: Suite, names: Collection[str]) -> list[str]:
    """Columns named as words in any text of a suite."""
    content = suite.with_templates(()).model_dump(mode="json", exclude={"output", "notify"})
    content["data"] |= dict.fromkeys(("path", "database", "query", "spark"))
    text = "\0".join(_texts(content))
    return [name for name in names if _ESCAPES & set(name) or is_word_in(name, text)]


def _texts(content: Any) -> Iterator[str]:
    """All texts in plain values, keys included."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        for key, value in content.items():
            if value is not None:
                yield str(key)
                yield from _texts(value)
    elif isinstance(content, (list, tuple)):
        for value in content:
            yield from _texts(value)
