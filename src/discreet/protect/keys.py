"""Where secret keys come from: a file only its owner can read, the environment, or a call to a key service.

A store gives keys of 32 bytes by name. The names used: ``identity`` (from an identity to its digest), ``master/1``,
``master/2`` and so on (the versions that partners' keys are derived from, and that wrap the keys in a vault) and
``receipts`` (signs receipts). They are independent: none can be computed from another.
"""

from __future__ import annotations

import base64
import binascii
import glob
import json
import os
import re
import stat
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from discreet.core.registry import SCHEMA_VERSION, check_version
from discreet.errors import InvalidRequest, UnknownName, UnsupportedFormat
from discreet.protect.writing import locked, sync

_BYTES = 32
_MASTER = "master/"


class KeyStore(ABC):
    """Keys by name."""

    @abstractmethod
    def key(self, name: str) -> bytes:
        """32 secret bytes; refuses a name it has no key for."""

    @abstractmethod
    def version(self) -> int:
        """The newest version of the master key."""

    def versions(self) -> tuple[int, ...]:
        """Every version of the master key that was not retired."""
        return tuple(range(1, self.version() + 1))


def _check(key: object, name: str) -> bytes:
    if not isinstance(key, bytes) or len(key) != _BYTES:
        size = f"{len(key)} bytes" if isinstance(key, bytes) else type(key).__name__
        raise InvalidRequest(f"the key {name!r} must be {_BYTES} bytes, got {size}; make one with FileKeys.create")
    return key


def _numbers(names: Iterable[str], start: str) -> tuple[int, ...]:
    """The versions among names such as ``master/2``."""
    pattern = re.escape(start) + r"[1-9][0-9]{0,5}"
    return tuple(sorted(int(name.removeprefix(start)) for name in names if re.fullmatch(pattern, name, re.ASCII)))


@dataclass(frozen=True)
class FileKeys(KeyStore):
    """Keys in a JSON file that only its owner may read or write."""

    path: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))

    @staticmethod
    def create(path: str | Path) -> FileKeys:
        """A new file with fresh keys from the operating system; refuses to touch one that exists."""
        made = FileKeys(Path(path))
        made._write({name: os.urandom(_BYTES) for name in ("identity", "master/1", "receipts")}, new=True)
        return made

    def key(self, name: str) -> bytes:
        keys = self._read()
        if name not in keys:
            raise UnknownName(f"the key file {str(self.path)!r} has no key {name!r}; known: {', '.join(sorted(keys))}")
        return _check(keys[name], name)

    def version(self) -> int:
        return max(self.versions(), default=1)

    def versions(self) -> tuple[int, ...]:
        return _numbers(self._read(), _MASTER)

    def add_version(self) -> int:
        """A fresh master key beside the old ones, from which partners' new keys are derived; its number."""
        with locked(self.path.parent, shared=False):  # two at once would each write a file without the other's key
            self.sweep()
            keys = self._read()
            number = max(_numbers(keys, _MASTER), default=0) + 1
            self._write(keys | {f"{_MASTER}{number}": os.urandom(_BYTES)}, new=False)
        return number

    def retire(self, version: int) -> None:
        """Take an old master key out of the file for good: what is under it cannot be read any more.

        ``Vault.retire`` first looks whether anything still is.
        """
        with locked(self.path.parent, shared=False):
            self.sweep()
            keys = self._read()
            known = _numbers(keys, _MASTER)
            if version not in known or version == max(known):
                raise InvalidRequest(
                    f"version must be an old one of {list(known)}, got {version!r}; the newest stays, so add one first"
                )
            self._write({name: key for name, key in keys.items() if name != f"{_MASTER}{version}"}, new=False)

    def sweep(self) -> None:
        """Remove copies of the keys that a killed process left beside the file; call it with the folder locked."""
        for stale in self.path.parent.glob(f".{glob.escape(self.path.name)}.*.part"):
            with suppress(OSError):
                stale.unlink()

    def _read(self) -> dict[str, bytes]:
        try:
            handle = os.open(self.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        except OSError as problem:
            raise InvalidRequest(
                f"the key file must be there and readable, got {str(self.path)!r} ({problem.strerror}); make one with "
                "FileKeys.create, or give its path"
            ) from None
        try:
            self._check_mode(os.fstat(handle))
            content = b"".join(iter(lambda: os.read(handle, 1 << 16), b""))
        finally:
            os.close(handle)
        try:
            doc = json.loads(content)
            if not isinstance(doc, dict) or doc.get("kind") != "keys" or not isinstance(doc.get("schema"), int):
                raise ValueError  # a refusal that quotes what is there instead could quote a key
            check_version(doc, "keys")
            return {str(name): base64.b64decode(text, validate=True) for name, text in doc["keys"].items()}
        except UnsupportedFormat:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, binascii.Error):
            raise UnsupportedFormat(f"{str(self.path)!r} is not a key file; make one with FileKeys.create") from None

    def _check_mode(self, state: os.stat_result) -> None:
        if not stat.S_ISREG(state.st_mode):
            raise InvalidRequest(f"the key file must be a plain file, got {str(self.path)!r}")
        if hasattr(os, "getuid") and state.st_uid not in (os.getuid(), 0):
            raise InvalidRequest(f"the key file must belong to you, and {str(self.path)!r} belongs to user {state.st_uid}")
        if os.name == "posix" and state.st_mode & 0o077:
            raise InvalidRequest(
                f"the key file must be readable by its owner only, got mode {state.st_mode & 0o777:03o} of "
                f"{str(self.path)!r}: others may have read the keys; make new ones, or chmod 600 if you are sure"
            )

    def _write(self, keys: Mapping[str, bytes], *, new: bool) -> None:
        doc = {"kind": "keys", "schema": SCHEMA_VERSION, "keys": {n: base64.b64encode(k).decode() for n, k in keys.items()}}
        part = ""
        try:
            handle, part = tempfile.mkstemp(prefix=f".{self.path.name}.", suffix=".part", dir=self.path.parent)
            with os.fdopen(handle, "w", encoding="ascii") as out:
                json.dump(doc, out, indent=1)
                out.flush()
                os.fsync(out.fileno())
            if new:
                os.link(part, self.path)  # unlike a rename, refuses to take the place of a file
            else:
                os.replace(part, self.path)
            sync(self.path.parent)
        except FileExistsError:
            raise InvalidRequest(
                f"a new key file must not exist yet, got {str(self.path)!r}; keys are never overwritten"
            ) from None
        except OSError as problem:
            raise InvalidRequest(f"the key file {str(self.path)!r} cannot be written: {problem.strerror}") from None
        finally:
            with suppress(OSError):
                os.unlink(part)


