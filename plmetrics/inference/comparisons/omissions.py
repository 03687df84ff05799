"""Words on two values that leave out different classes, groups or rows, and so are of different parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from plmetrics.core.ops import Texts

DIFFERENT_PARTS = "values of different parts"
_OMITTED = ("classes left out: ", "not judged: ", "left out: ")
"""How the notes of values begin that leave parts out."""


def with_omissions(notes: Texts, model: Texts, baseline: Texts) -> Texts:
    """Notes of comparisons, in their place what the values on either side leave out where that differs.

    >>> none = np.array([None, None], dtype=object)
    >>> with_omissions(none, np.array(["classes left out: d", None], dtype=object), none).tolist()
    ['values of different parts (here classes left out: d; there nothing left out)', None]
    """
    notes = notes.copy()
    for index in np.flatnonzero(model != baseline):
        sides = [str(side[index] or "") for side in (model, baseline)]
        if any(text.startswith(_OMITTED) for text in sides):
            here, there = (text if text.startswith(_OMITTED) else "nothing left out" for text in sides)
            notes[index] = f"{DIFFERENT_PARTS} (here {here}; there {there})"
    return notes
