"""From a price to the law that costs exactly that."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.mechanism import Mechanism
from discreet.core.numbers import Number
from discreet.core.price import Price
from discreet.errors import GridOverflow
from discreet.mechanisms.additive import MOST_COARSER, Additive
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.no_noise import NoNoise
from discreet.mechanisms.spherical_laplace import SphericalLaplace

_FINEST = 36  # a law's grid is at most this many powers of two below its scale


def law_of_sums(
    price: Price, distance: Distance, grid: Fraction = Fraction(1), shares: Sequence[Number] | None = None
) -> Mechanism:
    """The law that costs the price for an exact value on ``grid``; ``shares`` divide it between blocks.

    Counts get a discrete law where the guarantee is pure or concentrated; everything else the ideal law, rounded.
    """
    if price.is_infinite:
        return NoNoise(grid)
    whole = grid == 1 and distance.blocks is None
    if price.is_pure:
        if whole:
            return DiscreteLaplace.costing(distance, epsilon=price.pure_epsilon)
        return _on(grid, Laplace.costing(distance, epsilon=price.pure_epsilon, shares=shares))
    if price.rho is not None and whole:
        return DiscreteGaussian.costing(distance, rho=price.rho)
    return _on(grid, _gaussian(price, distance, shares))


def law_in_l2(price: Price, distance: Distance, size: int) -> Mechanism:
    """The law that costs the price for a vector of ``size`` coordinates measured in L2: spherical Laplace, or Gaussian.

    With a delta or a rho it is whichever has less noise in a coordinate: sqrt(size + 1) scale, or the standard deviation.
    Only public numbers decide, and the release says which law it was.
    """
    if price.is_infinite:
        return NoNoise()
    pure = SphericalLaplace.costing(distance, epsilon=price.pure_epsilon)
    if price.is_pure:
        return pure
    normal = _gaussian(price, distance)
    return pure if (size + 1) * pure.scales[0] ** 2 < normal.scales[0] ** 2 else normal


def _gaussian(price: Price, distance: Distance, shares: Sequence[Number] | None = None) -> Gaussian:
    return Gaussian.costing(
        distance,
        epsilon=price.epsilon,
        delta=price.delta or None,
        rho=price.rho,
        calibration=price.calibration,
        shares=shares,
    )


def _on(grid: Fraction, law: Additive) -> Mechanism:
    """The same law on the grid of the exact value, or on a coarser one where the scale is out of proportion to it."""
    coarse = Fraction(2) ** (numbers.floor_log2(max(law.scales)) - _FINEST)
    if coarse > grid * (1 << MOST_COARSER):
        raise GridOverflow(
            f"noise of scale {float(max(law.scales)):.3g} is out of proportion to values on a grid of {float(grid):.3g}; "
            "use a larger epsilon or rho"
        )
    fields = {k: getattr(law, k) for k in law.to_dict() if k not in ("name", "grid")}
    return type(law)(**fields, grid=max(grid, coarse))
