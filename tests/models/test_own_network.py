"""Losses that somebody else wrote: sums against gradients made one by one, what one person moves, optimizers, adapters."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import discreet as ds
from discreet.core.random import Random
from discreet.errors import InvalidRequest
from discreet.models.estimators.own_network import _gathered
from discreet.models.gradient import jax_blocks
from discreet.models.gradient.optimizers import Adam, Momentum
from discreet.models.gradient.places import places_drawn

RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 3)).astype(np.float32)
Y = RNG.integers(0, 3, 40)
PEOPLE = np.array(["p", "q", "r", "s"] * 10)[RNG.permutation(40)]
START = {
    "w": jnp.asarray(RNG.normal(size=(3, 5)), jnp.float32),
    "v": jnp.asarray(RNG.normal(size=(5, 3)), jnp.float32),
}


def scores(p: Any, x: Any) -> Any:
    return jnp.tanh(x @ p["w"]) @ p["v"]


def loss(p: Any, x: Any, y: Any) -> Any:
    return -jax.nn.log_softmax(scores(p, x))[y]


LOSS = ds.models.jax_loss(loss, START)


def brute(clip: float, people: Any, weight: Any) -> Any:
    """Gradients row by row, added up by person, shortened, added up."""
    total = np.zeros(LOSS.size)
    for person in np.unique(people):
        mine = np.zeros(LOSS.size)
        for i in np.flatnonzero(people == person):
            found = jax.grad(loss)(START, X[i], Y[i])
            mine += weight[i] * np.concatenate([np.ravel(found["v"]), np.ravel(found["w"])]).astype(np.float64)
        total += mine * min(1.0, clip / float(np.linalg.norm(mine)))
    return total


@pytest.mark.parametrize("clip", [0.05, 1.0, 100.0])
@pytest.mark.parametrize("several", [False, True])
def test_sums_are_those_of_gradients_made_one_by_one(clip: float, several: bool) -> None:
    people, weight = (PEOPLE if several else np.arange(40)), RNG.uniform(0, 1, 40)
    asked = LOSS.question(None, Fraction(clip)).at(LOSS.first)
    got = asked.of_lot(_gathered(X, Y, weight, people), None)
    assert np.abs(got - brute(clip, people, weight)).max() < 1e-6 * max(clip, 1)


def test_one_person_moves_the_sum_by_the_clip_norm_and_nobody_else() -> None:
    asked = LOSS.question(None, Fraction("0.1")).at(LOSS.first)
    everyone = asked.of_lot(_gathered(X, Y, None, PEOPLE), None)
    for person in "pqrs":
        kept = person != PEOPLE
        fewer = asked.of_lot(_gathered(X[kept], Y[kept], None, PEOPLE[kept]), None)
        alone = asked.of_lot(_gathered(X[~kept], Y[~kept], None, PEOPLE[~kept]), None)
        assert (fewer + alone == everyone).all()  # whole numbers of one unit, in any company
        assert np.linalg.norm(alone) <= float(asked.distance("add_remove").l2)
    order = RNG.permutation(40)
    assert (asked.of_lot(_gathered(X[order], Y[order], None, np.arange(40)), None) == asked.of_lot(
        _gathered(X, Y, None, np.arange(40)), None
    )).all()  # fmt: skip


def test_a_person_whose_gradient_is_not_finite_adds_nothing() -> None:
    asked = LOSS.question(None, Fraction(1)).at(LOSS.first)
    broken = X.copy()
    broken[7] = np.nan
    kept = np.arange(40) != 7
    whole = asked.of_lot(_gathered(broken, Y, None, np.arange(40)), None)
    assert (whole == asked.of_lot(_gathered(X[kept], Y[kept], None, np.arange(39)), None)).all()


def test_a_gradient_in_numpy_is_shortened_alike() -> None:
    linear = ds.models.gradient_loss(lambda p, x, y: x * y, np.zeros(3))
    asked = linear.question(None, Fraction(1)).at(linear.first)
    rows = X.astype(np.float64) * Y[:, None]
    norms = np.maximum(1.0, np.linalg.norm(rows, axis=1))[:, None]
    assert np.abs(asked.of_lot(_gathered(X, Y, None, None), None) - (rows / norms).sum(0)).max() < 1e-6


def batched_as(rule: Any) -> Any:
    """A loss that is linear for one row, and in a block what a rule makes of the people's rows."""

    def loss(p: Any, x: Any, y: Any) -> Any:
        of_row, of_person = (jax.custom_batching.custom_vmap(lambda v: v) for _ in range(2))
        of_row.def_vmap(lambda size, batched, v: (of_person(v), True))
        of_person.def_vmap(lambda size, batched, v: (rule(size, v), True))
        return jnp.sum(of_row(x) * p["w"]) * 1e-3

    return ds.models.jax_loss(loss, {"w": jnp.ones(3, jnp.float32)})


