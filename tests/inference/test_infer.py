"""From our own releases to posteriors; models of one's own; what is refused, and who is at fault."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import discreet as ds
from discreet.core.x64 import doubles, jax, jnp
from discreet.inference import (
    BetaBernoulli,
    DirichletMultinomial,
    GammaPoisson,
    LinearRegression,
    LogisticRegression,
    Normal,
    OwnModel,
    OwnRows,
    PoissonRows,
    PrivacyModel,
    UniformRows,
    infer,
)
from discreet.inference.inferring import choose, prepare
from discreet.inference.samplers import chains as running

from .helpers import assert_close


@pytest.fixture(scope="module")
def session() -> ds.Session:
    generator = np.random.default_rng(0)
    n = 200
    smoker = generator.choice(["no", "yes"], n, p=[0.7, 0.3])
    data = {"age": generator.normal(45, 12, n), "sex": generator.choice(["f", "m"], n), "smoker": smoker}
    schema = ds.Schema(
        {"age": ds.Real(0, 100), "sex": ds.Categories(["f", "m"]), "smoker": ds.Categories(["no", "yes"])}, expected_rows=n
    )
    return ds.Session(data, schema=schema, budget=ds.Budget(epsilon=1000), ledger="test", seed=1)


def test_a_table_of_a_session(session: ds.Session) -> None:
    """The number of people is private and inferred too; results, JSON and lists of them are read alike."""
    result = session.crosstab("sex", "smoker", epsilon=20)
    made = infer(result.to_json(), DirichletMultinomial(), draws=500, seed=1)
    assert made.draws["theta"].shape == (4, 500, 2, 2)
    assert abs(made.draws["n"].mean() - 200) < 5
    truth = np.asarray(result.value) / 200
    assert np.abs(made.draws["theta"].mean((0, 1)) - truth).max() < 0.03
    both = infer([result, session.count(epsilon=50)], DirichletMultinomial(), draws=200, warmup=100, seed=1)
    assert both.draws["n"].std() < 1
    again = infer(result, DirichletMultinomial(), draws=500, seed=1)
    assert np.array_equal(made.draws["theta"], again.draws["theta"])  # a seed fixes everything


def test_a_share_of_a_session(session: ds.Session) -> None:
    made = infer(session.count(by="smoker", epsilon=20), BetaBernoulli(1, 1), draws=500, seed=1)
    other = infer(session.count(by="smoker", epsilon=20), BetaBernoulli(1, 1, success="no"), draws=500, seed=1)
    assert abs(made.draws["theta"].mean() - 0.3) < 0.12
    assert abs(made.draws["theta"].mean() + other.draws["theta"].mean() - 1) < 0.02
    with pytest.raises(ds.errors.InvalidRequest, match="success"):
        infer(session.count(by="sex", epsilon=20), BetaBernoulli(1, 1), draws=50)


@pytest.mark.parametrize(("people", "chosen"), [(150, "interweaving"), (500, "summary")])
def test_sums_of_some_hundred_people_are_taken_to_be_normal_and_their_squares_are_not(people: int, chosen: str) -> None:
    x = np.linspace(20, 80, people)
    mean, spread = ds.mean(x, bounds=(0, 100), epsilon=5, seed=1), ds.variance(x, bounds=(0, 100), epsilon=5, seed=2)
    with doubles():
        assert choose(prepare(mean.releases, Normal(50, 50, variance=(4.0, 2000.0)))) == chosen
        assert choose(prepare(spread.releases, Normal(50, 50, variance=(4.0, 2000.0)))) == "interweaving"


def test_a_mean_of_a_session_with_a_private_number_of_people(session: ds.Session) -> None:
    """S0 and S1 of the mean, clamped and rounded to the grid; n has a flat prior as far as the noise reaches."""
    result = session.mean("age", epsilon=10)
    made = infer(result, Normal(50, 50, variance=144.0), draws=200, warmup=100, seed=2, sampler="interweaving")
    assert abs(made.draws["n"].mean() - 200) < 3
    assert abs(made.draws["mean"].mean() - result.value) < 1.0
    assert 0.6 < made.draws["mean"].std() < 1.2  # 12 / sqrt(200) = .85, and a little noise


def test_large_tables_are_quick_and_exact() -> None:
    """A million people in twelve cells, noise of scale 20: independent draws, mean and spread as the Dirichlet has them."""
    shares = np.arange(1, 13) / 78
    seen = np.rint(shares * 1e6) + np.arange(-6, 6)
    made = infer(ds.Release.of(ds.DiscreteLaplace(20), seen), DirichletMultinomial(1.0), n=10**6, draws=500, seed=1)
    assert made.sampler == "counts"
    assert not made.approximate
    theta = made.draws["theta"]
    assert np.abs(theta.mean((0, 1)) - shares).max() < 1e-4
    assert theta.std((0, 1)) == pytest.approx(np.sqrt(shares * (1 - shares) / 1e6), rel=0.2)


def test_many_records_are_summarised_and_say_so() -> None:
    """About 10**4 normal numbers, their count and sum with Laplace(100): the total of normal numbers is normal, so that the
    approximation is none, and quadrature over n and the mean tells the posterior."""
    from scipy.special import log_ndtr

    scale, seen = 100.0, np.array([1.005e4, 2.02e4])
    release = ds.Release.of(ds.Laplace(100), seen)
    made = infer(release, Normal(0, 10, variance=4.0), n=UniformRows(9000, 11_000), statistic=lambda x: jnp.stack([1.0, x]),
                 draws=150, warmup=30, chains=12, seed=3)  # fmt: skip
    assert made.sampler == "summary"
    assert made.approximate
    count, mean = np.linspace(9000, 11_000, 801)[:, None], np.linspace(1.6, 2.4, 801)
    apart, ratio = np.abs(seen[1] - count * mean), 2 * np.sqrt(count) / scale  # the total's deviation, in scales
    sides = [sign * apart / scale + log_ndtr(-ratio - sign * apart / scale / ratio) for sign in (1, -1)]
    logs = np.logaddexp(*sides) + ratio**2 / 2 - np.abs(seen[0] - count) / scale - mean**2 / 200
    weight = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    for name, values in (("n", count), ("mean", mean)):
        first = float((weight * values).sum())
        assert_close(made.draws[name], first, float(np.sqrt((weight * (values - first) ** 2).sum())))


def test_one_s_own_model_gets_its_step() -> None:
    """x ~ N(mu, 1), mu ~ N(0, 4), n = 5, sum 3 with noise N(0, 1): the posterior is normal."""
    model = OwnModel(
        lambda theta: -(theta["mu"] ** 2) / 8,
        lambda x, theta: -0.5 * (x - theta["mu"]) ** 2,
        lambda key, theta: theta["mu"] + jax.random.normal(key),
        {"mu": 0.0},
    )
    made = infer(
        ds.Release.of(ds.Gaussian(1), 3.0), model, n=5, statistic=lambda x: x, chains=32, draws=300, warmup=50, seed=4
    )
    precision = 1 / 4 + 25 / 6
    assert_close(made.draws["mu"], 3 * 5 / 6 / precision, precision**-0.5)


def normal_step(key: Any, records: Any, theta: Any) -> Any:
    precision = 1 / 4 + records.shape[0]
    return jnp.sum(records) / precision + jax.random.normal(key) / jnp.sqrt(precision)


@pytest.mark.parametrize(
    "options",
    [
        {"statistic": jnp.sum, "statistic_of": "data"},
        {"statistic": lambda data: jnp.mean(data) * 5, "statistic_of": "data", "additive": False},
        {
            "statistic": lambda x, index, released: x + 0 * index * released[0],
            "latent": lambda key, theta, n: theta + jax.random.normal(key, (n,)),
            "latent_of": "data",
        },
    ],
)
def test_four_functions(options: dict[str, Any]) -> None:
    """The same posterior from a statistic of a data set, one that is not additive, and one of a record with its place and
    the release, records made in one batch."""
    made = {"latent": lambda key, theta: theta + jax.random.normal(key)} | options
    noise = lambda released, exact: -0.5 * (released - exact) ** 2  # noqa: E731
    model = PrivacyModel(posterior=normal_step, mechanism=noise, n=5, start=0.0, **made)
    found = infer(3.0, model, chains=32, draws=200, warmup=50, seed=5)
    precision = 1 / 4 + 25 / 6
    assert_close(found.draws["theta"], 3 * 5 / 6 / precision, precision**-0.5)


def test_who_is_at_fault_is_named() -> None:
    count, table = ds.Release.of(ds.DiscreteLaplace(1), 5), DirichletMultinomial()
    normal, total = Normal(0, 1, variance=1.0), ds.Release.of(ds.Laplace(1), 1.0)
    latent = lambda key, theta: theta + jax.random.normal(key)  # noqa: E731

    def four(**given: Any) -> Any:
        return PrivacyModel(**{"posterior": normal_step, "latent": latent, "statistic": lambda x: x,
                               "mechanism": ds.Laplace(1), "n": 5, "start": 0.0} | given)  # fmt: skip

    quantile = ds.Release.of(ds.Exponential(1), 3)
    cases: list[tuple[Any, str]] = [
        (lambda: infer(count, BetaBernoulli(), n=10, draws=3), "draws must be a whole number of at least 4"),
        (lambda: infer(count, BetaBernoulli(), n=10, chains=0), "chains"),
        (lambda: infer(count, BetaBernoulli(), n=10, warmup=-1), "warmup"),
        (lambda: infer(count, BetaBernoulli(), n=10, sampler="fast"), "sampler must be one of"),
        (lambda: infer(count, BetaBernoulli(), n=0), "n must be"),
        (lambda: infer(count, BetaBernoulli()), "number of records is not known"),
        (lambda: infer(count, "beta", n=10), "model must be"),  # type: ignore[arg-type]
        (lambda: infer([], BetaBernoulli()), "at least one release"),
        (lambda: infer(3.0, BetaBernoulli()), "takes a Release"),
        (lambda: infer("{", BetaBernoulli()), "not a JSON document"),
        (lambda: infer('{"kind": "schema"}', BetaBernoulli()), "kind 'schema'"),
        (lambda: infer(quantile, normal, n=10), "no density that a posterior can use.*ranks over the whole table"),
        (lambda: infer(total, normal, n=5, statistic=lambda x: jnp.stack([x, x])), "statistic makes 2 numbers"),
        (lambda: infer(total, normal, n=5, statistic=lambda x: x.nonsense), "statistic fails on one record"),
        (lambda: infer(total, normal, n=5, statistic=lambda a, b, c, d: a), "statistic is called with 1 to 3"),
        (lambda: infer(total, normal, n=5, statistic=lambda x: jnp.log(x - 1e9)), "statistic is not finite"),
        (lambda: infer(count, normal, n=5, statistic=lambda x: x), "probability zero"),
        (lambda: infer(total, normal, n=5, statistic=lambda x: x, sampler="counts"), "'counts' needs a table"),
        (lambda: infer(total, normal, n=5, statistic=lambda x: x, sampler="gibbs"), "'gibbs' needs"),
        (lambda: infer(total, normal, n=5, statistic=lambda x: x, sampler="whole_table"), "'whole_table' needs"),
        (lambda: infer(total, normal, n=5, statistic=lambda x: x, sampler="independent"), "'independent' needs"),
        (lambda: infer(total, GammaPoisson(), n=5, statistic=lambda x: x, sampler="interweaving"), "'interweaving' needs"),
        (lambda: infer(ds.Release.of(ds.Laplace(1), [1.0, np.nan]), table, n=5), "finite"),
        (lambda: infer(1.0, four(mechanism=lambda r, e: jnp.log(e - e - 1.0))), "log-density of the release is NaN"),
        (lambda: infer(1.0, four(mechanism=lambda r, e: -jnp.inf * jnp.ones(1))), "log-density -inf"),
        (lambda: infer(1.0, four(start=np.nan)), "prior .start. gives theta"),
        (lambda: infer(1.0, four(statistic=jnp.mean, statistic_of="data")), "declared additive"),
        (lambda: infer(1.0, four(), n=6), "n = 5"),
        (lambda: infer(1.0, four(), sampler="gibbs"), "sampled by 'sweep'"),
        (lambda: infer(1.0, four(posterior=lambda key, records: jnp.zeros(2))), "posterior returns parameters of shape"),
        (lambda: four(additive=False), "statistic_of='data'"),
        (lambda: four(latent=3), "latent must be a function"),
        (lambda: four(posterior=lambda: 0), "posterior is called with 2 to 3"),
        (lambda: four(n=0), "n must be"),
        (lambda: four(latent_of="table"), "latent_of"),
        (lambda: BetaBernoulli(0, 1), "a must be positive"),
        (lambda: DirichletMultinomial([1, -1]), "alpha must be positive"),
        (lambda: DirichletMultinomial(1.0, (1,)), "two cells"),
        (lambda: DirichletMultinomial((1, 1), (2, 2)), "other cells"),
        (lambda: Normal(np.inf), "finite"),
        (lambda: Normal(variance=(1,)), "variance"),
        (lambda: LinearRegression(0), "features"),
        (lambda: LinearRegression(2, covariates=([0.0], [[1.0]])), "2 covariates"),
        (lambda: LogisticRegression(1, covariates=([0.0], [[-1.0]])), "positive definite"),
        (lambda: Normal(columns=("a", "b")), "1 columns"),
        (lambda: OwnModel(lambda t: 0.0, lambda x: 0.0, lambda k, t: 0.0, {"mu": 0.0}), "log_likelihood is called with 2"),
        (lambda: OwnModel(lambda t: 0.0, lambda x, t: 0.0, lambda k, t: 0.0, {}), "start"),
        (lambda: OwnModel(lambda t: 0.0, lambda x, t: 0.0, lambda k, t: 0.0, {"a": -1.0}, positive=["a"]), "above zero"),
        (lambda: UniformRows(5, 2), "least <= most"),
        (lambda: PoissonRows(-1), "mean must be positive"),
    ]  # fmt: skip
    for call, words in cases:
        with pytest.raises(ds.errors.DiscreetError, match=words):
            call()


def test_priors_on_the_number_of_rows() -> None:
    """One's own prior is used as it is: all weight on 12 makes n 12."""
    release = ds.Release.of(ds.DiscreteLaplace("0.8"), [7, 5])
    only = OwnRows(lambda n: jnp.where(n == 12, 0.0, -jnp.inf), 20)
    made = infer(release, BetaBernoulli(1, 1), n=only, draws=100, seed=1)
    assert (made.draws["n"] == 12).all()


