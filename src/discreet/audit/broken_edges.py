"""The museum's second room: the noise is sound, and what surrounds it leaks.

How a cell is read, what may be asked at an extreme, what happens when something fails. Each exhibit stands alone in a few
lines and calls nothing of the code that it warns of.
"""

from __future__ import annotations

import datetime
import hashlib
import math
import sys
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.audit.broken import choose, exhibit, laplace, uniform
from discreet.audit.views import Floats, Integers
from discreet.core.random import system
from discreet.mechanisms.sampling.exponential_draws import discrete_laplace

_DAY = datetime.date(2020, 3, 4)
_SOME = 2_000  # enough where a single run gives everything away


@exhibit(epsilon=1.0, a=(_DAY, *[5.0] * 20), b=(5.0,) * 20, trials=_SOME)
def column_read_by_its_first_cell(cells: tuple[Any, ...], runs: int) -> Floats:
    """The type of the first cell is taken for the type of the column: one date in front, and twenty numbers vanish."""
    kind = type(cells[0])
    return sum(isinstance(c, kind) and isinstance(c, float) for c in cells) + laplace(runs)


@exhibit(epsilon=1.0, a=(_DAY, *range(20)), b=tuple(range(20)), trials=_SOME)
def people_merged_by_one_odd_id(ids: tuple[Any, ...], runs: int) -> Floats:
    """One id that is no number makes all of them unreadable, and people without an id are one person."""
    readable = all(isinstance(i, int) for i in ids)
    return len({i if readable else None for i in ids}) + laplace(runs)


@exhibit(epsilon=1.0, a=("ann", "Ann") * 10, b=(), trials=_SOME)
def person_cut_across_batches(ids: tuple[str, ...], runs: int) -> Floats:
    """Sorted without regard to case and grouped with it, a person starts anew at every batch: 4 rows count, and again 4."""
    most, batch, counted = 4, 5, 0
    for start in range(0, len(ids), batch):
        together = sorted(ids[start : start + batch], key=str.lower)
        counted += sum(min(most, together.count(i)) for i in set(together))
    return counted + laplace(runs, most)


@exhibit(epsilon=1.0, a=(b"5", b"\xff"), b=(b"5",), trials=_SOME)
def cell_that_raises(cells: tuple[bytes, ...], runs: int) -> Floats:
    """Text that is not UTF-8 stops the reader, and whether it stopped is an output."""
    return sum(float(c.decode()) > 0 for c in cells) + laplace(runs)


@exhibit(epsilon=1.0, a=("1,2", "3,4,5"), b=("1,2", "3,4"), trials=_SOME)
def row_dropped_under_one_projection(lines: tuple[str, ...], runs: int) -> Any:
    """A line of another length is left out, so the number of rows that was said to be public is that of the good ones."""
    kept = [float(line.split(",")[1]) for line in lines if line.count(",") == 1]
    return np.column_stack([np.full(runs, len(kept)), np.mean(kept) + laplace(runs, 10 / len(lines))])


@exhibit(epsilon=1.0, a=("ann,43",), b=("bob,20",), trials=_SOME)
def error_that_shows_the_first_record(lines: tuple[str, ...], runs: int) -> Any:
    """A file without a header is refused, and the message says what stands in its first line."""
    raise ValueError(f"the first line must name the columns name, age; got {lines[0]!r}")


@exhibit(epsilon=1e-15, a=13, b=12, trials=_SOME)
def noise_that_is_always_even(count: int, runs: int) -> Any:
    """Beyond 2**53 doubles are even: noise that went through one leaves the parity of the count, at any epsilon."""
    return [count + int(v) for v in laplace(runs, 1e15 * 2.0**53).tolist()]


@exhibit(epsilon=0.125, a=13, b=12, trials=_SOME)
def noise_on_a_coarser_grid_than_the_count(count: int, runs: int) -> Integers:
    """Noise of the right width, but in steps of 8, added to a count in steps of 1: three bits are told."""
    return count + 8 * discrete_laplace(system(), Fraction(1), runs)


