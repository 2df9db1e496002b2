"""The gradient engine: clipped sums against a loop, lots, noise, one charge for all steps."""

from __future__ import annotations

import importlib
import math
import subprocess
import sys
import threading
import warnings
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from discreet.core.ask import Ask, Open
from discreet.core.budget import Budget
from discreet.core.codec import read_as, written
from discreet.core.cost import Cost
from discreet.core.random import Random
from discreet.core.runner import Desk, NoLedger, Procedure, plan
from discreet.core.schema import Categories, Real, Schema
from discreet.core.x64 import doubles, jnp
from discreet.errors import AccountClosed, BudgetExceeded, InvalidRequest, NotPrivate
from discreet.ledger import Ledger
from discreet.mechanisms import Gaussian
from discreet.models import MLPClassifier
from discreet.models.design import Design
from discreet.models.gradient import blas_threads, clipping, exact_products, lot_gradient
from discreet.models.gradient.clipping import clipped_sum
from discreet.models.gradient.engine import Run, State, Trained, descend
from discreet.models.gradient.lot_gradient import SLACK, LotGradient
from discreet.models.gradient.network import BLOCK, MARGIN, Network, Room, classifier, rowwise
from discreet.models.gradient.steps import Constant, InverseRoot, StepSize, StronglyConvex, step_size, step_sizes
from discreet.models.losses import Huber, HuberHinge, Logistic, Squared
from discreet.sources import open_source


def rows(n: int, d: int, seed: int = 0) -> tuple[Any, Any]:
    generator = np.random.default_rng(seed)
    x = generator.uniform(-1, 1, (n, d))
    return x, np.where(x[:, 0] + 0.3 * generator.normal(size=n) > 0, 1.0, -1.0)


def gradient_of(network: Network, flat: Any, x: Any, y: Any) -> Any:
    """The gradient of one row, layer by layer, with scalar sums only."""
    weights = network.layers(flat)
    ups, pre = [x], []
    for place, weight in enumerate(weights):
        inputs = np.append(ups[-1], 1.0) if network.bias else ups[-1]
        pre.append(np.array([sum(inputs[i] * weight[i, j] for i in range(len(inputs))) for j in range(weight.shape[1])]))
        if place < len(weights) - 1:
            ups.append(np.maximum(pre[-1], 0) if network.activation == "relu" else np.tanh(pre[-1]))
    if network.loss is None:
        share = np.exp(pre[-1] - pre[-1].max())
        down = share / share.sum()
        down[int(y)] -= 1
    else:
        down = np.array([network.loss.first(pre[-1][0], y)])
    parts: list[Any] = []
    for place in range(len(weights) - 1, -1, -1):
        inputs = np.append(ups[place], 1.0) if network.bias else ups[place]
        parts.insert(0, np.outer(inputs, down).reshape(-1))
        if place:
            back = weights[place][: len(ups[place])] @ down
            down = back * ((pre[place - 1] > 0) if network.activation == "relu" else 1 - ups[place] ** 2)
    return np.concatenate(parts)


def by_loop(network: Network, flat: Any, x: Any, y: Any, clip: float, people: Any = None, weight: Any = None) -> Any:
    each = [gradient_of(network, flat, a, b) for a, b in zip(x, y, strict=True)]
    if weight is not None:
        each = [w * g for w, g in zip(weight, each, strict=True)]
    owners = np.arange(len(x)) if people is None else people
    total = np.zeros(network.size)
    for owner in np.unique(owners):
        whole = sum(g for g, o in zip(each, owners, strict=True) if o == owner)
        length = math.sqrt(float(np.sum(np.square(whole))))
        total += whole * min(1.0, clip / length) if length else 0.0
    return total


NETWORKS = [
    classifier(4, (7, 5), 2),
    classifier(4, (6,), 3),
    classifier(4, (5, 5, 5), 4, "tanh"),
    Network((4, 1), Logistic(), False),
    Network((4, 1), HuberHinge(), True),
    Network((4, 3, 1), Huber()),
    Network((4, 1), Squared(), False),
]


DOUBLES, SINGLE, BETWEEN = (np.float64, 0), (np.float32, 0), (np.float32, MARGIN)


