"""Anonymous copies that left: what they show together, computed before the next one leaves.

Each copy is k-anonymous by itself. Whoever holds two of them looks a person up in both, and is left with the rows that
share the person's class in the first *and* in the second: a joint class. Which rows a copy leaves out counts as well, since
to be missing from a copy is also seen.

Proof that joint classes bound what quasi-identifiers tell: a row shows in copy j as the class c_j(row), a function of its
quasi-identifiers alone, or is not in it. What someone who knows a person's quasi-identifiers can pick out of all copies
together, even if every row of one could be linked to itself in another, are the rows with the same (c_1, ..., c_m): if each
such set of rows that is not left out of all copies has k rows, the person is one of k. A column that is a quasi-identifier
of any copy can be found elsewhere, whatever another copy calls it: where that one shows it as it is, its cell is a part of
c_j. What is told of the person's sensitive value are the values of those rows: if each such set that a copy shows the
column of satisfies every rule that a copy was asked to keep for it, nobody learns more than the strictest copy allows.

Proof of delta-presence: it bounds a share of a population that is not here any more, so it is kept only where the other
copies add nothing. A copy at the same hierarchies' levels or higher ones, on some of the same quasi-identifiers and showing
none of the others as it is, is a function of the class in the first copy, also in what it leaves out.
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
from discreet.protect.diversity import Demand, Fails
from discreet.protect.ground import Ranking, ranked
from discreet.protect.hierarchies import Hierarchy, read_columns
from discreet.protect.incognito import HistogramView, judge
from discreet.protect.lattice_histogram import Ints, encode
from discreet.protect.local_recoding import METHODS, Counted, LocalCopy, LocalRecode, made_of
from discreet.protect.recode import Recode
from discreet.protect.stored_table import StoredTable

Copy = Anonymized | LocalCopy


@dataclass(frozen=True)
class Joint:
    """The classes of several copies together: how many, the smallest, how many are smaller than ``k``, and single rows.

    ``broken`` is how many break a rule on a sensitive column.
    """

    k: int
    copies: int
    classes: int
    smallest: int
    below: int
    single: int
    broken: int

    def to_dict(self) -> dict[str, int]:
        """As JSON says it."""
        return dict(vars(self))


@dataclass(frozen=True, eq=False)
class _Left:
    """A copy as far as others have to know it; ``levels`` is None where its classes have words of their own."""

    recode: Recode | LocalRecode
    demand: Demand
    sensitive: Sequence[str]
    shown: Sequence[str]
    presence: Any
    levels: Mapping[str, int] | None
    hierarchies: Mapping[str, Hierarchy]

    def adds_nothing_to(self, other: _Left) -> bool:
        """Whether all that this copy shows of anybody's quasi-identifiers is a function of the class in another one."""
        if self.levels is None or other.levels is None or not set(self.levels) <= set(other.levels):
            return False
        same = all(self.hierarchies[name] == other.hierarchies[name] for name in self.levels)
        higher = all(level >= other.levels[name] for name, level in self.levels.items())
        return same and higher and not set(self.shown) & set(other.levels)


def described(made: Copy) -> dict[str, Any]:
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
        "hierarchies": {name: hierarchy.to_dict() for name, hierarchy in made.hierarchies.items()},
        "sensitive": list(made.sensitive),
        "shown": list(made.shown),
        "demand": plain | numbers,
        "rows": made.rows,
    }
    if isinstance(made, LocalCopy):
        salt = os.urandom(16).hex()
        return facts | {"method": made.method, "salt": salt, "digest": _digest(made.recode, salt)}
    presence = None if made.presence is None else [str(share) for share in made.presence]
    return facts | {"levels": made.levels, "suppressed": made.suppressed, "presence": presence}


def _said(order: Ranking) -> Any:
    if isinstance(order, Hierarchy):
        return order.to_dict()
    return order if order is None or isinstance(order, str) else [str(value) for value in order]


def _demand(said: Mapping[str, Any]) -> Demand:
    """The demand of an earlier copy, as the log holds it."""
    order = said["order"]
    return Demand(**{**said, "order": Hierarchy.from_dict(order) if isinstance(order, dict) else order})


def joint(source: StoredTable, made: Copy, earlier: Sequence[dict[str, Any]]) -> Joint:
    """The joint classes of a new copy of a table and earlier ones, computed on the table as it is now."""
    left = [_now(made), *(_again(source, copy) for copy in earlier)]
    _check_presence(left)
    known = list(dict.fromkeys(name for copy in left for name in copy.recode.needs))
    asked = list(dict.fromkeys(name for copy in left if copy.demand.needs_sensitive for name in copy.sensitive))
    names = list(dict.fromkeys([*known, *asked]))
    columns, found = source.counted(names)
    cells = dict(zip(names, columns, strict=True))
    counts = np.ones(len(columns[0]), np.int64) if found is None else found
    classes = [
        _finer(
            copy.recode.classes({name: cells[name] for name in copy.recode.needs}),
            [cells[name] for name in copy.shown if name in known],
        )
        for copy in left
    ]
    seen = np.any([part >= 0 for part in classes], axis=0)
    ids = _ids([part[seen] for part in classes])
    sizes = np.bincount(ids, counts[seen]).astype(np.int64)
    broken = np.zeros(len(sizes), bool)
    for name in asked:
        telling = np.any([part[seen] >= 0 for part, copy in zip(classes, left, strict=True) if name in copy.shown], axis=0)
        told = np.bincount(ids, telling, len(sizes)) > 0
        for copy in left:
            if name in copy.sensitive:
                broken |= told & _breaks(copy.demand, cells[name], counts, seen, ids, len(sizes))
    k = max(copy.demand.k for copy in left)
    smallest = int(sizes.min()) if len(sizes) else 0
    below, single = int((sizes < k).sum()), int((sizes == 1).sum())
    return Joint(k, len(left), len(sizes), smallest, below, single, int(broken.sum()))


