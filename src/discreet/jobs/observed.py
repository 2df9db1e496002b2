"""Which releases of a file a model is about: by number or title where they are named, else those that fit."""

from __future__ import annotations

import enum
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.core.documents import reading
from discreet.errors import DiscreetError, InvalidRequest, UnsupportedFormat

COUNTED = ("crosstab", "count", "histogram")
SUMMED = ("mean", "sum", "variance", "std")
CROSSED = (*SUMMED, "covariance", "correlation")


class Model(enum.StrEnum):
    """What the people of a table are taken to be like."""

    table = "table"
    share = "share"
    mean = "mean"
    rate = "rate"
    regression = "regression"
    logistic = "logistic"


@dataclass(frozen=True, eq=False)
class Answered:
    """One answer of a file: its title, what was asked, of which columns, and the releases behind it."""

    title: str
    statistic: str | None
    columns: tuple[str, ...]
    plain: bool
    releases: tuple[Any, ...]


def read(path: Path) -> tuple[str, list[Answered]]:
    """The title and the answers of a releases.json, of a result, or of a release by itself."""
    try:
        doc = json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise UnsupportedFormat(f"{path}: the file cannot be read ({problem.strerror}); check the path") from None
    except UnicodeDecodeError:
        raise UnsupportedFormat(f"{path}: the file cannot be read (it is not text in UTF-8); check the path") from None
    except (ValueError, RecursionError) as problem:
        raise UnsupportedFormat(f"{path}: not a JSON document ({problem}); give the releases.json of a release") from None
    try:
        with reading("a document of releases"):
            return _seen(doc, path.stem)
    except DiscreetError as problem:
        raise problem.at(f"{path}: ") from None


def _seen(doc: Any, name: str) -> tuple[str, list[Answered]]:
    from discreet.core.registry import check_version
    from discreet.core.release import Release

    kind = doc.get("kind") if isinstance(doc, dict) else None
    if kind == "releases":
        check_version(doc, "releases")
        found = []
        for ask in doc["asks"]:
            releases = tuple(Release.from_dict(r) for r in ask["result"]["releases"])
            plain = not ask.get("by") and not ask.get("where")
            found.append(Answered(str(ask["title"]), str(ask["statistic"]), tuple(ask["columns"]), plain, releases))
        return str(doc["title"]), found
    if isinstance(doc, list):
        return name, [seen for one in doc for seen in _seen(one, name)[1]]
    if kind in ("result", "release"):
        releases = tuple(Release.from_dict(r) for r in (doc["releases"] if kind == "result" else [doc]))
        columns = tuple(getattr(releases[0].query, "columns", ()))
        return name, [Answered(name, None, columns, True, releases)]
    raise UnsupportedFormat("not a releases.json, a result or a release; `discreet release` writes a releases.json")


def chosen(seen: Sequence[Answered], asks: Sequence[str]) -> list[Answered]:
    """The answers named by number, from 1, or by title."""
    picked = []
    for ask in asks:
        named = [s for s in seen if s.title == ask]
        if not named and ask.isdecimal() and 1 <= int(ask) <= len(seen):
            named = [seen[int(ask) - 1]]
        if not named:
            raise InvalidRequest(
                f"--ask must be the number or the title of an answer, got {ask!r}; there are: {listed(seen)}"
            )
        picked += named
    return picked


def fitting(seen: Sequence[Answered], model: str, statistics: Sequence[str], columns: Sequence[str]) -> list[Answered]:
    """Those that a model can use: of its statistics and, where they are named, of its columns; refuses to guess."""
    alone = [s for s in seen if s.statistic is None]
    if alone and len(alone) == len(seen):
        return list(seen)
    found = [s for s in seen if s.statistic in statistics and (s.plain or s.statistic in COUNTED)]
    if columns:
        found = [s for s in found if set(s.columns) <= set(columns)]
    if not found:
        raise InvalidRequest(
            f"--model {model} needs an answer to {', '.join(statistics[:-1])} or {statistics[-1]}"
            f"{' of ' + ' and '.join(columns) if columns else ''}, and the file has none; there are: {listed(seen)}"
        )
    return found


def only(found: Sequence[Answered], seen: Sequence[Answered], model: str) -> Answered:
    """The one answer a table is about."""
    if len(found) > 1:
        raise InvalidRequest(
            f"--model {model} is about one answer, and {len(found)} fit; choose with --ask: {listed(found, seen)}"
        )
    return found[0]


def listed(found: Sequence[Answered], seen: Sequence[Answered] | None = None) -> str:
    """Numbers and titles, for a message."""
    every = list(seen or found)
    return ", ".join(f"{every.index(s) + 1} ({s.title})" for s in found)
