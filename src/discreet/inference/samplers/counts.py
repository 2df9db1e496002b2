"""Collapsed counts: the posterior of a table's cell counts, without chains where it can be had exactly.

With theta ~ Dirichlet(alpha) taken out, p(N | s) is proportional to p(n) n! / Gamma(n + A) prod Gamma(N_c + alpha_c) /
N_c! eta(N), n = sum N, A = sum alpha; then theta ~ Dirichlet(alpha + N). Three ways, tried in this order:

*enumerate*: all tables, where there are not too many. *convolve*: where every cell has noise of its own, p is a product
of a function of each cell, and sums of cells are convolutions: the last cell is drawn given the total, the one before
given what is left, and so on: independent draws at any n. *moves* (``count_moves``): a chain, for everything else.

Holds for tables (categories) with a Dirichlet prior, whose release is a function of the cell counts; n known, or with a
prior.

Proof: prod theta_c**(N_c) n!/prod N_c! integrated against the Dirichlet is the expression above, times constants; theta
given N and s depends on N alone. Convolution: with w_c(k) = Gamma(k + alpha_c)/k! eta_c(k) and F_c(m) the sum over N_1
+ .. + N_c = m of prod w, P(N_c = k | N_1 + .. + N_c = m) = w_c(k) F_(c-1)(m - k) / F_c(m). Multiplying w_c(k) by
exp(tilt k) for all cells multiplies every table of n by the same number, so that the tilt can bring the bulk to n and
keep doubles exact there; weights of less than 1e-43 of the largest are then left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.x64 import jax, jnp
from discreet.inference.models.base import Array, TableModel, Theta
from discreet.inference.models.rows import Rows
from discreet.inference.samplers.compiled import compiled_for, once
from discreet.inference.samplers.problem import SamplingProblem
from discreet.mechanisms.additive import Additive

Floats = npt.NDArray[np.float64]

_MOST_TABLES = 200_000
_MOST_WORK = 2e10  # multiplications of a convolution done in place
_MOST_CELL = 60_000_000  # cells times possible counts
_RANGE = 690.0  # logarithms under the largest that doubles can still hold
_DEEP = 100.0  # logarithms under the largest below which a weight is nothing
_DIRECT = 3e7  # multiplications of one convolution that are made one by one
_FEW_GAMMAS = 100_000  # numbers of gamma laws below which compiling well takes longer than it saves


@dataclass(frozen=True, eq=False)
class DrawsOfCounts:
    """Draws of counts: (draws, cells)."""

    counts: npt.NDArray[np.int64]
    way: str


def takes_counts(problem: SamplingProblem) -> bool:
    """Whether the release is a function of the counts of a table with a Dirichlet prior."""
    return isinstance(problem.model, TableModel) and bool(problem.evidence.parts) and not problem.evidence.indexed


def exact_counts(problem: SamplingProblem, key: Array, size: int) -> DrawsOfCounts | None:
    """Independent draws of the table, or None where neither way is open."""
    if _number_of_tables(problem) <= _MOST_TABLES:
        return _enumerate(problem, key, size)
    return _convolve(problem, key, size)


def theta_given(problem: SamplingProblem, key: Array, tables: DrawsOfCounts) -> Theta:
    """theta ~ Dirichlet(alpha + N) for every table."""
    counts = jnp.asarray(tables.counts, float)
    made, _ = compiled_for(problem.model.from_counts, "least" if counts.size < _FEW_GAMMAS else "most", key, counts)  # type: ignore[attr-defined]
    return made(key, counts)  # type: ignore[no-any-return]


def _contributions(problem: SamplingProblem) -> Floats:
    """What a record of each cell adds: (cells, numbers)."""
    model: Any = problem.model

    def each(values: Array) -> Array:
        return problem.evidence.each(model.support(), jnp.arange(model.cells), values)

    return np.asarray(once(each, jnp.asarray(problem.evidence.values)))


def _number_of_tables(problem: SamplingProblem) -> float:
    cells: int = problem.model.cells  # type: ignore[attr-defined]
    most = problem.capacity
    if isinstance(problem.rows, int):
        return math.comb(most + cells - 1, cells - 1) if cells < 8 else math.inf
    return math.comb(most + cells, cells) if cells < 8 else math.inf


def _log_weight(alpha: Floats, counts: Floats) -> Floats:
    from scipy.special import gammaln

    return np.asarray(gammaln(counts + alpha) - gammaln(counts + 1))


def _log_total(problem: SamplingProblem, n: Floats) -> Floats:
    """log p(n) n! / Gamma(n + A); for a known n a constant."""
    from scipy.special import gammaln

    rows = problem.rows
    assert isinstance(problem.model, TableModel)
    whole = float(problem.model.weights.sum())
    prior = np.zeros(n.shape) if not isinstance(rows, Rows) else np.asarray(once(jax.vmap(rows.log_prior), jnp.asarray(n)))
    return np.asarray(prior + gammaln(n + 1) - gammaln(n + whole))


def _enumerate(problem: SamplingProblem, key: Array, size: int) -> DrawsOfCounts:
    model: Any = problem.model
    most, known = problem.capacity, isinstance(problem.rows, int)
    tables = _compositions(most, model.cells if known else model.cells + 1)[:, : model.cells]
    values, counts = jnp.asarray(problem.evidence.values), tables.astype(np.float64)
    totals = jnp.asarray(counts @ _contributions(problem))
    seen = np.asarray(once(jax.vmap(problem.evidence.log_prob, (None, 0)), values, totals))
    logs = _log_weight(model.weights, counts).sum(1) + seen + _log_total(problem, counts.sum(1))
    chances = np.cumsum(np.exp(logs - logs.max()))
    drawn = np.asarray(jax.random.uniform(key, (size,))) * chances[-1]
    return DrawsOfCounts(tables[np.minimum(np.searchsorted(chances, drawn, side="right"), len(tables) - 1)], "enumerated")


def _compositions(total: int, cells: int) -> npt.NDArray[np.int64]:
    """All ways to share ``total`` among ``cells``."""
    tables = np.array([[]], np.int64).reshape(1, 0)
    left = np.array([total], np.int64)
    for _ in range(cells - 1):
        repeats = left + 1
        starts = np.repeat(np.cumsum(repeats) - repeats, repeats)
        taken = np.arange(repeats.sum()) - starts
        tables = np.column_stack([np.repeat(tables, repeats, axis=0), taken])
        left = np.repeat(left, repeats) - taken
    return np.column_stack([tables, left])


def _convolve(problem: SamplingProblem, key: Array, size: int) -> DrawsOfCounts | None:
    model: Any = problem.model
    cells, most = model.cells, problem.capacity
    same = np.tile(np.eye(cells), len(problem.evidence.parts))
    if any(not p.law.law.independent or p.statistic.finish is not None for p in problem.evidence.parts):
        return None
    if (most + 1.0) * cells > _MOST_CELL or problem.evidence.size != same.shape[1]:
        return None
    if not np.array_equal(_contributions(problem), same):
        return None
    logs = [_cell_logs(problem, cell, most) for cell in range(cells)]
    windows = [_window(0, w, _RANGE) for w in logs]
    tilt = _tilt(windows, most) if isinstance(problem.rows, int) else 0.0
    windows = [_window(first, w + tilt * (first + np.arange(w.size)), _DEEP) for first, w in windows]
    weights = [(first, np.exp(w - w.max())) for first, w in windows]
    if sum(w.size for _, w in weights) * max(w.size for _, w in weights) > _MOST_WORK:
        return None
    sums = [weights[0]]
    for first, w in weights[1:]:
        start, before = sums[-1]
        joined = _joined(before, w)
        sums.append((start + first, joined / joined.max()))
    start, last = sums[-1]
    if isinstance(problem.rows, int):
        if not 0 <= most - start < last.size or last[most - start] <= 0:
            return None
        left = np.full(size, most)
    else:
        totals = start + np.arange(last.size)
        with np.errstate(divide="ignore"):
            weight = np.where(totals <= most, np.log(last) + _log_total(problem, totals.astype(np.float64)), -np.inf)
        chances = np.cumsum(np.exp(weight - weight.max()))
        first_key, key = jax.random.split(key)
        drawn = np.asarray(jax.random.uniform(first_key, (size,))) * chances[-1]
        left = start + np.minimum(np.searchsorted(chances, drawn, side="right"), last.size - 1)
    return DrawsOfCounts(_backwards(weights, sums, left, key), "convolved")


def _cell_logs(problem: SamplingProblem, cell: int, most: int) -> Floats:
    """log w_c at 0 .. most."""
    model: Any = problem.model
    counts = np.arange(most + 1.0)
    logs = _log_weight(model.weights[cell], counts)
    for part in problem.evidence.parts:
        law = part.law.law
        assert isinstance(law, Additive)
        logs = logs + np.asarray(law.at([cell]).log_prob(part.values[cell], counts))
    return logs


def _window(first: int, logs: Floats, depth: float) -> tuple[int, Floats]:
    """Where the weights matter: the first place and the logs from there."""
    inside = np.flatnonzero(logs > logs.max() - depth)
    return first + int(inside[0]), logs[inside[0] : inside[-1] + 1]


def _tilt(windows: list[tuple[int, Floats]], total: int) -> float:
    """The tilt at which the cells' means add up to the total."""

    def excess(tilt: float) -> float:
        found = 0.0
        for first, logs in windows:
            places = np.arange(logs.size)
            tilted = logs + tilt * places
            weight = np.exp(tilted - tilted.max())
            found += first + float(places @ weight) / float(weight.sum())
        return found - total

    low, high = -1.0, 1.0
    while excess(low) > 0 and low > -1e3:
        low *= 2
    while excess(high) < 0 and high < 1e3:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
        if high - low < 1e-12 + 1e-9 * abs(low):
            break
    return (low + high) / 2


