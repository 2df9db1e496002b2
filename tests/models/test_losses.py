"""Losses: derivatives are those of the value, and stay within what is declared."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.models.losses import Huber, HuberHinge, Logistic, Loss, Squared, losses
from discreet.models.own_losses import own_loss

ALL: tuple[Loss, ...] = (
    Logistic(),
    HuberHinge(),
    HuberHinge(Fraction(1, 20)),
    Squared(Fraction(3)),
    Huber(),
    Huber(Fraction(2)),
)


@pytest.mark.parametrize("loss", ALL, ids=lambda v: f"{v.name}")
@given(score=st.floats(-30, 30), target=st.sampled_from([-1.0, 1.0]))
@settings(max_examples=60, deadline=None)
def test_derivatives_are_those_of_the_value(loss: Loss, score: float, target: float) -> None:
    z, y, step = np.array([score]), np.array([target]), 1e-6
    first = (loss.value(z + step, y) - loss.value(z - step, y)) / (2 * step)
    assert loss.first(z, y) == pytest.approx(first, abs=1e-6 * (1 + 3 * float(loss.curvature)) + 1e-7 * abs(score))
    second = (loss.first(z + step, y) - loss.first(z - step, y)) / (2 * step)
    bent = float(loss.second(z, y)[0])
    assert -1e-12 <= bent <= float(loss.curvature)
    if all(float(loss.second(z + d, y)[0]) == bent or isinstance(loss, Logistic) for d in (-step, step)):
        assert bent == pytest.approx(float(second[0]), abs=1e-5)
    both = loss.both(z, y)
    assert both[0] == pytest.approx(loss.first(z, y), abs=1e-15)
    assert both[1] == pytest.approx(loss.second(z, y), abs=1e-15)
    if loss.one_sided:
        assert -float(loss.slope) <= float(loss.first(z, y)[0] * y[0]) <= 0
    if not isinstance(loss, Squared):
        assert abs(float(loss.first(z, y)[0])) <= float(loss.slope)


def test_the_tie_that_makes_the_jacobian_free() -> None:
    """For the logistic loss the curvature is s (1 - s), s the slope."""
    z = np.linspace(-20, 20, 401)
    s = -Logistic().first(z, np.ones_like(z))
    assert np.allclose(Logistic().second(z, np.ones_like(z)), s * (1 - s), atol=1e-15)
    assert [loss.free_jacobian for loss in ALL] == [True, False, False, False, False, False]


@pytest.mark.parametrize("loss", ALL, ids=lambda v: f"{v.name}")
def test_documents(loss: Loss) -> None:
    assert losses.read(loss.to_dict()) == loss


def test_extreme_scores_are_finite() -> None:
    far = np.array([-1e300, -800.0, 0.0, 800.0, 1e300])
    for loss in ALL[:3]:
        for y in (-np.ones(5), np.ones(5)):
            assert np.isfinite(loss.first(far, y)).all()
            assert np.isfinite(loss.second(far, y)).all()


def square(z: Any, y: Any) -> Any:
    return np.where(np.abs(z) < 2, z * z / 4, np.abs(z) - 1)


def slope(z: Any, y: Any) -> Any:
    return np.clip(z / 2, -1, 1)


def curve(z: Any, y: Any) -> Any:
    return np.where(np.abs(z) < 2, 0.5, 0.0)


def test_a_loss_of_ones_own() -> None:
    own = own_loss("round", square, slope, curve, slope=1, curvature="0.5")
    assert (own.slope, own.curvature) == (1, Fraction(1, 2))
    assert not own.one_sided
    with pytest.raises(InvalidRequest, match=r"declared slope of 0\.5, got 1 at"):
        own_loss("too little", square, slope, curve, slope="0.5", curvature="0.5")
    with pytest.raises(InvalidRequest, match="convex"):
        own_loss("hollow", square, slope, lambda z, y: -curve(z, y), slope=1, curvature=1)
    with pytest.raises(InvalidRequest, match="vectorise"):
        own_loss("one number", square, lambda z, y: 0.0, curve, slope=1, curvature=1)
    with pytest.raises(InvalidRequest, match="positive"):
        own_loss("flat", square, slope, curve, slope=0, curvature=1)
    with pytest.raises(UnsupportedFormat, match="own"):
        losses.read(own.to_dict())
    steep = own_loss("clipped beyond 3", square, lambda z, y: z / 3, curve, slope=1, curvature=1)
    assert steep.first(np.array([100.0]), np.ones(1)) == 1  # a wrong declaration is clipped


def test_bad_parameters() -> None:
    for bad in (0, -1):
        with pytest.raises(InvalidRequest):
            HuberHinge(Fraction(bad))
        with pytest.raises(InvalidRequest):
            Huber(Fraction(bad))
