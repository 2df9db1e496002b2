"""What a fitted model says of itself: its cost, the law of its noise, and the ridge that it was made with."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreet.core import numbers
from discreet.core.cost import Cost
from discreet.core.query import Relation
from discreet.core.release import Release
from discreet.models.design import Design, Floats


@dataclass(frozen=True)
class Privacy:
    """What a fit cost, under which relation, and whether its noise was private.

    ``ridge`` is the one that was minimised with (None where nothing was), ``asked_ridge`` the one asked for where it had
    to be raised; ``releases`` are the noisy numbers that everything was read from, each with its own cost, law and ledger
    entry.
    """

    cost: Cost
    relation: Relation
    private: bool
    method: str
    ridge: float | None
    releases: tuple[Release, ...]
    asked_ridge: float | None = field(default=None, kw_only=True)

    @property
    def laws(self) -> tuple[str, ...]:
        """The law of the noise of each release: of those that a price buys the quietest was taken."""
        return tuple(getattr(r.mechanism, "noise", None) or r.mechanism.name for r in self.releases)

    def __str__(self) -> str:
        mark = "" if self.private else "; not private (seeded, or without noise)"
        laws = f" ({', '.join(dict.fromkeys(self.laws))})" if self.releases else ""
        more = f"{laws}{ridge_words(self.ridge, self.asked_ridge)}{mark}"
        return f"{self.cost}; neighbors: {self.relation}; noise: {self.method}{more}"

    def __repr__(self) -> str:
        return f"Privacy({self})"


def ridge_words(ridge: float | None, asked: float | None) -> str:
    """Says that a ridge had to be raised, where it had."""
    return "" if ridge is None or asked is None else f"; ridge raised from {asked:g} to {ridge:.4g}, as this price needs"


def asked_ridge_of(asked: Any, used: float) -> float | None:
    """The ridge that was asked for, where one that is larger by more than a hundredth was used; None of a chosen one."""
    if asked == "auto":
        return None
    try:
        given = float(asked)
    except (TypeError, ValueError):  # "1/10"
        given = float(numbers.rational(asked, "ridge"))
    return given if used > 1.01 * given else None


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedLinear:
    """What was released of a linear model: its coefficients on the scale of the design, and how they were made.

    ``descent`` is what a descent says of its price, which no release of it alone does.
    """

    design: Design
    theta: Floats
    ridge: Fraction
    method: str
    rows: int | None
    releases: tuple[Release, ...]
    descent: Privacy | None = None

    @property
    def privacy(self) -> Privacy:
        """What it cost."""
        if self.descent is not None:
            return self.descent
        cost = sum((r.cost for r in self.releases if r.cost is not None), Cost.nothing())
        relation = self.releases[0].relation or "add_remove"
        private = all(r.private for r in self.releases)
        return Privacy(cost, relation, private, self.method, float(self.ridge), self.releases)
