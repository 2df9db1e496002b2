"""Receipts of erasure, signed so that anyone with the public key can check them."""

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
    """

    document: dict[str, Any]
    signature: str
    public_key: str

    @property
    def subject(self) -> str:
        """The person's token in the vault."""
        return str(self.document["subject"])

    @property
    def tables(self) -> dict[str, int]:
        """Rows removed, by table."""
        return dict(self.document["tables"])

    @property
    def recipients(self) -> list[str]:
        """Who has to be notified."""
        return list(self.document["recipients"])

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
        return list(self.document["releases"])

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
        doc = {"kind": "receipt", "schema": SCHEMA_VERSION, "receipt": self.document}
        return json.dumps(doc | {"signature": self.signature, "public_key": self.public_key}, indent=1, sort_keys=True)

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
            raise UnsupportedFormat(f"this is not a receipt of erasure: {type(problem).__name__} {problem}") from None
        if not isinstance(made.document, dict):
            raise UnsupportedFormat("this is not a receipt of erasure: what it says must be an object")
        for name, kind in (_FIELDS | {n: k for n, k in _LATER.items() if n in made.document}).items():
            if not isinstance(made.document.get(name), kind):
                raise UnsupportedFormat(f"this is not a receipt of erasure: it must say {name!r} as {kind.__name__}")
        if not isinstance(made.signature, str) or not isinstance(made.public_key, str):
            raise UnsupportedFormat("this is not a receipt of erasure: its signature and its key must be text")
        return made


_FIELDS = {"subject": str, "erased": str, "tables": dict, "recipients": list, "releases": list}
_LATER = {"missed": dict, "not_reached": dict}  # 0.1.0 had no ``missed``
