"""The answers of one ``releases.json``, read back by their titles."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.core.documents import parsed, reading
from discreet.core.registry import check_version
from discreet.core.release import Release
from discreet.core.result import Result
from discreet.errors import DiscreetError, UnknownName, UnsupportedFormat

KIND = "releases"


@dataclass(frozen=True, eq=False)
class Answer:
    """One answer: its title, the statistic and the columns, whether it is about all rows together, and the result."""

    title: str
    statistic: str | None
    columns: tuple[str, ...]
    plain: bool
    found: Result | Release

    @property
    def releases(self) -> tuple[Release, ...]:
        """The releases behind it."""
        return (self.found,) if isinstance(self.found, Release) else self.found.releases


@dataclass(frozen=True, eq=False)
class Releases(Sequence[Result | Release]):
    """The answers of a file in their order; ``releases["Mean age"]`` is the one of that title, ``releases[0]`` the first."""

    title: str
    answers: tuple[Answer, ...]

    @property
    def titles(self) -> tuple[str, ...]:
        return tuple(answer.title for answer in self.answers)

    def __len__(self) -> int:
        return len(self.answers)

    def __iter__(self) -> Iterator[Result | Release]:
        return iter(answer.found for answer in self.answers)

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, str):
            named = [answer.found for answer in self.answers if answer.title == which]
            if len(named) != 1:
                told = "; ".join(self.titles)
                many = f"{len(named)} answers are" if named else "no answer is"
                raise UnknownName(f"{many} called {which!r}; there are: {told}")
            return named[0]
        found = self.answers[which]
        return [answer.found for answer in found] if isinstance(found, tuple) else found.found

    def __repr__(self) -> str:
        return f"Releases({self.title!r}: {'; '.join(self.titles)})"

    @staticmethod
    def from_dict(doc: Any) -> Releases:
        """The answers of a document of the kind ``releases``."""
        check_version(doc, KIND)
        with reading("a document of releases"):
            answers = [
                Answer(
                    str(ask["title"]),
                    str(ask["statistic"]),
                    tuple(map(str, ask["columns"])),
                    not ask.get("by") and not ask.get("where"),
                    Result.from_dict(ask["result"]),
                )
                for ask in doc["asks"]
            ]
            return Releases(str(doc["title"]), tuple(answers))


def read_releases(path: str | os.PathLike[str]) -> Releases:
    """The answers that ``discreet release`` wrote to ``releases.json``, or a single result or release, as JSON.

    >>> found = ds.read_releases("demo/releases.json")  # doctest: +SKIP
    >>> ds.inference.infer(found["Sex and smoking"], ds.inference.DirichletMultinomial(1))  # doctest: +SKIP

    Nothing is paid, and no table is looked at: what the file says is public.
    """
    place = Path(path)
    try:
        text = place.read_text(encoding="utf-8")
    except OSError as problem:
        raise UnsupportedFormat(f"{place}: the file cannot be read ({problem.strerror}); check the path") from None
    except UnicodeDecodeError:
        raise UnsupportedFormat(f"{place}: the file cannot be read (it is not text in UTF-8); check the path") from None
    try:
        return _read(parsed(text), place.stem)
    except DiscreetError as problem:
        raise problem.at(f"{place}: ") from None


def _read(doc: Any, name: str) -> Releases:
    if isinstance(doc, list):
        return Releases(name, tuple(answer for one in doc for answer in _read(one, name).answers))
    kind = doc.get("kind") if isinstance(doc, dict) else None
    if kind == KIND:
        return Releases.from_dict(doc)
    if kind not in ("result", "release"):
        raise UnsupportedFormat("not a releases.json, a result or a release; `discreet release` writes a releases.json")
    with reading("a document of releases"):
        found = Result.from_dict(doc) if kind == "result" else Release.from_dict(doc)
        first = found if isinstance(found, Release) else found.releases[0]
        return Releases(name, (Answer(name, None, first.columns, True, found),))
