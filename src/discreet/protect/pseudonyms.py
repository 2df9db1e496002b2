"""Pseudonyms: tokens that stand for people, that no partner can join with another's, and that the holder can translate.

An identity is brought into its canonical form and serialised; d = HMAC-SHA-256(identity key, form) is its digest. A
partner's key is HKDF-SHA-256(master key of a version, partner, version), and a token is AES-SIV of d under it, with the
partner, the data set and the version as associated data (RFC 5297). Deterministic, so that rows of one person share a token
and can be looked up; different for every partner and data set; and nothing of the identity can be computed from it without
the keys.

A plain hash would not do: whoever can list all names or numbers can hash them all and look the hash up. Here that needs the
identity key. Tokens are still personal data: the holder of the keys can find the person, and rows that share a
token can be recognised by what else is in them.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from discreet.core.labels import closest
from discreet.errors import InvalidRequest, UnknownName
from discreet.protect.identifiers import VAULT, Field, fields, partner_name, public_name
from discreet.protect.keys import FileKeys, KeyStore
from discreet.protect.shuffle import Order, Shuffle
from discreet.protect.stored_table import Change, Changed, Progress, SideBySide, StoredTable, open_table
from discreet.protect.tokens import Cipher, Digests, serialise, version_of


@dataclass(frozen=True)
class Tokenise:
    """The change that puts a token in place of identifying columns."""

    digests: Digests
    cipher: Cipher
    needs: tuple[str, ...]
    column: str
    drop: tuple[str, ...]

    def __call__(self, columns: Mapping[str, Any]) -> Changed:
        import pyarrow as pa

        tokens = self.cipher.tokens(self.digests.columns([columns[name] for name in self.needs]))
        return Changed({self.column: pa.array(tokens, pa.string())}, None, self.drop)


@dataclass(frozen=True)
class Pseudonymizer:
    """Makes, translates, rotates and verifies tokens.

    ``fields`` declares the identifying columns in their order, by name or as ``Field``; ``keys`` is a key store, or the
    path of a key file; ``domain`` keeps the identities of two uses apart (two domains share no digest). Tables that name
    their columns differently are read with ``columns={"field": "column"}``.
    """

    fields: Sequence[str | Field | dict[str, Any]] | str | Field
    keys: KeyStore | str | Path
    domain: str = "people"

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", fields(self.fields))
        if isinstance(self.keys, str | Path):
            object.__setattr__(self, "keys", FileKeys(Path(self.keys)))
        if not isinstance(self.keys, KeyStore):
            raise InvalidRequest(f"keys must be a key store or the path of a key file, got {type(self.keys).__name__}")
        public_name(self.domain, "domain")

    @cached_property
    def digests(self) -> Digests:
        """From identities to digests."""
        return Digests(self._fields, self.domain, self.keys.key("identity"))  # type: ignore[union-attr]

    def cipher(self, partner: str, data_set: str = "default", version: int | None = None) -> Cipher:
        """The key of a partner for a data set; the newest version unless one is given."""
        public_name(data_set, "data_set")
        number = self.newest() if version is None else version
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise InvalidRequest(f"version must be a whole number of at least 1, got {version!r}")
        return Cipher(partner_name(partner), data_set, number, self.derived("partner-key", partner, number))

    def of_vault(self, name: str, key: bytes) -> Cipher:
        """People are in the log of a vault under the tokens of this cipher, which is no partner's."""
        return Cipher(VAULT, name, 1, key)

    def derived(self, purpose: str, holder: str, version: int) -> bytes:
        """64 bytes from one version of the master key: HKDF-SHA-256 with the purpose, the holder and the version."""
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        store: KeyStore = self.keys  # type: ignore[assignment]
        info = serialise(purpose, holder, str(version))
        return HKDF(algorithm=SHA256(), length=64, salt=None, info=info).derive(store.key(f"master/{version}"))

    def versions(self) -> tuple[int, ...]:
        """The versions of the master key that were not retired."""
        return self.keys.versions()  # type: ignore[union-attr]

    def newest(self) -> int:
        """The newest version of the master key."""
        return self.keys.version()  # type: ignore[union-attr]

    def tokens(
        self, identities: Iterable[Any], partner: str, data_set: str = "default", version: int | None = None
    ) -> list[str]:
        """A token for each identity: a cell where there is one field, else a tuple or a dict with a cell for each."""
        return self.cipher(partner, data_set, version).tokens([self.digest(identity) for identity in identities])

    def translate(
        self,
        tokens: Iterable[str],
        source: str | tuple[str, str],
        target: str | tuple[str, str],
        version: int | None = None,
    ) -> list[str]:
        """Tokens of one partner as those of another; ``("partner", "data set")`` or the partner alone."""
        into = self.cipher(*_pair(target), version)
        return into.tokens([self.opened(token, *_pair(source)) for token in tokens])

    def rotate(
        self, tokens: Iterable[str], partner: str, data_set: str = "default", version: int | None = None
    ) -> list[str]:
        """Tokens under an old version of the master key as those under a new one (the newest unless said).

        A new *identity* key cannot be rotated to: digests cannot be turned back, so it needs the identities again.
        """
        return self.translate(tokens, (partner, data_set), (partner, data_set), version)

    def verify(self, token: str, partner: str, data_set: str = "default", identity: Any = None) -> bool:
        """Whether a token is the identity's; without one, whether it is genuine: an altered or foreign one is refused."""
        digest = self.opened(token, partner, data_set)
        return identity is None or hmac.compare_digest(digest, self.digest(identity))

    def change(
        self,
        partner: str,
        data_set: str = "default",
        *,
        column: str = "token",
        columns: Mapping[str, str] | None = None,
        keep: bool = False,
        version: int | None = None,
    ) -> Tokenise:
        """The change of a table that puts a token column in place of the identifying ones (beside them with ``keep``)."""
        needs = self.columns(columns)
        return Tokenise(self.digests, self.cipher(partner, data_set, version), needs, column, () if keep else needs)

    def table(
        self,
        table: Any,
        partner: str,
        data_set: str = "default",
        *,
        spark: Any = None,
        order: Order = "shuffled",
        seed: int | None = None,
        **options: Any,
    ) -> Any:
        """The table with tokens, of the kind that was given; options as ``change`` takes them.

        ``receives`` lists the columns that this partner is given beside the token: all others stay here, also those that
        the table has only from tomorrow on. Without it everything but the identity is given. ``shift_dates`` lists columns
        whose dates are moved by each person's own number of days, up to ``days`` (365) to either side, and ``same_format``
        columns of numbers, such as social security numbers, that become other numbers of the same form.

        Its rows are in a new random order, since two partners could join theirs by position: ``order="kept"`` leaves them
        as they were, and ``seed`` fixes the random order, for tests.
        """
        source, change = self._prepared(table, partner, data_set, spark, options)
        return source.rewrite(change, Shuffle(order, seed))

    def write(
        self,
        table: Any,
        path: str | Path,
        partner: str,
        data_set: str = "default",
        *,
        progress: Progress | None = None,
        order: Order = "shuffled",
        seed: int | None = None,
        **options: Any,
    ) -> int:
        """The table with tokens as a new file, streamed, and how many rows it has; it appears whole or not at all.

        ``order``, ``seed``, ``receives``, ``shift_dates`` and ``same_format`` as in ``table``.
        """
        source, change = self._prepared(table, partner, data_set, None, options)
        return source.write(change, path, Shuffle(order, seed), progress)

    def columns(self, given: Mapping[str, str] | None = None) -> tuple[str, ...]:
        """The columns of a table that hold the fields, in the order of the fields."""
        names = [field.name for field in self._fields]
        for name in given or {}:
            if name not in names:
                raise UnknownName(f"no field is called {name!r}{closest(str(name), names)}")
        return tuple((given or {}).get(name, name) for name in names)

    def digest(self, identity: Any) -> bytes:
        """The digest of one identity: a cell where there is one field, else a tuple or a dict with a cell for each."""
        if type(identity) is str and len(self._fields) == 1:  # the common case, and a million of them
            return self.digests.of(identity)
        names = [field.name for field in self._fields]
        if isinstance(identity, Mapping):
            if sorted(identity) != sorted(names):
                raise InvalidRequest(f"an identity must have the fields {names}, got {sorted(identity)}")
            return self.digests.of(*(identity[name] for name in names))
        cells = tuple(identity) if isinstance(identity, tuple | list) else (identity,)
        if len(cells) != len(names):
            raise InvalidRequest(f"an identity must have one cell for each of {names}, got {len(cells)}; pass a dict")
        return self.digests.of(*cells)

    def opened(self, token: str, partner: str, data_set: str = "default") -> bytes:
        """The digest in a token of a partner, under whichever version it was made."""
        return self._known(partner, data_set, version_of(token)).digest(token)

    @property
    def _fields(self) -> tuple[Field, ...]:
        return self.fields  # type: ignore[return-value]

    @cached_property
    def _ciphers(self) -> dict[tuple[str, str, int], Cipher]:
        return {}

    def _known(self, partner: str, data_set: str, version: int) -> Cipher:
        place = (partner, data_set, version)
        if place not in self._ciphers:
            self._ciphers[place] = self.cipher(*place)
        return self._ciphers[place]

    def _prepared(
        self, table: Any, partner: str, data_set: str, spark: Any, options: Mapping[str, Any]
    ) -> tuple[StoredTable, Change]:
        from discreet.protect.date_shift import date_shift
        from discreet.protect.same_format import Formatted, SameFormat

        source = open_table(table, spark)
        wanted = dict(options)
        shifted, days = wanted.pop("shift_dates", ()), wanted.pop("days", 365)
        formatted = wanted.pop("same_format", ())
        receives: Sequence[str] | None = wanted.pop("receives", None)
        change = self.change(partner, data_set, **wanted)
        source.check(change.needs)
        if receives is not None:
            if isinstance(receives, str) or not all(isinstance(name, str) for name in receives):
                raise InvalidRequest(f"receives must be a list of columns, got {receives!r}; write ['...']")
            source.check(tuple(receives))
            kept = {*receives, *(() if change.drop else change.needs)}
            change = replace(change, drop=tuple(name for name in source.columns if name not in kept))
        if change.column in source.columns and change.column not in change.drop:
            raise InvalidRequest(f"the table has a column {change.column!r} already; pass column= with another name")
        more: list[Change] = []
        if shifted:
            more.append(
                date_shift(self, change.needs, shifted, partner, data_set, days, keep=True, version=wanted.get("version"))
            )
        if formatted:
            names = (formatted,) if isinstance(formatted, str) else tuple(formatted)
            more.append(Formatted(SameFormat(self, partner, data_set, version=wanted.get("version")), names))
        source.check([name for part in more for name in part.needs if name not in change.needs])
        return source, SideBySide((change, *more)) if more else change


def _pair(place: str | tuple[str, str]) -> tuple[str, str]:
    return (place, "default") if isinstance(place, str) else (place[0], place[1])
