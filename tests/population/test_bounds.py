"""Bounds found privately: the bins, the weights, the thresholds, and that nothing a record holds makes them run away."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from study import private_bounds

import discreet as ds
from discreet.core.random import Random
from discreet.errors import DiscreetError, InvalidRequest
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace, Laplace
from discreet.sources import open_source
from discreet.statistics.bounds import FoundBounds, PeopleInBins, threshold
from discreet.statistics.question import Table, build

INF = math.inf


def test_oracles_of_the_threshold() -> None:
    """64 bins: epsilon 1, 0.1 and rho 0.01; rows of which a person has five, unweighted."""
    assert threshold(DiscreteLaplace(1), 64) == 25
    assert threshold(DiscreteLaplace(10), 64) == 243
    assert threshold(DiscreteGaussian.costing(1, rho="0.01"), 64) == 48
    assert threshold(DiscreteLaplace(5), 64) == 122
    assert threshold(Laplace(1, grid=Fraction(1, 2**30)), 64) == pytest.approx(24.189, abs=1e-3)


@pytest.mark.parametrize(
    "law", [DiscreteLaplace(3), DiscreteGaussian.costing(1, rho="0.01"), Laplace(2), Laplace(2, grid=1)]
)
def test_noise_of_empty_bins_reaches_the_threshold_once_in_a_billion_and_no_step_below_it(law: Any) -> None:
    reached = threshold(law, 64)
    some = [-math.expm1(64 * math.log1p(-float(law.at_least(t)))) for t in (reached, reached - float(law.grid))]
    assert some[0] <= 1e-9 * (1 + 1e-6)
    assert some[1] >= 1e-9 * (1 - 1e-6)


def test_bins_are_powers_of_two_of_either_sign() -> None:
    question = build("bounds", Table(ds.Schema({"x": ds.Real(-10, 100)})), "x", unit=1)
    assert question.query.edges == (-10, -8, -4, -2, -1, 1, 2, 4, 8, 16, 32, 64, 100)  # type: ignore[attr-defined]
    whole = build("bounds", Table(ds.Schema({"n": ds.Integer(0, 50)})), "n")
    assert whole.query.edges == (0, 1, 2, 4, 8, 16, 32, 50)  # type: ignore[attr-defined]
    default = build("bounds", Table(ds.Schema({"x": ds.Real(0, 1e9)})), "x")
    assert len(default.query.edges) == 33  # type: ignore[attr-defined]
    narrow = build("bounds", Table(ds.Schema({"x": ds.Real(0, 1e-100)})), "x")
    assert narrow.query.edges == (0, 1e-100)  # type: ignore[attr-defined]


cells = st.one_of(
    st.floats(), st.integers(-70, 70).map(lambda j: math.copysign(2.0 ** abs(j), j)), st.just(math.nextafter(8.0, 0.0))
)


@settings(max_examples=150, deadline=None)
@given(st.lists(cells, min_size=1, max_size=30))
def test_without_noise_the_bounds_hold_everybody_and_are_at_most_twice_too_wide(values: list[float]) -> None:
    lo, hi = ds.bounds(np.array(values), outer=(-1e6, 1e6), unit=1, epsilon=INF).value
    there = np.clip([v for v in values if not math.isnan(v)], -1e6, 1e6)
    if not there.size:
        assert (lo, hi) == (-1e6, 1e6)
        return
    assert lo <= there.min()
    assert there.max() <= hi
    if there.min() >= 1:
        assert lo >= there.min() / 2
    if there.max() >= 1:
        assert hi <= max(1.0, 2 * there.max())


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("rows", [1, 3, 186])
def test_a_person_weighs_at_most_one(relation: Any, rows: int) -> None:
    """Whatever rows a person has, in one bin or many: 1/r each, rounded down, so that their sum never exceeds 1."""
    schema = ds.Schema({"x": ds.Real(-1e6, 1e6)}, person="id", max_rows=rows, neighbors=relation)
    query = build("bounds", Table(schema), "x").query
    rng = np.random.default_rng(1)
    for own in (1, 2, 7, 186, 300):
        x = rng.choice([-(2.0**9), 0.0, 3.0, 2.0**15, INF], own)
        exact = query.evaluate(open_source({"x": x, "id": np.zeros(own)}, schema))
        total = Fraction(int(exact.counts.sum())) * exact.grid
        assert Fraction(99, 100) < total <= 1
        assert (exact.counts >= 0).all()


def test_missing_values_and_nobody_are_in_no_bin() -> None:
    """Also under replace, where a missing value elsewhere becomes the middle of the bounds."""
    schema = ds.Schema({"x": ds.Real(0, 1e6)}, neighbors="replace")
    counts = (
        build("bounds", Table(schema), "x").query.evaluate(open_source({"x": [math.nan, None, "", "no"]}, schema)).counts
    )
    assert counts.sum() == 0


def test_where_nobody_stands_out_the_outer_range_is_kept_and_said() -> None:
    for x in (np.array([]), np.array([1.0, 2.0]), np.full(30, math.nan)):
        result = ds.bounds(x, outer=(-50, 1000), epsilon=1, seed=4)
        assert result.value.tolist() == [-50, 1000]
        assert "outer bounds" in (result.note or "")
        again = ds.Result.from_json(result.to_json())
        assert (again.value.tolist(), again.note) == ([-50, 1000], result.note)
    found = ds.bounds(np.full(500, 70.0), outer=(-50, 1000), epsilon=1, seed=4)
    assert (found.value.tolist(), found.note) == ([64, 128], None)
    assert found.to_frame()["bound"].tolist() == ["lower", "upper"]
    assert found.interval(0.9)[1].tolist() == [1000, 1000]


@pytest.mark.parametrize("law", [{"epsilon": 1}, {"rho": 0.05}, {"epsilon": 1, "delta": 1e-6}])
@pytest.mark.parametrize("rows", [None, 4])
def test_every_law_finds_them(law: dict[str, Any], rows: int | None) -> None:
    rng = np.random.default_rng(5)
    table = {"x": rng.uniform(70, 120, 4000), "id": rng.integers(0, 1500, 4000)}
    people: dict[str, Any] = {} if rows is None else {"person": "id", "max_rows": rows}
    session = ds.Session(table, ds.Schema({"x": ds.Real(-1e9, 1e9)}, **people), ledger="test", seed=1)
    assert session.bounds("x", **law).value.tolist() == [64, 128]
    assert session.bounds("x", bins=2000, **law).note is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"unit": 0}, "unit must be positive"),
        ({"unit": "1e-60"}, "unit must be at least"),
        ({"bins": 1}, "bins must be a whole number"),
        ({"bins": 2.5}, "bins must be a whole number"),
        ({"bins": 10, "unit": 1}, "give one of them"),
        ({"epsilon": -1}, "epsilon must be positive"),
        ({"nonsense": 1}, "takes other arguments"),
    ],
)
def test_bad_requests_cost_nothing(options: dict[str, Any], words: str) -> None:
    session = ds.Session(
        {"x": [1.0], "c": ["a"]}, ds.Schema({"x": ds.Real(0, 1e6), "c": ds.Categories(["a"])}), ds.Budget(1)
    )
    with pytest.raises(DiscreetError, match=words) as caught:
        session.bounds("x", **({"epsilon": 1} | options))
    assert "\n" not in str(caught.value)
    with pytest.raises(InvalidRequest, match="holds categories"):
        session.bounds("c", epsilon=1)
    assert not session.ledger.spent().epsilon


def test_edges_of_a_document_are_checked() -> None:
    for edges in ((0.0,), (0.0, 0.0), (1.0, 0.0, 2.0)):
        with pytest.raises(InvalidRequest, match="edges must increase"):
            PeopleInBins("x", edges)
    with pytest.raises(InvalidRequest, match="rows must be"):
        PeopleInBins("x", (0.0, 1.0), 0)
    assert FoundBounds((0, 1)).hi == 1.0


def test_the_study_runs_and_is_what_a_user_asks() -> None:
    """10 runs a setting: no runaway (1e-9 a run), errors within the promise with room for so few runs."""
    results = [(s, 10, private_bounds.run(s, 7 + i, 10)) for i, s in enumerate(private_bounds.SETTINGS)]
    rows = private_bounds.rows(results)
    assert rows[0].holds
    assert all(row.value <= 10 for row in rows[1:])
    assert len(rows) == 16
    x = np.random.default_rng(0).normal(50, 5, 1000)
    assert ds.bounds(x, outer=(-1e9, 1e9), unit="0.001", epsilon=1, seed=Random(1)).value.tolist() == [32, 64]
