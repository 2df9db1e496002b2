"""The Metropolis sweep in plain Python, for models whose functions JAX cannot trace: NumPy, SciPy or anything else.

The same steps as ``sweep`` and ``privacy_model.whole_sweep``, so the same proofs hold: theta given records, one proposal for
every record, each accepted with probability min(1, eta(S')/eta(S)) in order. A user's function gets a NumPy ``Generator``
where a traced one gets a key. A chain costs as much as the functions do; nothing is compiled.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidRequest
from discreet.inference.models.own import OwnModel, check_arguments
from discreet.inference.models.privacy_model import PrivacyModel
from discreet.inference.samplers.chains import Drawn, check_start
from discreet.inference.samplers.numpy_draws import Generator, generator

Floats = npt.NDArray[np.float64]
Theta = dict[str, Floats]
_STEPS_OUT, _SHRINKS = 8, 200


@dataclass(frozen=True, eq=False)
class HostModel:
    """The functions of a model as plain Python calls them.

    ``simulate(rng, theta, n)`` makes records, ``update(rng, theta, records)`` parameters, ``each(records)`` what every
    record adds (None where the statistic is of the whole table), and ``log_prob(records, total)`` is the log-density.
    """

    start: Callable[[Generator], Theta]
    simulate: Callable[[Generator, Theta, int], Any]
    update: Callable[[Generator, Theta, Any], Theta]
    each: Callable[[Any], Floats] | None
    log_prob: Callable[[Any, Floats | None], float]
    n: int


def run_on_host(model: HostModel, draws: int, warmup: int, chains: int, seed: int) -> Drawn:
    """Chains one after another; an interrupt returns nothing less than whole chains of equal length."""
    began = time.perf_counter()
    made = [_chain(model, generator(seed, chain), draws, warmup) for chain in range(chains)]
    theta = {name: np.stack([chain[0][name] for chain in made]) for name in made[0][0]}
    stats = {
        "acceptance_rate": np.stack([chain[1].mean(1) for chain in made]),
        "acceptance_per_record": np.stack([chain[1].mean(0) for chain in made]),
    }
    return Drawn(theta, stats, time.perf_counter() - began, 0.0)


def _chain(model: HostModel, rng: Generator, draws: int, warmup: int) -> tuple[Theta, Floats]:
    theta = model.start(rng)
    records = model.simulate(rng, theta, model.n)
    each = None if model.each is None else model.each(records)
    now = model.log_prob(records, None if each is None else each.sum(0))
    check_start({"theta": theta, "log_prob": now} | ({} if each is None else {"each": each}))
    kept: dict[str, list[Floats]] = {name: [] for name in theta}
    accepted = np.zeros((draws, model.n))
    for step in range(warmup + draws):
        theta = _same(model.update(rng, theta, records), theta)
        new = model.simulate(rng, theta, model.n)
        log_u = np.log(rng.uniform(np.finfo(float).tiny, 1.0, model.n))
        records, each, good = _replace(model, records, each, new, log_u)
        if step >= warmup:
            accepted[step - warmup] = good
            for name, value in theta.items():
                kept[name].append(np.array(value))
    return {name: np.stack(values) for name, values in kept.items()}, accepted


def _same(new: Theta, old: Theta) -> Theta:
    shapes = [{name: np.shape(value) for name, value in theta.items()} for theta in (new, old)]
    if shapes[0] != shapes[1]:
        raise InvalidRequest(f"posterior returns parameters of shape {shapes[0]}, start has {shapes[1]}; they must match")
    return {name: np.asarray(value, np.float64) for name, value in new.items()}


def _replace(
    model: HostModel, records: Any, each: Floats | None, new: Any, log_u: Floats
) -> tuple[Any, Floats | None, npt.NDArray[np.bool_]]:
    """One pass over all records; which were replaced."""
    good = np.zeros(model.n, bool)
    if model.each is None or each is None:
        now = model.log_prob(records, None)
        for i in range(model.n):
            other = _put(records, new, i)
            found = model.log_prob(other, None)
            if log_u[i] < found - now:
                records, now, good[i] = other, found, True
        return records, None, good
    fresh = model.each(new)
    total = each.sum(0)
    now = model.log_prob(None, total)
    for i in range(model.n):
        found = model.log_prob(None, total + fresh[i] - each[i])
        if log_u[i] < found - now:
            total, now, good[i] = total + fresh[i] - each[i], found, True
    chosen = _mixed(records, new, good)
    return chosen, np.where(good[:, None], fresh, each), good


def _put(records: Any, new: Any, i: int) -> Any:
    return _mixed(records, new, np.arange(_length(records)) == i)


def _mixed(records: Any, new: Any, good: npt.NDArray[np.bool_]) -> Any:
    if isinstance(records, dict):
        return {name: _mixed(records[name], new[name], good) for name in records}
    old, fresh = np.asarray(records), np.asarray(new)
    return np.where(good.reshape((-1,) + (1,) * (old.ndim - 1)), fresh, old)


def _length(records: Any) -> int:
    return _length(next(iter(records.values()))) if isinstance(records, dict) else len(records)


def stacked(rows: list[Any]) -> Any:
    """Single records as arrays with one line each."""
    if isinstance(rows[0], dict):
        return {name: stacked([row[name] for row in rows]) for name in rows[0]}
    return np.asarray(rows)


def line(records: Any, i: int) -> Any:
    """One record of many."""
    return {name: line(part, i) for name, part in records.items()} if isinstance(records, dict) else records[i]


def of_privacy_model(model: PrivacyModel, values: Floats) -> HostModel:
    """A ``PrivacyModel`` as plain Python calls it."""
    law, own = model.law, isinstance(model.start, dict)
    posterior_takes = check_arguments(model.posterior, "posterior", 2, 3)
    per_record = model.statistic_of == "record"
    takes = check_arguments(model.statistic, "statistic", 1, 3 if per_record else 2)

    def named(theta: Any) -> Theta:
        given = theta if isinstance(theta, dict) else {"theta": theta}
        return {name: np.asarray(value, np.float64) for name, value in given.items()}

    def theirs(theta: Theta) -> Any:
        return theta if own or set(theta) != {"theta"} else theta["theta"]

    def simulate(rng: Generator, theta: Theta, n: int) -> Any:
        if model.latent_of == "data":
            return model.latent(rng, theirs(theta), n)
        return stacked([model.latent(rng, theirs(theta)) for _ in range(n)])

    def each(records: Any) -> Floats:
        count = _length(records)
        if per_record:
            made = [model.statistic(*(line(records, i), i, values)[:takes]) for i in range(count)]
        else:
            made = [model.statistic(stacked([line(records, i)])) for i in range(count)]
        return np.asarray(made, np.float64).reshape(count, -1)

    def log_prob(records: Any, total: Floats | None) -> float:
        exact = model.statistic(*(records, values)[:takes]) if total is None else total
        return float(np.sum(law.log_prob(values, np.ravel(np.asarray(exact, np.float64)))))

    return HostModel(
        lambda rng: named(model.start(rng) if callable(model.start) else model.start),
        simulate,
        lambda rng, theta, records: named(model.posterior(*(rng, records, theirs(theta))[:posterior_takes])),
        each if per_record or model.additive else None,
        log_prob,
        model.n,
    )


def of_own_model(
    model: OwnModel, n: int, each: Callable[[Any], Floats], log_prob: Callable[[Any, Floats | None], float]
) -> HostModel:
    """An ``OwnModel`` as plain Python calls it: theta moves by one slice along each coordinate, as the traced one does."""

    def start(rng: Generator) -> Theta:
        return {name: np.array(value, np.float64) for name, value in model.start.items()}

    def to_free(theta: Theta) -> Floats:
        return np.concatenate([np.ravel(np.log(v) if name in model.positive else v) for name, v in theta.items()])

    def from_free(free: Floats) -> Theta:
        theta, place = {}, 0
        for name, value in model.start.items():
            part = free[place : place + value.size].reshape(value.shape)
            theta[name] = np.exp(part) if name in model.positive else part
            place += value.size
        return theta

    widths = 1.0 + np.abs(to_free(start(generator(0))))

    def update(rng: Generator, theta: Theta, records: Any) -> Theta:
        rows = [line(records, i) for i in range(n)]

        def log_density(free: Floats) -> float:
            here = from_free(free)
            change = sum(float(np.sum(np.log(here[name]))) for name in model.positive)
            found = float(model.log_prior_of(here)) + change
            if math.isfinite(found):
                found += sum(float(model.log_likelihood(row, here)) for row in rows)
            return found if not math.isnan(found) else -math.inf

        free = to_free(theta)
        value = log_density(free)
        for i, width in enumerate(widths):
            free, value = _slice(rng, log_density, free, value, i, float(width))
        return from_free(free)

    def simulate(rng: Generator, theta: Theta, count: int) -> Any:
        return stacked([model.simulate_one(rng, theta) for _ in range(count)])

    return HostModel(start, simulate, update, each, log_prob, n)


def _slice(
    rng: Generator, log_density: Callable[[Floats], float], point: Floats, value: float, axis: int, width: float
) -> tuple[Floats, float]:
    """One slice along a coordinate: stepping out with a limit split at random, then shrinkage (Neal 2003)."""

    def at(place: float) -> Floats:
        moved = point.copy()
        moved[axis] += place * width
        return moved

    height = value + math.log(rng.uniform(np.finfo(float).tiny, 1.0))
    low = -rng.uniform()
    high = low + 1.0
    left = int(_STEPS_OUT * rng.uniform())
    right = _STEPS_OUT - 1 - left
    while left > 0 and log_density(at(low)) > height:
        low, left = low - 1.0, left - 1
    while right > 0 and log_density(at(high)) > height:
        high, right = high + 1.0, right - 1
    for _ in range(_SHRINKS):
        place = low + (high - low) * rng.uniform()
        found = log_density(at(place))
        if found > height:
            return at(place), found
        low, high = (place, high) if place < 0 else (low, place)
    return point, value
