"""Columns of yes and no."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.core.categories import Categories
from discreet.core.labels import Label, canonical
from discreet.errors import InvalidRequest
from discreet.expressions import KnownColumn


@dataclass(frozen=True, init=False)
class Boolean(Categories):
    """True or false, in any of the declared spellings; letter case and spaces around do not matter.

    ``Boolean(true=["yes", "ja"], false=["no", "nein"])``; ``true`` and ``1``, ``false`` and ``0`` are always read. In an
    expression it is a condition by itself. ``missing`` is None, True, False or ``"drop"``.
    """

    type: ClassVar[str] = "boolean"

    def __init__(
        self,
        true: Sequence[str] = (),
        false: Sequence[str] = (),
        *,
        missing: Label | None = None,
        formula: str | None = None,
    ) -> None:
        for name, words in (("true", true), ("false", false)):
            if isinstance(words, str) or not isinstance(words, Sequence):
                raise InvalidRequest(f"{name} must be a list of spellings such as ['yes', 'y'], got {words!r}", key=name)
        spelt = {"true": ("1", *map(canonical, true)), "false": ("0", *map(canonical, false))}
        facts: dict[str, Any] = {"values": (True, False), "other": None, "missing": missing, "price": None, "minimum": None}
        for name, value in (facts | {"aliases": spelt, "fold": True, "formula": formula}).items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    @property
    def known(self) -> KnownColumn:
        """What an expression knows of it."""
        return KnownColumn("truth")

    def to_dict(self) -> dict[str, Any]:
        """What TOML and JSON hold."""
        said = {word: list(self.aliases[word][1:]) or None for word in ("true", "false")}
        facts = {"type": self.type, **said, "missing": self.missing, "formula": self.formula}
        return {key: value for key, value in facts.items() if value is not None}
