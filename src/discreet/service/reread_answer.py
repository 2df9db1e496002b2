"""What an answer says, read again: the procedure that was asked, driven with the releases that came back.

Every release is held against the ask it answers: the same query under the same law, about the same rows and relation. What
does not match was not made for this question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from discreet.core.ask import Ask
from discreet.core.query import Relation
from discreet.core.release import Release
from discreet.core.runner import Procedure, drive, unpaid
from discreet.errors import UnsupportedFormat
from discreet.ledger.events import canonical

R = TypeVar("R")
Restriction = tuple[tuple[str, tuple[Any, ...]], ...]


def replay(procedure: Procedure[R], releases: Sequence[Release], relation: Relation, rows: Restriction = ()) -> R:
    """What a procedure returns, sent these releases in their order; ``rows`` is what the whole of it is restricted to."""
    left = iter(releases)
    result = drive(procedure, lambda request: unpaid(request, lambda ask: _matching(ask, left, relation, rows)))
    if next(left, None) is not None:
        raise _other("more releases than were asked for")
    return result


def _matching(ask: Ask, left: Iterator[Release], relation: Relation, rows: Restriction) -> Release:
    release = next(left, None)
    if release is None:
        raise _other("fewer releases than were asked for")
    if release.query is None or canonical(release.query.to_dict()) != canonical(ask.query.to_dict()):
        raise _other("an answer to another query")
    if canonical(release.mechanism.to_dict()) != canonical(ask.mechanism.to_dict()):
        raise _other("an answer under another law of noise")
    if release.relation != relation or canonical(release.where) != canonical(ask.where or rows):
        raise _other("an answer about other rows, or under another relation")
    return release


def _other(what: str) -> UnsupportedFormat:
    return UnsupportedFormat(f"an answer has to be one to what was asked, got {what}", remedy="tell the custodian")
