"""The keys in a vault, each wrapped by a master key that lives elsewhere: in a key file, the environment or a key service.

The database alone opens nothing: a key in it is AES-SIV (RFC 5297) of the key under HKDF-SHA-256(master key of a version,
vault, version), with the vault, its holder and the version as associated data, so that it cannot be moved to another
person or another vault either. Each row says the version it is under; ``rotate`` brings all of them under the newest.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, func, select

from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.protect.pseudonyms import Pseudonymizer
from discreet.protect.vault_log import LOG, vaults, wrapped


class KeyRing:
    """The wrapped keys of one vault. Every call is made inside a transaction of the caller."""

    def __init__(self, pseudonyms: Pseudonymizer, name: str) -> None:
        self._pseudonyms = pseudonyms
        self._name = name

    def __repr__(self) -> str:
        return f"KeyRing({self._name!r})"

    def start(self, connection: Connection, vault: int) -> None:
        """The first key of a new vault: the one that people's tokens in its log are made with."""
        self.put(connection, vault, LOG, os.urandom(64))

    def get(self, connection: Connection, vault: int, holder: str) -> bytes | None:
        """A holder's key; None where there is none."""
        query = select(wrapped.c.version, wrapped.c.key).where(wrapped.c.vault == vault, wrapped.c.holder == holder)
        found = connection.execute(query).one_or_none()
        return None if found is None else self._opened(holder, found.version, found.key)

    def log_key(self, connection: Connection, vault: int) -> bytes:
        """The key of the log; a vault of 0.1.0 has none yet."""
        found = self.get(connection, vault, LOG)
        if found is None:
            raise UnsupportedFormat(
                f"the vault {self._name!r} was written by discreet 0.1.0, which kept people's keys in clear; run "
                "'discreet protect upgrade' on its job file, or discreet.protect.upgrade(url, pseudonyms)"
            )
        return found

    def put(self, connection: Connection, vault: int, holder: str, key: bytes) -> None:
        """Store a new key, under the newest master key."""
        connection.execute(wrapped.insert(), {"vault": vault, "holder": holder, **self._closed(holder, key)})

    def drop(self, connection: Connection, vault: int, holder: str) -> bool:
        """Forget a holder's key; whether there was one."""
        gone = connection.execute(wrapped.delete().where(wrapped.c.vault == vault, wrapped.c.holder == holder))
        return gone.rowcount > 0

    def rotate(self, connection: Connection, vault: int) -> int:
        """Wrap every key again that is not under the newest master key; how many there were."""
        newest = self._pseudonyms.newest()
        old = connection.execute(select(wrapped).where(wrapped.c.vault == vault, wrapped.c.version != newest)).all()
        for row in old:
            made = self._closed(row.holder, self._opened(row.holder, row.version, row.key))
            place = (wrapped.c.vault == vault, wrapped.c.holder == row.holder)
            connection.execute(wrapped.update().where(*place).values(**made))
        return len(old)

    def counts(self, connection: Connection, vault: int) -> dict[int, int]:
        """How many keys are under each version of the master key."""
        query = select(wrapped.c.version, func.count()).where(wrapped.c.vault == vault).group_by(wrapped.c.version)
        return {int(version): int(count) for version, count in connection.execute(query.order_by(wrapped.c.version))}

    def others(self, connection: Connection, vault: int, version: int) -> list[str]:
        """The other vaults of this database that would be lost with a version of these master keys.

        Those with a key that it opens, and, for the first version, those of 0.1.0, which made the tokens in their logs with
        it and have no key of the log yet. A vault under somebody else's master keys is not opened by these.
        """
        lost = []
        for other, name in connection.execute(select(vaults.c.id, vaults.c.name).where(vaults.c.id != vault)):
            ring = KeyRing(self._pseudonyms, name)
            found = connection.execute(select(wrapped).where(wrapped.c.vault == other)).all()
            if (version == 1 and all(row.holder != LOG for row in found)) or any(
                row.version == version and ring._opens(row.holder, version, row.key) for row in found
            ):
                lost.append(name)
        return lost

    def _opens(self, holder: str, version: int, text: str) -> bool:
        try:
            self._opened(holder, version, text)
        except InvalidRequest:
            return False
        return True

    def _closed(self, holder: str, key: bytes) -> dict[str, Any]:
        version = self._pseudonyms.newest()
        sealed = self._siv(version).encrypt(key, list(self._context(holder, version)))
        return {"version": version, "key": base64.b64encode(sealed).decode("ascii")}

    def _opened(self, holder: str, version: int, text: str) -> bytes:
        from cryptography.exceptions import InvalidTag

        try:
            opened: bytes = self._siv(version).decrypt(
                base64.b64decode(text, validate=True), list(self._context(holder, version))
            )
        except (InvalidTag, ValueError, binascii.Error):
            raise InvalidRequest(
                f"the keys given must be those of the vault {self._name!r}, and master key {version} does not open what it "
                "should; check which key file or key service this vault was made with"
            ) from None
        return opened

    def _siv(self, version: int) -> Any:
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV

        return AESSIV(self._pseudonyms.derived("vault-key", self._name, version))

    def _context(self, holder: str, version: int) -> Iterator[bytes]:
        for part in ("vault key", self._name, holder, str(version)):
            yield part.encode()
