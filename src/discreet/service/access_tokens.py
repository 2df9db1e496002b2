"""What analysts prove themselves with: 256 random bits, of which the service keeps only the SHA-256."""

from __future__ import annotations

import hashlib
import re
import secrets

_SHAPE = re.compile(r"discreet_[A-Za-z0-9_-]{43}")


def make() -> str:
    """A new token, shown once."""
    return f"discreet_{secrets.token_urlsafe(32)}"


def digest(token: str) -> str:
    """What is kept of a token, or of any other secret of 256 bits: guessing one back takes 2**256 tries."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def is_token(text: str) -> bool:
    """Whether a text looks like a token; what does not is looked up nowhere."""
    return _SHAPE.fullmatch(text) is not None


def reference() -> str:
    """A name for a request that nobody can guess: 128 random bits."""
    return secrets.token_hex(16)


def reference_of(token: str, key: str) -> str:
    """The name of the request that the holder of a token sends under a key.

    Who chose a new key knows that nothing was called so before: an answer under this name is no earlier one, played again.
    """
    return digest(f"{token} {key}")[:32]


def is_reference(text: str) -> bool:
    """Whether a text looks like the name of a request."""
    return re.fullmatch(r"[0-9a-f]{32}", text) is not None
