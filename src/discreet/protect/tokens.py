"""The two steps under a pseudonym: from an identity to its digest, and from a digest to a partner's token and back."""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.errors import InvalidRequest
from discreet.protect.identifiers import Field
from discreet.protect.lattice_histogram import texts_of
from discreet.sources.cell_meaning import label

_TOKEN = re.compile(r"([1-9][0-9]{0,5})\.[A-Za-z0-9_-]{64}")
_FORM = 1  # of the serialisation; another one would give other digests


def version_of(token: Any) -> int:
    """The version a token says it was made under."""
    found = _TOKEN.fullmatch(token) if isinstance(token, str) else None
    if found is None:
        raise InvalidRequest("a token must be a version, a point and 64 characters of base64url, and this is something else")
    return int(found[1])


def serialise(*parts: str) -> bytes:
    """Texts as bytes, each with its length before it: no two lists of texts share a form."""
    out = []
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        out.append(len(encoded).to_bytes(4, "big"))
        out.append(encoded)
    return b"".join(out)


@dataclass(frozen=True)
class Digests:
    """From identities to digests, under the identity key of one domain."""

    fields: tuple[Field, ...]
    domain: str
    key: bytes

    def __repr__(self) -> str:
        return f"Digests({[field.name for field in self.fields]}, {self.domain!r})"

    def of(self, *cells: Any) -> bytes:
        """The digest of one identity, a cell for each field."""
        # Plain text is its own label; the general rule takes longer than the cipher.
        return self.texts([cell if type(cell) is str and cell.isascii() else label(cell) for cell in cells])

    def texts(self, cells: Sequence[str | None]) -> bytes:
        """The digest of one identity given as texts."""
        state = self._start.copy()
        for field, cell in zip(self.fields, cells, strict=True):
            text = field.canonical(cell).encode("utf-8", "surrogatepass")
            state.update(len(text).to_bytes(4, "big") + text)
        return state.digest()

    @cached_property
    def _start(self) -> hmac.HMAC:
        # What all identities share is hashed once.
        names = (field.name for field in self.fields)
        return hmac.new(self.key, serialise(str(_FORM), self.domain, *names), "sha256")

    def __reduce__(self) -> tuple[Any, ...]:
        return Digests, (self.fields, self.domain, self.key)

    def columns(self, columns: Sequence[Any]) -> list[bytes]:
        """The digest of every row; each different identity is worked out once."""
        if len(columns) == 1:
            texts, index = texts_of(columns[0])
            used = np.zeros(len(texts), bool)
            used[index] = True
            known = [self.texts((text,)) if here else b"" for text, here in zip(texts, used.tolist(), strict=True)]
            return [known[place] for place in index.tolist()]
        encoded = [texts_of(column) for column in columns]
        seen: dict[tuple[int, ...], bytes] = {}
        out = []
        for row in zip(*(index.tolist() for _, index in encoded), strict=True):
            if row not in seen:
                seen[row] = self.texts([texts[code] for (texts, _), code in zip(encoded, row, strict=True)])
            out.append(seen[row])
        return out


@dataclass(frozen=True)
class Cipher:
    """A partner's key at one version, for one data set: from digests to tokens and back."""

    partner: str
    data_set: str
    version: int
    key: bytes

    def __repr__(self) -> str:
        return f"Cipher({self.partner!r}, {self.data_set!r}, version {self.version})"

    @cached_property
    def _siv(self) -> Any:
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV

        return AESSIV(self.key)

    @cached_property
    def _context(self) -> list[bytes]:
        return [self.partner.encode(), self.data_set.encode(), str(self.version).encode()]

    def tokens(self, digests: Sequence[bytes]) -> list[str]:
        """A token for each digest."""
        encrypt, context, start = self._siv.encrypt, self._context, f"{self.version}."
        known: dict[bytes, str] = {}
        out = []
        for digest in digests:
            token = known.get(digest)
            if token is None:
                token = start + base64.urlsafe_b64encode(encrypt(digest, context)).decode("ascii")
                known[digest] = token
            out.append(token)
        return out

    def digest(self, token: str) -> bytes:
        """The digest in a token; refuses one that was altered, or made with other keys or for someone else."""
        from cryptography.exceptions import InvalidTag

        try:
            opened: bytes = self._siv.decrypt(base64.urlsafe_b64decode(token.split(".", 1)[1]), self._context)
        except (InvalidTag, binascii.Error):
            raise InvalidRequest(
                f"a token must be one made here for partner {self.partner!r} and data set {self.data_set!r}, and this one "
                "was altered, or made under other keys or for someone else; check where it comes from"
            ) from None
        return opened

    def __reduce__(self) -> tuple[Any, ...]:
        return Cipher, (self.partner, self.data_set, self.version, self.key)
