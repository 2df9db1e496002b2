"""One run with canaries: people in cells of their own, in or out by a coin, guessed from all that was released."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import discreet as ds
from discreet.accounting.conversions import epsilon_of_zcdp
from discreet.audit.one_run import one_run

SIDE = 16  # canaries are the cells of a square of so many levels
DELTA = 1e-9


def train(coins: Any, price: dict[str, Any], rows: bool) -> Any:
    """A score for each canary: the counts that were released about its cell, or the synthetic rows that lie in it."""
    inside = np.flatnonzero(coins)
    names = [f"l{i:02}" for i in range(SIDE)]
    schema = ds.Schema({name: ds.Categories(names, missing=names[0]) for name in "ab"})
    table = {"a": np.array(names)[inside // SIDE], "b": np.array(names)[inside % SIDE]}
    session = ds.Session(table, schema, ledger="test", seed=5)
    made = session.synthesize(["a", "b"], rows=len(coins), tables=2, **price)
    if not rows:
        return made.releases[-1].value.ravel()
    a, b = ([names.index(v) for v in made.table.column(name).to_pylist()] for name in "ab")
    return np.bincount(np.array(a) * SIDE + b, minlength=SIDE * SIDE)


@pytest.mark.parametrize("rows", [False, True])
def test_canaries_certify_no_more_than_the_claim(rows: bool) -> None:
    """With confidence 1 - 1e-6; and without noise the same guesses refute the claim, so they have teeth."""
    claim = epsilon_of_zcdp("0.2", DELTA)
    found = one_run(lambda coins: train(coins, {"rho": "0.2"}, rows), SIDE * SIDE, 64, DELTA, confidence=1 - 1e-6, seed=2)
    assert found.epsilon <= claim
    if not rows:
        bare = one_run(lambda coins: train(coins, {"epsilon": math.inf}, rows), SIDE * SIDE, delta=0, seed=2)
        assert bare.right == bare.guesses
        assert bare.epsilon > 1
