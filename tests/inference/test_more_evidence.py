"""Files, groups, local reports, plain Python, rare events and rows of one person: what infer takes beside one release.

False alarms: means of draws are compared within five Monte Carlo standard errors, which a right sampler misses less than
once in a million times for the handful of numbers here.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta, norm

import discreet as ds
from discreet.cli import main
from discreet.inference import BetaBernoulli, DirichletMultinomial, Normal, OwnModel, PrivacyModel, infer, inferring
from discreet.inference.outputs.beyond import beyond
from discreet.inference.outputs.diagnostics import ess_bulk

SCHEMA = ds.Schema({"x": ds.Real(0, 10), "sex": ds.Categories(["f", "m"]), "ill": ds.Categories(["no", "yes"])})


def table(n: int = 60) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    return {"x": rng.normal(4, 1, n), "sex": rng.choice(["f", "m"], n), "ill": rng.choice(["no", "yes"], n, p=[0.7, 0.3])}


def close(draws: Any, mean: float) -> None:
    """Within five standard errors of a mean."""
    error = np.std(draws) / math.sqrt(float(ess_bulk(draws)))
    assert abs(np.mean(draws) - mean) < 5 * error, (np.mean(draws), mean, error)


def test_grouped_shares_equal_one_by_one() -> None:
    session = ds.Session(table(), SCHEMA, ledger="test", seed=1)
    both = session.crosstab("sex", "ill", epsilon=1)
    found = infer(both, BetaBernoulli(columns=("ill",)), draws=2000, chains=2, seed=5)
    assert found.draws["theta"].shape == (2, 2000, 2)
    assert [row["name"] for row in found.summary()][:2] == ["theta[f]", "theta[m]"]
    values = np.asarray(both.releases[0].value)
    for place in range(2):
        law = both.releases[0].mechanism
        # Exactly: the sum over all (no, yes) of the group, flat in n as infer takes it.
        k = np.arange(0, 121)
        no, yes = np.meshgrid(k, k, indexing="ij")
        seen = law.log_prob(values[place, 0], no) + law.log_prob(values[place, 1], yes)
        prior = -np.log(no + yes + 1.0)  # of (no, yes) given n, with a uniform share
        weight = np.exp(seen + prior - (seen + prior).max())
        close(found.draws["theta"][:, :, place], float(np.sum(weight * (yes + 1) / (no + yes + 2)) / weight.sum()))
    assert found.naive().draws["theta"].shape[2:] == (2,)
    alone = infer(both, DirichletMultinomial(1), draws=50, seed=1)
    assert alone.draws["theta"].shape[2:] == (2, 2)  # a table by itself is one table


def test_grouped_means_in_one_go_and_refusals() -> None:
    result = ds.Session(table(), SCHEMA, ledger="test", seed=2).mean("x", by="sex", epsilon=20)
    found = infer(result, Normal(5, 5, 1.0), draws=400, warmup=200, chains=2, seed=1, sampler="sweep")
    assert found.draws["mean"].shape == (2, 400, 2)
    assert np.abs(found.draws["mean"].mean((0, 1)) - 4).max() < 1
    with pytest.raises(ds.errors.InvalidRequest, match="a dict with the number of each"):
        infer(result, Normal(5, 5, 1.0), n=30)


def test_a_file_of_releases_is_read_and_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = ds.Session(table(), SCHEMA, ledger="test", seed=4)
    asks = [
        ("Who is ill", "crosstab", ["ill"], session.crosstab("ill", epsilon=1)),
        ("Mean", "mean", ["x"], session.mean("x", epsilon=1)),
    ]
    listed = [{"title": t, "statistic": s, "columns": c, "result": json.loads(r.to_json())} for t, s, c, r in asks]
    path = tmp_path / "releases.json"
    path.write_text(json.dumps({"kind": "releases", "schema": 1, "title": "T", "asks": listed}))
    read = ds.read_releases(path)
    assert read.titles == ("Who is ill", "Mean")
    assert float(read["Mean"].value) == float(asks[1][3])
    one = infer(read, BetaBernoulli(columns=("ill",)), draws=50, seed=1)
    assert np.array_equal(one.draws["theta"], infer(read[0], BetaBernoulli(), draws=50, seed=1).draws["theta"])
    with pytest.raises(ds.errors.InvalidRequest, match="Who is ill; Mean"):
        infer(read, BetaBernoulli())
    with pytest.raises(ds.errors.UnknownName, match="called 'Meen'"):
        read["Meen"]
    with pytest.raises(ds.errors.UnsupportedFormat, match="cannot be read"):
        ds.read_releases(tmp_path / "none.json")
    assert main(["infer", str(path), "-m", "share", "-a", "1", "--draws", "50", "--out", str(tmp_path / "out")]) == 0
    assert "mad" in capsys.readouterr().out


@pytest.mark.parametrize("law", ["RandomizedResponse", "OptimizedUnary"])
def test_local_reports_of_categories_match_their_likelihood(law: str) -> None:
    made = getattr(ds.local, law)(1, ("no", "yes"))
    reports = made.reports(["yes"] * 30 + ["no"] * 50, seed=3)
    found = infer(reports, BetaBernoulli(2, 3), draws=2000, warmup=50, chains=2, seed=2)
    share = np.linspace(1e-4, 1 - 1e-4, 4001)
    yes, no = (np.exp(made.log_prob(reports, label)) for label in ("yes", "no"))
    logs = np.log(np.outer(share, yes) + np.outer(1 - share, no)).sum(1) + beta.logpdf(share, 2, 3)
    weight = np.exp(logs - logs.max())
    close(found.draws["theta"], float(share @ weight / weight.sum()))


def test_local_reports_of_numbers_match_their_likelihood() -> None:
    made = ds.local.Duchi(2, bounds=(-3, 3))
    reports = made.reports(np.random.default_rng(1).normal(0.5, 1, 40), seed=3)
    found = infer(reports, Normal(0, 1, 1.0), draws=4000, warmup=300, chains=2, seed=2)
    grid = np.linspace(-3, 3, 601)
    x, w = np.linspace(-9, 9, 2001), 18 / 2000
    chance = np.exp([made.log_chance({"answer": np.array(a)}, np.clip(x / 3, -1, 1)) for a in (0, 1)])
    each = np.log(norm.pdf(x[None], grid[:, None]) @ chance.T * w)
    plus = int(reports.columns["answer"].sum())
    logs = (40 - plus) * each[:, 0] + plus * each[:, 1] + norm.logpdf(grid)
    weight = np.exp(logs - logs.max())
    close(found.draws["mean"], float(grid @ weight / weight.sum()))
    with pytest.raises(ds.errors.InvalidRequest, match="need a model of one number"):
        infer(reports, ds.inference.LinearRegression(1))


def numpy_twin(**more: Any) -> PrivacyModel:
    """x ~ N(theta, 1), theta ~ N(0, 4), the sum of clamped x is released: in NumPy, which JAX cannot trace."""

    def posterior(rng: np.random.Generator, x: Any, theta: Any) -> Any:
        precision = 1 / 4 + len(x)
        return rng.normal(float(np.sum(x)) / precision, 1 / math.sqrt(precision))

    return PrivacyModel(
        posterior=posterior, latent=lambda rng, theta: rng.normal(float(theta), 1.0),
        statistic=lambda x: np.clip(float(x), -1, 1), mechanism=ds.Laplace(0.5), n=2, start=0.5, **more,
    )  # fmt: skip


def test_plain_numpy_functions_have_the_posterior_of_their_twins() -> None:
    found = infer(2.4, numpy_twin(), draws=4000, warmup=300, chains=2, seed=7)
    close(found.draws["theta"], 2.10036)  # the oracle of the traced model: mean 2.10036, sd 1.24841
    assert abs(np.std(found.draws["theta"]) - 1.24841) < 0.15
    assert {"acceptance_rate", "acceptance_per_record"} <= set(found.stats)
    assert found.summary()["theta"]["r_hat"] < 1.05
    own = OwnModel(
        log_prior=lambda t: float(norm.logpdf(float(t["mu"]), 0, 2)),
        log_likelihood=lambda x, t: -0.5 * (float(x) - float(t["mu"])) ** 2,
        simulate=lambda rng, t: rng.normal(float(t["mu"])),
        start={"mu": 0.5},
    )
    seen = ds.Release.of(ds.Laplace(0.5), 2.4)
    slow = infer(seen, own, n=2, statistic=lambda x: np.clip(float(x), -1, 1), draws=3000, warmup=200, chains=2, seed=3)
    close(slow.draws["mu"], 2.10036)


def test_functions_that_run_nowhere_are_refused_in_a_line() -> None:
    broken = PrivacyModel(
        posterior=lambda key, x: x.nothing, latent=lambda key, t: 1.0, statistic=lambda x: x, mechanism=ds.Laplace(1), n=2,
        start=0.0,
    )  # fmt: skip
    with pytest.raises(ds.errors.InvalidRequest, match=r"under JAX: .*; in plain Python"):
        infer(1.0, broken)


def test_rare_events_are_drawn_exactly_and_starts_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with many people, where sums are summarised first; 3,200 draws of a sweep over a hundred of them, worth 1,500."""
    monkeypatch.setattr(inferring, "ADVISED", 50)
    seen = ds.Release.of(ds.DiscreteLaplace(1), 0)
    n = 100
    found = infer(seen, ds.inference.GammaPoisson(1, 1), n=n, statistic=lambda x: x, draws=400, warmup=50, chains=8, seed=4)
    assert found.sampler == "sweep"
    # Exactly: given the rate the total is Poisson; eta is known, so is the posterior of the rate.
    total = np.arange(60.0)
    weights = np.exp(np.asarray(ds.DiscreteLaplace(1).log_prob(0, total)))
    rate = np.linspace(1e-7, 0.24, 4001)
    logs = total * np.log(n * rate[:, None]) - n * rate[:, None] - [math.lgamma(t + 1) for t in total]
    weight = np.exp(logs) @ weights * np.exp(-rate)
    close(found.draws["rate"], float(rate @ weight / weight.sum()))
    with pytest.raises(ds.errors.InvalidRequest, match="start must name"):
        infer(seen, ds.inference.GammaPoisson(1, 1), n=20, statistic=lambda x: x, start={"mu": 1.0})


