"""How distinguishable two inputs certainly are: a lower bound on epsilon from samples alone.

Half of the outputs teach an event that separates the inputs best, the other half measures its two probabilities. If the
mechanism were (epsilon, delta)-private, P(event | a) <= e^epsilon P(event | b) + delta; so the confidence limits of the
two probabilities prove a lower bound, whatever the mechanism is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidRequest

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

CONFIDENCE = 1 - 1e-6
_CELLS = 64  # an output that varies continuously is cut into this many cells to learn from
_FEW = 2048  # up to this many different outputs each is a cell of its own


@dataclass(frozen=True)
class LowerBound:
    """What is certain, up to the confidence asked for, about a pair of inputs.

    ``epsilon`` is a lower bound at ``delta``, ``rho`` one of zero-concentrated privacy; 0 where nothing was found. ``p`` and
    ``q`` are the confidence limits behind them: P(event | one input) >= p, P(event | the other) <= q.
    """

    epsilon: float
    delta: float
    rho: float
    p: float
    q: float
    trials: int
    confidence: float

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

    ``f(x)`` returns one output: a number, a vector, a label, anything that can be compared; an exception is an output too.
    With ``batched``, ``f(x, n)`` returns n outputs at once. ``score`` is a likelihood ratio where the density is known,
    ``features`` what to look at instead of the output itself (its last bits, its shape). The event is the one that tells
    most about ``target``; both bounds are certified by it.

    Proof: the event is chosen on the first half of the outputs, so on the second half its two counts are binomial.
    Clopper-Pearson limits, each missed with probability at most (1 - confidence) / 2, hold together with the confidence
    asked for; then epsilon >= ln((p - delta) / q) (Jagielski et al. 2020). For rho: data processing to the event leaves
    two Bernoulli laws, and the Kullback-Leibler divergence of Bernoulli(p) from Bernoulli(q) is at most rho.
    """
    if trials < 20 or not 0 <= delta < 1 or not 0 < confidence < 1:
        raise InvalidRequest(
            f"an audit needs 20 trials, a delta in [0, 1) and a confidence in (0, 1), got {trials}, {delta}, {confidence}"
        )
    outputs = [_outputs(f, x, trials, batched) for x in (a, b)]
    if features is not None:
        outputs = [_as_array([features(o) for o in out] if not batched else features(out)) for out in outputs]
    cells, start = _cells(outputs, score)
    half = trials // 2
    most = int(max(cells[0].max(), cells[1].max())) + 1
    middle = (start + half) // 2
    ranked = [np.bincount(c[start:middle], minlength=most) for c in cells]
    picked = [np.bincount(c[middle:half], minlength=most) for c in cells]
    chosen, swapped = _event(ranked, picked, half - middle, delta, target)
    one, other = (cells[1], cells[0]) if swapped else (cells[0], cells[1])
    hits = [int(np.isin(c[half:], chosen).sum()) for c in (one, other)]
    rest = trials - half
    p, q = _least(hits[0], rest, (1 - confidence) / 2), _most(hits[1], rest, (1 - confidence) / 2)
    epsilon = math.log((p - delta) / q) if p - delta > q else 0.0
    return LowerBound(epsilon, delta, _bernoulli_kl(p, q) if p > q else 0.0, p, q, trials, confidence)


def _outputs(f: Callable[..., Any], x: Any, trials: int, batched: bool) -> npt.NDArray[Any]:
    if batched:
        return np.asarray(f(x, trials))
    return _as_array([_try(f, x) for _ in range(trials)])


def _try(f: Callable[..., Any], x: Any) -> Any:
    try:
        return f(x)
    except Exception as problem:
        return f"raised {type(problem).__name__}: {problem}"


