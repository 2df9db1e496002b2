"""What a group must satisfy to be released: k rows, l different sensitive values, a spread close to the table's.

Each rule is a test of groups: their sizes, and a matrix with a row for each group and a column for each sensitive
value. ``monotone`` says that a rule also prunes under a suppression limit: merging groups never makes a good one bad.
Without suppression every rule here prunes: if all groups of a node are good, all unions of them are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, TypedDict

import numpy as np
import numpy.typing as npt

from discreet.core.labels import closest
from discreet.core.numbers import Number, positive, rational
from discreet.errors import InvalidRequest, UnknownName
from discreet.protect.ground import Ground, Ranking, ground
from discreet.protect.lattice_histogram import Floats, Ints

Fails = npt.NDArray[np.bool_]
_SLACK = 1e-9  # three equal thirds have an entropy of ln 3, whatever the doubles say


class Rule(ABC):
    """A test that a group of rows with the same generalised values passes or fails."""

    monotone: ClassVar[bool] = False
    sensitive: ClassVar[bool] = True

    @abstractmethod
    def fails(self, sizes: Ints, matrix: Ints) -> Fails:
        """Which groups fail; what is said of a group without rows does not matter."""


@dataclass(frozen=True)
class Size(Rule):
    """k-anonymity: at least ``k`` rows (Sweeney 2002)."""

    k: int
    monotone: ClassVar[bool] = True
    sensitive: ClassVar[bool] = False

    def fails(self, sizes: Ints, matrix: Ints) -> Fails:
        return np.asarray(sizes < self.k)


@dataclass(frozen=True)
class DistinctDiversity(Rule):
    """Distinct l-diversity: at least ``l`` different sensitive values (Machanavajjhala et al. 2007).

    Here and in the other forms of diversity a ``missing`` value, given by its column, is none that could be the person's.
    Against ``insiders``, so many people of a group who pool what they know of themselves, it must hold for the others,
    whoever the insiders are; those with the rarest values take most values away.

    Proof: a union of groups holds every value that either of them holds. Of the insiders of a union no more than all belong
    to one of its groups, and what is left of that group is diverse.
    """

    l: int  # noqa: E741
    missing: int | None = None
    insiders: int = 0
    monotone: ClassVar[bool] = True

    def fails(self, sizes: Ints, matrix: Ints) -> Fails:
        return np.asarray(values(outside(told(matrix, self.missing), self.insiders)) < self.l)


@dataclass(frozen=True)
class Entropy(Rule):
    """Entropy l-diversity: -sum p ln p >= ln l over the shares p of a group (Machanavajjhala et al. 2007).

    Proof: entropy is concave, so the mixture that a union is has at least the smaller entropy of the two. Merging with
    a bad group can spoil a good one, so under a suppression limit the rule does not prune.
    """

    l: float  # noqa: E741
    missing: int | None = None

    def fails(self, sizes: Ints, matrix: Ints) -> Fails:
        matrix = told(matrix, self.missing)
        return np.asarray(entropy(matrix.sum(axis=1), matrix) < np.log(self.l) - _SLACK)


@dataclass(frozen=True)
class Recursive(Rule):
    """Recursive (c, l)-diversity: r_1 < c (r_l + ... + r_v), counts in falling order (Machanavajjhala et al. 2007).

    Against m ``insiders``, and l >= 2: r_1 < c (r_l + ... + r_v - m). Proof: the sum of the smallest counts falls by no more
    than the rows that are taken away, and by as many if all are taken from it, which leaves r_1 as it is.
    """

    c: Fraction
    l: int  # noqa: E741
    missing: int | None = None
    insiders: int = 0

    def fails(self, sizes: Ints, matrix: Ints) -> Fails:
        matrix = told(matrix, self.missing)
        if matrix.shape[1] < self.l:
            return np.ones(len(sizes), bool)
        falling = -np.sort(-matrix, axis=1)
        tail = np.maximum(falling[:, self.l - 1 :].sum(axis=1) - self.insiders, 0)
        # Whole numbers on both sides: r_1 < c * tail is not a matter of rounding. Python's own where 64 bits are too few.
        rows = int(falling[:, 0].max(initial=0) + tail.max(initial=0))
        if rows * max(self.c.denominator, self.c.numerator) >= 1 << 62:
            falling, tail = falling[:, :1].astype(object), tail.astype(object)
        return np.asarray(falling[:, 0] * self.c.denominator >= tail * self.c.numerator, bool)


@dataclass(frozen=True, eq=False)
class Closeness(Rule):
    """t-closeness: the earth mover's distance from a group's shares to the table's is at most ``t`` (Li et al. 2007).

    Proof: the distance is convex in the group's shares and zero for the whole table.
    """

    t: float
    shares: Floats
    ground: Ground

    def fails(self, sizes: Ints, matrix: Ints) -> Fails:
        return np.asarray(self.ground.distance(sizes, matrix, self.shares) > self.t + _SLACK)


@dataclass(frozen=True, eq=False)
class Likeness(Rule):
    """beta-likeness: no value's share q in a group exceeds its share p in the table by more than ``beta`` p.

    (Cao and Karras 2012.) Enhanced, by no more than min(beta, -ln p) p: rare values may gain more than frequent ones.

    Proof that unions of good groups are good: the share in a union lies between those in its parts, and the bound is fixed.
    """

    beta: float
    shares: Floats
    enhanced: bool = True

    def fails(self, sizes: Ints, matrix: Ints) -> Fails:
        with np.errstate(divide="ignore"):
            most = np.minimum(self.beta, -np.log(self.shares)) if self.enhanced else np.full(len(self.shares), self.beta)
        bound = np.where(self.shares > 0, self.shares * (1 + np.where(np.isfinite(most), most, 0.0)), 0.0)
        return np.asarray((matrix > (bound + _SLACK) * sizes[:, None]).any(axis=1))


@dataclass(frozen=True, eq=False)
class Disclosure(Rule):
    """delta-disclosure: |ln(q / p)| < ``delta`` for every value's share q in a group and p in the table (Brickell 2008).

    A value that a group lacks breaks it. Proof that unions of good groups are good: as for beta-likeness, on both sides.
    """

    delta: float
    shares: Floats

    def fails(self, sizes: Ints, matrix: Ints) -> Fails:
        here = self.shares > 0
        with np.errstate(divide="ignore"):
            logs = np.log(matrix[:, here] / np.maximum(sizes, 1)[:, None]) - np.log(self.shares[here])
        return np.asarray((np.abs(logs) >= self.delta - _SLACK).any(axis=1))


def told(matrix: Ints, missing: int | None) -> Ints:
    """The counts without those of missing cells."""
    return matrix if missing is None else np.delete(matrix, missing, axis=1)


def outside(matrix: Ints, insiders: int) -> Ints:
    """The counts that are left when insiders, of the rarest values first, are taken away; each row in rising order."""
    if insiders == 0:
        return matrix
    rising = np.sort(matrix, axis=1)
    gone = np.minimum(np.cumsum(rising, axis=1), insiders)
    return np.asarray(rising - np.diff(gone, axis=1, prepend=0), np.int64)


def values(matrix: Ints) -> Ints:
    """How many different values each group has; one where it has none, as l = 1 asks for nothing."""
    return np.asarray(np.maximum(np.count_nonzero(matrix, axis=1), 1), np.int64)


def entropy(sizes: Ints, matrix: Ints) -> Floats:
    """-sum p ln p of each group, in nats."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(matrix > 0, matrix * np.log(np.maximum(matrix, 1)), 0.0).sum(axis=1)
        return np.where(sizes > 0, np.log(np.maximum(sizes, 1)) - logs / np.maximum(sizes, 1), 0.0)


