"""Laws that find keys: oracles, every outcome against the claim, samples against probabilities, documents."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.exact import Exact, Keyed
from discreet.core.mechanism import Mechanism
from discreet.core.random import Random
from discreet.core.release import Release
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.mechanisms import DiscreteLaplace, Gaussian, OptimalKeys, ThresholdedKeys, TruncatedKeys
from discreet.mechanisms.finding_keys import each, together

TWO = Distance(Fraction(2), numbers.square_root_up(Fraction(2)), Fraction(1))


def many(keys: int, shared: bool = False) -> Distance:
    root = numbers.square_root_up(Fraction(keys))
    return Distance(root, Fraction(1), Fraction(1)) if shared else Distance(Fraction(keys), root, Fraction(1))


def outcomes(law: Any, people: int, reach: int) -> dict[int | None, float]:
    """Every outcome of one key: hidden (None), named (0), or shown with a count."""
    exact = {"k": people} if people else {}
    found: dict[int | None, float] = {None: math.exp(law.log_prob({}, exact))}
    shown = [None] if isinstance(law, OptimalKeys) else list(range(people - reach, people + reach + 1))
    for count in shown if people else []:
        found[0 if count is None else count] = math.exp(law.log_prob({"k": count}, exact))
    return found


def hockey_stick(p: dict[Any, float], q: dict[Any, float], epsilon: float) -> float:
    return sum(max(0.0, mass - math.exp(epsilon) * q.get(outcome, 0.0)) for outcome, mass in p.items())


LAWS = [
    (OptimalKeys(1, "1e-5"), 0, 30),
    (OptimalKeys("0.3", "1e-3"), 0, 50),
    (TruncatedKeys(1, "1e-5"), 11, 30),
    (TruncatedKeys("0.3", "1e-3"), 40, 90),
    (TruncatedKeys(2, "0.2"), 5, 8),
    (TruncatedKeys(1, "1e-5", minimum=15), 11, 30),
    (ThresholdedKeys.laplace(many(1), epsilon=1, delta="1e-4", keys=1), 60, 20),
    (ThresholdedKeys.laplace(many(1), epsilon="0.5", delta="1e-2", keys=1, minimum=12), 120, 20),
]


@pytest.mark.parametrize(("law", "reach", "most"), LAWS, ids=str)
def test_every_outcome_is_within_the_claim(law: Any, reach: int, most: int) -> None:
    """All pairs n, n + 1 up to beyond certainty, both ways, and n = 0: the enumerated divergence is at most delta."""
    cost = law.cost(1)
    worst = 0.0
    for n in range(most):
        here, there = outcomes(law, n, reach), outcomes(law, n + 1, reach)
        assert sum(here.values()) == pytest.approx(1, abs=1e-9)
        worst = max(worst, *(hockey_stick(p, q, float(cost.epsilon)) for p, q in ((here, there), (there, here))))
    assert worst <= float(cost.delta) * (1 + 1e-9) + 1e-15
    assert worst >= float(cost.delta) / 4 or law.minimum  # and it is not much less: the law wastes little
    assert cost.slack == cost.delta


def test_oracles() -> None:
    """Published probabilities, thresholds, and numbers of people."""
    one, small, large = OptimalKeys(1, "1e-5"), OptimalKeys("0.1", "1e-6"), OptimalKeys(5, "1e-5")
    assert [float(one.chance(n)) for n in (0, 11, 12)] == pytest.approx([0, 0.3484477, 0.7603110], abs=5e-8)
    assert (one.chance(22) < 1, one.chance(23), one.chance(10**9)) == (True, 1, 1)
    assert float(small.chance(109)) == pytest.approx(0.5151173, abs=5e-8)
    assert (small.chance(217) < 1, small.chance(218)) == (True, 1)
    assert float(large.chance(4)) == pytest.approx(0.9947563, abs=5e-8)
    wanted = OptimalKeys("0.1", "1e-5")
    assert (wanted.people_for("0.5"), wanted.people_for("0.99")) == (86, 125)
    truncated = TruncatedKeys(1, "1e-5")
    assert truncated.reach == 11
    worst = max(hockey_stick(outcomes(truncated, n + 1, 11), outcomes(truncated, n, 11), 1.0) for n in range(24))
    assert worst == pytest.approx(7.7182e-6, abs=5e-11)
    price: dict[str, Any] = {"epsilon": 1, "delta": "1e-5"}
    for keys, laplace, gaussian, half in ((1, 13, 18.157, 12), (10, 133, 19.316, 109), (100, 1544, 20.790, 1083)):
        assert ThresholdedKeys.laplace(many(keys), keys=keys, **price).threshold == laplace
        found = ThresholdedKeys.gaussian(many(keys, True), keys=keys, **price)
        assert float(found.threshold) == pytest.approx(gaussian, abs=5e-4)
        assert OptimalKeys.costing(many(keys), **price).people_for("0.5") == half


@settings(max_examples=60, deadline=None)
@given(st.floats(0.05, 6), st.floats(1e-12, 0.03))
def test_the_counts_cost_no_chance(epsilon: float, delta: float) -> None:
    """At the delta that truncation uses, a key with its count is shown exactly as often as the optimal law names it."""
    law = TruncatedKeys(epsilon, delta)
    used = float(law._masses[0])
    assert used <= delta * (1 + 1e-12)
    pi, grow = 0.0, math.exp(epsilon)
    for n in range(1, 2 * law.reach + 3):
        pi = min(grow * pi + used, 1 - (1 - pi - used) / grow, 1.0)
        assert law.chance(n) == pytest.approx(pi, rel=1e-6, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.floats(0.05, 6), st.floats(1e-12, 0.03))
def test_the_truncation_is_the_least_allowed(epsilon: float, delta: float) -> None:
    law = TruncatedKeys(epsilon, delta)
    p, t = math.exp(-epsilon), law.reach - 1
    assert p**t * (1 - p) / (1 + p - 2 * p ** (t + 1)) > delta * (1 - 1e-9)


SAMPLED: list[tuple[Mechanism, dict[str, int]]] = [
    (OptimalKeys(1, "0.01"), {"k": 4}),
    (TruncatedKeys(1, "0.01"), {"k": 5}),
    (TruncatedKeys(1, "0.01", minimum=8), {"k": 7}),
    (ThresholdedKeys.laplace(many(2), epsilon=1, delta="0.01", keys=2), {"k": 10}),
]


@pytest.mark.parametrize(("law", "exact"), SAMPLED, ids=str)
def test_samples_follow_the_probabilities(law: Any, exact: dict[str, int]) -> None:
    """Each outcome of 40,000 independent keys within 5.5 deviations: false alarm 1e-6 over about 25 outcomes."""
    runs, people = 40_000, exact["k"]
    names = tuple(f"{i:06d}" for i in range(runs))
    shown = law.release(Keyed(names, Exact(np.full(runs, people))), seed=Random(5))
    assert list(shown) == sorted(shown)
    values = list(shown.values())
    for outcome, p in outcomes(law, people, 30).items():
        seen = runs - len(values) if outcome is None else values.count(None if isinstance(law, OptimalKeys) else outcome)
        assert abs(seen - runs * p) <= 5.5 * math.sqrt(runs * p * (1 - p)) + 3, outcome


def test_a_gaussian_number_has_its_density() -> None:
    law = ThresholdedKeys.gaussian(many(3, True), epsilon=1, delta="0.02", keys=3)
    exact = {"a": 12, "b": 1}
    released = law.release({"a": 200, "b": 1}, seed=3)
    assert list(released) == ["a"]
    inner: Any = law.law
    assert law.log_prob({"a": 20.0}, exact) == pytest.approx(inner.log_prob(20.0, 12) + math.log(law._hidden(1)))
    assert law.log_prob({"a": 1.0}, exact) == -math.inf  # below the threshold nothing is shown
    assert law.log_prob({"c": 30.0}, exact) == -math.inf  # nor what nobody has


@pytest.mark.parametrize("law", [law for law, *_ in (*LAWS, *SAMPLED)], ids=str)
def test_documents_and_what_is_never_shown(law: Any) -> None:
    value = law.release({"b": 500, "a": 600, "nobody": 0, "one": 1}, seed=9)
    assert list(value)[:2] == ["a", "b"]
    assert "nobody" not in value
    again = Release.from_json(Release(value, law, cost=law.cost(1), private=False).to_json())
    assert (again.mechanism, again.value, again.mechanism.cost(1)) == (law, value, law.cost(1))
    for wrong in ({"a": "many"}, {"a": 1, "b": None}, {"a": True}, {"a": [1]}):
        with pytest.raises(UnsupportedFormat, match="released keys"):
            Release.from_dict(Release(value, law, private=False).to_dict() | {"value": wrong})
    assert law.release({}, seed=1) == {}
    assert law.log_prob({}, {}) == 0
    assert law.log_prob({"z": 3}, {"a": 5}) == -math.inf


def test_two_keys_move_under_replace() -> None:
    """At half of epsilon and 1 - sqrt(1 - delta) each: the claim is exactly what was asked."""
    for made in (TruncatedKeys, OptimalKeys):
        law = made.costing(TWO, epsilon=1, delta="1e-5")
        assert law.epsilon == Fraction(1, 2)
        assert float(law.delta) == pytest.approx(1 - math.sqrt(1 - 1e-5), rel=1e-12)
        cost = law.cost(TWO)
        assert (cost.epsilon, cost.delta, cost.slack) == (1, Fraction(1, 10**5), Fraction(1, 10**5))
    share = each(Fraction(1, 100), 7)
    assert 1 - (1 - share) ** 7 <= Fraction(1, 100) <= 1 - (1 - share - Fraction(1, 10**60)) ** 7
    assert 0 <= together(share, 7) - (1 - (1 - share) ** 7) < Fraction(1, 10**60)


@pytest.mark.parametrize("keys", [1, 2, 3, 10, 40])
def test_the_slack_holds_for_every_number_of_keys(keys: int) -> None:
    """A person with j <= m lone keys: one of them is shown with at most the slack, whichever j."""
    law = ThresholdedKeys.gaussian(many(keys, True), epsilon=1, delta="1e-3", keys=keys)
    for j in range(1, keys + 1):
        assert 1 - law._hidden(1 / math.sqrt(j)) ** j <= float(law.slack) * (1 + 1e-9)
    coarse = ThresholdedKeys.laplace(many(keys), epsilon=1, delta="1e-3", keys=keys)
    assert 1 - coarse._hidden(1) ** keys <= float(coarse.slack) * (1 + 1e-9)
    assert coarse.cost(many(keys)).delta == Fraction(1, 1000)


def test_a_threshold_that_is_too_low_costs_more_than_it_says() -> None:
    law = ThresholdedKeys(DiscreteLaplace(1), 3, 1, "1e-9")
    assert law.cost(1).delta > Fraction(1, 100)
    low = ThresholdedKeys(Gaussian(1, grid=Fraction(1, 1024)), "1.5", 2, "1e-9")
    assert low.cost(1).slack > Fraction(1, 10)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: OptimalKeys(0, "1e-5"), "epsilon must be positive"),
        (lambda: OptimalKeys("1e-9", "1e-5"), "epsilon must be larger"),
        (lambda: TruncatedKeys(1, 0), "delta must lie"),
        (lambda: TruncatedKeys("1e-9", "1e-300"), "must be larger"),
        (lambda: TruncatedKeys("1e-6", "1e-5"), "1.3 times delta"),
        (lambda: TruncatedKeys(1, "0.1", minimum=-1), "minimum must be"),
        (lambda: ThresholdedKeys(OptimalKeys(1, "0.1"), 3, 1, "0.1"), "law must be"),
        (lambda: ThresholdedKeys(DiscreteLaplace(1), 3, 0, "0.1"), "keys must be"),
        (lambda: ThresholdedKeys(DiscreteLaplace(1, grid=2), 3, 1, "0.1"), "whole numbers"),
        (lambda: TruncatedKeys(1, "0.1").cost(2), "counts once for a key"),
        (lambda: TruncatedKeys(1, "0.1").release([3]), "dict of keys"),
        (lambda: OptimalKeys(1, "0.1").people_for(2), "chance must lie"),
    ],
)
def test_bad_laws_are_refused(make: Any, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        make()
