"""What a release costs, and how costs add up: the one place where anything is composed.

A ``Cost`` keeps every true statement about a mechanism side by side, because each composes best in its own currency:

- *claim*: (epsilon, delta)-differential privacy, in exact rationals;
- *zCDP*: rho-concentrated privacy outside an event of probability ``slack``, in exact rationals;
- *curve*: the Rényi divergence at each of ``ORDERS`` outside the same event, in doubles rounded up (order infinity
  is the claim, which is kept exactly).

``a + b`` is both on the same people, ``a | b`` is each on people of its own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from discreet.core import numbers
from discreet.core.documents import brief
from discreet.core.numbers import Number
from discreet.core.smoothness import Smoothness
from discreet.errors import InvalidRequest, UnsupportedFormat

ORDERS: tuple[float, ...] = (
    1.05, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0, 14.0, 16.0, 20.0,
    24.0, 28.0, 32.0, 40.0, 48.0, 64.0, 96.0, 128.0, 192.0, 256.0, 512.0, 1024.0,
)  # fmt: skip
_RATIOS = tuple(a.as_integer_ratio() for a in ORDERS)
_PAD = 1.0 + 2.0**-40
MOST = Fraction(10) ** 300
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False, check_circular=False).encode


@dataclass(frozen=True)
class Block:
    """A run of ``size`` coordinates of a vector and how far one person moves it, in L1 and in L2."""

    size: int
    l1: Fraction
    l2: Fraction


@dataclass(frozen=True)
class Distance:
    """How far one person can move an exact value, in each norm; and, where it is known, block by block.

    ``blocks`` cut the vector into runs of coordinates. All may move at once, each by no more than its own distance; a
    law with different scales uses them instead of the norms of the whole. ``problem`` is there where the exact value is an
    objective to be minimised: the norms are then those of its gradient.
    """

    l1: Fraction
    l2: Fraction
    linf: Fraction
    blocks: tuple[Block, ...] | None = None
    problem: Smoothness | None = None

    @staticmethod
    def of(value: Distance | Number | tuple[Number, ...] | list[Number]) -> Distance:
        """From one number (in the norm of the law), or from one per coordinate."""
        if isinstance(value, Distance):
            return value
        if isinstance(value, tuple | list):
            each = [numbers.non_negative(v, "sensitivity") for v in value]
            return Distance.joined([Distance(e, e, e, (Block(1, e, e),)) for e in each])
        one = numbers.non_negative(value, "sensitivity")
        return Distance(one, one, one)

    @staticmethod
    def joined(parts: Sequence[Distance], sizes: Sequence[int] | None = None) -> Distance:
        """The distance of several exact values put side by side; ``sizes`` are their numbers of coordinates.

        Proof: one person may move all parts at once, so L1 adds, squares of L2 add, and L-infinity is the largest.
        """
        if not parts:
            raise InvalidRequest("sensitivity must have at least one coordinate, got none")
        blocks = tuple(Block(n, p.l1, p.l2) for n, p in zip(sizes or [1] * len(parts), parts, strict=True))
        square = sum((p.l2**2 for p in parts), Fraction(0))
        l2 = parts[0].l2 if len(parts) == 1 else numbers.square_root_up(square)
        return Distance(sum((p.l1 for p in parts), Fraction(0)), l2, max(p.linf for p in parts), blocks)

    def __mul__(self, factor: Number) -> Distance:
        f = numbers.non_negative(factor, "factor")
        blocks = None if self.blocks is None else tuple(Block(b.size, f * b.l1, f * b.l2) for b in self.blocks)
        return Distance(f * self.l1, f * self.l2, f * self.linf, blocks)

    def blocks_for(self, coordinates: int) -> tuple[Block, ...]:
        """The blocks, if they cut a vector of that many coordinates; else the whole as one block."""
        if self.blocks is not None and sum(b.size for b in self.blocks) == coordinates:
            return self.blocks
        return (Block(coordinates, self.l1, self.l2),)

    def to_dict(self) -> dict[str, Any]:
        doc: dict[str, Any] = {k: numbers.write(getattr(self, k)) for k in ("l1", "l2", "linf")}
        if self.blocks is not None:
            doc["blocks"] = [[b.size, numbers.write(b.l1), numbers.write(b.l2)] for b in self.blocks]
        if self.problem is not None:
            doc["problem"] = self.problem.to_dict()
        return doc

    @staticmethod
    def from_dict(doc: dict[str, Any]) -> Distance:
        def read(text: Any) -> Fraction:
            return numbers.non_negative(numbers.read(text, "distance"), "distance")

        l1, l2, linf = (read(doc[k]) for k in ("l1", "l2", "linf"))
        blocks = None
        if "blocks" in doc:
            blocks = tuple(Block(int(n), read(a), read(b)) for n, a, b in doc["blocks"])
        problem = Smoothness.from_dict(doc["problem"]) if "problem" in doc else None
        return Distance(l1, l2, linf, blocks, problem)


def _add(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else _sum(a, b)


def _sum(a: Fraction, b: Fraction) -> Fraction:
    return (numbers.sum_up(a, b) if a else b) if b else a


def _most(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else max(a, b)


@dataclass(frozen=True)
class Cost:
    """Every true statement about what was spent; ``None`` means that no statement of that kind holds.

    Proof: each part composes by itself, also when later questions depend on earlier answers. Claims: basic
    composition (Dwork et al. 2006). zCDP and the curve: Rényi divergence of order alpha adds (Mironov 2017; Bun
    and Steinke 2016); events of probability ``slack`` add by the union bound. On disjoint people a neighbour
    changes one part only, so the larger value holds of each kind.
    """

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None
    slack: Fraction
    curve: tuple[float, ...]

    @staticmethod
    @lru_cache(maxsize=1)
    def nothing() -> Cost:
        """What costs nothing: the zero of addition."""
        return Cost(Fraction(0), Fraction(0), Fraction(0), Fraction(0), (0.0,) * len(ORDERS))

    @staticmethod
    def infinite() -> Cost:
        """No guarantee at all; only a test ledger takes it."""
        return Cost(None, Fraction(0), None, Fraction(0), (math.inf,) * len(ORDERS))

    @staticmethod
    def pure(epsilon: Number) -> Cost:
        """epsilon-differential privacy.

        Proof: among all pairs with log-ratio within epsilon the binary randomised response pair is the extreme one
        for every Rényi order (Bun and Steinke 2016, proposition 3.3 and lemma 3.2), which gives the curve
        ln((sinh(a e) - sinh((a-1) e)) / sinh e) / (a-1); and its supremum over a of curve/a is at a = 1, the
        Kullback-Leibler divergence e tanh(e/2), which gives rho.
        """
        return _pure(_sane(numbers.non_negative(epsilon, "epsilon"), "epsilon"))

    @staticmethod
    def approximate(epsilon: Number, delta: Number) -> Cost:
        """(epsilon, delta)-differential privacy of which nothing else is known.

        Proof: such a pair is, outside an event of probability delta on either side, a pair with log-ratio within
        epsilon (Kairouz, Oh and Viswanath 2015), hence pure with that slack.
        """
        d = numbers.probability(delta, "delta")
        inside = Cost.pure(epsilon)
        return Cost(inside.epsilon, d, inside.rho, d, inside.curve)

    @staticmethod
    def zcdp(rho: Number) -> Cost:
        """rho-zero-concentrated privacy: Rényi divergence at most rho times the order, for every order."""
        r = _sane(numbers.non_negative(rho, "rho"), "rho")
        return Cost(None, Fraction(0), r, Fraction(0), _line(r))

    @staticmethod
    def renyi(curve: Callable[[float], float], *, epsilon: Fraction | None = None, delta: Fraction = Fraction(0),
              rho: Fraction | None = None) -> Cost:  # fmt: skip
        """A cost from a Rényi curve, with what else is known; doubles are rounded up here."""
        values = (curve(a) for a in ORDERS)
        rounded = tuple(_float_up(numbers.round_up(v)) if v < math.inf else v for v in values)
        return Cost(epsilon, delta, rho, Fraction(0), rounded)

    def __add__(self, other: Cost) -> Cost:
        if other is Cost.nothing():
            return self
        if self is Cost.nothing():
            return other
        nextafter, inf = math.nextafter, math.inf
        return Cost(
            _add(self.epsilon, other.epsilon),
            _sum(self.delta, other.delta),
            _add(self.rho, other.rho),
            _sum(self.slack, other.slack),
            # Rounded up; nothing plus nothing stays nothing.
            tuple([nextafter(a + b, inf) if a and b else a + b for a, b in zip(self.curve, other.curve, strict=True)]),
        )

    def __or__(self, other: Cost) -> Cost:
        return Cost(
            _most(self.epsilon, other.epsilon),
            max(self.delta, other.delta),
            _most(self.rho, other.rho),
            max(self.slack, other.slack),
            tuple(map(max, self.curve, other.curve)),
        )

    def __mul__(self, times: int) -> Cost:
        """The cost of the same thing done ``times`` times in sequence."""
        if times < 0 or int(times) != times:
            raise InvalidRequest(f"times must be a whole number that is not negative, got {times}")
        if times == 0:
            return Cost.nothing()
        curve = tuple(v if times == 1 else math.nextafter(v * times, math.inf) if v else 0.0 for v in self.curve)
        scale = Fraction(int(times))
        return Cost(
            None if self.epsilon is None else self.epsilon * scale,
            self.delta * scale,
            None if self.rho is None else self.rho * scale,
            self.slack * scale,
            curve,
        )

    def __le__(self, other: Cost) -> bool:
        """Whether each statement made by ``other`` holds of ``self`` as well: self may stand where other was paid."""

        def within(a: Fraction | None, b: Fraction | None) -> bool:
            return b is None or (a is not None and a <= b)

        return (
            within(self.epsilon, other.epsilon)
            and (other.epsilon is None or self.delta <= other.delta)
            and within(self.rho, other.rho)
            and self.slack <= other.slack
            and all(a <= b * _PAD for a, b in zip(self.curve, other.curve, strict=True))
        )

    def padded(self) -> Cost:
        """What has to be paid where ``<=`` will later be asked: its comparison of doubles allows a last-digit excess."""
        return Cost(self.epsilon, self.delta, self.rho, self.slack, tuple(v * _PAD for v in self.curve))

    @property
    def is_finite(self) -> bool:
        """Whether any guarantee holds."""
        return self.epsilon is not None or self.rho is not None or min(self.curve) < math.inf

    def __str__(self) -> str:
        parts = []
        if self.epsilon is not None:
            parts.append(f"ε={float(self.epsilon):.6g}" + (f", δ={float(self.delta):.3g}" if self.delta else ""))
        if self.rho is not None and (self.epsilon is None or self.delta):
            parts.append(f"ρ={float(self.rho):.6g}" + (f" (outside {float(self.slack):.3g})" if self.slack else ""))
        return "; ".join(parts) or ("a Rényi curve" if self.is_finite else "no guarantee")

    def to_dict(self) -> dict[str, Any]:
        return {
            "epsilon": None if self.epsilon is None else numbers.write(self.epsilon),
            "delta": numbers.write(self.delta),
            "rho": None if self.rho is None else numbers.write(self.rho),
            "slack": numbers.write(self.slack),
            "curve": [v if v < math.inf else None for v in self.curve],
        }

    @cached_property
    def text(self) -> str:
        """The document as it is stored: sorted keys and no spaces. Written once: a charge says it in three places."""
        return _encode(self.to_dict())

    @staticmethod
    def from_dict(doc: dict[str, Any]) -> Cost:
        try:
            curve = tuple(math.inf if v is None else float(v) for v in doc["curve"])
            epsilon, rho = (None if doc[k] is None else numbers.read(doc[k], k) for k in ("epsilon", "rho"))
            delta, slack = (numbers.read(doc[k], k) for k in ("delta", "slack"))
        except (KeyError, TypeError, ValueError) as problem:
            raise UnsupportedFormat(f"a cost needs epsilon, delta, rho, slack and curve, got {brief(doc)}") from problem
        if len(curve) != len(ORDERS) or any(not v >= 0 for v in curve):
            raise UnsupportedFormat(f"a cost's curve needs {len(ORDERS)} values of at least 0, got {brief(doc['curve'])}")
        if any(v is not None and not 0 <= v <= MOST for v in (epsilon, delta, rho, slack)):
            raise UnsupportedFormat(f"a cost must not be negative and at most 1e300, got {brief(doc)}")
        return Cost(epsilon, delta, rho, slack, curve)


def _sane(value: Fraction, name: str) -> Fraction:
    """Refuse what no double holds: it promises nothing anyway."""
    if value > MOST:
        raise InvalidRequest(f"{name} must be at most 1e300, got about 2**{int(value).bit_length()}; ask for less")
    return value


def _float_up(value: Fraction) -> float:
    """The least double that is at least ``value``."""
    return _quotient_up(value.numerator, value.denominator)


def _line(rho: Fraction) -> tuple[float, ...]:
    """The curve of rho-zCDP, each value rounded up: integers divide correctly rounded, and one step up mends the rest."""
    top, bottom = rho.numerator, rho.denominator
    return tuple([_quotient_up(top * p, bottom * q) for p, q in _RATIOS])


def _quotient_up(top: int, bottom: int) -> float:
    """The least double that is at least ``top / bottom``."""
    near = top / bottom
    p, q = near.as_integer_ratio()
    return near if p * bottom >= top * q else math.nextafter(near, math.inf)


def _log_cosh(x: float) -> float:
    """ln cosh x for x >= 0 in a form that never overflows: log1p(2 sinh(x/2)**2)."""
    if x < 1.0:
        return math.log1p(2.0 * math.sinh(x / 2) ** 2)
    return x + math.log1p(math.exp(-2 * x)) - math.log(2)


@lru_cache(maxsize=1024)
def _pure(epsilon: Fraction) -> Cost:
    if not epsilon:
        return Cost.nothing()
    e = _float_up(epsilon)
    rho = min(numbers.round_up(e * math.tanh(e / 2)), epsilon)
    # (sinh(a e) - sinh((a-1) e)) / sinh e = cosh((a - 1/2) e) / cosh(e/2). The difference of the two logarithms loses at
    # most a few units of the larger one: never trust it below that, take the straight line rho * order there.
    margin = 2.0**-48
    half, slope = _log_cosh(e / 2), float(rho)
    curve = []
    for a, (p, q) in zip(ORDERS, _RATIOS, strict=True):
        value = min(e, (_log_cosh((a - 0.5) * e) - half) / (a - 1) + margin * ((a + 1) * e + 1) / (a - 1))
        if slope * a <= value * _PAD:  # else the line lies above it, however it is rounded
            value = min(value, _quotient_up(rho.numerator * p, rho.denominator * q))
        curve.append(value)
    return Cost(epsilon, Fraction(0), rho, Fraction(0), tuple(curve))