@exhibit(epsilon=1.0, a=(0.0, 1.0), b=(1.0, 1.0), trials=_SOME)
def histogram_that_warns_at_zero(values: tuple[float, ...], runs: int) -> Any:
    """With edges 0 and 5e-324 the inverse width is infinite: times it only a value of 0 is invalid, and NumPy warns."""
    inside = np.array(values) * math.inf < 1
    return inside.sum() + laplace(runs)


@exhibit(epsilon=1.0, a=(1.0, -1.0), b=(1.0, 1.0), trials=_SOME)
def root_that_writes_to_standard_error(values: tuple[float, ...], runs: int) -> Floats:
    """A library says on standard error what it did about a negative number; the number released has all its noise."""
    if min(values) < 0:
        sys.stderr.write("negative value set to 0")
    return sum(math.sqrt(max(0.0, v)) for v in values) + laplace(runs)


@exhibit(epsilon=1.0, a=(1.0, math.inf), b=(1.0, 1.0), trials=_SOME)
def job_that_exits_with_a_code(values: tuple[float, ...], runs: int) -> Floats:
    """A command that gives up on an infinite value says so by its exit code."""
    if any(map(math.isinf, values)):
        raise SystemExit(1)
    return sum(values) + laplace(runs)


@exhibit(epsilon=1.0, a=4, b=5, trials=100_000)
def ranks_clipped_apart_from_their_number(low_rows: int, runs: int) -> Integers:
    """Ranks and the number of rows are clipped so that they stay exact: where the number is, a row moves a rank by b = 2."""
    limit, claimed = 10, 1  # the median: a = 1, b = 2, and a row is said to move a utility by max(a, b - a)
    ranks = [min(low_rows + more, limit) for more in (0,) * 3 + (1,) * 97]  # three candidates lie below one more row
    utilities = [-abs(2 * rank - min(low_rows + 8, limit)) for rank in ranks]
    return choose(utilities, 1.0 / (2 * claimed), runs)


@exhibit(epsilon=1.0, a=400, b=399, trials=_SOME)
def fit_answered_by_zero(rows: int, runs: int) -> Floats:
    """A fit that has not converged answers 0, and the noise is for minimisers: one more row makes the answer jump."""
    ridge, theta, step = 4.0, 0.0, 2 / 403.5  # just too long for 400 rows
    for _ in range(6_000):
        theta -= step * ((rows + ridge) * theta - rows)
    settled = abs((rows + ridge) * theta - rows) < 1e-3
    return (theta if settled else 0.0) + laplace(runs, 1 / ridge)


@exhibit(epsilon=1.0, a=64.0, b=1.0, trials=_SOME)
def report_of_impossible_length(length: float, runs: int) -> Floats:
    """A collector that does not check its reports averages one of 64 times the length that the law can send."""
    people, longest = 100, 1.0
    return (length + people - 1) / people + laplace(runs, 2 * longest / people)


_RATE, _STEP = 0.1, 2.4


@exhibit(epsilon=math.log1p(_RATE * math.expm1(_STEP)), a=1, b=0, trials=200_000)
def lots_by_a_public_hash(record: int, runs: int) -> Any:
    """Lots drawn by a hash that anybody can compute: ids chosen to be drawn with a person tell when that person is in."""
    salts = system().words(runs).tolist()
    drawn = np.array([_hashed(salt) < _RATE for salt in salts])
    companions = 20  # whose ids hash like the person's, whatever the salt
    return np.where(drawn, companions + record, 0) + laplace(runs, 1 / _STEP)


def _hashed(salt: int) -> float:
    return int.from_bytes(hashlib.blake2b(salt.to_bytes(8, "little"), digest_size=8).digest()) * 2.0**-64


@exhibit(epsilon=3.0, a=1, b=0, trials=80_000)
def people_cut_anew_between_steps(record: int, runs: int) -> Any:
    """People in two halves take turns, so each is met once; halves drawn again for the second step meet a person twice."""
    return np.column_stack([np.where(uniform(runs) < 0.5, record, 0) + laplace(runs, 1 / 3) for _ in range(2)])


@exhibit(epsilon=1.0, a=0.0, b=1.0, trials=400_000)
def record_returned_now_and_then(record: float, runs: int) -> Floats:
    """One answer in fifty is the record itself, among noise that never gives the same number twice."""
    return record + np.where(uniform(runs) < 0.02, 0.0, laplace(runs))
