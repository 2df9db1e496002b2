"""How distinguishable two inputs certainly are: a lower bound on epsilon from samples alone.

Half of the outputs teach an event that separates the inputs best, the other half measures its two probabilities. If the
mechanism were (epsilon, delta)-private, P(event | a) <= e^epsilon P(event | b) + delta; so the confidence limits of the
two probabilities prove a lower bound, whatever the mechanism is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from discreet.audit.seen import Seen, watch
from discreet.audit.views import Floats, Integers, View, views
from discreet.errors import InvalidRequest

CONFIDENCE = 1 - 1e-6


@dataclass(frozen=True)
class LowerBound:
    """What is certain, up to the confidence asked for, about a pair of inputs.

    ``epsilon`` is a lower bound at ``delta``, ``rho`` one of zero-concentrated privacy; 0 where nothing was found. ``p`` and
    ``q`` are the confidence limits behind them: P(event | one input) >= p, P(event | the other) <= q; ``view`` says what of
    the outputs the event is about.
    """

    epsilon: float
    delta: float
    rho: float
    p: float
    q: float
    trials: int
    confidence: float
    view: str = ""

    def refutes(self, epsilon: float) -> bool:
        """Whether a claim of ``epsilon`` at this delta is certainly false."""
        return self.epsilon > epsilon


def lower_bound(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    trials: int = 100_000,
    delta: float = 0.0,
    *,
    confidence: float = CONFIDENCE,
    batched: bool = False,
    score: Callable[[Any], Floats] | None = None,
    features: Callable[[Any], Any] | None = None,
    target: Literal["epsilon", "rho"] = "epsilon",
) -> LowerBound:
    """The largest epsilon at ``delta`` that ``trials`` runs of ``f`` on each of two neighbouring inputs certify.

    ``f(x)`` returns one output: a number, a vector, a label, anything that can be compared; exceptions, warnings, exit
    codes and what is printed are outputs too. With ``batched``, ``f(x, n)`` returns n outputs at once; if that speaks up,
    fewer runs are made one by one. ``score`` is a likelihood ratio where the density is known, ``features`` what to look at
    instead of the output itself. Outputs are looked at by size, by values that come back, by their last bits and by their
    shape; the event is the one that tells most about ``target``, and both bounds are certified by it.

    Proof: view and event are chosen on the first half of the outputs, so on the second half its two counts are binomial.
    Clopper-Pearson limits, each missed with probability at most (1 - confidence) / 2, hold together with the confidence
    asked for; then epsilon >= ln((p - delta) / q) (Jagielski et al. 2020). For rho: data processing to the event leaves
    two Bernoulli laws, and the Kullback-Leibler divergence of Bernoulli(p) from Bernoulli(q) is at most rho.
    """
    if trials < 20 or not 0 <= delta < 1 or not 0 < confidence < 1:
        raise InvalidRequest(
            f"an audit needs 20 trials, a delta in [0, 1) and a confidence in (0, 1), got {trials}, {delta}, {confidence}"
        )
    seen = watch(f, (a, b), trials, batched)
    if features is not None:
        seen = [Seen(_features(one.values, features, batched), one.notes) for one in seen]
    runs = min(map(len, seen))
    half = runs // 2
    best = max((_learnt(view, half, delta, target) for view in views(seen, half, score)), key=lambda found: found.promise)
    one, other = best.view.cells[::-1] if best.swapped else best.view.cells
    hits = [int(np.isin(c[half:runs], best.cells).sum()) for c in (one, other)]
    p, q = least_share(hits[0], runs - half, (1 - confidence) / 2), most_share(hits[1], runs - half, (1 - confidence) / 2)
    epsilon = math.log((p - delta) / q) if p - delta > q else 0.0
    rho = _bernoulli_kl(p, q) if p > q else 0.0
    return LowerBound(epsilon, delta, rho, p, q, runs, confidence, best.view.name)


def _features(values: Any, features: Callable[[Any], Any], batched: bool) -> Any:
    """What to look at instead of the outputs; a run without a value has none."""
    if batched and isinstance(values, np.ndarray):
        return np.asarray(features(values))
    return [None if v is None else features(v) for v in values]


@dataclass(frozen=True)
class _Learnt:
    """An event in a view: a set of cells, whether b is the likelier input, and the bound that it promises."""

    view: View
    promise: float
    cells: Integers
    swapped: bool


def _learnt(view: View, half: int, delta: float, target: str) -> _Learnt:
    """The set of cells, most telling first, whose estimated bound is largest.

    Some outputs rank the cells and others choose how many to take: the same ones would take the luckiest for the best.
    """
    most = int(max(c.max() for c in view.cells)) + 1
    middle = (view.start + half) // 2
    ranked = [np.bincount(c[view.start : middle], minlength=most) for c in view.cells]
    picked = [np.bincount(c[middle:half], minlength=most) for c in view.cells]
    # A cell that no output ranked says nothing yet; those that chose would put it where they fell themselves.
    ever = np.flatnonzero(ranked[0] + ranked[1])
    count = half - middle
    best = _Learnt(view, -math.inf, np.array([0]), False)
    for swapped in (False, True):
        first, second = (1, 0) if swapped else (0, 1)
        ratio = np.log((ranked[first][ever] + 0.5) / (ranked[second][ever] + 0.5))
        order = ever[np.argsort(-ratio, kind="stable")]
        p, q = np.cumsum(picked[first][order]) / count, np.cumsum(picked[second][order]) / count
        # Allow for what the confidence limits will take off, or rare events would look best.
        spread = 5.0
        low = p - spread * np.sqrt(p * (1 - p) / count + 1 / count**2)
        high = q + spread * np.sqrt(q * (1 - q) / count + 4 / count**2)
        with np.errstate(divide="ignore", invalid="ignore"):
            if target == "rho":
                kl = low * np.log(low / high) + (1 - low) * np.log((1 - low) / (1 - high))
                value = np.where((low > high) & (high < 1), kl, -np.inf)
            else:
                value = np.where(low > delta, np.log((low - delta) / high), -np.inf)
        place = int(np.argmax(value))
        if value[place] > best.promise:
            best = _Learnt(view, float(value[place]), order[: place + 1], swapped)
    return best


def least_share(hits: int, trials: int, miss: float) -> float:
    """What a probability is at least, given how often it hit (Clopper and Pearson); false with probability ``miss``."""
    from scipy.special import betaincinv

    return float(betaincinv(hits, trials - hits + 1, miss)) if hits else 0.0


def most_share(hits: int, trials: int, miss: float) -> float:
    """What a probability is at most, likewise."""
    from scipy.special import betaincinv

    return float(betaincinv(hits + 1, trials - hits, 1 - miss)) if hits < trials else 1.0


def _bernoulli_kl(p: float, q: float) -> float:
    rest = (1 - p) * math.log((1 - p) / (1 - q)) if 0 < p < 1 else 0.0
    return p * math.log(p / q) + rest
