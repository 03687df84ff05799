"""What features ask of the rows: with the questions of the preparation, and with the scan of the sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.engine.inquiry import answers_by_name
from plmetrics.features.registry import feature, features_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from plmetrics.engine.inquiry import Question
    from plmetrics.engine.prepared import Prepared
    from plmetrics.engine.request import Request


def looks(bound: Request, counts: Mapping[str, object]) -> Callable[[Request], Question[dict[str, object]]]:
    """What features must know of the rows before they are counted, by key, given what is evaluated.

    `counts` are what features read in place of tables, by key.
    """

    def asked(request: Request) -> Question[dict[str, object]]:
        questions = {
            each.key: each.look(bound, request, counts.get(each.key)) for each in features_of(bound.suite)
        }
        return answers_by_name({key: question for key, question in questions.items() if question is not None})

    return asked


def counting(prepared: Prepared) -> Question[dict[str, object]]:
    """What features count of the rows, by key, knowing what they asked for."""
    return answers_by_name({key: feature(key).count(known) for key, known in prepared.looks.items()})
