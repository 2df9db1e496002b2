"""A clip norm that is bought: a private quantile of the lengths that people's gradients have at the public start."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import numbers
from discreet.core.ask import Ask
from discreet.core.cost import Distance
from discreet.core.exact import Exact
from discreet.core.numbers import Number
from discreet.core.query import Relation, distance_of_weights, queries
from discreet.core.release import Release
from discreet.core.runner import Procedure
from discreet.core.source import Batch
from discreet.errors import InvalidRequest
from discreet.mechanisms import DiscreteLaplace
from discreet.models.design import Design
from discreet.models.gradient.blas_threads import one_thread
from discreet.models.gradient.clipping import lengths
from discreet.models.gradient.lot_gradient import ordered
from discreet.models.gradient.network import Network
from discreet.models.queries.design_sum import DesignSum

CELLS = 40  # lengths are told apart by factors of sqrt(2), this many of them below ``most``


@dataclass(frozen=True)
class ClipQuantile:
    """Buy the clip norm: the ``q``-quantile of gradient lengths up to ``most``, for ``epsilon`` of the model's own."""

    q: Number = 0.5
    epsilon: Number = 0.1
    most: Number = 16

    def __post_init__(self) -> None:
        numbers.probability(self.q, "q")
        numbers.positive(self.epsilon, "epsilon")
        most = numbers.positive(self.most, "most")
        if not Fraction(1, 1 << 40) <= most <= 1 << 64:
            raise InvalidRequest(f"most must lie between 2**-40 and 2**64, got {float(most):g}; lengths are about 1")


@queries("gradient_lengths")
@dataclass(frozen=True)
class GradientLengths(DesignSum):
    """How many people have a gradient of each length at public parameters: cells with ends most / sqrt(2)**k.

    ``distance``: 1 under add/remove; 2 in L1 and sqrt(2) in L2 under replace and both.

    Proof: a person's gradient has one length, made of the person's own rows to the last bit whoever else is there (see
    ``LotGradient``), so the person counts 1 in one cell; a length that is not finite counts in none.
    """

    design: Design
    network: Network
    most: Fraction
    start: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", numbers.positive(self.most, "most"))

    @property
    def edges(self) -> Any:
        """The upper ends of the cells; what is longer belongs to the last."""
        return float(self.most) * 2.0 ** (-0.5 * np.arange(CELLS - 1, -1, -1))

    def distance(self, relation: Relation) -> Distance:
        return distance_of_weights(1, relation)

    def step(self, batch: Batch) -> Any:
        rows = ordered(self.design.block(batch))
        flat = self.network.start(self.start)
        with one_thread:
            found = lengths(
                self.network, flat, self.network.widen(rows.x), rows.y, weight=rows.weight, people=rows.people,
                most=self.design.rows,
            )  # fmt: skip
        place = np.searchsorted(self.edges, found[np.isfinite(found)])
        return np.bincount(np.minimum(place, CELLS - 1), minlength=CELLS)

    def blank(self, rows: int) -> Exact:
        return Exact(np.full(CELLS, rows // CELLS, np.int64))


def clip_norm(
    wanted: ClipQuantile, design: Design, network: Network, relation: Relation, start: int
) -> Procedure[tuple[Fraction, Release]]:
    """Ask once, and read the clip norm off the noisy counts: the least edge below which a share ``q`` of them lies."""
    query = GradientLengths(design, network, numbers.positive(wanted.most, "most"), start)
    law = DiscreteLaplace.costing(query.distance(relation), epsilon=numbers.positive(wanted.epsilon, "epsilon"))
    release: Release = yield Ask(query, law)
    counts = np.maximum(np.asarray(release.value, np.float64), 0.0)
    share = np.cumsum(counts) / max(float(counts.sum()), 1.0)
    place = min(int(np.searchsorted(share, float(numbers.rational(wanted.q, "q")))), CELLS - 1)
    return Fraction(float(query.edges[place])), release


def left_of(epsilon: Any, wanted: ClipQuantile) -> Fraction:
    """What is left of a model's epsilon after the quantile."""
    left = numbers.positive(epsilon, "epsilon") - numbers.positive(wanted.epsilon, "epsilon")
    if left <= 0:
        raise InvalidRequest(
            f"a clip norm must cost less than the whole fit, got epsilon {wanted.epsilon} of {epsilon}; ask for less of it"
        )
    return left
