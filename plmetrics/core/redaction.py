"""Values of environment variables in texts, shown as the variables of a suite: they may be secrets."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from plmetrics.core.errors import PlmetricsError, Problem

if TYPE_CHECKING:
    from plmetrics.core.results import RecordedFile, RunRecord

_PASSWORD = re.compile(r"(://[^/@:]*:)[^/@]*(?=@)")
_USER = re.compile(r"(?<=://)[^/@\s]*@")
_SIGNATURE = re.compile(r"([?&][\w.-]+=)[^&\s'\"]+")
_SHORT = 4
_WORD = re.compile(r"[A-Za-z]+|[0-9]+")
_ENDS = r"[/:@=&?'\"]"
"""Separators of the parts of a path or an address."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """The variables of a suite by their values, longest first.

    A value is masked wherever it stands. One that is an ordinary word or number, or short, is masked only as a whole
    part of a path or an address: it may mean something else elsewhere.
    """

    names: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, variables: Mapping[str, str]) -> Redaction:
        """From the values by the variables' names."""
        forms = {
            form: name
            for name, value in variables.items()
            for form in (
                value,
                value.rstrip("/"),
                repr(value)[1:-1],
                value.lstrip("./"),
                _relative_path(value),
                _PASSWORD.sub(r"\1***", value),
            )
            if form.strip("./")
        }
        return cls(tuple(sorted(forms.items(), key=lambda item: -len(item[0]))))

    def text(self, text: str, *, identity: bool = False) -> str:
        """Text with variables in place of their values; `identity` adds a digest to tell values apart.

        >>> Redaction.of({"TOKEN": "geheim-17", "DAY": "7"}).text("7 rows of s3://me:geheim-17@bucket/7/x.csv")
        '7 rows of s3://me:${TOKEN}@bucket/${DAY}/x.csv'
        """
        for value, name in self.names:
            if value in text:
                replacement = f"${{{name}}}" + (f"~{_digest(value)}" if identity else "")
                text = _pattern(value).sub(replacement.replace("\\", r"\\"), text)
        return text

    def problem(self, problem: Problem) -> Problem:
        """Problem without values in its words."""
        hint = None if problem.hint is None else self.text(problem.hint)
        return replace(problem, message=self.text(problem.message), hint=hint)

    def mask(self, error: BaseException) -> None:
        """Remove the values from an error, and from its causes."""
        for link in _chain(error) if self.names else ():
            link.args = tuple(self.text(arg) if isinstance(arg, str) else arg for arg in link.args)
            if isinstance(link, PlmetricsError):
                link.problems = tuple(map(self.problem, link.problems))
            for name in ("filename", "filename2", "strerror"):
                if isinstance(link, OSError) and getattr(link, name) is not None:
                    setattr(link, name, self.text(str(getattr(link, name))))

    def record(self, facts: RunRecord) -> RunRecord:
        """Record of a run without secrets: files keep an identity, as other values of a variable are other files."""
        files = [self._file(file) for file in facts.get("files", ())]
        return {
            **facts,
            "files": files,
            "warnings": [self.text(str(warning)) for warning in facts.get("warnings", ())],
        }

    def _file(self, file: RecordedFile) -> RecordedFile:
        recorded: RecordedFile = {**file, "path": self.text(str(file["path"]), identity=True)}
        if "folder" in recorded:
            recorded["folder"] = self.text(recorded["folder"])
        return recorded


def mask_address(text: str) -> str:
    """An address without user, password and the values in its query string.

    >>> mask_address("s3://key:secret@bucket/day.parquet?token=abc")
    's3://***@bucket/day.parquet?token=***'
    """
    return _SIGNATURE.sub(r"\1***", _USER.sub("***@", text)) if "://" in text else text


def _pattern(value: str) -> re.Pattern[str]:
    literal = re.escape(value)
    if len(value) >= _SHORT and not _WORD.fullmatch(value):
        return re.compile(literal)
    return re.compile(rf"(?<=/){literal}(?![\w.-])|(?<![\w.-]){literal}(?=/)" + _near_marks(value, literal))


def _near_marks(value: str, literal: str) -> str:
    """Whether words stand between marks of an address as well; a short value may occur by chance."""
    return rf"|(?<={_ENDS}){literal}(?={_ENDS})" if len(value) >= _SHORT else ""


def _relative_path(value: str) -> str:
    """A path as messages show it where it lies below the working directory."""
    below = f"{Path.cwd()}/"
    return value.removeprefix(below).rstrip("/")


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode(errors="surrogateescape")).hexdigest()[:10]


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    visited: set[int] = set()
    waiting = [error]
    while waiting:
        link = waiting.pop()
        if link is not None and id(link) not in visited:
            visited.add(id(link))
            waiting += [link.__cause__, link.__context__]
            yield link
