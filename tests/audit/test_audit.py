"""The auditor: it never cries wolf, it has teeth, and the package passes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as ds
from discreet.audit import bit_bound, claims, law_claims, lower_bound, museum, neighbours, page, waist
from discreet.audit.views import lowest_bit
from discreet.core.price import Price
from discreet.core.random import Random
from discreet.errors import InvalidRequest
from discreet.sources import open_source
from discreet.statistics.joint import ask
from discreet.statistics.question import Table, build


def test_the_quick_audit_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """With two exhibits of the museum: all are refuted one by one in ``test_museum``."""
    monkeypatch.setattr(museum, "EXHIBITS", museum.EXHIBITS[:2])
    monkeypatch.setattr(museum, "TRAPS", museum.TRAPS[:2])
    rows = list(claims.everything(quick=True))
    assert [r.name for r in rows if not r.holds] == []
    assert {r.kind for r in rows} == {"law", "statistic", "local", "model", "synthetic", "broken", "trap"}
    text = page.render(rows, "quick")
    assert text.count("<svg") == len(rows)
    assert "refuted" in text
    assert "BROKEN" not in text


@pytest.mark.parametrize("case", [c for c in law_claims.CASES if c.share >= 1 and not c.vector], ids=lambda c: str(c.law))
def test_bounds_have_teeth(case: law_claims.Case) -> None:
    """Laplace, both Gaussians, discrete Laplace and Gaussian and randomised response reach 85 % of their claim."""
    row = law_claims.audit_law(case, 1_000_000)
    assert 0.85 * row.claim <= row.certified <= row.claim


def test_claims_of_rho_are_read_off_the_exact_profile() -> None:
    """The hockey-stick divergence at the epsilon found is delta, for the normal law and for the discrete one."""
    normal = law_claims.exact_epsilon(law_claims.CASES[5])
    assert normal is not None
    assert stats.norm.sf(normal - 0.5) - math.exp(normal) * stats.norm.sf(normal + 0.5) == pytest.approx(0.01, rel=1e-6)
    whole = law_claims.exact_epsilon(law_claims.CASES[9])
    assert whole is not None
    k = np.arange(-200, 201)
    p, q = (np.exp(-((k - at) ** 2) / 8) for at in (0, 1))
    assert np.maximum(p - math.exp(whole) * q, 0).sum() / p.sum() == pytest.approx(0.01, rel=1e-6)
    assert law_claims.exact_epsilon(law_claims.CASES[0]) is None


def test_false_alarms_are_as_rare_as_promised() -> None:
    """1,000 audits of exact randomised response at confidence 1 - 1e-3: more than 8 refutations have probability 1e-6."""
    law = ds.RandomizedResponse.costing(epsilon=1, categories=[0, 1])
    random = Random(3)
    draws = np.array(law.release([0] * 400_000, seed=random)), np.array(law.release([1] * 400_000, seed=random))

    def run(x: int, n: int, start: list[int] = [0, 0]) -> Any:  # noqa: B006  each audit takes the next draws
        start[x] += n
        return draws[x][start[x] - n : start[x]]

    alarms = sum(lower_bound(run, 0, 1, 400, confidence=1 - 1e-3, batched=True).refutes(1.0) for _ in range(1000))
    assert alarms <= 8


def test_one_output_at_a_time_errors_and_labels() -> None:
    """Any callable: numbers, labels, vectors, and exceptions as outputs."""

    def fails_on_one(x: int) -> str:
        if x:
            raise ValueError("a record")
        return "fine"

    assert lower_bound(fails_on_one, 0, 1, 400).epsilon > 1
    law, random = ds.Laplace(1), Random(8)
    assert 0.3 < lower_bound(lambda x: law.release(x, seed=random), 0.0, 1.0, 6000).epsilon <= 1

    def rows(x: Any, n: int) -> Any:
        return law.release(np.tile(x, (n, 1)), seed=random)

    vector = lower_bound(rows, np.zeros(2), np.array([0.5, 0.5]), 40_000, batched=True)
    assert 0.4 < vector.epsilon <= 1
    mixed = lower_bound(lambda x: "a" if x else 1.5, 0, 1, 200)
    assert mixed.epsilon > 1
    assert lower_bound(lambda x: math.nan, 0, 1, 200).epsilon == 0


def test_concentrated_claims_are_bounded_too() -> None:
    law = ds.Gaussian.costing(1, rho="0.5")
    found = lower_bound(lambda x, n: law.release(np.full(n, x)), 0.0, 1.0, 400_000, batched=True, target="rho")
    assert 0.25 < found.rho <= 0.5
    assert found.p > found.q


def test_confidence_limits_are_clopper_pearson() -> None:
    from discreet.audit.lower_bound import least_share, most_share

    for hits, trials in ((0, 10), (3, 10), (10, 10), (500, 1000)):
        low, high = stats.binomtest(hits, trials).proportion_ci(0.9, method="exact")
        assert least_share(hits, trials, 0.05) == pytest.approx(low, abs=1e-9)
        assert most_share(hits, trials, 0.05) == pytest.approx(high, abs=1e-9)


def test_bits_of_exact_laws_tell_nothing() -> None:
    assert lowest_bit([1.0, 0.5, 0.75, 3.0, 0.0, math.inf, 2.0**-30]).tolist() == [0, -1, -2, 0, 4096, 4096, -30]
    for law in (ds.Laplace(1), ds.Gaussian.costing(1, epsilon=1, delta="1e-6")):
        assert bit_bound(lambda x, n, m=law: m.release(np.full(n, x)), 0.0, 1.0, 100_000, batched=True).epsilon <= 1


def test_the_waist_sees_a_distance_that_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the declared distance halved, some pair of neighbours moves further than declared."""
    schema = ds.Schema({"x": ds.Real(0, 1)})
    question = build("mean", Table(schema), "x")
    true = type(question.query).distance
    monkeypatch.setattr(type(question.query), "distance", lambda self, relation: true(self, relation) * "0.5")
    worst = 0.0
    for here, there in neighbours.pairs(schema, "add_remove"):
        sources = [open_source(neighbours.table(schema, side), schema) for side in (here, there)]
        worst = max(worst, waist.moved(question.query, "add_remove", *sources).worst)
    assert worst == pytest.approx(2)