@pytest.mark.parametrize("network", NETWORKS, ids=lambda n: f"{n.widths}-{n.activation}-{n.bias}")
@pytest.mark.parametrize("working", [None, DOUBLES, SINGLE, BETWEEN])
def test_clipped_sums_are_those_of_a_loop(network: Network, working: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without several rows per person and weights, at clip norms that bind for some, all and nobody.

    To 1e-12 in doubles; to 1e-6 where hidden layers are computed in single precision, with and without margins.
    """
    generator = np.random.default_rng(1)
    monkeypatch.setattr(Network, "_working", working)
    network = replace(network)
    x, y = rows(60, 4)
    if network.loss is None:
        y = generator.integers(0, network.widths[-1], 60).astype(float)
    flat = network.start(3) + 0.3 * generator.normal(size=network.size)
    people = np.sort(generator.integers(0, 25, 60))
    weight = generator.uniform(0, 2, 60)
    wide = network.widen(x)
    near = 1e-12 if working in (None, DOUBLES) or len(network.shapes) == 1 else 1e-6
    for clip in (0.05, 0.7, 1e6):
        for owners, factors in ((None, None), (people, None), (None, weight), (people, weight)):
            kept = None if working is None else Room()
            found = clipped_sum(network, flat, wide, y, clip, weight=factors, people=owners, most=9, room=kept)
            true = by_loop(network, flat, x, y, clip, owners, factors)
            assert np.abs(found - true).max() <= near * np.abs(true).max()


def test_dead_units_and_layers_are_clipped_too() -> None:
    """With every hidden unit dead only the last bias has a gradient: it must not exceed the clip norm."""
    network = classifier(3, (4,), 2)
    flat = np.zeros(network.size)
    flat[12:16] = -5.0  # the hidden biases
    x, y = rows(20, 3)
    found = clipped_sum(network, flat, network.widen(x), np.ones(20), 0.01)
    assert np.abs(found[:-1]).max() == 0
    assert found[-1] == pytest.approx(-20 * 0.01, rel=1e-12)
    assert np.abs(found - by_loop(network, flat, x, np.ones(20), 0.01)).max() < 1e-14
    assert y.size == 20


def test_gradients_are_derivatives_of_the_loss() -> None:
    generator = np.random.default_rng(2)
    for network in NETWORKS:
        x, y = rows(5, 4, 7)
        if network.loss is None:
            y = generator.integers(0, network.widths[-1], 5).astype(float)
        flat = network.start(1) + 0.2 * generator.normal(size=network.size)
        wide = network.widen(x)
        found = clipped_sum(network, flat, wide, y, 1e9)
        move = generator.normal(size=network.size)
        step = 1e-6
        there, back = (float(np.sum(network.value(flat + s * move, wide, y))) for s in (step, -step))
        assert (there - back) / (2 * step) == pytest.approx(float(found @ move), rel=1e-5, abs=1e-6)


def test_rows_of_one_person_that_cancel_are_not_let_through() -> None:
    """Two huge gradients whose sum is moderate: the computed norm may not fall short of the true one."""
    network = Network((2, 1), Squared(), False)
    x = np.array([[1e8, 1.0], [1e8, -1.0]])
    y = np.array([-1e8, 1e8 + 3e-1])
    found = clipped_sum(network, np.zeros(2), x, y, 1.0, people=np.zeros(2, int), most=2)
    assert float(np.sqrt(found @ found)) <= 1 + 1e-9


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_what_is_not_finite_contributes_nothing(bad: float) -> None:
    network = Network((3, 4, 1), Squared())
    flat = network.start(0)
    x, y = rows(10, 3)
    worse = y.copy()
    worse[4] = bad
    people = np.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    for owners, gone in ((None, [4]), (people, [4, 5])):
        kept = np.setdiff1d(np.arange(10), gone)
        for room in (None, Room()):
            found = clipped_sum(network, flat, network.widen(x), worse, 0.5, people=owners, most=2, room=room)
            rest = None if owners is None else owners[kept]
            true = clipped_sum(network, flat, network.widen(x[kept]), y[kept], 0.5, people=rest, most=2, room=room)
            assert np.abs(found - true).max() <= 1e-13


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e70, 1e200])
@pytest.mark.parametrize("network", [Network((3, 4, 1), Squared()), Network((3, 4, 4, 1), Squared(), activation="tanh")])
def test_what_is_not_finite_contributes_nothing_elsewhere(network: Network, bad: float) -> None:
    flat = network.start(0)
    x, y = rows(10, 3)
    worse = y.copy()
    worse[4] = bad
    kept = np.setdiff1d(np.arange(10), [4])
    with doubles():
        there = [jnp.asarray(each) for each in (flat, network.widen(x), worse)]
        found = np.asarray(clipped_sum(network, *there, 0.5, weight=jnp.ones(10), xp=jnp))
    true = clipped_sum(network, flat, network.widen(x[kept]), y[kept], 0.5)
    assert np.abs(found - true).max() <= 1e-13


@pytest.mark.parametrize(
    "network", [classifier(11, (100, 100), 2), classifier(11, (100, 100), 3), classifier(5, (64,), 2, "tanh")]
)
def test_a_row_does_not_depend_on_its_place_in_the_lot(network: Network) -> None:
    """What the privacy of a sum in doubles rests on, bit by bit: sizes like those of lots, rows moved and left out."""
    flat = network.start(5)
    x, y = rows(300, network.widths[0])
    y = y if network.loss else np.arange(300) % 3 * 1.0
    wide = network.widen(x)
    known: dict[int, Any] = {}
    for start, stop in ((0, 300), (1, 257), (3, 300), (17, 64), (100, 133), (0, 299), (299, 300), (5, 294)):
        room = Room()
        filled, goal = clipping._filled(wide[start:stop], y[start:stop], room)
        ups = network.forward(flat, filled, np, room)
        downs = network.backward(flat, ups, network.slopes(ups[-1], goal), np, room)
        for place in range(stop - start):
            made = np.concatenate([a[place] for a in (*ups, *downs)])
            assert (known.setdefault(start + place, made) == made).all()


def test_a_row_does_not_depend_on_its_place_whatever_number_of_threads_there_is() -> None:
    """A BLAS divides the rows of a product among its threads, and anyone may change how many: what held before may not.

    In single precision and in doubles, bit by bit, each number of threads after one with which the same shape was tried.
    """
    generator = np.random.default_rng(6)
    for kind, margin in (("f", 0), ("f", MARGIN), ("d", 0)):
        x = generator.uniform(-1, 1, (2 * BLOCK, 257)).astype(kind)
        weight = generator.uniform(-1, 1, (257, 272)).astype(kind)
        for threads in (1, 2, 3, 1):
            with threadpool_limits(threads, user_api="blas"):
                known = rowwise(x, weight, None, margin)[:, margin : 272 - margin]
                for moved in (1, 7, 47):
                    found = rowwise(np.roll(x, moved, axis=0), weight, None, margin)[:, margin : 272 - margin]
                    assert (found == np.roll(known, moved, axis=0)).all(), (kind, margin, threads, moved)


def test_threads_of_openmp_count_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A BLAS that is built on OpenMP has as many threads as that has, which is known by another name."""
    importlib.import_module("sklearn.utils._openmp_helpers")  # brings one
    monkeypatch.setattr(blas_threads, "_controller", blas_threads._controller.__wrapped__)
    found = set()
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="openmp"):
            found.add(blas_threads.blas_threads())
    assert len(found) == 2


