"""A statement of SQL, asked of the table that a file names and paid from its ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.core.price import Price
from discreet.errors import InvalidRequest
from discreet.jobs.release_file import Item, ReleaseFile, plain_title, read_with
from discreet.sql import translate


def read(path: Path, statement: str, spend: Mapping[str, Any]) -> ReleaseFile:
    """The file at ``path``, whose own questions are left alone, with what the statement asks in their place.

    Several aggregates share the price equally.
    """
    base, _, _ = read_with(path, {"ask": (list,)}, "release file")
    given = {key: value for key, value in spend.items() if value is not None}
    if not given:
        raise InvalidRequest("a statement needs a price, got none; give --epsilon, --epsilon and --delta, or --rho")
    asked = translate(statement, base.schema)
    share = Price(**given).share(Fraction(1, len(asked))).to_dict()
    items = [
        Item(
            statistic=each.statistic,
            columns=each.columns,
            title=plain_title(each.statistic, list(each.columns), list(each.by), each.where),
            spend=share,
            by=list(each.by) or None,
            where=each.where or {},
            options=each.options,
            place="",
        )
        for each in asked
    ]
    return replace(base, items=tuple(items))
