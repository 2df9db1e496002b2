"""Models that draw something in public before they look at the table: random features, random splits."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Self

from discreet.core.random import system
from discreet.models.estimators.private_model import PrivateModel


@dataclass(kw_only=True, eq=False, repr=False)
class Keyed(PrivateModel):
    """A model whose ``key`` says what it draws in public; without one each fit draws another."""

    key: int | None = None

    def settled(self) -> Self:
        if self.key is not None:
            return self
        made = copy.copy(self)
        made.key = self._drawn_key()
        return made

    def _drawn_key(self) -> int:
        """The key that was given, a test's, or a new one."""
        if self.key is not None:
            return int(self.key)
        return system().word() >> 1 if self.random_state is None else int(self.random_state)
