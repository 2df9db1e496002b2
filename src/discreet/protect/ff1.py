"""FF1: encryption of a text of digits or letters into another of the same length and alphabet (NIST SP 800-38G).

A Feistel network of ten rounds over the two halves of the text, whose round function is AES in CBC mode without its
intermediate blocks. Proof that it can be undone: each round adds to one half a number that the other half determines.

A text has radix^length possible values. Below a million of them a table of all is quickly made by whoever may ask for
encryptions, and the round functions leak; such texts are refused (SP 800-38G Revision 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.errors import InvalidRequest

LEAST_VALUES = 1_000_000
_ROUNDS = 10
_MOST_LENGTH = 4096


@dataclass(frozen=True)
class FF1:
    """FF1 under an AES key of 16, 24 or 32 bytes, for numerals below ``radix`` (2 to 65,536)."""

    key: bytes
    radix: int

    def __post_init__(self) -> None:
        if len(self.key) not in (16, 24, 32):
            raise InvalidRequest(f"the key of FF1 must have 16, 24 or 32 bytes, got {len(self.key)}")
        if isinstance(self.radix, bool) or not isinstance(self.radix, int) or not 2 <= self.radix <= 1 << 16:
            raise InvalidRequest(f"the radix must be a whole number from 2 to 65536, got {self.radix!r}")

    def encrypt(self, numerals: Sequence[int], tweak: bytes = b"") -> list[int]:
        """The numerals that stand for these under the key and the ``tweak``, which need not be secret."""
        self._check(numerals)
        half = len(numerals) // 2
        left, right = list(numerals[:half]), list(numerals[half:])
        for turn in range(_ROUNDS):
            width = half if turn % 2 == 0 else len(numerals) - half
            total = self._number(left) + self._mask(turn, right, len(numerals), tweak)
            left, right = right, self._numerals(total % self.radix**width, width)
        return left + right

    def decrypt(self, numerals: Sequence[int], tweak: bytes = b"") -> list[int]:
        """The numerals that these stand for."""
        self._check(numerals)
        half = len(numerals) // 2
        left, right = list(numerals[:half]), list(numerals[half:])
        for turn in reversed(range(_ROUNDS)):
            width = half if turn % 2 == 0 else len(numerals) - half
            total = self._number(right) - self._mask(turn, left, len(numerals), tweak)
            left, right = self._numerals(total % self.radix**width, width), left
        return left + right

    def _check(self, numerals: Sequence[int]) -> None:
        if not 2 <= len(numerals) <= _MOST_LENGTH or self.radix ** len(numerals) < LEAST_VALUES:
            raise InvalidRequest(
                f"a text must have at least {LEAST_VALUES:,} possible values and at most {_MOST_LENGTH} places, got "
                f"{self.radix}^{len(numerals)} values; use a pseudonym instead"
            )
        if any(not 0 <= numeral < self.radix for numeral in numerals):
            raise InvalidRequest(f"every numeral must lie below the radix {self.radix}; some do not")

    def _mask(self, turn: int, half: Sequence[int], length: int, tweak: bytes) -> int:
        """What one half adds to the other in a round."""
        split = length // 2
        bits = (self.radix ** (length - split) - 1).bit_length()
        wide = (bits + 7) // 8
        deep = 4 * ((wide + 3) // 4) + 4
        start = bytes([1, 2, 1]) + self.radix.to_bytes(3, "big") + bytes([10, split % 256])
        start += length.to_bytes(4, "big") + len(tweak).to_bytes(4, "big")
        middle = tweak + bytes(-(len(tweak) + wide + 1) % 16) + bytes([turn]) + self._number(half).to_bytes(wide, "big")
        seed = self._chained(start + middle)
        stream = seed
        for block in range(1, (deep + 15) // 16):
            stream += self._block(bytes(a ^ b for a, b in zip(seed, block.to_bytes(16, "big"), strict=True)))
        return int.from_bytes(stream[:deep], "big")

    def _chained(self, data: bytes) -> bytes:
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import AES
        from cryptography.hazmat.primitives.ciphers.modes import CBC

        return Cipher(AES(self.key), CBC(bytes(16))).encryptor().update(data)[-16:]

    def _block(self, data: bytes) -> bytes:
        return self._chained(data)  # one block under a start of zeros is the cipher itself

    def _number(self, numerals: Sequence[int]) -> int:
        total = 0
        for numeral in numerals:
            total = total * self.radix + numeral
        return total

    def _numerals(self, number: int, width: int) -> list[int]:
        out = [0] * width
        for place in range(width - 1, -1, -1):
            number, out[place] = divmod(number, self.radix)
        return out