def test_rows_of_one_person_widen() -> None:
    rng = np.random.default_rng(1)
    people = np.repeat(np.arange(700), 3)
    schema = ds.Schema({"x": ds.Real(0, 5), "id": ds.Integer(0, 1000)}, person="id", max_rows=3)
    session = ds.Session({"x": rng.normal(2.5, 1, 2100), "id": people}, schema, ledger="test", seed=1)
    result = session.mean("x", epsilon=50)
    wide = infer(result, Normal(2.5, 5, 1.0), draws=300, seed=1)
    # As wide as the mean of 700 people, not of 2,100 rows; 1,200 draws know it to a few percent.
    assert 0.85 < np.std(wide.draws["mean"]) / math.sqrt(1 / 700) < 1.15
    assert any("rows, not people" in note for note in wide.notes)
    with pytest.raises(ds.errors.InvalidRequest, match="between 1 and the 3 rows"):
        infer(result, Normal(5, 5, 1.0), design_effect=9)
    with pytest.raises(ds.errors.InvalidRequest, match="rows to be independent"):
        infer(result, Normal(5, 5, 1.0), sampler="sweep")


def test_mass_beyond_the_clamp_is_told() -> None:
    released = ds.Session(table(), SCHEMA, ledger="test", seed=1).mean("x", epsilon=1).releases
    draws = {"mean": np.full((1, 10), 9.0), "variance": np.full((1, 10), 1.0)}
    assert beyond(Normal(), released, draws) == {"x": pytest.approx(norm.sf(1.0))}
    assert beyond(Normal(), released, draws | {"mean": np.full((1, 10), 4.0)}) == {}
