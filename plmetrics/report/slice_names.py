"""Names of slices for readers: edges of bins with as few digits as tell them apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import polars as pl

from plmetrics.report.numbers import number

_NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_BIN = re.compile(
    rf'"(?:[^"]|"")*"|(?:^|(?<==))[\[(](?P<low>-inf|{_NUMBER}), (?P<high>{_NUMBER}|inf)\)(?=$|, )'
)
"""A bin in the text of a slice, or a quoted text, in which there is none."""
_INFINITE = {"-inf": "-inf", "inf": "inf"}


@dataclass(frozen=True, slots=True)
class SliceNames:
    """Names for readers by the texts of slices, and of bins in them, where these are not the same."""

    names: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, tables: Iterable[pl.DataFrame]) -> SliceNames:
        """Names of the slices in result tables.

        >>> table = pl.DataFrame({"slice": ["a=(-inf, 0.30000000000000004)", "a=[0.30000000000000004, inf)", "b=x"]})
        >>> SliceNames.of([table]).rename(table)["slice"].to_list()
        ['a=(-inf, 0.3000)', 'a=[0.3000, inf)', 'b=x']
        """
        columns = [table["slice"].unique() for table in tables if "slice" in table.columns]
        texts = pl.concat(columns).unique().sort() if columns else pl.Series([], dtype=pl.String)
        texts = texts.filter(texts.str.contains(r"\.\d+, |\.\d+\)"))
        bins = [part for text in texts for part in _BIN.finditer(text) if part["low"]]
        edges = {edge for part in bins for edge in part.group("low", "high")} - set(_INFINITE)
        shorter = _edge_names(edges) | _INFINITE

        def rename(part: re.Match[str]) -> str:
            whole = part[0]
            return f"{whole[0]}{shorter[part['low']]}, {shorter[part['high']]})" if part["low"] else whole

        of_bins = {part[0]: rename(part) for part in bins}
        names = of_bins | {text: _BIN.sub(rename, text) for text in texts}
        return cls({text: name for text, name in names.items() if text != name})

    @property
    def texts(self) -> SliceNames:
        """The way back: texts by names."""
        return SliceNames({name: text for text, name in self.names.items()})

    def rename(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table with these names for its slices."""
        if not self.names:
            return table
        places = [pl.col(name).replace(self.names) for name in ("slice", "baseline") if name in table.columns]
        if "slice_values" in table.columns:
            value = pl.element().struct.with_fields(pl.field("value").replace(self.names))
            places.append(pl.col("slice_values").list.eval(value))
        return table.with_columns(places)


def with_slice_names(*tables: pl.DataFrame) -> list[pl.DataFrame]:
    """Result tables with names of slices for readers, the same in all of them."""
    names = SliceNames.of(tables)
    return [names.rename(table) for table in tables]


def _edge_names(edges: Iterable[str]) -> dict[str, str]:
    """Edges as numbers with as many digits as keep the order of all of them.

    >>> _edge_names(["35.72917610837125", "0.123461", "0.123539", "25"])
    {'0.123461': '0.12346', '0.123539': '0.12354', '25': '25', '35.72917610837125': '35.73'}
    """
    ordered = sorted(edges, key=float)
    values = [float("-inf"), *map(float, ordered), float("inf")]
    between = [(low + high) / 2 for low, high in pairwise(values)]
    return {
        edge: number(float(edge), limits=limits).replace(",", "") if "." in edge else edge
        for edge, limits in zip(ordered, pairwise(between), strict=True)
    }
