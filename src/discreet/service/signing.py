"""The desk's signature: Ed25519 over the very text of an answer, so that whoever carries it cannot change it.

An answer's text names the request and the digest of the question beside the releases, so a signature is good for one
question asked once. ``verify(key, text, signature)`` is what a client does, with a key it was given apart from the service.
"""

from __future__ import annotations

import hmac
import os
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from discreet.errors import InvalidRequest, UnsupportedFormat

_ANSWER, _HEAD, _RECEIPT = b"discreet answer\0", b"discreet head\0", b"discreet receipt\0"


class Signer:
    """The private key, in a file for the desk alone."""

    def __init__(self, path: Path) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(_stored(path) if path.exists() else _made(path))

    @property
    def public(self) -> str:
        """The public key, in hexadecimal."""
        return self._key.public_key().public_bytes_raw().hex()

    def sign(self, text: str) -> str:
        """The signature of an answer's text."""
        return self._key.sign(_ANSWER + text.encode()).hex()

    def receipt(self, text: str) -> str:
        """A word for something that only this key can make, and that tells nothing of it."""
        return hmac.digest(self._key.private_bytes_raw(), _RECEIPT + text.encode(), "sha256").hex()[:32]

    def sign_head(self, text: str) -> str:
        """The signature of a line of the heads file; no signature of an answer is one of a head."""
        return self._key.sign(_HEAD + text.encode()).hex()


def verify(public: str, text: str, signature: str) -> None:
    """Refuse an answer that the key did not sign."""
    _verify(public, _ANSWER + text.encode(), signature, "the answer")


def verify_head(public: str, text: str, signature: str) -> None:
    """Refuse a line of the heads file that the key did not sign."""
    _verify(public, _HEAD + text.encode(), signature, "a line of the heads file")


def _verify(public: str, message: bytes, signature: str, what: str) -> None:
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(bytes.fromhex(signature), message)
    except (ValueError, InvalidSignature):
        raise InvalidRequest(
            f"{what} must carry the desk's signature, and it does not; it was altered on the way, or the key is another"
        ) from None


def _stored(path: Path) -> bytes:
    try:
        return bytes.fromhex(path.read_text().strip())
    except (OSError, ValueError) as problem:
        raise UnsupportedFormat(f"{path}: the signing key cannot be read ({problem}); restore it from a backup") from None


def _made(path: Path) -> bytes:
    made = Ed25519PrivateKey.generate().private_bytes_raw()
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(made.hex() + "\n")
        file.flush()
        os.fsync(file.fileno())
    return made
