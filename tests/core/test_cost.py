from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.budget import Budget
from discreet.core.cost import MOST, ORDERS, Block, Cost, Distance
from discreet.errors import InvalidRequest, UnsupportedFormat

costs = st.one_of(
    st.fractions(min_value=0, max_value=5, max_denominator=1000).map(Cost.pure),
    st.fractions(min_value=0, max_value=5, max_denominator=1000).map(Cost.zcdp),
    st.tuples(st.fractions(min_value=0, max_value=5, max_denominator=99), st.sampled_from(["1e-9", "0.01"])).map(
        lambda a: Cost.approximate(*a)
    ),
    st.just(Cost.nothing()),
    st.just(Cost.infinite()),
)


def test_a_tenth_ten_times_is_one() -> None:
    assert (Cost.pure(0.1) * 10).epsilon == 1
    assert sum((Cost.pure(0.1) for _ in range(10)), Cost.nothing()).epsilon == 1
    assert sum((Cost.zcdp(0.1) for _ in range(10)), Cost.nothing()) <= Cost.zcdp(1)
    assert not sum((Cost.pure(0.1) for _ in range(11)), Cost.nothing()) <= Cost.pure(1)


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.5, 1.0, 3.0, 20.0, 500.0])
def test_pure_curve_is_that_of_the_extreme_pair(epsilon: float) -> None:
    """Against the Rényi divergence of binary randomised response, computed in logarithms."""
    cost = Cost.pure(epsilon)
    log_p = -math.log1p(math.exp(-epsilon)), -epsilon - math.log1p(math.exp(-epsilon))
    for order, bound in zip(ORDERS, cost.curve, strict=True):
        a, b = (order * log_p[i] - (order - 1) * log_p[1 - i] for i in (0, 1))
        divergence = np.logaddexp(a, b) / (order - 1)
        assert divergence <= bound * (1 + 1e-12) + 1e-12
        assert epsilon < 1e-3 or bound <= divergence * (1 + 1e-6) + 1e-9
        assert divergence <= float(cost.rho or 0) * order * (1 + 1e-9) + 1e-12


@given(costs)
def test_the_text_is_the_document(a: Cost) -> None:
    assert Cost.from_dict(json.loads(a.text)) == a
    assert a.text == json.dumps(a.to_dict(), sort_keys=True, separators=(",", ":"))


@given(costs, costs, costs)
def test_addition_is_commutative_and_parallel_is_the_larger(a: Cost, b: Cost, c: Cost) -> None:
    assert a + b == b + a
    assert (a + Cost.nothing()) == a
    left, right = (a + b) + c, a + (b + c)
    assert (left.epsilon, left.delta, left.rho, left.slack) == (right.epsilon, right.delta, right.rho, right.slack)
    assert a <= (a | b)
    assert b <= (a | b)
    assert (a | b) <= a + b
    assert (a | a) == a


@given(costs, st.integers(0, 20))
def test_times_is_repeated_addition(a: Cost, times: int) -> None:
    total = sum((a for _ in range(times)), Cost.nothing())
    product = a * times
    assert (product.epsilon, product.rho, product.delta) == (total.epsilon, total.rho, total.delta)
    assert all(p == pytest.approx(t, rel=1e-12) for p, t in zip(product.curve, total.curve, strict=True))


@given(costs)
def test_documents(a: Cost) -> None:
    assert Cost.from_dict(a.to_dict()) == a


@pytest.mark.parametrize(
    "bad", [{}, {"epsilon": "1"}, {**Cost.pure(1).to_dict(), "curve": [1.0]}, {**Cost.pure(1).to_dict(), "epsilon": "-1"},
            {**Cost.pure(1).to_dict(), "curve": [-1.0] * len(ORDERS)}]
)  # fmt: skip
def test_broken_documents(bad: dict[str, object]) -> None:
    with pytest.raises(UnsupportedFormat):
        Cost.from_dict(bad)


@pytest.mark.parametrize("power", [301, 400, 5000])
def test_what_no_double_holds_is_refused(power: int) -> None:
    """For any number beyond 1e300, an overflow of doubles would be a traceback; at the limit it is still a cost."""
    beyond = Fraction(10) ** power
    for make in (Cost.pure, Cost.zcdp):
        assert str(make(MOST))
        with pytest.raises(InvalidRequest, match=r"must be at most 1e300, got about 2\*\*"):
            make(beyond)
    with pytest.raises(UnsupportedFormat, match="1e300"):
        Cost.from_dict(Cost.pure(1).to_dict() | {"epsilon": str(10**301)})


def test_text_for_people() -> None:
    assert str(Cost.pure(0.5)) == "ε=0.5"
    assert str(Cost.zcdp(0.5)) == "ρ=0.5"
    assert str(Cost.infinite()) == "no guarantee"
    assert "δ=1e-06" in str(Cost.approximate(1, 1e-6))


def test_distances() -> None:
    d = Distance.of([3, 4])
    assert (d.l1, d.l2, d.linf, d.blocks) == (7, 5, 4, (Block(1, 3, 3), Block(1, 4, 4)))
    assert (d * 2).blocks == (Block(1, 6, 6), Block(1, 8, 8))
    joined = Distance.joined([Distance.of(3), Distance.of([4])], [2, 1])
    assert (joined.l1, joined.l2, joined.linf) == (7, 5, 4)
    assert [b.size for b in joined.blocks_for(3)] == [2, 1]
    assert joined.blocks_for(5) == (Block(5, joined.l1, joined.l2),)
    assert Distance.from_dict(joined.to_dict()) == joined
    assert Distance.from_dict(d.to_dict()) == d
    assert Distance.of("0.5").l2 == Fraction(1, 2)
    for bad in (-1, math.nan, math.inf, [], "x"):
        with pytest.raises(InvalidRequest):
            Distance.of(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "bad", [{}, {"epsilon": 1, "rho": 1}, {"epsilon": 0}, {"epsilon": -1}, {"epsilon": math.nan}, {"epsilon": math.inf},
            {"epsilon": 1, "delta": 1}, {"epsilon": 1, "delta": -0.1}, {"rho": 0}, {"epsilon": 1, "composition": "renyi"},
            {"epsilon": 1, "composition": "best"}]
)  # fmt: skip
def test_bad_budgets(bad: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest):
        Budget(**bad)  # type: ignore[arg-type]


def test_budget_documents() -> None:
    for budget in (Budget(1), Budget(0.5, 1e-6), Budget(rho=0.2), Budget(1, 1e-6, composition="renyi")):
        assert Budget.from_dict(budget.to_dict()) == budget
    with pytest.raises(UnsupportedFormat):
        Budget.from_dict({"epsilon": "1"})
