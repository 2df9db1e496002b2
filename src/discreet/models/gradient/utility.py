"""How near a private descent on a convex loss with a ridge comes to the best parameters, before it is run."""

from __future__ import annotations

from scipy.special import digamma, zeta

from discreet.models.gradient.engine import Run
from discreet.models.gradient.network import Network
from discreet.models.gradient.optimizers import Momentum


def utility_bound(run: Run) -> float | None:
    """The most by which the expected objective exceeds the least, ridge included, over a table of ``expected_rows`` rows.

    The objective is the sum of losses over n0 = ``expected_rows`` plus (m / 2)|theta|^2, m = ridge / n0. With b its
    smoothness, L the largest slope, q the rate and s the deviation of a step's noise in each of d numbers,
    V = L^2 (1 - q) / (q n0) + d (s / (q n0))^2, and sizes h_t of steps of at most 2 / (b + m),

        D_0 = (L / m)^2,    D_(t + 1) = (1 - h_t m)^2 D_t + h_t^2 V,

    and the bound is (b / 2) D_T, or for the average of the later half of the path the mean of (b / 2) D_t over it. None for
    what this does not speak of: networks, no ridge, momentum, gradients that are clipped, targets beyond those of the
    declared slope, other sizes of steps.

    Proof: a lot's sum over q n0, with its noise, has the mean gradient of the losses as its expectation, given all steps
    before; what it is off by has at most the variance V: people are in a lot independently with chance q, each with a
    gradient of at most L. A step along the gradient itself with h <= 2 / (b + m) brings the parameters closer to the best
    by 1 - h m (Nesterov 2004, theorem 2.1.15, as in ``queries.opera.Descent``), and what a step is off by is independent
    of that with mean 0, so squares add. m |best| is the length of a mean of gradients, at most L. A function of smoothness
    b exceeds its least value by at most (b / 2) times the squared distance, and a convex function of an average is at most
    the average.
    """
    found = _convex(run)
    if found is None:
        return None
    strength, smooth, slope, even = found
    lot = float(run.rate) * run.expected_rows
    variance = slope**2 * (1 - float(run.rate)) / lot + run.network.size * (run.law.vector_noise.scale / lot) ** 2
    path = _Path(run.sizes.at(0), strength, variance, even, (slope / strength) ** 2)
    first = run.steps // 2 + 1 if run.iterate == "average" else run.steps
    return smooth / 2 * path.total(first, run.steps) / (run.steps - first + 1)


class _Path:
    """The squared distances D_t: ``even`` steps of one size, then steps of 1 / (strength (t + 1))."""

    def __init__(self, size: float, strength: float, variance: float, even: int, start: float) -> None:
        self.keeps = (1 - size * strength) ** 2
        self.limit = size**2 * variance / (1 - self.keeps)  # where even steps lead
        self.start, self.even = start, even
        self.tail = variance / strength**2
        self.turn = self._after(even)

    def _after(self, steps: int) -> float:
        return self.limit + self.keeps**steps * (self.start - self.limit)

    def total(self, first: int, last: int) -> float:
        """The sum of D_t over t from ``first`` to ``last``, from 1 on, in closed form.

        After the even steps, t0 of them, D_t = (t0 / t)^2 D_t0 + (V / m^2) (t - t0) / t^2.
        """
        found = 0.0
        if first <= self.even:
            end = min(last, self.even)
            powers = (self.keeps**first - self.keeps ** (end + 1)) / (1 - self.keeps)
            found += self.limit * (end - first + 1) + (self.start - self.limit) * powers
        begin = max(first, self.even + 1)
        if begin <= last:
            inverse = float(digamma(last + 1) - digamma(begin))
            squares = float(zeta(2, begin) - zeta(2, last + 1))
            found += (self.even**2 * self.turn - self.even * self.tail) * squares + self.tail * inverse
        return found


def _convex(run: Run) -> tuple[float, float, float, int] | None:
    """The strength, the smoothness, the slope and the even steps of a run that the bound speaks of."""
    network, design = run.network, run.design
    if not isinstance(network, Network) or len(network.shapes) > 1 or design is None or not run.ridge:
        return None
    if network.loss is None or not network.loss.bounded or design.target.ends[0] < network.loss.least_target:
        return None
    if run.optimizer != Momentum(0.0) or run.turns is not None or run.radius is not None or design.rows > 1:
        return None
    strength = run.ridge / run.expected_rows
    smooth = float(network.loss.curvature * design.most_weight) + strength
    slope = float(network.loss.slope * design.most_weight)
    even, first = run.sizes.even(strength), run.sizes.at(0)
    if even is None or first > 2 / (smooth + strength) * (1 + 1e-12) or float(run.clip) < slope * (1 - 1e-12):
        return None
    return strength, smooth, slope, int(min(run.steps, even))
