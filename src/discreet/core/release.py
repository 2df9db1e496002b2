"""What leaves: a value with everything that is public about how it was made. Never post-processed."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.core.codec import read_as
from discreet.core.cost import Cost, Distance
from discreet.core.documents import parsed, reading
from discreet.core.mechanism import Mechanism, NoiseLaw, mechanisms
from discreet.core.query import Query, Relation, check_relation, queries
from discreet.core.registry import SCHEMA_VERSION, check_version
from discreet.errors import InvalidRequest, UnsupportedFormat


@dataclass(frozen=True)
class Entry:
    """Where a ledger wrote the charge: the ledger's name, the number of the event and its hash."""

    ledger: str
    number: int
    hash: str


@dataclass(frozen=True, eq=False)
class Release:
    """A released value and its law.

    ``private`` is false for what was made with a seed. ``query``, ``relation``, ``distance`` and ``entry`` are None
    for data that came from elsewhere, of which only the law is known. ``where`` are the categories that rows were
    restricted to: columns and the labels they may have.
    """

    value: Any
    mechanism: Mechanism
    query: Query | None = None
    relation: Relation | None = None
    distance: Distance | None = None
    cost: Cost | None = None
    entry: Entry | None = None
    private: bool = True
    where: tuple[tuple[str, tuple[Any, ...]], ...] = ()

    @staticmethod
    def of(mechanism: Mechanism, value: Any) -> Release:
        """A value that came from elsewhere, with the law of its noise."""
        return Release(value, mechanism)

    @property
    def queries(self) -> tuple[Query, ...]:
        """What was computed: one query, or those that were asked together, in the order of their numbers."""
        return () if self.query is None else self.query.members()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that were read, where the query names them."""
        return () if self.query is None else self.query.read_columns()

    @property
    def noise(self) -> NoiseLaw:
        """The law of a release in which each number has noise of its own; another law is refused."""
        if not isinstance(self.mechanism, NoiseLaw):
            raise InvalidRequest(f"the law {self.mechanism.name!r} adds no noise to each number by itself")
        return self.mechanism

    def log_prob(self, exact: Any) -> Any:
        """The log-probability of what was released, had the exact value been ``exact``."""
        return self.mechanism.log_prob(self.value, exact)

    def to_dict(self) -> dict[str, Any]:
        return self._without_cost() | {"cost": None if self.cost is None else self.cost.to_dict()}

    def _without_cost(self) -> dict[str, Any]:
        array = np.asarray(self.value)
        return {
            "kind": "release",
            "schema": SCHEMA_VERSION,
            "value": array.tolist(),
            "array": array.ndim > 0,
            "mechanism": self.mechanism.to_dict(),
            "query": None if self.query is None else self.query.to_dict(),
            "relation": self.relation,
            "distance": None if self.distance is None else self.distance.to_dict(),
            "entry": None if self.entry is None else vars(self.entry).copy(),
            "private": self.private,
            **({"where": {column: list(labels) for column, labels in self.where}} if self.where else {}),
        }

    def to_json(self) -> str:
        """The release as one JSON document."""
        # A ledger has written the cost already: most of a document are the digits of its curve.
        return f'{_encode(self._without_cost())[:-1]}, "cost": {"null" if self.cost is None else self.cost.text}}}'

    @staticmethod
    def from_dict(doc: Any) -> Release:
        check_version(doc, "release")
        with reading("a release"):
            release = Release(
                _value(doc["value"], array=doc["array"] is True),
                mechanisms.read(doc["mechanism"]),
                None if doc["query"] is None else queries.read(doc["query"]),
                None if doc["relation"] is None else check_relation(doc["relation"]),
                None if doc["distance"] is None else Distance.from_dict(doc["distance"]),
                None if doc["cost"] is None else Cost.from_dict(doc["cost"]),
                None if doc["entry"] is None else read_as(Entry, doc["entry"]),
                doc["private"] is True,
                tuple((str(column), tuple(labels)) for column, labels in doc.get("where", {}).items()),
            )
            release._check()
            replace(release, value=0).to_json()  # refuses NaN and infinity deep inside a law or a query
        return release

    def _check(self) -> None:
        """Refuse a document that makes itself cheaper than its own law and query say."""
        if self.query is not None and self.relation is not None and self.distance is not None:
            true = self.query.distance(self.relation)
            if self.distance.l1 < true.l1 or self.distance.l2 < true.l2 or self.distance.linf < true.linf:
                raise UnsupportedFormat("a release claims a smaller distance than its query has; it was altered")
        if self.cost is not None and self.distance is not None and not self.mechanism.cost(self.distance) <= self.cost:
            raise UnsupportedFormat(f"a release claims a cost of {self.cost}, less than its law has; it was altered")

    @staticmethod
    def from_json(text: str) -> Release:
        """The release a JSON document describes; unknown names and newer versions are refused."""
        return Release.from_dict(parsed(text))


_encode = json.JSONEncoder(allow_nan=False, check_circular=False).encode


def _value(value: Any, *, array: bool) -> Any:
    """A released value: a finite number or a label, an array of one of these, or keys that all have a number or all none."""
    if isinstance(value, dict):
        plain = (isinstance(n, int | float) and not isinstance(n, bool) and math.isfinite(n) for n in value.values())
        if array or not (all(plain) or all(n is None for n in value.values())):
            raise UnsupportedFormat(f"released keys have a finite number each, or none, got {value!r:.60}")
        return dict(value)
    found = np.asarray(value)
    if found.dtype.kind not in "biufU" or (found.ndim > 0) != array:
        raise UnsupportedFormat(f"a released value is a number, a label or an array of one type, got {value!r:.60}")
    if found.dtype.kind == "f" and any(isinstance(v, int) and abs(v) > 1 << 53 for v in np.asarray(value, object).flat):
        raise UnsupportedFormat("whole numbers of a release must fit into 64 bits and stand among whole numbers only")
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        raise UnsupportedFormat(f"a released value is finite, got {value!r:.60}")
    return found if array else value
