"""Stored releases: what binds one to the event that paid for it and to the event that stored it.

The row of a stored release has a hash of its own, which finds a slip. It finds no forger, who would write that hash
anew as well; the ``store`` event does, because it has the hash of the document and lies in the chain.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from discreet.core.cost import Cost
from discreet.errors import DiscreetError
from discreet.ledger.events import canonical, digest, read_cost


def seal(key: str, number: int, document: str) -> str:
    """The hash of a stored release: its document, the question it answers and the event that paid for it."""
    return digest(canonical({"key": key, "number": number, "document": document}))


class StoredRow(NamedTuple):
    """What the row of a stored release holds beside its key."""

    document: str
    number: int
    hash: str

    @staticmethod
    def of(key: str, number: int, document: str) -> StoredRow:
        """The row of a document, with its hash."""
        return StoredRow(document, number, seal(key, number, document))


def stored(key: str, number: int, document: str) -> str:
    """What a ``store`` event has for its question: the key, the event that paid, and the document's SHA-256."""
    return canonical({"name": "stored release", "key": key, "paid_by": number, "sha256": digest(document)})


def is_paid(document: str, event: Mapping[Any, Any]) -> bool:
    """Whether a release is what an event (``paid``: its hash) paid for, at no less than the event's cost."""
    try:
        doc = json.loads(document)
        told = doc["entry"]["hash"], canonical(doc["mechanism"])
        asked = canonical(doc["query"])
        if asked != event["question"]:  # of a lot the event says the rate too
            lot = json.loads(event["question"])
            asked = canonical({"query": doc["query"], "rate": lot["rate"]})
        if told != (event["paid"], event["law"]) or asked != event["question"]:
            return False
        same = canonical(doc["cost"]) == event["cost"]
        return same or read_cost(event["cost"]) <= Cost.from_dict(doc["cost"])
    except (KeyError, TypeError, ValueError, ArithmeticError, DiscreetError):
        return False
