"""What the auditor looks at: values that come back, last bits, shapes, and what a run shows besides its value."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as ds
from discreet.audit import lower_bound
from discreet.audit.seen import ALONE, listening
from discreet.core.random import Random

LAW = ds.Laplace(1)


def noise(random: Random, runs: int) -> Any:
    return LAW.release(np.zeros(runs), seed=random)


def uniform(random: Random, runs: int) -> Any:
    return random.words(runs) * 2.0**-64


@pytest.mark.parametrize("dimension", [1, 3])
@pytest.mark.parametrize("share", [0.02, 0.2])
def test_a_record_that_comes_back_among_noise_is_seen(dimension: int, share: float) -> None:
    """400,000 runs at (nearly) no noise in the count: P(hits below five deviations) < 1e-6, and none on the other side."""
    random, runs = Random(1), 400_000 if dimension == 1 else 40_000

    def leaks(record: float, n: int) -> Any:
        out = record + noise(random, n * dimension).reshape(n, dimension)
        out[uniform(random, n) < share] = record + 0.125  # no value that noise makes likelier
        return out

    found = lower_bound(leaks, 0.0, 1.0, runs, batched=True)
    half = runs // 2
    fewest = share - 10 * np.sqrt(share / half)
    assert found.epsilon > np.log(fewest / -np.expm1(np.log(5e-7) / half)) - 0.1
    assert found.epsilon > (5 if dimension == 1 else 3)


@pytest.mark.parametrize("steps", [2, 8, 2**12, 2**60, 2**80])
@pytest.mark.parametrize("unit", [1, 2.0**-20, 2.0**40])
def test_low_bits_of_any_grid_are_seen(steps: int, unit: float) -> None:
    """Noise in steps coarser than the count, as whole numbers of any size or as doubles on any grid: all is told."""
    random = Random(2)
    if unit != 1 and steps > 2**12:
        steps = 2**12  # a double holds no more

    def coarse(count: int, n: int) -> Any:
        whole = np.rint(noise(random, n) * 2**20).astype(np.int64)
        return [int(k) * steps + count for k in whole] if unit == 1 else (whole * steps + count) * unit

    for a, b in ((0, 1), (12, 13)):
        assert lower_bound(coarse, a, b, 2000, batched=True).epsilon > 4


def warn(record: int) -> None:
    if record:
        warnings.warn("a zero", RuntimeWarning, stacklevel=1)


def divide(record: int) -> None:
    np.array([1.0]) / np.array([1.0 - record])


def write(record: int) -> None:
    if record:
        sys.stderr.write("a record")


def say(record: int) -> None:
    if record:
        sys.stdout.write("a record")


def write_from_c(record: int) -> None:
    os.write(2, b"a record" * record)


def fail(record: int) -> None:
    if record:
        raise ValueError(record)


def leave(record: int) -> None:
    raise SystemExit(2 * record)


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("leak", [warn, divide, write, say, write_from_c, fail, leave], ids=lambda f: f.__name__)
def test_what_a_run_shows_besides_its_value_is_an_output(leak: Callable[[int], None], batched: bool, capfd: Any) -> None:
    """A leak of certainty: 400 silent runs against as many that speak. Nothing of it reaches the terminal."""
    random = Random(3)

    def run(record: int, n: int = 1) -> Any:
        leak(record)
        return noise(random, n) if batched else noise(random, 1)[0]

    found = lower_bound(run, 0, 1, 800, batched=batched)
    assert found.epsilon > 2
    assert "errors" in found.view
    assert found.trials == min(800, ALONE)
    assert capfd.readouterr() == ("", "")


def test_an_error_now_and_then_leaves_the_numbers_to_be_looked_at() -> None:
    """A tenth of the runs fail on both inputs: the numbers of the others still tell the inputs apart, 20,000 runs."""
    random = Random(4)

    def run(record: float) -> Any:
        if uniform(random, 1)[0] < 0.1:
            raise ValueError("by chance")
        return 4 * record + noise(random, 1)[0]

    found = lower_bound(run, 0.0, 1.0, 6_000)
    assert found.epsilon > 2
    assert found.view == "ranges of values"


def test_what_other_threads_print_is_no_output(capfd: Any) -> None:
    with listening() as heard:
        other = threading.Thread(target=lambda: sys.stderr.write("a spinner"))
        other.start()
        other.join()
        assert heard() == ""
        sys.stderr.write("mine")
        assert "mine" in heard()
        assert heard() == ""
    assert capfd.readouterr().err == "a spinner"


def test_shapes_kinds_and_signs_of_zero_are_seen() -> None:
    """Lengths of random vectors, a missing value, the sign of zero: outputs that are different are told apart."""
    random = Random(5)
    assert lower_bound(lambda x, n: [list(noise(random, 2 + x)) for _ in range(n)], 0, 1, 800, batched=True).epsilon > 2
    assert lower_bound(lambda x: -0.0 if x else 0.0, 0, 1, 400).epsilon > 2
    assert lower_bound(lambda x: np.nan if x else noise(random, 1)[0], 0, 1, 800).epsilon > 2
    assert lower_bound(lambda x: None if x else 1.0, 0, 1, 400).epsilon > 2


@pytest.mark.parametrize("kind", ["whole", "fine", "vector"])
def test_no_false_alarm_whatever_is_looked_at(kind: str) -> None:
    """200 audits (60 of vectors) of exact laws at confidence 0.9, each free to choose among all views: more than 44 (21)
    alarms have probability 1e-6 at a rate of 0.1."""
    random = Random(6)
    law: Any = ds.DiscreteLaplace.costing(1, epsilon=1) if kind == "whole" else ds.Laplace.costing(1, epsilon="0.05")
    shape, claim = ((400, 2), 0.1) if kind == "vector" else ((400,), 1.0 if kind == "whole" else 0.05)
    audits, most = (60, 21) if kind == "vector" else (200, 44)
    alarms = 0
    for _ in range(audits):
        drawn = [law.release(np.full(shape, x), seed=random) for x in (0, 1)]
        alarms += lower_bound(lambda x, n, d=drawn: d[x], 0, 1, 400, confidence=0.9, batched=True).refutes(claim)
    assert stats.binom.sf(most, audits, 0.1) < 1e-6
    assert alarms <= most
