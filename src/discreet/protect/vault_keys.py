"""The master keys of a vault: what is under each, bringing all under the newest, and giving an old one up."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import InvalidRequest
from discreet.protect.erasure import Register
from discreet.protect.keys import FileKeys
from discreet.protect.shredding import Shredder
from discreet.protect.vault_log import VaultLog
from discreet.protect.wrapping import KeyRing


@dataclass(frozen=True)
class VaultKeys:
    """Counting, rotating and retiring; each change is a row of the log."""

    log: VaultLog
    ring: KeyRing
    register: Register
    shredder: Shredder

    def counts(self) -> dict[int, int]:
        """How many keys are under each version that there is, or that something is under."""
        with self.log.database.transaction(write=False) as connection:
            return dict.fromkeys(self.register.pseudonyms.versions(), 0) | self.ring.counts(connection, self.log.id)

    def rotate(self) -> int:
        """Wrap every key under the newest version; in one transaction, so that each is under one of the two."""
        with self.log.database.transaction(write=True) as connection:
            self.log.lock(connection)
            count = self.ring.rotate(connection, self.log.id)
            self.log.append(connection, "rotate", {"keys": count, "version": self.register.pseudonyms.newest()})
        self.shredder.emptied()
        return count

    def retire(self, version: int) -> None:
        """Refuse while something is or may be under the version; then write it down, and take it out of a key file."""
        people = self.register.pseudonyms
        known = people.versions()
        if isinstance(version, bool) or version not in known or version == people.newest():
            raise InvalidRequest(f"version must be an old one of {list(known)}, got {version!r}; the newest stays")
        if count := self.counts().get(version, 0):
            raise InvalidRequest(
                f"master key {version} must wrap nothing, and wraps {count} keys of this vault; rotate() first"
            )
        with self.log.database.transaction(write=False) as connection:
            others = self.ring.others(connection, self.log.id, version)
        if others:
            raise InvalidRequest(
                f"master key {version} must open no vault any more, and opens {others[0]!r} in the same database; upgrade "
                "or rotate that one first"
            )
        for table in self.register.holdings():
            if table.finder.partner is not None and (rows := table.tokens_under(version, self.log.database)):
                raise InvalidRequest(
                    f"master key {version} must be in no token, and is in {rows} of the table {table.name!r}: nobody could "
                    "be found there any more; rotate its tokens first"
                )
        self.log.write("retire", {"version": version})
        if isinstance(people.keys, FileKeys):
            people.keys.retire(version)