def _as_array(outputs: Sequence[Any]) -> npt.NDArray[Any]:
    """Numbers as numbers if all are, rows if all have one shape; anything else by what it prints as."""
    try:
        array = np.asarray(outputs)
        if array.dtype.kind in "fiub":
            return array
    except ValueError:
        pass
    return np.array([repr(np.asarray(o).tolist() if isinstance(o, np.ndarray) else o) for o in outputs])


def _cells(outputs: list[npt.NDArray[Any]], score: Callable[[Any], Floats] | None) -> tuple[list[Integers], int]:
    """Every output as the number of a cell, cut as the first halves teach; and from where on events may be learnt.

    What taught a classifier looks clearer to it than it is, so those outputs teach nothing else.
    """
    start = 0
    if len({o.ndim for o in outputs}) > 1 or len({o.dtype.kind in "fiub" for o in outputs}) > 1:
        outputs = [_as_array([repr(v) for v in o.tolist()]) for o in outputs]
    if score is not None:
        outputs = [np.asarray(score(o), np.float64) for o in outputs]
    elif outputs[0].ndim > 1:
        outputs = [o.reshape(len(o), -1) for o in outputs]
        wide = outputs[0].shape[1] > 1
        start = max(10, len(outputs[0]) // 4) if wide else 0
        outputs = _classified(outputs, start) if wide else [o[:, 0] for o in outputs]
    half = len(outputs[0]) // 2
    known = np.unique(np.concatenate([o[:half] for o in outputs]))
    if outputs[0].dtype.kind not in "fiub" or known.size <= _FEW:
        # An output never seen while learning gets a cell of its own, in no event.
        found = [np.searchsorted(known, o) for o in outputs]
        named = [
            np.where((i < known.size) & (known[np.minimum(i, known.size - 1)] == o), i, known.size).astype(np.int64)
            for i, o in zip(found, outputs, strict=True)
        ]
        return named, start
    edges = np.unique(np.quantile(np.concatenate([o[:half] for o in outputs]), np.linspace(0, 1, _CELLS + 1)[1:-1]))
    tails = [np.nan_to_num(o.astype(np.float64), nan=np.inf) for o in outputs]
    return [np.searchsorted(edges, o, side="right").astype(np.int64) for o in tails], start


def _classified(outputs: list[npt.NDArray[Any]], quarter: int) -> list[npt.NDArray[Any]]:
    """Vectors as one number: the log-odds of a small classifier, taught on a quarter of the outputs."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    values = np.concatenate([o[:quarter] for o in outputs]).astype(np.float64)
    labels = np.repeat([0, 1], quarter)
    model = HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=15, random_state=0).fit(values, labels)
    return [model.decision_function(o.astype(np.float64)) for o in outputs]


def _event(ranked: list[Integers], picked: list[Integers], count: int, delta: float, target: str) -> tuple[Integers, bool]:
    """The set of cells, most telling first, whose estimated bound is largest; and whether b is the likelier input.

    Some outputs rank the cells and others choose how many to take: the same ones would take the luckiest for the best.
    """
    best: tuple[float, Integers, bool] = (-math.inf, np.array([0]), False)
    for swapped in (False, True):
        first, second = (1, 0) if swapped else (0, 1)
        order = np.argsort(-np.log((ranked[first] + 0.5) / (ranked[second] + 0.5)), kind="stable")
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
        if value[place] > best[0]:
            best = float(value[place]), order[: place + 1], swapped
    return best[1], best[2]


def _least(hits: int, trials: int, miss: float) -> float:
    from scipy.special import betaincinv

    return float(betaincinv(hits, trials - hits + 1, miss)) if hits else 0.0


def _most(hits: int, trials: int, miss: float) -> float:
    from scipy.special import betaincinv

    return float(betaincinv(hits + 1, trials - hits, 1 - miss)) if hits < trials else 1.0


def _bernoulli_kl(p: float, q: float) -> float:
    rest = (1 - p) * math.log((1 - p) / (1 - q)) if 0 < p < 1 else 0.0
    return p * math.log(p / q) + rest