@dataclass(frozen=True)
class EnvironmentKeys(KeyStore):
    """Keys in variables: ``DISCREET_KEY_IDENTITY``, ``DISCREET_KEY_MASTER_1``, ... as base64 of 32 bytes."""

    prefix: str = "DISCREET_KEY_"

    def key(self, name: str) -> bytes:
        variable = self.prefix + name.upper().replace("/", "_")
        text = os.environ.get(variable)
        if not text:
            raise UnknownName(f"the key {name!r} must be in the environment as {variable}, and it is not set; export it")
        try:
            found = base64.b64decode(text, validate=True)
        except ValueError:  # also of text beyond ASCII; its own words may quote the key
            raise InvalidRequest(
                f"{variable} must be base64 of {_BYTES} bytes, and is not; make it with openssl rand -base64 32"
            ) from None
        return _check(found, name)

    def version(self) -> int:
        return max(self.versions(), default=1)

    def versions(self) -> tuple[int, ...]:
        return _numbers(os.environ, f"{self.prefix}MASTER_")


@dataclass(frozen=True)
class CallableKeys(KeyStore):
    """Keys from a function of their name, such as a call to a key service; each is asked for once.

    ``newest`` is the newest version of the master key there, and ``retired`` lists those that are gone.
    """

    ask: Callable[[str], bytes]
    newest: int = 1
    retired: tuple[int, ...] = ()
    _known: dict[str, bytes] = field(default_factory=dict, repr=False, compare=False)

    def key(self, name: str) -> bytes:
        if name not in self._known:
            try:
                given = self.ask(name)
            except LookupError:
                raise UnknownName(f"the key service has no key {name!r}; create it there") from None
            self._known[name] = _check(given, name)
        return self._known[name]

    def version(self) -> int:
        return self.newest

    def versions(self) -> tuple[int, ...]:
        return tuple(number for number in range(1, self.newest + 1) if number not in self.retired)
