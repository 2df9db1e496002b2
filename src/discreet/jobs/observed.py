"""Which releases of a file a model is about: by number or title where they are named, else those that fit."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.errors import InvalidRequest

if TYPE_CHECKING:
    from discreet.core.releases import Answer  # which loads NumPy, and the command's help needs the models only

COUNTED = ("crosstab", "count", "histogram")
SUMMED = ("mean", "sum", "variance", "std")
CROSSED = (*SUMMED, "covariance", "correlation")


class PopulationModel(enum.StrEnum):
    """What the people of a table are taken to be like."""

    table = "table"
    share = "share"
    mean = "mean"
    rate = "rate"
    regression = "regression"
    logistic = "logistic"


def chosen(seen: Sequence[Answer], asks: Sequence[str]) -> list[Answer]:
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


def fitting(seen: Sequence[Answer], model: str, statistics: Sequence[str], columns: Sequence[str]) -> list[Answer]:
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


def only(found: Sequence[Answer], seen: Sequence[Answer], model: str) -> Answer:
    """The one answer a table is about."""
    if len(found) > 1:
        raise InvalidRequest(
            f"--model {model} is about one answer, and {len(found)} fit; choose with --ask: {listed(found, seen)}"
        )
    return found[0]


def listed(found: Sequence[Answer], seen: Sequence[Answer] | None = None) -> str:
    """Numbers and titles, for a message."""
    every = list(seen or found)
    return ", ".join(f"{every.index(s) + 1} ({s.title})" for s in found)
