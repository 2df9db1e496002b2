"""Anonymous copies that left: what they show together, computed before the next one leaves.

Each copy is k-anonymous by itself. Whoever holds two of them looks a person up in both, and is left with the rows that
share the person's class in the first *and* in the second: a joint class. Which rows a copy leaves out counts as well, since
to be missing from a copy is also seen.

Proof that joint classes bound what quasi-identifiers tell: a row shows in copy j as the class c_j(row), a function of its
quasi-identifiers alone, or is not in it. What someone who knows a person's quasi-identifiers can pick out of all copies
together, even if every row of one could be linked to itself in another, are the rows with the same (c_1, ..., c_m): if each
such set of rows that is not left out of all copies has k rows, the person is one of k. A column that is a quasi-identifier
of any copy can be found elsewhere, whatever another copy calls it: where that one shows it as it is, its cell is a part of
c_j.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import DiscreetError, InvalidRequest
from discreet.protect.anonymous import Anonymized, histogram_of, listed
from discreet.protect.diversity import Demand
from discreet.protect.ground import Ranking
from discreet.protect.hierarchies import Hierarchy, read_columns
from discreet.protect.histogram import Ints, encode
from discreet.protect.incognito import View
from discreet.protect.local_recoding import METHODS, Counted, LocalCopy, LocalRecode, made_of
from discreet.protect.recode import Recode
from discreet.protect.tables import Table

Copy = Anonymized | LocalCopy


@dataclass(frozen=True)
class Joint:
    """The classes of several copies together: how many, the smallest, how many are smaller than ``k``, and single rows."""

    k: int
    copies: int
    classes: int
    smallest: int
    below: int
    single: int

    def to_dict(self) -> dict[str, int]:
        """As JSON says it."""
        return dict(vars(self))


def described(made: Copy, hierarchies: Mapping[str, Any], sensitive: str | Sequence[str] | None) -> dict[str, Any]:
    """What a log keeps of a copy: how it was made, and nothing that the table holds.

    Where classes have words of their own, a salted digest of them tells whether they can be made again.
    """
    demand = made.demand
    plain = {
        "k": demand.k,
        "diversity": demand.diversity,
        "order": _said(demand.order),
        "likeness": demand.likeness,
        "insiders": demand.insiders,
    }
    numbers = {
        name: None if (value := getattr(demand, name)) is None else str(value)
        for name in ("l", "t", "c", "beta", "disclosure")
    }
    facts = {
        "hierarchies": {name: hierarchies[name].to_dict() for name in made.columns},
        "sensitive": sensitive,
        "shown": _shown(made),
        "demand": plain | numbers,
        "rows": made.rows,
    }
    if isinstance(made, LocalCopy):
        salt = os.urandom(16).hex()
        return facts | {"method": made.method, "salt": salt, "digest": _digest(made.recode, salt)}
    return facts | {"levels": made.levels, "suppressed": made.suppressed}


def _said(order: Ranking) -> Any:
    if isinstance(order, Hierarchy):
        return order.to_dict()
    return order if order is None or isinstance(order, str) else [str(value) for value in order]


def _demand(said: Mapping[str, Any]) -> Demand:
    """The demand of an earlier copy, as the log holds it."""
    order = said["order"]
    return Demand(**{**said, "order": Hierarchy.from_dict(order) if isinstance(order, dict) else order})


def joint(source: Table, made: Copy, earlier: Sequence[dict[str, Any]]) -> Joint:
    """The joint classes of a new copy of a table and earlier ones, computed on the table as it is now."""
    recodes = [_change(made), *(_again(source, copy) for copy in earlier)]
    known = {name for recode in recodes for name in recode.needs}
    as_they_are: list[list[str]] = [_shown(made), *(copy["shown"] for copy in earlier)]
    names = list(dict.fromkeys(name for recode in recodes for name in recode.needs))
    columns, found = source.counted(names)
    cells = dict(zip(names, columns, strict=True))
    counts = np.ones(len(columns[0]), np.int64) if found is None else found
    classes = [
        _finer(recode.classes({name: cells[name] for name in recode.needs}), [cells[name] for name in same if name in known])
        for recode, same in zip(recodes, as_they_are, strict=True)
    ]
    shown = np.any([part >= 0 for part in classes], axis=0)
    sizes = _sizes([part[shown] for part in classes], counts[shown])
    k = max([made.demand.k, *(int(copy["demand"]["k"]) for copy in earlier)])
    smallest = int(sizes.min()) if len(sizes) else 0
    return Joint(k, len(recodes), len(sizes), smallest, int((sizes < k).sum()), int((sizes == 1).sum()))


def _shown(made: Copy) -> list[str]:
    """The columns that a copy shows as they are."""
    gone = getattr(made.change, "drop", ())
    return [name for name in made.source.columns if name not in made.columns and name not in gone]


def _finer(classes: Ints, columns: Sequence[Any]) -> Ints:
    """Classes split by the cells that are shown beside them; what is left out stays so."""
    return np.where(classes < 0, -1, _ids([classes, *(encode(column)[1] for column in columns)]))


def _sizes(classes: Sequence[Ints], counts: Ints) -> Ints:
    return np.bincount(_ids(classes), counts).astype(np.int64)


def _ids(parts: Sequence[Ints]) -> Ints:
    """A number for each row, equal exactly where all parts are."""
    ids = np.zeros(len(parts[0]), np.int64)
    for part in parts:
        _, codes = np.unique(part, return_inverse=True)
        _, ids = np.unique(ids * (codes.max(initial=0) + 1) + codes, return_inverse=True)
    return ids


def _change(made: Copy) -> Recode | LocalRecode:
    change: Any = getattr(made.change, "change", made.change)  # below the columns that are left out
    assert isinstance(change, Recode | LocalRecode)
    return change


def _digest(recode: LocalRecode, salt: str) -> str:
    """A digest of which combinations of values share which words."""
    said = hashlib.sha256(salt.encode())
    for part in (recode.keys.tobytes(), recode.numbers.tobytes(), repr((recode.codes, recode.words)).encode()):
        said.update(hashlib.sha256(part).digest())
    return said.hexdigest()


def _again(source: Table, copy: Mapping[str, Any]) -> Recode | LocalRecode:
    """The change that an earlier copy was made with."""
    return _again_locally(source, copy) if "method" in copy else _again_by_level(source, copy)


def _again_locally(source: Table, copy: Mapping[str, Any]) -> LocalRecode:
    try:
        demand = _demand(copy["demand"])
        hierarchies = read_columns(copy["hierarchies"])
        hidden = listed(copy["sensitive"]) if demand.needs_sensitive else []
        source.check([*hierarchies, *hidden])
        counted = Counted.of(source, list(hierarchies), hierarchies, hidden, demand.order)
        recode, _, _ = made_of(counted, demand, METHODS[copy["method"]])
    except DiscreetError as problem:
        raise _cannot(str(problem)) from None
    if _digest(recode, copy["salt"]) != copy["digest"]:
        raise _cannot("its classes hang on all rows, and the table has changed since it left")
    return recode


def _again_by_level(source: Table, copy: Mapping[str, Any]) -> Recode:
    try:
        levels: dict[str, int] = copy["levels"]
        demand = _demand(copy["demand"])
        hierarchies = read_columns(copy["hierarchies"])
        secret = copy["sensitive"] if demand.needs_sensitive else None
        source.check([*levels, *([] if secret is None else [secret])])
        base = histogram_of(source, list(levels), hierarchies, secret, demand.order)
        rules = demand.rules(base.shares() if base.sensitive is not None else None, base.values)
        return Recode.at(View(base, rules), tuple(levels.values()))[0]
    except DiscreetError as problem:
        raise _cannot(str(problem)) from None


def _cannot(problem: str) -> InvalidRequest:
    return InvalidRequest(
        f"an earlier copy of this table cannot be laid beside the new one: {problem}; register the table that it was "
        "made of, or override it (override=True, --override) if the two have no person in common"
    )
