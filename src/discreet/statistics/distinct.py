"""How many different values there are."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from discreet.core.cost import Distance
from discreet.core.exact import Exact
from discreet.core.query import FoldQuery, Relation, check_rows, queries
from discreet.core.schema import Categories, Integer
from discreet.core.source import Batch
from discreet.errors import InvalidRequest
from discreet.sources.choosing import smallest_pairs
from discreet.sources.ids import NO_ID
from discreet.statistics.question import Question, Table, statistic
from discreet.statistics.reading import Scaled


@statistic("count_distinct")
def count_distinct(table: Table, column: str) -> Question:
    """The number of different values of a column of labels (declared or private) or of whole numbers.

    Undeclared labels are one value, ``other``, where that is declared, and none else; a missing cell is none. Of one person
    ``max_rows`` different values count at most.
    """
    declared = table.schema[column]
    if not isinstance(declared, Categories | Integer):
        raise InvalidRequest(
            f"column {column!r} holds measurements, which differ nearly always; count bins(), or declare it as Integer"
        )
    if isinstance(declared, Integer):
        query, most = Distinct(column, "numbers", declared.lo, declared.hi, table.most_rows), declared.hi - declared.lo + 1
    elif declared.private:
        query, most = Distinct(column, "texts", rows=table.most_rows), None
    else:
        query, most = Distinct(table.schema.name_of(column), "labels", rows=table.most_rows), len(declared.labels)
    return Question(query, Scaled(least=0.0, most=None if most is None else float(most)))


@queries("distinct")
@dataclass(frozen=True)
class Distinct(FoldQuery):
    """The number of different values; of one person at most ``rows`` count.

    They are ``labels`` that are declared, whole ``numbers`` between ``lo`` and ``hi``, or ``texts`` that nobody declared.

    ``distance``: ``rows`` in every norm, under every relation.

    Proof: the values that count are the union over people of sets of at most k = ``rows`` values, each a function of the
    person's own rows and id (the smallest salted hashes). With U the union over all others, one person's set S makes |U| +
    |S - U|, between |U| and |U| + k: adding, removing or exchanging S moves it by at most k. It is counted from the values
    themselves; a sketch's estimate would have no such bound.
    """

    column: str
    kind: Literal["labels", "numbers", "texts"]
    lo: float = 0.0
    hi: float = 0.0
    rows: int = 1

    def __post_init__(self) -> None:
        if self.kind not in ("labels", "numbers", "texts"):
            raise InvalidRequest(f"values are labels, numbers or texts, got {self.kind!r}")
        check_rows(self.rows)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def distance(self, relation: Relation) -> Distance:
        k = Fraction(self.rows)
        return Distance(k, k, k)

    def step(self, batch: Batch) -> frozenset[Any]:
        names, codes = self._keys(batch)
        valid = codes >= 0
        if batch.people is None:
            return frozenset(names[code] for code in np.unique(codes[valid]).tolist())
        who = batch.identities()
        valid &= who.keys != NO_ID
        _, code = smallest_pairs(batch.people[valid], who.hashes[valid], codes[valid], names, self.rows)
        return frozenset(names[each] for each in np.unique(code).tolist())

    def _keys(self, batch: Batch) -> tuple[list[str], Any]:
        """The different values of a batch as text, and for every row the place of its own, or -1."""
        if self.kind == "texts":
            keyed: tuple[list[str], Any] = batch.keys(self.column)
            return keyed
        if self.kind == "labels":
            codes = batch.codes(self.column)
            return [str(code) for code in range(int(codes.max(initial=-1)) + 1)], codes
        # Zero is added so that -0 is 0: which of the two stands for both must not depend on who else is in the batch.
        values = np.clip(np.rint(batch.numeric(self.column)), self.lo, self.hi) + 0.0
        there = ~np.isnan(values)
        names, place = np.unique(values[there], return_inverse=True)
        codes = np.full(batch.size, -1, np.intp)
        codes[there] = place
        return [f"{name:.0f}" for name in names.tolist()], codes

    def combine(self, left: frozenset[Any], right: frozenset[Any]) -> frozenset[Any]:
        return left | right

    def finish(self, total: frozenset[Any]) -> Exact:
        return Exact(np.array(len(total), np.int64))

    def blank(self, rows: int) -> Exact:
        """As if every row had a value of its own."""
        return Exact(np.array(rows, np.int64))