def test_a_program_in_which_people_change_one_another_is_not_used() -> None:
    """A loss that looks at the other rows of its block: people are then worked off one by one."""
    one = batched_as(lambda size, v: v + 1e-3 * jnp.sum(v, 0))
    asked = one.question(None, Fraction(1)).at(one.first)
    got = asked.of_lot(_gathered(X, Y, None, None), None)
    assert np.abs(got - 1e-3 * X.sum(0)).max() < 1e-6


@pytest.mark.parametrize(("start", "size"), [(0.0, 1.0), (1.0, 1e-12)])
def test_people_who_change_one_another_are_found_where_little_is_seen(start: float, size: float) -> None:
    """Parameters that are all zero hide what goes through them, and gradients far below the clip norm what is rounded."""

    def loss(p: Any, x: Any, y: Any) -> Any:
        of_row, of_person = (jax.custom_batching.custom_vmap(lambda v: v) for _ in range(2))
        of_row.def_vmap(lambda count, batched, v: (of_person(v), True))
        of_person.def_vmap(lambda count, batched, v: (v + jnp.sum(v, 0), True))
        return size * jnp.sum(x * p["w"] + of_row(x) * jax.lax.stop_gradient(p["w"]) * p["w"])

    one = ds.models.jax_loss(loss, {"w": jnp.full(3, start, jnp.float32)})
    asked = one.question(None, Fraction(1, 10**10)).at(one.first + 1)
    everyone = asked.of_lot(_gathered(X, Y, None, None), None)
    alone = sum(asked.of_lot(_gathered(X[i : i + 1], Y[i : i + 1], None, None), None) for i in range(40))
    assert (alone == everyone).all()


def test_where_the_place_in_a_block_matters_everybody_draws_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loss that looks at its place: a person moves the sum by the person's own gradient at the place drawn."""
    one = batched_as(lambda size, v: v * (1 + jnp.arange(size).reshape(-1, *[1] * (v.ndim - 1))))
    asked = one.question(None, Fraction(1)).at(one.first)
    drawn = RNG.integers(0, 512, 40)

    def standing(kept: Any) -> Any:
        monkeypatch.setattr(
            jax_blocks, "Random", lambda *seed: SimpleNamespace(words=lambda n: drawn[kept].astype(np.uint64))
        )
        return asked.of_lot(_gathered(X[kept], Y[kept], None, None), None)

    asked.of_lot(_gathered(X, Y, None, None), None)  # tried on rows of the stream, before it is replaced
    for person in (0, 7, 39):
        kept = np.arange(40) != person
        assert (standing(kept) + standing(~kept) == standing(kept | True)).all()
    each = 1e-3 * X.astype(np.float64) * (1 + drawn[:, None])
    shortened = each / np.maximum(1, np.linalg.norm(each, axis=1))[:, None]
    assert np.abs(standing(np.full(40, True)) - shortened.sum(0)).max() < 1e-5


@pytest.mark.parametrize("people", [0, 1, 5, 700])
def test_everybody_stands_once_at_the_place_that_was_drawn(people: int) -> None:
    words = Random(3).words(people)
    made = places_drawn(people, 64, SimpleNamespace(words=lambda n: words[:n]))  # type: ignore[arg-type]
    for person in range(people):
        _, place = np.argwhere(made == person).tolist()[0]
        assert place == int(words[person]) % 64
    assert (made >= 0).sum() == people
    assert len(made) == (np.bincount((words % np.uint64(64)).astype(int)).max() if people else 0)


def test_a_fit_learns_pays_once_and_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    y = (X[:, 0] > 0).astype(int)
    settings: dict[str, Any] = {
        "loss": LOSS, "epsilon": 8, "delta": 1e-5, "expected_rows": 40, "lot_size": 20, "steps": 12, "learning_rate": 1.0,
        "checkpoint": tmp_path / "run.json", "data_version": "1", "optimizer": Adam(), "random_state": 1,
    }  # fmt: skip
    predicting = lambda p, x: np.asarray(jax.vmap(lambda row: scores(p, row))(x)).argmax(1)  # noqa: E731
    ledger = ds.Ledger("test", ds.Budget(epsilon=8, delta=1e-5))
    model = ds.models.OwnNetwork(ledger=ledger, predicting=predicting, **settings).fit(X, y)
    assert ledger.spent().epsilon == 8
    assert set(np.unique(model.predict(X))) <= {0, 1, 2}
    assert model.privacy_.steps == 12
    again = ds.models.OwnNetwork(ledger=ledger, **settings).fit(X, y)
    assert all((np.asarray(again.parameters_[k]) == np.asarray(model.parameters_[k])).all() for k in START)
    with pytest.raises(InvalidRequest, match="another optimizer"):
        ds.models.OwnNetwork(ledger=ledger, **settings | {"optimizer": None}).fit(X, y)