def _breaks(demand: Demand, column: Any, counts: Ints, seen: Fails, ids: Ints, groups: int) -> Fails:
    """Which joint classes break a rule of one copy on a sensitive column; shares are those of the whole table."""
    values, places = encode(column)
    texts, ranks = ranked(values, demand.order)
    codes = ranks[places]
    shares = np.bincount(codes, counts, len(texts)) / max(1, int(counts.sum()))
    rules = [rule for rule in demand.rules(shares, texts) if rule.sensitive]
    return judge(rules, ids, groups, counts[seen], codes[seen], len(texts))[1]


def _check_presence(left: Sequence[_Left]) -> None:
    for copy in left:
        others = [other for other in left if other is not copy and copy.presence is not None]
        if not all(other.adds_nothing_to(copy) for other in others):
            raise InvalidRequest(
                "a copy that bounds presence stands beside coarser ones only, and another copy of this table adds to what "
                "it shows; make both from the same hierarchies, the other at the same levels or higher ones, or override it "
                "(override=True, --override) if nobody can hold both"
            )


def _finer(classes: Ints, columns: Sequence[Any]) -> Ints:
    """Classes split by the cells that are shown beside them; what is left out stays so."""
    return np.where(classes < 0, -1, _ids([classes, *(encode(column)[1] for column in columns)]))


def _ids(parts: Sequence[Ints]) -> Ints:
    """A number for each row, equal exactly where all parts are."""
    ids = np.zeros(len(parts[0]), np.int64)
    for part in parts:
        _, codes = np.unique(part, return_inverse=True)
        _, ids = np.unique(ids * (codes.max(initial=0) + 1) + codes, return_inverse=True)
    return ids


def _now(made: Copy) -> _Left:
    change: Any = getattr(made.change, "change", made.change)  # below the columns that are left out
    facts = (change, made.demand, made.sensitive, made.shown)
    if isinstance(made, LocalCopy):
        return _Left(*facts, None, None, made.hierarchies)
    return _Left(*facts, made.presence, made.levels, made.hierarchies)


def _digest(recode: LocalRecode, salt: str) -> str:
    """A digest of which combinations of values share which words."""
    said = hashlib.sha256(salt.encode())
    for part in (recode.keys.tobytes(), recode.numbers.tobytes(), repr((recode.codes, recode.words)).encode()):
        said.update(hashlib.sha256(part).digest())
    return said.hexdigest()


def _again(source: StoredTable, copy: Mapping[str, Any]) -> _Left:
    """An earlier copy, made again from the table as it is now."""
    try:
        demand = _demand(copy["demand"])
        hierarchies = read_columns(copy["hierarchies"])
        hidden = listed(copy["sensitive"]) if demand.needs_sensitive else []
        source.check([*hierarchies, *hidden])
        make = _again_locally if "method" in copy else _again_by_level
        recode = make(source, copy, demand, hierarchies, hidden)
    except DiscreetError as problem:
        raise _cannot(str(problem)) from None
    return _Left(recode, demand, hidden, copy["shown"], copy.get("presence"), copy.get("levels"), hierarchies)


def _again_locally(
    source: StoredTable, copy: Mapping[str, Any], demand: Demand, hierarchies: Mapping[str, Hierarchy], hidden: Sequence[str]
) -> LocalRecode:
    counted = Counted.of(source, list(hierarchies), hierarchies, hidden, demand.order)
    recode, _, _ = made_of(counted, demand, METHODS[copy["method"]])
    if _digest(recode, copy["salt"]) != copy["digest"]:
        raise InvalidRequest("its classes hang on all rows, and the table has changed since it left")
    return recode


def _again_by_level(
    source: StoredTable, copy: Mapping[str, Any], demand: Demand, hierarchies: Mapping[str, Hierarchy], hidden: Sequence[str]
) -> Recode:
    """Where nothing was left out nothing is now; else there is one sensitive column at most."""
    levels: dict[str, int] = copy["levels"]
    secret = hidden[0] if hidden and copy["suppressed"] else None
    base = histogram_of(source, list(levels), hierarchies, secret, demand.order)
    rules = demand.rules(base.shares() if secret is not None else None, base.values) if copy["suppressed"] else []
    return Recode.at(HistogramView(base, rules), tuple(levels.values()))[0]


def _cannot(problem: str) -> InvalidRequest:
    return InvalidRequest(
        f"an earlier copy of this table cannot be laid beside the new one: {problem}; register the table that it was "
        "made of, or override it (override=True, --override) if the two have no person in common"
    )