def test_the_waist_sees_different_traces() -> None:
    """A procedure that asks one more question when the data is large leaves another trace, and errors are seen."""
    schema = ds.Schema({"x": ds.Real(0, 1)})
    question = build("count", Table(schema))
    one, other = (open_source({"x": [0.5] * n}, schema) for n in (3, 40))

    def nosy() -> Any:
        result = yield from ask(question, Price(epsilon=20), "add_remove")
        if result.value > 20:
            result = yield from ask(build("mean", Table(schema), "x"), Price(epsilon=20), "add_remove")
        return result

    assert not waist.same_trace(nosy, one, other, "add_remove")
    assert waist.same_trace(lambda: ask(question, Price(epsilon=1), "add_remove"), one, other, "add_remove")

    def failing() -> Any:
        yield from ask(question, Price(epsilon=1), "add_remove")
        raise ValueError("a record")

    assert waist.trace(failing, one, "add_remove").error == "ValueError: a record"


def test_noise_is_drawn_once_for_each_release() -> None:
    """Two identical questions without a ledger get noise of their own; one question draws once."""
    schema = ds.Schema({"x": ds.Real(0, 1)})
    question = build("sum", Table(schema), "x")
    source = open_source({"x": [0.5] * 3}, schema)
    once = waist.trace(lambda: ask(question, Price(epsilon=1), "add_remove"), source, "add_remove").drawn

    def twice() -> Any:
        yield from ask(question, Price(epsilon=1), "add_remove")
        return (yield from ask(question, Price(epsilon=1), "add_remove"))

    assert waist.trace(twice, source, "add_remove").drawn == 2 * once > 0


def test_bad_requests() -> None:
    for bad in ({"trials": 3}, {"delta": 1.0}, {"confidence": 1.0}):
        with pytest.raises(InvalidRequest):
            lower_bound(lambda x: x, 0, 1, **bad)  # type: ignore[arg-type]
