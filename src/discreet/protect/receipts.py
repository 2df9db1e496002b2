"""Receipts of erasure, of retention and of contested decisions, signed so that anyone with the public key can check them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from discreet.core.registry import SCHEMA_VERSION, check_version
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.ledger.events import canonical


@dataclass(frozen=True)
class Receipt:
    """What was erased, when, who has to be told, and what remains; ``signature`` is Ed25519 over the canonical JSON.

    ``tables`` says how many rows went from each table; ``recipients`` are those who were given the person's data and
    have to be notified; ``releases`` are the ledgers whose answers, given before, stay as they are. Their budget stays
    spent: an answer once given cannot be taken back.

    ``document`` also says what was gone through and when (``looked_at``) and what may be left: ``missed`` (places that could
    not be gone through, and why), ``not_reached`` (rows found before in such places or in tables that were unregistered),
    ``rows_without_identity`` (rows that nobody can be found in), ``hard_links`` (other names of a file, under which it is as
    it was), each by table, and ``database`` (what the vault's own database may still hold).

    ``about`` says what it is a receipt of: an erasure, ``retention`` that fell due, a ``contest`` of an automated decision
    or its ``review``. The latter two say nothing of tables.
    """

    document: dict[str, Any]
    signature: str
    public_key: str

    @property
    def about(self) -> str:
        """What it is a receipt of."""
        return str(self.document.get("about", "erasure"))

    @property
    def words(self) -> str:
        """What was done and when, in a line."""
        if self.about in ("contest", "review"):
            return f"{self.about} of decision {self.document['decision']}, {self.document['time']}"
        complete = "everything registered was reached" if self.complete else "not everything was reached"
        return f"erased {self.document['erased']}, {complete}"

    @property
    def subject(self) -> str:
        """The person's token in the vault; empty for retention, which is about everybody."""
        return str(self.document.get("subject", ""))

    @property
    def tables(self) -> dict[str, int]:
        """Rows removed, by table."""
        return dict(self.document.get("tables", {}))

    @property
    def recipients(self) -> list[str]:
        """Who has to be notified."""
        return list(self.document.get("recipients", []))

    @property
    def missed(self) -> dict[str, list[dict[str, Any]]]:
        """The places that could not be gone through, by table: each with when and why."""
        return dict(self.document.get("missed", {}))

    @property
    def complete(self) -> bool:
        """Whether everything registered was gone through."""
        return not self.missed and not self.document.get("not_reached")

    @property
    def releases(self) -> list[dict[str, Any]]:
        """What was released before and remains."""
        return list(self.document.get("releases", []))

    def facts(self) -> dict[str, Any]:
        """The receipt as a row of a log holds it."""
        return {"receipt": self.document, "signature": self.signature, "public_key": self.public_key}

    @staticmethod
    def sign(document: dict[str, Any], seed: bytes) -> Receipt:
        """A receipt signed with the key made from 32 secret bytes."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        key = Ed25519PrivateKey.from_private_bytes(seed)
        signature = key.sign(canonical(document).encode("ascii"))
        return Receipt(document, signature.hex(), key.public_key().public_bytes_raw().hex())

    def verify(self, public_key: str) -> None:
        """Refuse a receipt that was altered or signed by another key; keep the public key from a trusted place."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
            key.verify(bytes.fromhex(self.signature), canonical(self.document).encode("ascii"))
        except (InvalidSignature, ValueError, TypeError, RecursionError):
            raise InvalidRequest(
                "a receipt must carry the vault's signature, and this one does not; it was altered"
            ) from None

    def to_json(self) -> str:
        """The receipt as JSON; ``from_json`` reads it back."""
        return json.dumps({"kind": "receipt", "schema": SCHEMA_VERSION} | self.facts(), indent=1, sort_keys=True)

    @staticmethod
    def from_json(text: str) -> Receipt:
        """A receipt from its JSON; ``verify`` says whether it is genuine."""
        try:
            doc = json.loads(text)
            check_version(doc, "receipt")
            made = Receipt(doc["receipt"], doc["signature"], doc["public_key"])
        except UnsupportedFormat:
            raise
        except (ValueError, KeyError, TypeError, RecursionError) as problem:
            raise UnsupportedFormat(f"this is not a receipt: {type(problem).__name__} {problem}") from None
        if not isinstance(made.document, dict):
            raise UnsupportedFormat("this is not a receipt: what it says must be an object")
        if made.about not in _FIELDS:
            raise UnsupportedFormat(f"this is not a receipt: it is about {made.about!r}, which this version does not know")
        wanted = _FIELDS[made.about] | {n: k for n, k in _LATER.items() if n in made.document}
        for name, kind in wanted.items():
            if not isinstance(made.document.get(name), kind):
                raise UnsupportedFormat(f"this is not a receipt: it must say {name!r} as {kind.__name__}")
        if not isinstance(made.signature, str) or not isinstance(made.public_key, str):
            raise UnsupportedFormat("this is not a receipt: its signature and its key must be text")
        return made


_REMOVED = {"erased": str, "tables": dict, "recipients": list, "releases": list}
_SAID = {"subject": str, "decision": int, "time": str, "reason": str}
_FIELDS: dict[str, dict[str, type]] = {
    "erasure": {"subject": str, **_REMOVED},
    "retention": {"on": str, **_REMOVED},
    "contest": _SAID,
    "review": _SAID | {"outcome": str, "reviewer": str},
}
_LATER = {"missed": dict, "not_reached": dict}  # 0.1.0 had no ``missed``
