"""Randomness: the operating system's, expanded by a stream cipher.

``system()`` is what private noise is drawn from. It is one stream per thread, started from ``os.urandom`` and
started again in a forked child, so no two threads and no two processes ever share a word. The key is replaced from
its own output after every block, so a later look into memory does not give earlier noise back.

``Random(seed)`` is the same expansion of a number the caller knows. It is for tests, and whatever was made with it
says so: ``private`` is false.
"""

from __future__ import annotations

import hashlib
import math
import os
import threading
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

Words = npt.NDArray[np.uint64]

_BLOCK = 4096  # words kept ready for small requests: 32 KiB
_KEY_WORDS = 4
_ZEROS = bytes(8 * (_BLOCK + _KEY_WORDS))
_MANY = 1 << 19  # people from which on lots are drawn group by group: for fewer a byte for each is as quick
_generation = 0  # how many forks lie between this process and the first one


class Random:
    """A stream of independent uniform 64-bit words (ChaCha20 in counter mode, RFC 8439).

    Proof: the words are a pseudorandom function of a 256-bit key of operating-system entropy; every guarantee of
    the package therefore holds against attackers who cannot break ChaCha20, which is the usual computational
    reading of differential privacy with cryptographic noise.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.private = seed is None
        key = os.urandom(32) if seed is None else hashlib.sha256(f"discreet test seed {seed}".encode()).digest()
        self._start(key)

    def _start(self, key: bytes) -> None:
        self._generation = _generation
        self._rekey(key)
        self._ready: Words = np.empty(0, np.uint64)
        self._next = 0

    def _renew(self) -> None:
        """After a fork the child's private streams start again from fresh entropy."""
        if self.private and self._generation != _generation:
            self._start(os.urandom(32))

    def _rekey(self, key: bytes) -> None:
        self._cipher = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()

    def _refill(self) -> None:
        block = np.frombuffer(self._cipher.update(_ZEROS), np.uint64)
        self._rekey(block[:_KEY_WORDS].tobytes())
        self._ready, self._next = block[_KEY_WORDS:], 0

    def words(self, count: int) -> Words:
        """``count`` fresh words, in an array of the caller's own."""
        self._renew()
        if count <= _BLOCK:
            if self._next + count > len(self._ready):
                self._refill()
            start, self._next = self._next, self._next + count
            return self._ready[start : self._next].copy()
        out = np.empty(count, np.uint64)
        # A large request runs under a key of its own, drawn from the stream and forgotten with the call.
        once = Cipher(algorithms.ChaCha20(self.words(_KEY_WORDS).tobytes(), bytes(16)), mode=None).encryptor()
        step = _BLOCK
        for start in range(0, count, step):
            part = out[start : start + step]
            once.update_into(memoryview(_ZEROS)[: part.nbytes], part.view(np.uint8).data)
        return out

    def places(self, rate: Fraction, count: int) -> npt.NDArray[np.intp]:
        """Which of ``count`` are in a lot, each independently with probability ``rate``, in order.

        Proof: people come in groups of 2**b. How many of a group are in is binomial, found from one uniform word by
        the inverse of its distribution function in exact rationals (``_Binomial``); which ones they are is uniform among the
        sets of that size: places are drawn independently, and all of a group again where two agree. Whoever is left after
        the last whole group, and everyone where the rate is large, is decided one by one.
        """
        if rate >= 1:
            return np.arange(count)
        law = _binomial(rate)
        if law is None or count < _MANY:
            return self._one_by_one(rate, count)
        groups = count >> law.bits
        where = law.members(self, self.words(groups))
        inside = self._small(len(where), law.bits)
        several = np.bincount(where, minlength=groups) > 1
        checked = np.flatnonzero(several[where])
        while len(checked):
            places = np.sort((where[checked] << law.bits) + inside[checked], kind="stable")
            again = np.zeros(groups, np.bool_)
            again[places[1:][places[1:] == places[:-1]] >> law.bits] = True
            checked = checked[again[where[checked]]]
            inside[checked] = self._small(len(checked), law.bits)
        chosen = np.sort((where << law.bits) + inside, kind="stable")  # a few runs that are in order already
        rest = self._one_by_one(rate, count - (groups << law.bits)) + (groups << law.bits)
        members: npt.NDArray[np.intp] = np.concatenate([chosen, rest])
        return members

    def _small(self, count: int, bits: int) -> npt.NDArray[np.intp]:
        """Uniform whole numbers below 2**``bits``, at most 2**8."""
        return (self.words(-(-count // 8)).view(np.uint8)[:count] >> np.uint8(8 - bits)).astype(np.intp)

    def _one_by_one(self, rate: Fraction, count: int) -> npt.NDArray[np.intp]:
        """The same, from a byte for each.

        Proof: U < rate for a uniform U is decided by its first byte unless that equals the first byte of rate; then by
        the next 64 bits, and where those agree as well by a uniform whole number below the denominator of what is left.
        """
        first, whole, below, parts = _digits(rate)
        leading = self.words(-(-count // 8)).view(np.uint8)[:count]
        candidates = np.flatnonzero(leading <= first)
        edge = leading[candidates] == first
        words = self.words(int(np.count_nonzero(edge)))
        keep = words < whole
        tied = words == whole
        if tied.any():
            for i in np.flatnonzero(tied):
                keep[i] = self.below(parts) < below
        inside = ~edge
        inside[edge] = keep
        chosen: npt.NDArray[np.intp] = candidates[inside]
        return chosen

    def word(self) -> int:
        """One fresh word as a plain integer."""
        self._renew()
        if self._next >= len(self._ready):
            self._refill()
        self._next += 1
        return int(self._ready[self._next - 1])

    def below(self, bound: int) -> int:
        """A uniform whole number in ``0 .. bound - 1``, by rejection."""
        words = -(-bound.bit_length() // 64)
        limit = (1 << 64 * words) // bound * bound
        while True:
            value = 0
            for _ in range(words):
                value = value << 64 | self.word()
            if value < limit:
                return value % bound


@lru_cache(maxsize=64)
def _digits(rate: Fraction) -> tuple[np.uint8, np.uint64, int, int]:
    """The first byte of a rate below 1, the 64 bits after it, and what is left of it as a share."""
    first, rest = divmod(rate * 256, 1)
    whole, below = divmod(rest.numerator << 64, rest.denominator)
    return np.uint8(first), np.uint64(whole), below, rest.denominator


class _Binomial:
    """How many of 2**``bits`` people are in a lot: the exact distribution function, and its first 64 binary digits.

    Proof: with W a uniform word and V uniform below the denominator d, U = (W + V / d) / 2**64 is uniform on the multiples
    of 1 / (2**64 d), of which every F(k) is one, so #{k: F(k) <= U} is binomial. It is #{k: floor(2**64 F(k)) <= W} unless
    W equals one of the floors, and then V is drawn and decides.
    """

    def __init__(self, rate: Fraction, bits: int) -> None:
        self.bits, size = bits, 1 << bits
        yes, parts = rate.numerator, rate.denominator
        self.denominator = parts**size
        self.cumulated, total = [], 0
        for k in range(size):
            total += math.comb(size, k) * yes**k * (parts - yes) ** (size - k)
            self.cumulated.append(total << 64)
            if self.denominator - total < self.denominator >> 80 and k > 1:
                break  # beyond it, floors are all 2**64 - 1: ties, which are decided exactly
        self._rate = rate
        self.floors = np.array([min(c // self.denominator, (1 << 64) - 1) for c in self.cumulated], np.uint64)

    def members(self, random: Random, words: Words) -> npt.NDArray[np.intp]:
        """The number of its group for each person who is in, one word deciding how many of a group are."""
        left = np.flatnonzero(words >= self.floors[0])
        seen, level, levels, tied = words[left], 0, [], False
        while len(left):
            tied = tied or bool((seen == self.floors[level]).any())
            levels.append(left)
            level += 1
            if level == len(self.floors):
                break
            more = seen >= self.floors[level]
            left, seen = left[more], seen[more]
        made = np.concatenate(levels) if levels else left
        if not tied:
            return made
        many = np.bincount(made, minlength=len(words))
        for place in np.flatnonzero(np.isin(words, self.floors)).tolist():
            many[place] = self._exactly(int(words[place]), random.below(self.denominator))
        return np.repeat(np.arange(len(words)), many)

    def _exactly(self, word: int, below: int) -> int:
        """#{k: F(k) <= (word + below / denominator) / 2**64}, the part of the distribution that is not listed included."""
        value = word * self.denominator + below
        size, yes, parts = 1 << self.bits, self._rate.numerator, self._rate.denominator
        total = count = 0
        while count < size:
            total += math.comb(size, count) * yes**count * (parts - yes) ** (size - count)
            if total << 64 > value:
                break
            count += 1
        return count


@lru_cache(maxsize=16)
def _binomial(rate: Fraction) -> _Binomial | None:
    """Groups of which about a half have somebody in the lot, at most 256 people; None where one by one is as good."""
    bits = min(8, (rate.denominator // rate.numerator).bit_length() - 1)
    return _Binomial(rate, bits) if bits >= 4 and rate.denominator.bit_length() << bits <= 1 << 15 else None


_local = threading.local()


def system() -> Random:
    """The thread's own stream of operating-system randomness."""
    stream: Random | None = getattr(_local, "stream", None)
    if stream is None:
        stream = _local.stream = Random()
    return stream


def chosen(seed: int | Random | None) -> Random:
    """The stream to draw from: the system's, or a test stream for a seed."""
    if isinstance(seed, Random):
        return seed
    return system() if seed is None else Random(seed)


def _forked() -> None:
    global _generation
    _generation += 1


os.register_at_fork(after_in_child=_forked)
