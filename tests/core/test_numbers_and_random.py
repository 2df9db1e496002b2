from __future__ import annotations

import math
import subprocess
import sys
import threading
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet.core import numbers
from discreet.core.random import Random, chosen, system
from discreet.errors import InvalidRequest


def test_a_number_is_the_rational_it_looks_like() -> None:
    assert numbers.rational(0.1) == Fraction(1, 10)
    assert numbers.rational(np.float64(0.1)) == Fraction(1, 10)
    assert numbers.rational("1/3") == Fraction(1, 3)
    assert numbers.rational(1e-7) * 10 == numbers.rational(1e-6)
    for bad in (math.nan, math.inf, "x", None, True, [1]):
        with pytest.raises(InvalidRequest, match="must be a"):
            numbers.rational(bad)  # type: ignore[arg-type]


@given(st.floats(0, 1e300))
def test_round_up_is_above(value: float) -> None:
    assert numbers.round_up(value) > Fraction(value)
    assert numbers.round_up(value) <= Fraction(value) * (1 + Fraction(1, 2**45)) + Fraction(1, 2**1000)


@given(st.fractions(min_value=0, max_value=10**12))
def test_square_root_up(value: Fraction) -> None:
    root = numbers.square_root_up(value)
    assert root * root >= value
    assert root == 0 or (root - Fraction(1, value.denominator << 63)) ** 2 < value
    assert numbers.square_root_up(value * value) == value


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9))
def test_floor_log2(value: Fraction) -> None:
    e = numbers.floor_log2(value)
    assert Fraction(2) ** e <= value < Fraction(2) ** (e + 1)


def test_totals_do_not_grow_without_end() -> None:
    total = Fraction(0)
    for i in range(3, 2000, 2):
        after = numbers.sum_up(total, Fraction(1, i**3))
        assert after >= total + Fraction(1, i**3)
        total = after
    assert total.denominator.bit_length() <= 513


def test_seeded_streams_repeat_and_are_marked() -> None:
    assert (Random(5).words(10_000) == Random(5).words(10_000)).all()
    assert (Random(5).words(100) != Random(6).words(100)).all()
    assert not Random(5).private
    assert system().private
    assert chosen(None) is system()
    assert not chosen(3).private


def test_words_are_uniform_and_never_repeat() -> None:
    """Every bit of a million words at false alarm 1e-6 in all (Bonferroni over 64), and no word twice."""
    words = np.concatenate([Random(1).words(900_000), *(Random(i).words(1000) for i in range(2, 102))])
    assert np.unique(words).size == words.size
    for bit in range(64):
        ones = int((words >> np.uint64(bit) & np.uint64(1)).sum())
        assert stats.binomtest(ones, words.size).pvalue > 1e-6 / 64


def test_small_and_large_requests_never_overlap() -> None:
    stream = Random()
    parts = [stream.words(n) for n in (3, 5000, 1, 4096, 4097, 12)] + [np.array([stream.word()], np.uint64)]
    everything = np.concatenate(parts)
    assert np.unique(everything).size == everything.size


FORK = """
import os
from discreet.core.random import Random, system

held = Random()
system().words(5), held.words(5)
if os.fork() == 0:
    print("child", *system().words(4), *held.words(4), flush=True)
    os._exit(0)
os.wait()
print("parent", *system().words(4), *held.words(4), flush=True)
"""


def test_a_forked_child_has_noise_of_its_own() -> None:
    """In a process of its own: other tests leave threads behind, which do not survive a fork."""
    out = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=True).stdout
    child, parent = (set(line.split()[1:]) for line in sorted(out.splitlines()))
    assert len(child) == len(parent) == 8
    assert not child & parent


def test_threads_have_streams_of_their_own() -> None:
    words: list[int] = []

    def work() -> None:
        words.extend(system().word() for _ in range(2000))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(set(words)) == len(words) == 16_000
