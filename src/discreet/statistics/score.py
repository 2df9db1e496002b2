"""The score of a statement about the population, psi = a + theta b, as weights on released cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.core.mechanism import NoiseLaw
from discreet.statistics.bernstein import cell_weights, multiply
from discreet.statistics.equation import Equation, Statement, interval

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Score:
    """Weights of a and b, and of the squares: psi**2 = aa + 2 theta ab + theta**2 bb.

    ``constant`` is added to L (its value and its slope in theta), ``variance_constant`` to V (three powers of theta):
    what is known without being released. ``rows``: a person has at most so many, and V is that much larger at most.

    Proof of the last: with r <= k rows a person, (sum of psi over a person's rows)**2 <= k times the sum of psi**2.
    """

    a: Floats
    b: Floats
    squares: tuple[Floats, Floats, Floats] | None = None
    constant: tuple[float, float] = (0.0, 0.0)
    variance_constant: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rows: int = 1

    @staticmethod
    def of(a: Floats, b: Floats, degrees: tuple[int, ...], rows: int = 1) -> Score:
        """From polynomials a and b of the numbers that Bernstein factors of these degrees spread."""
        a, b = _same_shape(a, b)
        products = multiply(a, a), multiply(a, b), multiply(b, b)
        aa, ab, bb = (cell_weights(p, degrees).ravel() for p in products)
        return Score(cell_weights(a, degrees).ravel(), cell_weights(b, degrees).ravel(), (aa, ab, bb), rows=rows)

    def equation(self, cells: Floats) -> Equation:
        """L and V as functions of theta, for released cells."""
        flat = np.ravel(cells)

        def statement(theta: Floats) -> Statement:
            t = np.asarray(theta, np.float64)[:, None]
            weights = self.a + t * self.b
            score = weights @ flat + self.constant[0] + self.constant[1] * t[:, 0]
            assert self.squares is not None
            aa, ab, bb = self.squares
            spread = self.rows * (aa + 2 * t * ab + t * t * bb)
            known = self.variance_constant
            variance = spread @ flat + known[0] + known[1] * t[:, 0] + known[2] * t[:, 0] ** 2
            return Statement(score, variance, weights, spread)

        return statement

    def slope(self, cells: Floats) -> float:
        """How far L falls where theta grows by 1."""
        return -float(self.b @ np.ravel(cells)) - self.constant[1]

    def interval(
        self, cells: Floats, noise: NoiseLaw, estimate: float, within: tuple[float, float], level: float, strict: bool
    ) -> tuple[float, float]:
        """The interval of theta between two public numbers."""
        return interval(self.equation(cells), noise, estimate, within[0], within[1], level, strict)


def _same_shape(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    shape = tuple(max(m, n) for m, n in zip(a.shape, b.shape, strict=True))
    return tuple(np.pad(x, [(0, n - m) for m, n in zip(x.shape, shape, strict=True)]) for x in (a, b))  # type: ignore[return-value]


def joined(parts: list[Score], known: float, groups: Floats) -> tuple[Score, float]:
    """The scores of several groups as one of a common theta, and its root; each group has lost one degree of freedom.

    L gains theta for every group, and ``known``, what the noise of the groups' means takes away.
    """
    a, b = np.concatenate([p.a for p in parts]), np.concatenate([p.b for p in parts])
    aa, ab, bb = (np.concatenate(lines) for lines in zip(*(p.squares for p in parts if p.squares), strict=True))
    score = Score(a, b, (aa, ab, bb), (known, float(len(parts))), rows=parts[0].rows)
    flat = groups.ravel()
    return score, (float(a @ flat) + known) / max(-float(b @ flat) - len(parts), 1.0)


def mean_score(degree: int, rows: int = 1) -> Score:
    """t - m: the mean of a number on the scale of [0, 1]."""
    return Score.of(np.array([0.0, 1.0]), np.array([-1.0]), (degree,), rows)


def person_mean_score(rows: int) -> Score:
    """T - m r, summed over people: T is the sum of t over a person's r rows, at most k = ``rows`` of them.

    The cells are (x**2, y**2, 2xy, 2xz, 2yz, z**2) with x = T/k, z = (k - r)/k, y = 1 - x - z, so T - m r = k((1 - m) x
    - m y); multiplied by x + y + z = 1 it is a sum of cells, and so is its square.
    """
    k = float(rows)
    a = k * np.array([1, 0, 0.5, 0.5, 0, 0])
    b = -k * np.array([1, 1, 1, 0.5, 0.5, 0])
    aa = k * k * np.array([1.0, 0, 0, 0, 0, 0])
    ab = -k * k * np.array([1, 0, 0.5, 0, 0, 0])
    bb = k * k * np.array([1.0, 1, 1, 0, 0, 0])
    return Score(a, b, (aa, ab, bb))


def each_group(cells: Floats, noise: NoiseLaw, inner: int) -> list[tuple[Floats, NoiseLaw]]:
    """The cells of every group with their noise: the last ``inner`` axes are a group's own."""
    flat = cells.reshape(-1, int(np.prod(cells.shape[cells.ndim - inner :], dtype=int)))
    width = flat.shape[1]
    return [(own, noise.at(slice(i * width, (i + 1) * width))) for i, own in enumerate(flat)]