def test_an_interrupt_returns_the_draws_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def bar(pieces: int, wanted: Any) -> Any:
        from contextlib import contextmanager

        @contextmanager
        def shown() -> Any:
            def done() -> None:
                calls.append(1)
                if len(calls) == 3:
                    raise KeyboardInterrupt

            yield done

        return shown()

    monkeypatch.setattr(running, "_bar", bar)
    release = ds.Release.of(ds.RandomizedResponse.keeping("0.75", [0, 1]), [0, 1, 1])
    made = infer(release, BetaBernoulli(1, 1), draws=500, warmup=100, seed=1, sampler="whole_table")
    assert made.interrupted
    assert made.draws["theta"].shape == (4, 200)


def test_nothing_heavy_is_loaded_before_it_is_used() -> None:
    """The name ``ds.inference`` does not load JAX, precision elsewhere stays as it was, and a missing JAX is named."""
    code = (
        "import sys, discreet as ds; ds.inference; assert 'jax' not in sys.modules; dir(ds.inference)\n"
        "ds.inference.BetaBernoulli; import jax.numpy as jnp; assert jnp.zeros(1).dtype == 'float32'\n"
        "parts = ('jax', 'discreet.inference', 'discreet.core.x64')\n"
        "for name in [n for n in sys.modules if n.startswith(parts)]: del sys.modules[name]\n"
        "sys.modules['jax'] = None\n"
        "try: ds.inference.Normal\n"
        "except ImportError as problem: assert 'discreet[bayes]' in str(problem)\n"
        "else: raise SystemExit('no error')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="nonsense"):
        ds.inference.nonsense  # noqa: B018
