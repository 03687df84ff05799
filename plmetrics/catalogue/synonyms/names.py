"""The form of the tables of synonyms."""

from __future__ import annotations

from typing import NamedTuple


class Names(NamedTuple):
    """Names of metrics in a library, by tasks (several tasks, and names of one meaning, are set apart by blanks).

    `equivalents` are names with one meaning, which is that of a metric of ours, by text. `neighbours` have another
    sign, scale or definition, or several: the metric that comes nearest (none: an empty text), and what differs. A
    capital K at the end of a name, behind an underscore, stands for a whole number, and for the same in the text.
    """

    library: str
    equivalents: dict[str, dict[str, str]]
    neighbours: dict[str, dict[str, tuple[str, str]]]
