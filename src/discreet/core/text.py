"""Columns of text: read by conditions, and never released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.core.categories import Categories
from discreet.errors import InvalidRequest
from discreet.expressions import KnownColumn


@dataclass(frozen=True, init=False)
class Text(Categories):
    """Any text. It has no labels and no bounds, so nothing can be asked of it; an expression can match it.

    ``where="startswith(diagnosis, 'I2')"``. With ``fold=True`` letter case and spaces around it do not matter, in an
    expression as in a cell.
    """

    type: ClassVar[str] = "text"

    def __init__(self, *, fold: bool = False) -> None:
        if not isinstance(fold, bool):
            raise InvalidRequest(f"fold must be true or false, got {fold!r}", key="fold")
        facts: dict[str, Any] = {"values": (), "other": None, "missing": None, "price": None, "minimum": None, "aliases": {}}
        for name, value in (facts | {"fold": fold, "formula": None}).items():
            object.__setattr__(self, name, value)

    @property
    def private(self) -> bool:
        """There are no labels to be found."""
        return False

    @property
    def known(self) -> KnownColumn:
        """What an expression knows of it."""
        return KnownColumn("text", folded=self.fold)

    def to_dict(self) -> dict[str, Any]:
        """What TOML and JSON hold."""
        return {"type": self.type} | ({"fold": True} if self.fold else {})