def _of_a_blas() -> list[int]:
    return [each.get_num_threads() for each in blas_threads._controller().lib_controllers if each.user_api == "blas"]


def test_a_lot_is_summed_with_one_thread_of_a_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[int]] = []
    added = lot_gradient.clipped_sum
    monkeypatch.setattr(lot_gradient, "clipped_sum", lambda *a, **k: (seen.append(_of_a_blas()), added(*a, **k))[1])
    x, y = rows(60, 3)
    schema = Schema({**dict.fromkeys(["x0", "x1", "x2"], Real(-1, 1)), "y": Categories((-1, 1))})
    design = Design.of(schema, ["x0", "x1", "x2"], "y")
    network = Network((design.width, 1), Logistic(), bias=False)
    question = LotGradient(design, network, Fraction(1)).at(np.zeros(design.width))
    source = open_source({**{f"x{i}": x[:, i] for i in range(3)}, "y": y}, schema)
    with threadpool_limits(2, user_api="blas"):
        before = _of_a_blas()
        question.of_lot(question.gather(source), np.arange(40))
        assert _of_a_blas() == before == [2] * len(before)
    assert seen == [[1] * len(before)]


def test_where_lots_overlap_each_is_summed_as_if_alone() -> None:
    """Two fits in two threads: to set and put back the threads of a BLAS would change the other's products meanwhile."""
    x, y = rows(3000, 60)
    facts: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "bounds": (-1, 1), "classes": [-1, 1], "expected_rows": 3000}

    def fit(seed: int, epochs: int = 1) -> Any:
        model = MLPClassifier(hidden_layer_sizes=(200, 100), lot_size=1000, epochs=epochs, random_state=seed, **facts)
        return np.concatenate([np.ravel(layer) for layer in model.fit(x, y).coefs_])

    before = _of_a_blas()
    with threadpool_limits(2, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a seed is not private
        alone = fit(1)
        for _ in range(3):
            other = threading.Thread(target=fit, args=(7, 2))
            other.start()
            assert (fit(1) == alone).all()
            other.join()
        assert _of_a_blas() == [2] * len(before)
    assert _of_a_blas() == before


FORKED = """
import os, signal, threading, warnings
from discreet.models.gradient.blas_threads import one_thread
out, within = threading.Event(), threading.Event()
def other():
    with one_thread:
        within.set()
        out.wait(30)
thread = threading.Thread(target=other)
thread.start()
within.wait(30)
warnings.simplefilter("ignore")
child = os.fork()
if child == 0:
    signal.alarm(20)
    with one_thread:
        os._exit(0)
out.set()
thread.join()
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_fork_does_not_wait_for_a_thread_that_is_not_there() -> None:
    """One of a process that forks while another of its threads sums a lot."""
    subprocess.run([sys.executable, "-c", FORKED], check=True)


def test_rooms_of_two_precisions_are_two() -> None:
    """The precision of hidden layers may change between two steps, and what one kept is no place for the other."""
    room = Room()
    assert room.take("score", 5, 3, np.float32).dtype == np.float32
    assert room.take("score", 5, 3).dtype == np.float64


def test_where_products_are_not_steady_sums_are_made_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """In doubles, and without a BLAS where it is not steady in those either."""
    network = classifier(4, (6,), 2)
    x, y = rows(100, 4)
    monkeypatch.setattr("discreet.models.gradient.network.steady", lambda *_: False)
    there = clipped_sum(network, network.start(1), network.widen(x), y, 0.1, room=Room())
    assert network._working == DOUBLES
    with monkeypatch.context() as patched:
        patched.setattr("discreet.models.gradient.network.steady", lambda *a: a[3] == "d")
        assert network._working == DOUBLES
        here = clipped_sum(network, network.start(1), network.widen(x), y, 0.1, room=Room())
    assert np.abs(here - there).max() < 1e-14
    for kind, margins, expected in (("f", (0, MARGIN), SINGLE), ("f", (MARGIN,), BETWEEN), ("d", (0,), DOUBLES)):
        known = (kind, margins)
        monkeypatch.setattr("discreet.models.gradient.network.steady", lambda *a, k=known: a[3] == k[0] and a[4] in k[1])
        assert classifier(4, (6, 5), 2)._working == expected


def crowd(generator: Any, network: Network, counts: Any) -> tuple[Any, Any, Any]:
    """Rows of people with so many rows each, some of which cancel almost."""
    people = np.repeat(np.arange(len(counts)), counts)
    x = generator.uniform(-1, 1, (len(people), network.widths[0]))
    y = np.where(generator.uniform(size=len(people)) < 0.5, 1.0, -1.0)
    first = np.flatnonzero(np.append(True, people[1:] != people[:-1]))
    for place in first[counts > 1][::2]:
        x[place + 1], y[place], y[place + 1] = x[place] * (1 - 1e-7), 1.0, -1.0
    return network.widen(x), y, people


@pytest.mark.parametrize(
    "network", [Network((1, 1), Logistic(), bias=False), classifier(5, (31,), 2), classifier(3, (8, 100), 2)]
)
def test_a_person_is_measured_alone(network: Network) -> None:
    """Lengths and factors, bit by bit, with one row and with hundreds, whoever else is in the chunk, in any place."""
    generator = np.random.default_rng(3)
    flat = network.start(2) if len(network.widths) > 2 else np.zeros(network.size)
    counts = generator.choice([1, 2, 3, 7, 31, 32, 33, 200], 60)
    x, y, people = crowd(generator, network, counts)
    whole = clipping.lengths(network, flat, x, y, people=people, most=500)
    alone = [
        clipping.lengths(network, flat, x[m], y[m], people=people[m], most=500)[0] for m in people == np.arange(60)[:, None]
    ]
    assert (whole == alone).all()

    def factors(mine: Any) -> Any:
        parts = clipping._shortened(network, flat, x[mine], y[mine], 1e-3, None, people[mine], 500, np, Room())
        return np.concatenate([part.factors for part in parts])

    known = factors(people >= 0)
    for _ in range(8):
        kept = generator.uniform(size=60) < generator.uniform(0.1, 1)
        mine = kept[people]
        some = clipping.lengths(network, flat, x[mine], y[mine], people=people[mine], most=500)
        assert (some == whole[kept]).all()
        assert (factors(mine) == known[mine]).all()


@pytest.mark.parametrize("clip", [1e-8, 1e-3, 1.0])
def test_nobody_moves_a_sum_beyond_the_distance(clip: float) -> None:
    """Many people whose rows cancel almost, and one with sixty rows of gradient zero: in doubles and in whole numbers."""
    schema = Schema({"a": Real(-1, 1), "y": Categories((0, 1))}, person="id", max_rows=60)
    design = Design.of(schema, ["a"], "y", intercept=False)
    question = LotGradient(design, Network((1, 1), Logistic(), False), Fraction(clip), np.zeros(1))
    n = 500
    here = {"a": np.tile([0.9, 0.9 * (1 - 1.5e-7)], n), "y": np.tile([1, 0], n), "id": np.repeat(np.arange(n), 2)}
    more = {"a": np.zeros(60), "y": np.ones(60, int), "id": np.full(60, 10**6)}
    there = {name: np.append(here[name], more[name]) for name in here}
    sums = []
    for rows in (here, there):
        source = open_source(rows, schema)
        sums += [question.evaluate(source), question.of_lot(question.gather(source), None)]
    far = float(question.distance("add_remove").l2)
    assert max(abs(a - b).max() for a in sums for b in sums) <= 1e-3 * far


@pytest.mark.parametrize("working", [DOUBLES, BETWEEN])
def test_sums_in_whole_numbers_are_those_of_a_loop_and_exact(working: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """To 1e-12 of the loop in doubles, to 1e-6 in single precision; and in both the same to the last bit in any order and
    any parts, with one long person among them.
    """
    monkeypatch.setattr(Network, "_working", working)
    near = 1e-12 if working == DOUBLES else 1e-6
    generator = np.random.default_rng(8)
    for network, most in (
        (classifier(4, (7, 5), 2), 1),
        (classifier(4, (6,), 3), 1),
        (Network((4, 1), Logistic(), False), 9),
    ):
        x, y = rows(300, 4)
        y = y if network.loss else generator.integers(0, network.widths[-1], 300).astype(float)
        people = np.arange(300) if most == 1 else np.repeat(np.arange(60), 5)
        flat, wide = network.start(1) + 0.3 * generator.normal(size=network.size), network.widen(x)
        unit = exact_products.unit(0.3, most)

        def made(
            mine: Any, net: Any = network, f: Any = flat, w: Any = wide, t: Any = y, p: Any = people, m: int = most
        ) -> Any:
            return clipping.exact_sum(net, f, w[mine], t[mine], 0.3, people=p[mine], most=m, room=Room())

        whole = made(np.arange(300))
        true = by_loop(network, flat, x, y, 0.3, people)
        assert np.abs(exact_products.number(whole, unit) - true).max() <= near * np.abs(true).max()
        order = np.concatenate([np.flatnonzero(people == p) for p in generator.permutation(people.max() + 1)])
        parts = made(order[:100]) + made(order[100:])
        assert (exact_products.number(parts, unit) == exact_products.number(whole, unit)).all()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(clipping, "CHUNK", 4)
            long = exact_products.number(made(np.arange(300)), unit)
        assert np.abs(long - true).max() <= near * np.abs(true).max()


def test_large_lots_are_added_up_in_whole_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    table, schema = table_of(300, person="id", max_rows=3)
    design = Design.of(schema, ["x0", "x1", "x2"], "y", intercept=False)
    question = LotGradient(design, classifier(3, (5,), 2), Fraction(1, 3), classifier(3, (5,), 2).start(0))
    source = open_source(table, schema)
    gathered = question.gather(source)
    in_doubles = question.of_lot(gathered, None)
    monkeypatch.setattr("discreet.models.gradient.lot_gradient.IN_DOUBLES_OF_SEVERAL", 10)
    in_numbers = question.of_lot(gathered, None)
    assert (in_numbers == question.evaluate(source)).all()
    assert np.abs(in_numbers - in_doubles).max() < 1e-13


def test_a_person_with_very_many_rows_is_one_person() -> None:
    """Ten thousand rows of one, more than a chunk: within the clip norm, beside others, in little memory."""
    network = classifier(3, (6,), 2)
    x, y = rows(10_500, 3)
    people = np.append(np.zeros(10_000, int), np.arange(1, 501))
    flat, wide = network.start(0), network.widen(x)
    rest = clipped_sum(network, flat, wide[10_000:], y[10_000:], 0.2, people=people[10_000:], most=10_000, room=Room())
    both = clipped_sum(network, flat, wide, y, 0.2, people=people, most=10_000, room=Room())
    assert np.sqrt(np.sum(np.square(both - rest))) == pytest.approx(0.2, rel=1e-9)
    length = clipping.lengths(network, flat, wide, y, people=people, most=10_000)
    one = gradient_sum(network, flat, wide[:10_000], y[:10_000])
    assert length.shape == (501,)
    assert length[0] == pytest.approx(float(np.sqrt(one @ one)), rel=1e-12)
    worse = y.copy()
    worse[77] = np.nan
    left = clipped_sum(network, flat, wide, worse, 0.2, people=people, most=10_000, room=Room())
    assert np.abs(left - rest).max() < 1e-13


def gradient_sum(network: Network, flat: Any, wide: Any, y: Any) -> Any:
    return clipped_sum(network, flat, wide, y, 1e18, room=Room())


def test_clip_norms_that_doubles_cannot_keep_are_refused() -> None:
    _, schema = table_of(10)
    for clip in (Fraction(1, 10**200), Fraction(10**30)):
        with pytest.raises(InvalidRequest, match="clip must lie"):
            plan(descend(run_of(schema, clip=clip)), "add_remove", 10)


def test_rows_that_cannot_be_measured_contribute_nothing() -> None:
    """A tiny input and a huge derivative: their product is moderate, and its square is lost to underflow."""
    network = Network((1, 1), Squared(), bias=False)
    x, y = np.array([[1e-170], [0.5]]), np.array([1e160, 1.0])
    for people in (None, np.arange(2)):
        for room in (None, Room()):
            found = clipped_sum(network, np.zeros(1), x, y, 1e-15, people=people, most=2, room=room)
            assert abs(found[0]) <= 1e-15 * (1 + 1e-9)


def test_long_lots_go_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    network = classifier(4, (6,), 2)
    flat = network.start(1)
    x, y = rows(100, 4)
    people = np.sort(np.random.default_rng(0).integers(0, 30, 100))
    whole = clipped_sum(network, flat, network.widen(x), y, 0.1, people=people, most=20)
    for size in (1, 7, 64):
        monkeypatch.setattr(clipping, "CHUNK", size)
        parts = clipped_sum(network, flat, network.widen(x), y, 0.1, people=people, most=20)
        assert np.abs(parts - whole).max() <= 1e-14


# Tables, lots and runs.


def table_of(n: int, d: int = 3, seed: int = 0, **facts: Any) -> tuple[dict[str, Any], Schema]:
    x, y = rows(n, d, seed)
    columns = {f"x{i}": x[:, i] for i in range(d)} | {"y": (y > 0).astype(int)}
    declared = {f"x{i}": Real(-1, 1) for i in range(d)} | {"y": Categories((0, 1))}
    if "person" in facts:
        columns["id"] = np.random.default_rng(seed).integers(0, n // 3, n)
    return columns, Schema(declared, **facts)


def run_of(schema: Schema, network: Network | None = None, **changes: Any) -> Run:
    intercept = network is None
    design = Design.of(schema, [c for c in schema.columns if c != "y"], "y", intercept=intercept)
    network = network or Network((design.width, 1), Logistic(), False)
    facts = {
        "epsilon": 1.0, "delta": 1e-5, "lot": 40, "steps": 30, "clip": 1, "sizes": Constant(1.0), "expected_rows": 400,
        "relation": schema.neighbors,
    }  # fmt: skip
    return Run.within(design, network, **(facts | changes))


def run_it(run: Run, table: Any, schema: Schema, ledger: Any = None, seed: int | None = 1, **more: Any) -> Trained:
    random = Random() if seed is None else Random(seed)
    return Desk(open_source(table, schema, **more), ledger or NoLedger(), random, run.relation).run(descend(run))


def test_lot_sizes_are_binomial() -> None:
    """4000 lots of rate 0.13 and of rate 1/300 of 200 places: mean and variance within 5.5 sd (false alarm below 1e-6)."""
    random, runs = Random(7), 4000
    for rate in (Fraction(13, 100), Fraction(1, 300), Fraction(3, 4), Fraction(1, 2)):
        q, n = float(rate), 200
        lots = [random.places(rate, n) for _ in range(runs)]
        sizes = np.array([len(lot) for lot in lots])
        variance = n * q * (1 - q)
        assert abs(sizes.mean() - n * q) < 5.5 * math.sqrt(variance / runs)
        fourth = 3 * variance**2 + variance * (1 - 6 * q * (1 - q))
        assert abs(sizes.var() - variance) < 5.5 * math.sqrt((fourth - variance**2) / runs)
        seen = np.bincount(np.concatenate(lots), minlength=n)
        assert np.abs(seen - runs * q).max() < 7 * math.sqrt(runs * q * (1 - q)) + 4  # 800 places, each within 7 sd
    assert (random.places(Fraction(1), 5) == np.arange(5)).all()
    assert random.places(Fraction(1, 2), 0).size == 0


def test_lots_hold_whole_people_and_sizes_vary() -> None:
    """Without noise and with a linear loss of slope one the sum over a lot tells who was in it."""
    table, schema = table_of(300, person="id", max_rows=3)
    run = run_of(schema, epsilon=math.inf)
    source = open_source(table, schema)
    question = LotGradient(run.design, run.network, run.clip, np.zeros(run.network.size))
    gathered = question.gather(source)
    assert gathered is not None
    assert gathered.people == len(np.unique(table["id"]))
    alone = [question.of_lot(gathered, np.array([p])) for p in range(gathered.people)]
    together = question.of_lot(gathered, np.array([3, 8, 11]))
    assert np.abs(together - (alone[3] + alone[8] + alone[11])).max() < 1e-15
    everybody = question.of_lot(gathered, None)
    assert np.abs(everybody - sum(alone)).max() < 1e-13
    assert np.abs(question.evaluate(source) - everybody).max() < 1e-13
    assert max(np.sqrt(a @ a) for a in alone) <= 1 + 1e-15


def test_empty_lots_still_add_noise() -> None:
    """A table without rows, 120 coordinates in all: the noise has the deviation z C (within 6 sd of its estimate)."""
    table, schema = table_of(0)
    run = run_of(schema)
    moved: list[Any] = []

    def watch(_: Run, state: State) -> None:
        moved.append(state.flat.copy())

    Desk(open_source(table, schema), NoLedger(), Random(3), "add_remove").run(descend(run, watch=watch))
    steps = np.diff(np.array([np.zeros(4), *moved]), axis=0) * 40
    assert run.noise is not None
    ratio = steps.std() / float(run.noise)
    assert abs(ratio - 1) < 6 / math.sqrt(2 * steps.size)


def test_one_charge_for_all_steps() -> None:
    table, schema = table_of(200)
    run = run_of(schema)
    ledger = Ledger("sqlite://", Budget(epsilon=1, delta=1e-5))
    trained = run_it(run, table, schema, ledger, seed=None)
    assert trained.steps == 30
    assert trained.private
    kinds = [e.kind for e in ledger.events()]
    assert kinds == ["open"] + ["step"] * 30
    assert (ledger.spent().epsilon, ledger.spent().delta) == (1, Fraction(1, 100_000))
    assert ledger.verify() == 31
    with pytest.raises(BudgetExceeded):
        run_it(run, table, schema, ledger, seed=None)


def test_a_step_beyond_the_plan_is_refused() -> None:
    table, schema = table_of(50)
    run = run_of(schema)
    question, law = LotGradient(run.design, run.network, run.clip), run.law
    zeros = np.zeros(run.network.size)

    def greedy(steps: int, ahead: int, other: Any = None) -> Procedure[None]:
        account = yield Open(run.cost, plan=Ask(question, law, rate=run.rate), steps=3)
        for _ in range(steps):
            yield Ask((other or question).at(zeros), law, account, run.rate, ahead)

    def ledger() -> Ledger:
        return Ledger("sqlite://", Budget(epsilon=1, delta=1e-5))

    def go(procedure: Procedure[None]) -> None:
        Desk(open_source(table, schema), ledger(), Random(), "add_remove").run(procedure)

    go(greedy(3, 1))
    go(greedy(3, 3))
    for steps, ahead in ((4, 1), (1, 4), (4, 2)):
        with pytest.raises(AccountClosed):
            go(greedy(steps, ahead))
    with pytest.raises(AccountClosed, match="takes only"):
        go(greedy(1, 1, LotGradient(run.design, run.network, Fraction(2))))

    def faster() -> Procedure[None]:
        account = yield Open(run.cost, plan=Ask(question, law, rate=run.rate), steps=3)
        yield Ask(question.at(zeros), law, account, run.rate, 2)
        yield Ask(question.at(zeros), law, account, run.rate * 2)

    with pytest.raises(AccountClosed):
        go(faster())


def test_an_ask_of_a_lot_that_pays_by_itself_pays_in_full() -> None:
    table, schema = table_of(50)
    run = run_of(schema)
    question = LotGradient(run.design, run.network, run.clip, np.zeros(run.network.size))

    def alone() -> Procedure[Cost]:
        release = yield Ask(question, Gaussian(10), rate=Fraction(1, 10))
        return release.cost

    cost = Desk(open_source(table, schema), NoLedger(), Random(1), "add_remove").run(alone())
    assert cost.rho == (1 + SLACK) ** 2 / 200
    with pytest.raises(InvalidRequest, match="rate"):
        Ask(question, Gaussian(10), rate=Fraction(0))
    with pytest.raises(InvalidRequest, match="ahead"):
        Ask(question, Gaussian(10), ahead=2)


def test_a_seed_needs_a_test_ledger() -> None:
    table, schema = table_of(50)
    run = run_of(schema)
    with pytest.raises(NotPrivate):
        run_it(run, table, schema, Ledger("sqlite://", Budget(epsilon=1, delta=1e-5)), seed=1)
    assert not run_it(run, table, schema, seed=1).private


@pytest.mark.parametrize("relation", ["replace", "both"])
def test_replacing_costs_the_larger_noise(relation: Any) -> None:
    _, schema = table_of(10, neighbors=relation)
    run, other = run_of(schema), run_of(table_of(10)[1])
    assert run.noise is not None
    assert other.noise is not None
    assert 1.7 < run.noise / other.noise < 2.1
    question = LotGradient(run.design, run.network, run.clip)
    assert question.distance(relation).l2 == 2 * (1 + SLACK)
    assert question.distance("add_remove").l2 == 1 + SLACK


def test_engines_agree(tmp_path: Path) -> None:
    """Without noise and at rate one, a table in memory and files give the same run."""
    import pandas as pd

    table, schema = table_of(500, person="id", max_rows=2)
    network = classifier(3, (5,), 2)
    run = run_of(schema, network, epsilon=math.inf, lot=400, steps=4)
    here = run_it(run, table, schema)
    pd.DataFrame(table).to_parquet(tmp_path / "table.parquet")
    there = run_it(run, str(tmp_path / "table.parquet"), schema)
    assert np.abs(here.flat - there.flat).max() < 1e-12
    sampled = run_it(run_of(schema, network), str(tmp_path / "table.parquet"), schema)
    assert sampled.steps == 30


def test_without_noise_it_is_gradient_descent() -> None:
    table, schema = table_of(400)
    run = run_of(schema, epsilon=math.inf, lot=400, steps=300, sizes=Constant(4.0))
    trained = run_it(run, table, schema)
    x = run.design.block(open_source(table, schema).fold(lambda b: b, lambda a, b: a, run.design.columns))
    slope = x.x.T @ Logistic().first(x.x @ trained.flat, x.y) / 400
    assert np.abs(slope).max() < 3e-3
    assert np.mean((x.x @ trained.flat > 0) == (x.y > 0)) > 0.85


def test_a_dry_run_sees_no_data() -> None:
    _, schema = table_of(10)
    run = run_of(schema)
    trained, asked = plan(descend(run), "add_remove", 400)
    assert [type(a).__name__ for a in asked] == ["Open"] + ["Ask"] * 30
    assert asked[0].cost == run.cost
    assert not trained.private


def test_ridge_momentum_ball_and_average() -> None:
    table, schema = table_of(300)
    last = run_it(run_of(schema, momentum=0.5, ridge=3.0, radius=0.5), table, schema)
    assert np.sqrt(last.flat @ last.flat) <= 0.5 + 1e-12
    path: list[Any] = []
    run = run_of(schema, iterate="average")
    desk = Desk(open_source(table, schema), NoLedger(), Random(1), "add_remove")
    average = desk.run(descend(run, watch=lambda _, state: path.append(state.flat)))
    assert np.abs(average.flat - np.mean(path[15:], axis=0)).max() < 1e-15


@given(st.integers(1, 60), st.floats(1e-3, 10), st.integers(1, 3))
@settings(max_examples=25, deadline=None)
def test_any_lot_stays_within_its_bound(size: int, clip: float, most: int) -> None:
    """Taking away a person moves the sum by no more than the distance."""
    network = classifier(3, (6,), 2)
    generator = np.random.default_rng(size)
    x = generator.normal(size=(size * most, 3)) * 10.0 ** generator.uniform(-3, 6)
    y = np.where(generator.uniform(size=size * most) < 0.5, 1.0, -1.0)
    people = np.repeat(np.arange(size), most)
    flat = network.start(size) * 10.0 ** generator.uniform(-2, 4)
    whole = clipped_sum(network, flat, network.widen(x), y, clip, people=people, most=most)
    less = clipped_sum(network, flat, network.widen(x[most:]), y[most:], clip, people=people[most:], most=most)
    assert np.sqrt(np.sum(np.square(whole - less))) <= clip * (1 + float(SLACK))


def test_step_sizes() -> None:
    assert [Constant(2).at(t) for t in (0, 9)] == [2, 2]
    assert InverseRoot(2).at(3) == 1
    assert InverseRoot.of_noise(1, 3, 4, 2).size == pytest.approx(1 / 5)
    assert StronglyConvex(0.5).at(3) == 0.5
    assert StronglyConvex(0.001, 10).at(0) == 10
    sizes: Sequence[StepSize] = (Constant(2), InverseRoot(0.1), StronglyConvex(0.2), StronglyConvex(0.2, 3))
    for size in sizes:
        assert step_sizes.read(size.to_dict()) == size
        assert step_size(size, scale=1) is size
    assert step_size("auto", scale=3) == Constant(3)
    for bad in (-1, 0, math.nan, math.inf, True):
        with pytest.raises(InvalidRequest):
            Constant(bad)
    with pytest.raises(InvalidRequest, match="auto"):
        step_size("fast", scale=1)


def test_refusals() -> None:
    _, schema = table_of(10)
    for bad, word in (
        ({"lot": 500}, "at most expected_rows"),
        ({"lot": 0}, "lot_size"),
        ({"delta": None}, "needs delta"),
        ({"steps": 0}, "steps"),
        ({"clip": 0}, "clip"),
        ({"momentum": 1.0}, "momentum"),
        ({"iterate": "best"}, "iterate"),
        ({"ridge": -1.0}, "ridge"),
        ({"expected_rows": 1.5}, "expected_rows"),
        ({"epsilon": 1e-12, "delta": 1e-280}, "no noise multiplier"),
    ):
        with pytest.raises(InvalidRequest, match=word):
            run_of(schema, **bad)
    for widths, loss in (((3,), Logistic()), ((3, 0, 1), Logistic()), ((3, 2), Logistic()), ((3, 1), None)):
        with pytest.raises(InvalidRequest):
            Network(widths, loss)
    with pytest.raises(InvalidRequest, match="activation"):
        Network((3, 1), Logistic(), True, "sine")  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match="inputs"):
        run_it(run_of(schema, classifier(9, (2,), 2)), table_of(10)[0], schema)


def test_runs_as_documents() -> None:
    _, schema = table_of(10)
    run = run_of(schema, classifier(3, (4,), 2), sizes=InverseRoot(0.3), momentum=0.5)
    assert read_as(Run, written(run)) == run
    question = LotGradient(run.design, run.network, run.clip, np.zeros(3))
    from discreet.core.query import queries

    assert queries.read(question.to_dict()) == question