class Forms(TypedDict, total=False):
    """How the rules on sensitive columns are meant, and those that few ask for: see ``discreet.protect.anonymize``."""

    diversity: str
    c: Number | None
    order: Ranking
    beta: Number | None
    likeness: str
    disclosure: Number | None
    insiders: int


class RuleKeywords(Forms, total=False):
    """The keywords of every rule on sensitive columns."""

    l: Number | None  # noqa: E741
    t: Number | None


@dataclass(frozen=True)
class Demand:
    """The rules as a user asks for them, before the table is known."""

    k: int = 1
    l: Number | None = None  # noqa: E741
    t: Number | None = None
    diversity: str = "distinct"
    c: Number | None = None
    order: Ranking = None
    beta: Number | None = None
    likeness: str = "enhanced"
    disclosure: Number | None = None
    insiders: int = 0

    @staticmethod
    def of(k: int, rules: RuleKeywords) -> Demand:
        """The demand of some keywords; refuses one that is no rule."""
        for name in rules:
            if name not in RuleKeywords.__annotations__:
                raise UnknownName(f"no rule is called {name!r}{closest(name, RuleKeywords.__annotations__)}")
        return Demand(k, **rules)

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise InvalidRequest(f"k must be a whole number of at least 1, got {self.k!r}")
        if self.diversity not in ("distinct", "entropy", "recursive"):
            raise InvalidRequest(f"diversity must be distinct, entropy or recursive, got {self.diversity!r}")
        if self.l is not None and rational(self.l, "l") < 1:
            raise InvalidRequest(f"l must be at least 1, got {self.l}")
        if self.l is not None and self.diversity != "entropy" and rational(self.l, "l").denominator != 1:
            raise InvalidRequest(f"l must be a whole number for {self.diversity} diversity, got {self.l}; or use entropy")
        if (self.c is None) == (self.diversity == "recursive" and self.l is not None):
            raise InvalidRequest(f"c must be given for recursive diversity and only there, got c={self.c!r}; try c=3")
        if isinstance(self.insiders, bool) or not isinstance(self.insiders, int) or self.insiders < 0:
            raise InvalidRequest(f"insiders must be a number of people, 0 or more, got {self.insiders!r}")
        if self.insiders and (self.l is None or self.diversity == "entropy" or rational(self.l, "l") < 2):
            raise InvalidRequest(
                f"insiders are for distinct or recursive diversity with l of at least 2, got {self.diversity}, l={self.l}"
            )
        if self.t is not None and not 0 <= rational(self.t, "t") <= 1:
            raise InvalidRequest(f"t must lie in [0, 1], got {self.t}")
        for name in ("beta", "disclosure"):
            if getattr(self, name) is not None:
                positive(getattr(self, name), name)
        if self.likeness not in ("basic", "enhanced"):
            raise InvalidRequest(f"likeness must be basic or enhanced, got {self.likeness!r}")

    @property
    def needs_sensitive(self) -> bool:
        """Whether any rule looks at a sensitive column."""
        return any(asked is not None for asked in (self.l, self.t, self.beta, self.disclosure))

    def rules(self, shares: Floats | None, values: Sequence[str | None] = ()) -> list[Rule]:
        """The rules over a table whose sensitive values have these shares."""
        missing = list(values).index(None) if None in values else None
        made: list[Rule] = [Size(self.k)]
        if self.l is not None:
            made.append(self._diverse(rational(self.l, "l"), missing))
        if self.t is not None:
            assert shares is not None
            made.append(Closeness(float(rational(self.t, "t")), shares, ground(values, self.order)))
        if self.beta is not None:
            assert shares is not None
            made.append(Likeness(float(positive(self.beta, "beta")), shares, enhanced=self.likeness == "enhanced"))
        if self.disclosure is not None:
            assert shares is not None
            made.append(Disclosure(float(positive(self.disclosure, "disclosure")), shares))
        return made

    def _diverse(self, least: Fraction, missing: int | None) -> Rule:
        if self.diversity == "recursive":
            return Recursive(positive(self.c or 0, "c"), int(least), missing, self.insiders)
        if self.diversity == "entropy":
            return Entropy(float(least), missing)
        return DistinctDiversity(int(least), missing, self.insiders)
