"""Tables drawn from known populations, many at once, and statements about them judged together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from discreet.core.random import Random
from discreet.statistics.bernstein import cells_at
from discreet.statistics.equation import Statement, p_values

Floats = npt.NDArray[np.float64]

_TOGETHER = 200_000  # rows of tables that are drawn at once
_DISCRETE = [0.4, 0.3, 0.15, 0.1, 0.05]  # of 0, 1/4, .. 1


def values(data: str, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Numbers on the scale of [0, 1], clipped as the declared bounds would."""
    if data == "bernoulli":
        return (rng.random(shape) < share(data)).astype(np.float64)
    if data == "discrete":
        return rng.choice(5, shape, p=_DISCRETE) / 4.0
    made = rng.lognormal(0, 1, shape) / 10 if data.startswith("lognormal") else rng.normal(0.5, 1 / 6, shape)
    return np.clip(made, 0.0, 1.0)


def share(data: str) -> float:
    """The share of a label in such a population."""
    return {"bernoulli": 0.1, "lognormal": 0.2, "discrete": 0.3}.get(data, 0.5)


@lru_cache
def truth(data: str) -> dict[str, float]:
    """Moments and quantiles of the clipped population, by quadrature over its quantiles."""
    if data in ("bernoulli", "discrete"):
        return {"mean": share(data) if data == "bernoulli" else float(np.dot(_DISCRETE, np.arange(5) / 4))}
    u = (np.arange(2_000_000) + 0.5) / 2_000_000
    x = np.exp(stats.norm.ppf(u)) / 10 if data.startswith("lognormal") else 0.5 + stats.norm.ppf(u) / 6
    x = np.clip(x, 0.0, 1.0)
    return {
        "mean": float(x.mean()),
        "variance": float(x.var()),
        "median": float(x[1_000_000]),
        "decile": float(x[1_800_000]),
    }


def in_turn(rows: int, runs: int, draw: Callable[[int], Floats]) -> Floats:
    """Sums of ``runs`` tables of ``rows`` rows, drawn some at a time: ``draw(some)`` sums so many."""
    some = max(1, min(runs, _TOGETHER // rows))
    return np.concatenate([draw(min(some, runs - start)) for start in range(0, runs, some)])


def spread(t: Floats, degree: int) -> Floats:
    """The Bernstein cells of numbers, in a last axis."""
    return np.moveaxis(cells_at(degree, t), 0, -1)


def released(law: Any, exact: Floats, random: Random, whole: bool = False) -> Floats:
    """The cells of many tables with the noise of a release each."""
    flat = exact.reshape(len(exact), -1)
    noisy = law.release(np.rint(flat).astype(np.int64) if whole else flat, seed=random)
    return np.asarray(noisy, np.float64).reshape(exact.shape)


def together(statements: Sequence[Statement]) -> Statement:
    """Many statements as one."""
    more = [
        None if getattr(statements[0], word) is None else np.concatenate([getattr(s, word) for s in statements])
        for word in ("variance_weights", "guard_weights")
    ]
    kept = (np.concatenate([getattr(s, word) for s in statements]) for word in ("score", "variance", "weights"))
    return Statement(*kept, *more)


def judged(statements: Sequence[Statement | None], law: Any, judge: Callable[[Statement, Any], Floats] = p_values) -> Floats:
    """The p-value of every statement, all in one integral; 1 where there is none."""
    p = np.ones(len(statements))
    places = [i for i, one in enumerate(statements) if one is not None]
    if places:
        p[places] = judge(together([one for one in statements if one is not None]), law)
    return p
