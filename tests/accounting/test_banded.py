"""Correlated noise: sensitivities against brute force, errors against known values, and a run that adds up."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import discreet as ds
from discreet.accounting.banded import BITS, Turns, best_turns, coefficients
from discreet.accounting.lots import noise_multiplier
from discreet.core.ask import Account, Ask, Open, Reopen
from discreet.core.cost import Cost
from discreet.core.random import Random
from discreet.core.runner import Desk, Procedure
from discreet.errors import AccountClosed, InvalidRequest
from discreet.mechanisms import NoNoise
from discreet.models.design import Design
from discreet.models.gradient.banded_gradient import BandedGradient
from discreet.models.gradient.engine import better_turns
from discreet.models.gradient.lot_gradient import LotGradient
from discreet.models.gradient.network import Network
from discreet.models.losses import Huber
from discreet.sources import open_source


def matrix(turns: Turns) -> np.ndarray:
    found = np.zeros((turns.steps, turns.steps))
    for j, c in enumerate(coefficients(turns.band)):
        found += np.diag(np.full(turns.steps - j, c * 2.0**-BITS), -j)
    return found


@pytest.mark.parametrize(("parts", "steps", "band"), [(1, 5, 1), (4, 11, 4), (7, 30, 3), (12, 12, 12)])
def test_no_person_moves_more_than_the_sensitivity(parts: int, steps: int, band: int) -> None:
    turns = Turns(parts, steps, band)
    whole = matrix(turns)
    # The longest move of unit vectors at the steps of a part, in any directions: columns are orthogonal.
    far = max(np.linalg.norm(whole[:, part::parts]) for part in range(parts))
    assert far <= float(turns.sensitivity) * (1 + 1e-12)
    if steps % parts == 0 and band == 1:
        assert far == pytest.approx(float(turns.sensitivity))
    gram = whole[:, 0::parts].T @ whole[:, 0::parts]
    assert np.allclose(gram, np.diag(np.diag(gram)))


@pytest.mark.parametrize(
    ("parts", "band", "known"), [(1000, 1, 22.372), (1000, 1000, 3.1022), (100, 100, 12.10), (32, 31, 31.36)]
)
def test_errors_of_a_thousand_steps(parts: int, band: int, known: float) -> None:
    assert Turns(parts, 1000, band).error == pytest.approx(known, abs=6e-3 if known > 10 else 6e-5)


def test_the_inverse_is_one() -> None:
    turns = Turns(6, 20, 5)
    assert np.allclose(np.linalg.inv(matrix(turns))[:, 0], turns.inverse)


@pytest.mark.parametrize(
    ("epsilon", "steps", "parts", "turned", "random"),
    [
        (1, 1000, 1000, 11.6, 14.3),
        (1, 2000, 400, 29.7, 25.5),
        (1, 1000, 100, 45.1, 31.6),
        (1, 1000, 32, 117, 87),
        (5, 2000, 400, 7.1, 16.7),
        (5, 1000, 100, 10.8, 15.3),
        (5, 1000, 32, 28.0, 26.0),
    ],
)
def test_where_turns_win(epsilon: float, steps: int, parts: int, turned: float, random: float) -> None:
    """Against errors known for as many bands as there are parts; runs have the best of a few numbers of bands."""
    noise = float(noise_multiplier(epsilon, 1e-5, 1, 1))
    full = min(noise * Turns(parts, steps, band).error for band in (1, 8, 31, 100, parts) if band <= parts)
    assert full == pytest.approx(turned, rel=0.03)
    better, beside, mine = better_turns(epsilon, 1e-5, 10, steps, 10 * parts, "add_remove")
    assert beside == pytest.approx(random, rel=0.03)
    assert (better is not None) == (mine < beside) == (turned < random)
    assert mine <= 1.1 * full


def test_without_noise_turns_are_an_epoch_in_parts_and_with_it_the_price_is_paid() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (400, 2))
    y = (x[:, 0] > 0).astype(int)
    settings = {"bounds": (-1, 1), "classes": [0, 1], "expected_rows": 400, "lot_size": 20, "epochs": 2, "random_state": 3}
    exact = ds.models.SGDClassifier(
        epsilon=float("inf"), lots="turns", iterate="last", ledger=ds.Ledger("test"), **settings
    ).fit(x, y)
    assert exact.public_score(x, y) > 0.9
    ledger = ds.Ledger("test", ds.Budget(epsilon=3, delta=1e-5))
    model = ds.models.SGDClassifier(epsilon=3, delta=1e-5, lots="turns", ledger=ledger, **settings).fit(x, y)
    assert ledger.spent().epsilon == 3
    assert "people in turns" in str(model.privacy_)
    assert model.privacy_.run.turns == best_turns(20, 40)
    # One Gaussian release of C G: its noise is that of the sensitivity, and no less.
    sensitivity = float(model.privacy_.run.turns.sensitivity)
    assert float(model.privacy_.run.noise) == pytest.approx(float(noise_multiplier(3, 1e-5, 1, 1)) * sensitivity)


@pytest.mark.parametrize(("epsilon", "word"), [(1, "lots drawn at random"), (30, "people in turns")])
def test_the_best_of_the_two_is_taken_and_said(epsilon: float, word: str) -> None:
    model = ds.models.SGDClassifier(
        epsilon=epsilon, delta=1e-5, lots="best", bounds=(-1, 1), classes=[0, 1], expected_rows=200, lot_size=20, epochs=4
    ).fit(np.zeros((4, 1)), [0, 1, 0, 1])
    run, noise = model.privacy_.run, model.privacy_.path_noise
    assert min(noise, key=lambda kind: noise[kind]) == word
    assert (run.turns is None) == (word == "lots drawn at random")
    # What was taken has that noise: the multiplier times the root mean square over steps of what one number adds up to.
    response = np.cumsum(run.turns.inverse if run.turns else np.eye(run.steps)[0])
    assert noise[word] == pytest.approx(float(run.noise) * np.sqrt(np.cumsum(response**2).mean()), rel=1e-6)


def test_what_turns_cannot_do_is_refused(tmp_path: object) -> None:
    x = np.zeros((4, 1))
    plain = {"epsilon": 1, "delta": 1e-5, "bounds": (-1, 1), "classes": [0, 1], "expected_rows": 4, "lot_size": 2}
    for wrong in ({"lots": "sometimes"}, {"lots": "turns", "checkpoint": "run.json"}):
        with pytest.raises(InvalidRequest):
            ds.models.SGDClassifier(**plain, **wrong).fit(x, [0, 1, 0, 1])
    with pytest.raises(InvalidRequest):
        Turns(3, 10, 4)


@pytest.mark.parametrize("reopened", [False, True])
def test_people_are_cut_into_parts_once_for_an_account(reopened: bool) -> None:
    """A second run on an account would cut them anew, and meet a person twice as often as was paid for."""
    schema = ds.Schema({"x": ds.Real(-1, 1), "y": ds.Real(-1, 1)})
    source, ledger = open_source({"x": [0.5] * 4, "y": [0.5] * 4}, schema, version="one"), ds.Ledger("test")
    design = Design.of(schema, ["x"], "y", intercept=False)
    step = BandedGradient(LotGradient(design, Network((1, 1), Huber(), bias=False), Fraction(1), np.zeros(1)), 2)
    plan = Ask(step, NoNoise(Fraction(1, 1 << 40)), rate=Fraction(1, 2), turns=True)

    def first() -> Procedure[Account]:
        account = yield Open(Cost.infinite(), plan=plan, steps=8)
        yield replace(plan, account=account)
        return account

    def second(account: Account) -> Procedure[None]:
        if reopened:
            yield Reopen(account, plan, 7)
        yield replace(plan, account=account)

    def desk() -> Desk:
        return Desk(source, ledger, Random(1), "add_remove")

    account = desk().run(first())
    with pytest.raises(AccountClosed, match="take turns"):
        desk().run(second(account))