def _joined(a: Floats, b: Floats) -> Floats:
    """The convolution: directly while it is cheap, which keeps every digit of small terms, else by Fourier."""
    if a.size * float(b.size) <= _DIRECT:
        return np.convolve(a, b)
    from scipy.fft import irfft, next_fast_len, rfft

    size = a.size + b.size - 1
    room = next_fast_len(size, real=True)
    return np.asarray(np.maximum(irfft(rfft(a, room) * rfft(b, room), room)[:size], 0.0))


def _backwards(
    weights: list[tuple[int, Floats]], sums: list[tuple[int, Floats]], left: npt.NDArray[Any], key: Array
) -> npt.NDArray[np.int64]:
    """Cell by cell from the last: each given what the cells up to it hold together."""
    cells = len(weights)
    found = np.zeros((left.size, cells), np.int64)
    for cell in range(cells - 1, 0, -1):
        key, draw = jax.random.split(key)
        first, w = weights[cell]
        start, before = sums[cell - 1]
        distinct, line = np.unique(left, return_inverse=True)
        # One cumulated line for each distinct total; all lines one after another are still increasing.
        lines = np.empty((distinct.size, w.size))
        for i, total in enumerate(distinct):
            place = int(total) - first - start - np.arange(w.size)
            good = (place >= 0) & (place < before.size)
            lines[i] = np.cumsum(np.where(good, w * before[np.clip(place, 0, before.size - 1)], 0.0))
        lines /= lines[:, -1:]
        drawn = np.asarray(jax.random.uniform(draw, (left.size,)))
        flat = (lines + np.arange(distinct.size)[:, None]).ravel()
        place = np.searchsorted(flat, drawn + line, side="right") - line * w.size
        found[:, cell] = first + np.clip(place, 0, w.size - 1)
        left = left - found[:, cell]
    found[:, 0] = left
    return found
