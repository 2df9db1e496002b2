"""What a preview says of a private descent, against descents that were run, and step by step."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import discreet as ds
from discreet.accounting.lots import noise_multiplier
from discreet.core.random import Random
from discreet.core.runner import Desk, NoLedger
from discreet.errors import InvalidRequest
from discreet.models.estimators.grpua import theorem_steps
from discreet.models.gradient.engine import Run, descend
from discreet.models.gradient.network import Network
from discreet.models.gradient.steps import Constant, Cosine, StepSize, StronglyConvex
from discreet.models.gradient.utility import utility_bound
from discreet.models.losses import Logistic, PoissonLoss
from discreet.models.target import Target
from discreet.sources import open_source
from tests.models.test_objective_perturbation import design
from tests.models.test_outpert import N, data, mean_objective

RIDGE = 40.0
WIDTH = 3


def run_of(sizes: StepSize, lot: int, steps: int, **more: Any) -> Run:
    words: dict[str, Any] = {"epsilon": 2, "delta": 1e-3, "clip": 1, "ridge": RIDGE, "iterate": "last"}
    return Run.within(
        design(WIDTH), Network((WIDTH, 1), Logistic(), bias=False), lot=lot, steps=steps, sizes=sizes, expected_rows=N,
        relation="replace", **(words | more),
    )  # fmt: skip


def by_steps(run: Run) -> list[float]:
    """D_1 to D_T, one after another."""
    m, lot = RIDGE / N, float(run.rate) * N
    variance = (1 - float(run.rate)) / lot + WIDTH * (float(run.law.scales[0]) / lot) ** 2  # type: ignore[attr-defined]
    found = [(1 / m) ** 2]
    for t in range(run.steps):
        size = run.sizes.at(t)
        found.append((1 - size * m) ** 2 * found[-1] + size**2 * variance)
    return found[1:]


BIGGEST = 1 / (0.25 + RIDGE / N)


@pytest.mark.parametrize("iterate", ["last", "average"])
@pytest.mark.parametrize("sizes", [StronglyConvex(RIDGE / N, BIGGEST), StronglyConvex(RIDGE / N, 0.2), Constant(0.5)])
def test_the_closed_form_is_the_recursion(sizes: StepSize, iterate: Any) -> None:
    for lot, steps in ((1, 300), (40, 7), (40, 1)):
        run = run_of(sizes, lot, steps, iterate=iterate)
        each = by_steps(run)[run.steps // 2 if iterate == "average" else -1 :]
        assert utility_bound(run) == pytest.approx((0.25 + RIDGE / N) / 2 * float(np.mean(each)), rel=1e-9)


@pytest.mark.parametrize("iterate", ["last", "average"])
def test_descents_keep_to_it(iterate: Any) -> None:
    """60 descents: the mean of what they exceed the least objective by, and five of its deviations, lies below the bound."""
    x, y = data()
    least = minimize(mean_objective, np.zeros(WIDTH), (x, y, RIDGE)).fun
    names = [f"x{i}" for i in range(WIDTH)]
    schema = ds.Schema({**{n: ds.Real(-1, 1) for n in names}, "y": ds.Categories([-1, 1])}, neighbors="replace")
    source = open_source({n: x[:, i] for i, n in enumerate(names)} | {"y": y.astype(int)}, schema)
    run = run_of(StronglyConvex(RIDGE / N, BIGGEST), 20, 60, iterate=iterate)
    gaps = []
    for seed in range(60):
        trained = Desk(source, NoLedger(), Random(seed), "replace").run(descend(run))
        gaps.append(mean_objective(trained.flat, x, y, RIDGE) - least)
    bound = utility_bound(run)
    assert bound is not None
    assert 0 < np.mean(gaps) + 5 * np.std(gaps) / math.sqrt(60) < bound


def test_what_it_does_not_speak_of() -> None:
    good = StronglyConvex(RIDGE / N, BIGGEST)
    assert utility_bound(run_of(good, 40, 7)) is not None
    for other in (
        run_of(good, 40, 7, ridge=0.0),
        run_of(good, 40, 7, momentum=0.5),
        run_of(good, 40, 7, clip=Fraction(1, 2)),  # gradients of up to 1 would be shortened
        run_of(StronglyConvex(RIDGE / N), 40, 7),  # its first steps overshoot
        run_of(StronglyConvex(2 * RIDGE / N, BIGGEST), 40, 7),
        run_of(Cosine(0.5, 7), 40, 7),
    ):
        assert utility_bound(other) is None
    numbers, network = design(WIDTH), Network((WIDTH, 1), PoissonLoss(), bias=False)
    slow, ends = StronglyConvex(RIDGE / N, 0.2), {(0.0, 1.0): True, (-1.0, 1.0): False}
    for (lo, hi), spoken in ends.items():  # below 0 a count pulls twice as far as the slope says
        of = replace(numbers, target=Target("y", lo=lo, hi=hi))
        assert (utility_bound(replace(run_of(slow, 40, 7), design=of, network=network)) is not None) == spoken


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_steps_of_the_theorem(relation: Any) -> None:
    """About 2 clip norms of noise, or all of n squared; four times as many steps gain less than a fifth."""
    rows, epsilon, delta = 200, 1.0, 1e-3
    steps = theorem_steps(epsilon, delta, rows, relation)

    def noise(steps: int) -> float:
        return float(noise_multiplier(epsilon, delta, Fraction(1, rows), steps, relation))

    assert 1.9 < noise(steps) < 2.3
    if relation == "replace":
        assert noise(4 * steps) ** 2 / 4 > noise(steps) ** 2 / 1.2
    assert theorem_steps(1000, delta, 50, relation) == 2500


def test_a_preview_says_steps_and_bound() -> None:
    x, y = data()
    names = [f"x{i}" for i in range(WIDTH)]
    schema = ds.Schema(
        {**{n: ds.Real(-1, 1) for n in names}, "y": ds.Categories([-1, 1])}, neighbors="replace", expected_rows=N
    )
    rows = {n: x[:, i] for i, n in enumerate(names)} | {"y": y.astype(int)}
    session = ds.Session(rows, schema, ds.Budget(epsilon=4, delta=1e-2))
    model = ds.models.GRPUA(epsilon="0.1", delta=1e-3, ridge=RIDGE, steps="theorem")
    seen = session.preview_fit(model, names, "y")
    assert seen.steps == theorem_steps("0.1", 1e-3, N, "replace")
    assert seen.utility_bound is not None
    assert f"{seen.steps} steps, at most" in str(seen)
    session.fit(model, names, "y")
    assert model.privacy_.steps == seen.steps
    for wrong in (
        ds.models.GRPUA(epsilon=math.inf, steps="theorem", ridge=RIDGE),
        ds.models.SGDClassifier(epsilon=1, delta=1e-3, steps="theorem", ridge=RIDGE),
    ):
        with pytest.raises(InvalidRequest, match="theorem"):
            session.preview_fit(wrong, names, "y")