def test_without_noise_a_session_trains_what_plain_descent_trains() -> None:
    schema = ds.Schema(
        {"a": ds.Real(-1, 1), "b": ds.Real(-2, 2), "y": ds.Categories(["no", "yes"])},
        person="who",
        max_rows=2,
        expected_rows=4,
    )
    table = {"a": [0.5, -0.5, 1, 0.25], "b": [1.0, 2, -1, 0], "y": ["no", "yes", "yes", "no"], "who": [1, 1, 2, 3]}
    mine = ds.models.jax_loss(lambda p, x, y: jax.nn.softplus(x @ p) - y * (x @ p), jnp.zeros(2))
    session = ds.Session(table, schema, ledger="test", seed=1)
    model = session.fit(
        ds.models.OwnNetwork(loss=mine, epsilon=float("inf"), lot_size=4, steps=3, clip=100, learning_rate=0.5),
        ["a", "b"],
        "y",
    )
    x, y, p = np.array([[0.5, 0.5], [-0.5, 1], [1, -0.5], [0.25, 0]]) / np.sqrt(2), np.array([0, 1, 1, 0]), np.zeros(2)
    for _ in range(3):
        p = p - 0.5 / 4 * x.T @ (1 / (1 + np.exp(-x @ p)) - y)
    assert np.abs(np.asarray(model.parameters_) - p).max() < 1e-6


def test_adapters_begin_at_the_network_they_adapt() -> None:
    adapters, join = ds.models.low_rank(START, 2)
    joined = join(adapters)
    assert all((np.asarray(joined[k]) == np.asarray(START[k])).all() for k in START)
    moved = jax.tree_util.tree_map(lambda a: a + jnp.arange(a.size).reshape(a.shape) ** 2, adapters)
    assert np.linalg.matrix_rank(np.asarray(join(moved)["w"] - START["w"])) == 2
    with pytest.raises(InvalidRequest, match="smaller rank"):
        ds.models.low_rank(START, 5)


def test_adam_takes_the_variance_of_the_noise_off() -> None:
    gradient, velocity, square = np.array([3.0, 0.1]), np.zeros(2), np.zeros(2)
    found = Adam(0.9, 0.99, 0.04).direction(gradient, velocity, square, 0, 0.5)
    assert np.allclose(found, [3 / np.sqrt(9 - 0.25), 0.1 / np.sqrt(0.04 * 0.25)])
    assert (Momentum().direction(gradient, velocity, square, 5, 0.5) == gradient).all()


def test_a_cosine_rises_and_ends_at_zero() -> None:
    sizes = ds.models.Cosine(2, 12, 2)
    assert [sizes.at(t) for t in (0, 1, 2, 7, 12)] == pytest.approx([1, 2, 2, 1, 0])


@pytest.mark.parametrize(
    "bad",
    [
        lambda: ds.models.OwnNetwork(loss=loss, epsilon=1, delta=1e-5, expected_rows=9).fit(X, Y),
        lambda: ds.models.OwnNetwork(loss=LOSS, epsilon=1, delta=1e-5).fit(X, Y),
        lambda: ds.models.OwnNetwork(loss=LOSS, epsilon=1, delta=1e-5, expected_rows=40).fit(X, Y[:3]),
        lambda: ds.models.OwnNetwork(loss=LOSS, epsilon=1, delta=1e-5, expected_rows=40).fit(X, Y, groups=[1]),
        lambda: ds.models.OwnNetwork(loss=LOSS, epsilon=1, delta=1e-5, expected_rows=40, optimizer="adam").fit(X, Y),
        lambda: ds.models.OwnNetwork(loss=LOSS, epsilon=1, delta=1e-5, expected_rows=40, clip=0).fit(X, Y),
        lambda: ds.models.jax_loss(loss, {"w": jnp.arange(3)}),
        lambda: ds.models.Cosine(1, 3, 3),
        lambda: ds.models.OwnNetwork(
            loss=LOSS, epsilon=1, delta=1e-5, expected_rows=40, momentum=0.5, optimizer=Adam(), lot_size=8
        ).fit(X, Y),
    ],
)
def test_what_cannot_be_trained_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidRequest):
        bad()


def test_a_network_of_a_number_predicts_within_the_bounds_and_is_published(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (2000, 2))
    y = 150 + 40 * np.sin(2 * x[:, 0]) + 10 * x[:, 1]
    settings: dict[str, Any] = {"bounds": (-1, 1), "target_bounds": (90, 210), "hidden_layer_sizes": (16,)}
    model = ds.models.MLPRegressor(random_state=1, epsilon=8, delta=1e-6, expected_rows=2000, **settings).fit(x, y)
    assert model.public_score(x, y) > 0.8
    loaded = ds.models.load(model.publish(tmp_path / "model.json"))
    assert (loaded.predict(x) == model.predict(x)).all()
    assert loaded.predict([[1e9, 1e9]]).item() <= 210
