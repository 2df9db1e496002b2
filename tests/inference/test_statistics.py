"""What a query does to a record, and the density of its noise: number for number as the package has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.core.mechanism import mechanisms
from discreet.core.release import Release
from discreet.core.x64 import doubles, jnp
from discreet.inference import BetaBernoulli, DirichletMultinomial, LinearRegression, LogDensity, Normal
from discreet.inference.evidence.laws import density
from discreet.inference.evidence.releases import gather
from discreet.inference.evidence.statistic import Reader, bin_of, translate
from discreet.sources import open_source
from discreet.statistics.joint import Bundle
from discreet.statistics.question import Table, build

LAWS = [
    ds.Laplace("1.5"), ds.Laplace("1.5", grid=1), ds.Laplace("0.2", grid=1), ds.Gaussian("2.5"), ds.Gaussian("2.5", grid=1),
    ds.Gaussian("0.3", grid=1), ds.DiscreteLaplace("1.5"), ds.DiscreteLaplace("0.3"), ds.DiscreteGaussian("2.5"),
    ds.DiscreteGaussian("0.4"), ds.Laplace(["1.5", 2, "0.25"]), ds.Gaussian([1, 2, 3], grid="0.25"), ds.SphericalLaplace(2),
]  # fmt: skip


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_densities_are_the_laws_own(law: Any) -> None:
    """Near and far from the exact value, on and between the steps of a grid."""
    exact = np.array([0.0, 3.0, -7.0])
    with doubles():
        made = density(law, 3)
        for shift in (0.0, 1.0, 5.0, 40.0, -3.0):
            released = exact + shift * np.array([1.0, -1.0, 2.0])
            expected = float(np.sum(law.log_prob(released, exact)))
            assert float(made.log_prob(jnp.asarray(released), jnp.asarray(exact))) == pytest.approx(
                expected, rel=1e-6, abs=1e-6
            )
        if "discrete" in law.name:
            assert float(made.log_prob(jnp.asarray(exact + 0.5), jnp.asarray(exact))) == -np.inf


def test_laws_without_a_density_are_refused_with_the_reason() -> None:
    for law, why in ((ds.Exponential(1), "ranks"), (mechanisms["no_noise"](), "very small scale")):
        with pytest.raises(ds.errors.InvalidRequest, match=why):
            density(law, 1)
    own = density(LogDensity(lambda released, exact: -jnp.abs(released - exact)), 2)
    assert float(own.log_prob(jnp.ones(2), jnp.zeros(2))) == -2.0


def columns(relation: str) -> dict[str, Any]:
    return {"x": ds.Real(-1, 2.5), "y": ds.Real(0, 10), "flag": ds.Integer(0, 1), "sex": ds.Categories(["f", "m"]),
            "town": ds.Categories(["a", "b", "c"])}  # fmt: skip


ASKED = [
    ("count", (), {}), ("count", (), {"by": "sex"}), ("sum", ("x",), {}), ("sum", ("x",), {"by": "town"}),
    ("mean", ("x",), {}), ("mean", ("x",), {"by": ["sex", "town"]}), ("variance", ("x",), {}),
    ("covariance", ("x", "y"), {}), ("correlation", ("x", "y"), {}), ("pooled_variance", ("x",), {"by": "town"}),
    ("pooled_covariance", ("x", "y"), {"by": "sex"}), ("histogram", ("x",), {"bins": 7}),
    ("histogram", ("y",), {"bins": [0, 1, 5, 10]}), ("crosstab", ("sex", "town"), {}), ("share", ("sex",), {"by": "town"}),
    ("mean", ("x",), {"of": "population"}), ("variance", ("x",), {"by": "sex", "of": "population"}),
    ("covariance", ("x", "y"), {"of": "population"}),
]  # fmt: skip


class Everything(DirichletMultinomial):
    """Records with every column of the table: only to read columns, codes for categories."""

    order = ("x", "y", "flag", "sex", "town")

    def column(self, records: Any, position: int) -> Any:
        return records[self.order[position]]


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize(("name", "args", "options"), ASKED, ids=str)
def test_records_add_up_to_what_the_query_computes(relation: str, name: str, args: Any, options: Any) -> None:
    """300 records, some beyond the bounds and some on the edges of bins: the totals agree to the last bit of the grid."""
    generator = np.random.default_rng(3)
    n = 300
    x = np.concatenate([generator.normal(0.5, 2, n - 8), np.linspace(-1, 2.5, 8)])
    table = {"x": x, "y": generator.uniform(-2, 12, n), "flag": generator.integers(0, 2, n),
             "sex": generator.integers(0, 2, n), "town": generator.integers(0, 3, n)}  # fmt: skip
    words = table | {"sex": np.array(["f", "m"])[table["sex"]], "town": np.array(["a", "b", "c"])[table["town"]]}
    schema = ds.Schema(columns(relation), neighbors=relation)
    question = build(name, Table(schema, n if relation == "replace" else None), *args, **options)
    exact = question.query.evaluate(open_source(words, schema))
    model = Everything(1.0, (1, 1, 2, 2, 3))
    with doubles():
        reader = Reader(model, {c: i for i, c in enumerate(Everything.order)})
        statistic = translate(question.query, _Numbers(reader.model, reader.positions))
        each = statistic.each({k: jnp.asarray(v) for k, v in table.items()}, jnp.arange(n), jnp.zeros(0))
        assert each.shape == (n, statistic.size)
        total = jnp.sum(each, axis=0)
        found = np.asarray(total if statistic.finish is None else statistic.finish(total))
    grid = float(exact.grid)
    slack = 1 if name in ("variance", "covariance", "pooled_variance", "pooled_covariance") and relation == "replace" else 0
    assert np.abs(found / grid - np.ravel(exact.counts)).max() <= slack
    if statistic.ones is not None:
        assert np.allclose(np.asarray(each) @ statistic.ones, 1.0)


class _Numbers(Reader):
    """Reads bins off numbers as a model of numbers does."""

    def code(self, records: Any, factor: Any) -> Any:
        if factor.kind == "bins":
            return bin_of(factor, self.number(records, factor.column))
        return super().code(records, factor)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True, width=64), min_size=4, max_size=4))
def test_whatever_a_record_holds_it_adds_what_the_query_adds(values: list[float]) -> None:
    schema = ds.Schema({"x": ds.Real(-1, 2.5)})
    question = build("variance", Table(schema), "x")
    exact = question.query.evaluate(open_source({"x": np.array(values)}, schema))
    with doubles():
        statistic = translate(question.query, Reader(Normal(), {"x": 0}))
        total = statistic.each(jnp.asarray(values), jnp.arange(len(values)), jnp.zeros(0)).sum(0)
    assert np.array_equal(np.asarray(total) / float(exact.grid), exact.counts)


def test_joint_releases_are_read_part_by_part() -> None:
    x = np.linspace(-2, 3, 40)
    schema = ds.Schema({"x": ds.Real(-1, 2.5)})
    query = Bundle((build("mean", Table(schema), "x").query, build("variance", Table(schema), "x").query))
    exact = query.evaluate(open_source({"x": x}, schema))
    release = Release(np.asarray(exact.value), ds.Laplace(1), query, "add_remove")
    with doubles():
        evidence, _ = gather((release,), Normal())
        total = evidence.each(jnp.asarray(x), jnp.arange(40), jnp.asarray(evidence.values)).sum(0)
        assert np.array_equal(np.asarray(total), exact.value)
    assert evidence.ones is not None


def test_shapes_that_do_not_match_are_refused() -> None:
    schema = ds.Schema(columns("add_remove"))
    crosstab = Release(np.zeros((2, 3)), ds.Laplace(1), build("crosstab", Table(schema), "sex", "town").query, "add_remove")
    cases: list[tuple[Any, Any, str]] = [
        (crosstab, DirichletMultinomial(1.0, (2, 2)), "'town' has 3 cells in the release and 2 in the model"),
        (crosstab, Normal(), "2 columns|has 1 columns"),
        (crosstab, LinearRegression(1), "holds categories and the model"),
        (Release.of(ds.Laplace(1), [1.0, 2.0, 3.0]), DirichletMultinomial(1.0, (2, 2)), "shapes must match"),
        (Release.of(ds.Laplace([1, 2]), [1.0, 2.0, 3.0]), DirichletMultinomial(1.0), "2 scales"),
        (Release.of(ds.Laplace(1), 1.0), Normal(), "statistic="),
        (Release.of(ds.RandomizedResponse.keeping("0.75", "abc"), list("aab")), BetaBernoulli(), "do not match"),
        (
            Release.of(ds.RandomizedResponse.keeping("0.75", "ab"), list("aac")),
            DirichletMultinomial(),
            "among the categories",
        ),
        (Release.of(ds.RandomizedResponse.keeping("0.75", "ab"), list("aab")), BetaBernoulli(), "success"),
        (Release.of(ds.RandomizedResponse.keeping("0.75", "ab"), list("aab")), Normal(), "table model"),
    ]
    with doubles():
        for release, model, words in cases:
            with pytest.raises(ds.errors.InvalidRequest, match=words):
                gather((release,), model)
