"""Tokens that look like what they stand for: a number of nine digits becomes another of nine digits.

For systems that refuse anything else. Every place that holds a letter of the alphabet is encrypted by FF1 under a
partner's key; all others (dashes, spaces) stay where they are. Equal texts give equal tokens, as pseudonyms do, and nothing
in a token tells whether it is one: prefer pseudonyms where the format does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.errors import InvalidRequest
from discreet.protect.ff1 import FF1
from discreet.protect.lattice_histogram import texts_of
from discreet.protect.pseudonyms import Pseudonymizer
from discreet.protect.stored_table import Changed

DIGITS = "0123456789"


@dataclass(frozen=True)
class SameFormat:
    """Tokens for one partner and data set, of letters of ``alphabet``.

    A text with fewer than a million possible values is refused, without naming it.
    """

    people: Pseudonymizer
    partner: str
    data_set: str = "default"
    alphabet: str = DIGITS
    version: int | None = None

    def __post_init__(self) -> None:
        if len(set(self.alphabet)) != len(self.alphabet) or len(self.alphabet) < 2:
            raise InvalidRequest(f"an alphabet must have at least two letters, each once, got {self.alphabet!r}")

    @cached_property
    def _cipher(self) -> FF1:
        number = self.people.newest() if self.version is None else self.version
        return FF1(self.people.derived("same-format", self.partner, number)[:32], len(self.alphabet))

    def tokens(self, texts: Iterable[str | None]) -> list[str | None]:
        """A token for each text; a missing one stays so."""
        return [None if text is None else self._turned(text, self._cipher.encrypt) for text in texts]

    def texts(self, tokens: Iterable[str | None]) -> list[str | None]:
        """The text that each token stands for."""
        return [None if token is None else self._turned(token, self._cipher.decrypt) for token in tokens]

    def _turned(self, text: str, turn: Callable[[list[int], bytes], list[int]]) -> str:
        places = [place for place, letter in enumerate(text) if letter in self.alphabet]
        new = turn([self.alphabet.index(text[place]) for place in places], self.data_set.encode())
        out = list(text)
        for place, numeral in zip(places, new, strict=True):
            out[place] = self.alphabet[numeral]
        return "".join(out)


@dataclass(frozen=True, eq=False)
class Formatted:
    """The change that puts tokens of the same format in place of the texts of some columns."""

    tokens: SameFormat
    needs: tuple[str, ...]

    def __call__(self, columns: Mapping[str, Any]) -> Changed:
        return Changed({name: self._replaced(columns[name]) for name in self.needs})

    def _replaced(self, column: Any) -> pa.Array:
        texts, index = texts_of(column)
        used = set(np.unique(index).tolist())
        made = self.tokens.tokens(text if place in used else None for place, text in enumerate(texts))
        return pa.array([made[place] for place in index.tolist()], pa.string())
