"""Samplers and protocols that are in print and are not what they claim, each shown to fail."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from discreet.local import Cube


def printed_vertex_law(x: np.ndarray, alpha: float) -> dict[tuple[int, ...], float]:
    """The printed sampler on corners: with probability e^a / (1 + e^a) a uniform corner z with <z, x> >= 0, else one with
    <z, x> <= 0. In an even dimension corners at right angles are in both sets: the tie rule."""
    corners = list(product((-1, 1), repeat=len(x)))
    plus = [z for z in corners if np.dot(z, x) >= 0]
    minus = [z for z in corners if np.dot(z, x) <= 0]
    p = math.exp(alpha) / (1 + math.exp(alpha))
    return {z: p * (z in plus) / len(plus) + (1 - p) * (z in minus) / len(minus) for z in corners}


def largest_ratio(d: int, alpha: float) -> float:
    laws = [printed_vertex_law(np.array(x), alpha) for x in product((-1, 1), repeat=d)]
    return max(math.log(a[z] / b[z]) for a in laws for b in laws for z in a)


@pytest.mark.parametrize("alpha", [0.1, 1.0, 3.0])
def test_printed_tie_rule_is_not_private_in_even_dimensions(alpha: float) -> None:
    for d in (1, 3, 5):
        assert largest_ratio(d, alpha) == pytest.approx(alpha, abs=1e-12)
    for d in (2, 4):
        assert largest_ratio(d, alpha) == pytest.approx(math.log(1 + math.exp(alpha)), abs=1e-12)
        assert largest_ratio(d, alpha) > alpha + 0.04


def test_printed_sampler_on_the_solid_cube_is_biased() -> None:
    """Uniform on the half of [-B, B]^d on the side of x, with the B that makes *corners* unbiased."""
    odds = math.e
    tilt = (odds - 1) / (odds + 1)  # how much more often the side of x is taken than the other
    # One dimension, x = 1: a uniform point of [0, B] has mean B / 2, so the report has mean 1/2.
    assert tilt * Cube(1, 1).reach / 2 == pytest.approx(0.5)
    # Two dimensions, x = (1, 1): over z_1 + z_2 >= 0 the mean of z_1 is B / 3, by a fine grid.
    grid = (np.arange(2000) + 0.5) / 1000 - 1
    z1, z2 = np.meshgrid(grid, grid)
    half = z1[z1 + z2 >= 0].mean()
    assert half == pytest.approx(1 / 3, abs=1e-3)
    assert tilt * Cube(1, 2).reach * half < 0.6  # and the value is 1


def test_range_read_off_the_data_tells_who_is_there() -> None:
    """r = the largest value: one person changes the scale of everybody's reports, so that a report of *another* person gives
    the first one away with certainty. With a declared r the same reports are possible whoever is there."""
    everyone, without = np.array([0.2, 0.4, 5.0]), np.array([0.2, 0.4])
    reach = (math.e + 1) / (math.e - 1)
    printed = [{round(s * reach * table.max(), 9) for s in (-1, 1)} for table in (everyone, without)]
    assert not printed[0] & printed[1]  # disjoint: an unbounded ratio
    law = Cube(1, 1, (-5, 5))
    ours = []
    for table in (everyone, without):
        sent = law.reports(np.repeat(table, 50)[:, None], seed=1)
        single = [
            law.estimate(replace(sent, columns={"corner": sent.columns["corner"][i : i + 1]})) for i in range(len(sent))
        ]
        ours.append({round(float(e.value[0]), 9) for e in single})
    assert ours[0] == ours[1] == {round(s * 5 * reach, 9) for s in (-1, 1)}
    with pytest.raises(ValueError, match="reports must come from"):
        law.estimate(Cube(1, 1, ("-0.4", "0.4")).report([0.2]))


def server_side_round(gradients: np.ndarray, noise: np.ndarray) -> tuple[list[bytes], np.ndarray]:
    """The printed "local" gradient step: people send gradients, the server averages, and adds noise to the average.
    Returned: what the server received, and what it published."""
    return [g.tobytes() for g in gradients], gradients.mean(0) + noise


def test_noise_added_by_the_server_is_not_local() -> None:
    """What the server sees of one person is a function of the gradient without any randomness: two gradients, two messages,
    no epsilon at all. In ours every message has positive probability under every gradient, within e^epsilon."""
    rows = np.array([[0.1, 0.2], [0.3, -0.4]])
    moved = rows.copy()
    moved[0] = [-0.1, 0.9]
    noise = np.zeros(2)
    one, other = server_side_round(rows, noise)[0][0], server_side_round(moved, noise)[0][0]
    assert one != other
    assert one == server_side_round(rows, noise + 1)[0][0]  # the same whatever the noise: probability one, against zero
    law = Cube(1, 2)
    sent = law.reports([rows[0]] * 200, seed=1)
    ratios = law.log_prob(sent, rows[0]) - law.log_prob(sent, moved[0])
    assert np.abs(ratios).max() <= 1
