"""The naive analysis against closed forms, and pictures of posteriors."""

from __future__ import annotations

import dataclasses
import io
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import discreet as ds
from discreet.errors import InvalidRequest, UnknownName
from discreet.inference.outputs import naive
from discreet.inference.outputs.moments import Moments
from discreet.inference.outputs.series import Series, estimated, series
from discreet.statistics.cells import Factor
from discreet.statistics.spread import Spread
from tests.inference.made import exact_moments, odds_ratio, posterior

NEAR = 5 / np.sqrt(naive.DRAWS)  # five standard errors of a mean, in standard deviations: a false alarm of 6e-7


def close(draws: np.ndarray[Any, Any], mean: float, sd: float, factor: float = 1.0) -> bool:
    """Mean within five standard errors, sd within five of its own (``factor`` more for heavy tails)."""
    near = abs(draws.mean() - mean) < factor * NEAR * sd
    return bool(near and abs(draws.std() / sd - 1) < factor * NEAR)


def test_tables_and_shares() -> None:
    """Dirichlet(alpha + counts), negative counts as none; marginals are Beta."""
    made = naive.table([[29, 41], [18, -1]], 1.0)
    alpha = np.array([[30.0, 42.0], [19.0, 1.0]])
    assert made.draws["theta"].shape == (1, naive.DRAWS, 2, 2)
    for place in np.ndindex(2, 2):
        a, total = alpha[place], alpha.sum()
        sd = np.sqrt(a * (total - a) / total**2 / (total + 1))
        assert close(made.draws["theta"][0, :, *place], a / total, sd, 3.0)
    each = naive.table([1, 2], [3.0, 5.0]).draws["theta"][0, :, 0]
    assert close(each, 4 / 11, np.sqrt(4 * 7 / 121 / 12))
    assert close(naive.share(7, 10, 2, 3).draws["theta"], 9 / 15, np.sqrt(9 * 6 / 225 / 16))
    assert naive.share(12, 10).draws["theta"].mean() > 0.8, "a count beyond the rows is cut to them"
    assert close(naive.rate(30, 10, 2, 1).draws["rate"], 32 / 11, np.sqrt(32) / 11)


def test_normal_against_closed_forms() -> None:
    """Known variance: normal. Unknown, with next to no prior on the mean: Student's t."""
    made = naive.normal(50, 100, mean=1.0, deviation=0.5, variance=4.0)
    precision = 1 / 0.25 + 50 / 4
    assert close(made.draws["mean"], (1 / 0.25 + 100 / 4) / precision, precision**-0.5)
    assert "variance" not in made.draws
    n, squares = 20, 20 * 9.0 + 19 * 2.5
    made = naive.normal(n, 60, squares, deviation=1e6, variance=(1e-9, 1e-9))
    scale = np.sqrt(2.5 / n)
    assert close(made.draws["mean"], 3.0, scale * np.sqrt(19 / 17), 1.5)
    assert close(made.draws["variance"], 2.5 * 19 / 17, 2.5 * 19 / 17 * np.sqrt(2 / 15), 3.0)


def test_an_unknown_spread_keeps_its_prior() -> None:
    """Inverse gamma (6, 10): mean 2, and a known sum says nothing of it."""
    made = naive.normal(50, 100, variance=(6.0, 10.0))
    assert close(made.draws["variance"], 2.0, np.sqrt(100 / 25 / 4), 2.0)


def test_regression_is_least_squares() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(60, 2))
    y = 1.0 + x @ [2.0, -3.0] + rng.normal(size=60)
    design = np.column_stack([np.ones(60), x])
    whole = np.column_stack([design, y])
    fit, rest, *_ = np.linalg.lstsq(design, y, rcond=None)
    made = naive.regression(whole.T @ whole, 60, deviation=1e6, variance=(1e-9, 1e-9))
    expected = np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * rest[0] / 55)
    for i in range(3):
        assert close(made.draws["beta"][0, :, i], fit[i], expected[i], 1.5)
    known = naive.regression(whole.T @ whole, 60, deviation=0.1, variance=1.0)
    ridge = np.linalg.inv(design.T @ design + 100 * np.eye(3))
    assert close(known.draws["beta"][0, :, 1], (ridge @ design.T @ y)[1], np.sqrt(ridge[1, 1]))
    with pytest.raises(InvalidRequest, match="square matrix"):
        naive.regression(np.zeros((2, 3)), 5)


def test_nearest_matrix_without_negative_eigenvalues() -> None:
    """P is the projection on the cone of such matrices Z: <A - P, Z - P> is never positive. A broken one still fits."""
    rng = np.random.default_rng(6)
    for _ in range(50):
        a = rng.normal(size=(4, 4))
        a = a + a.T
        p = naive.nearest_psd(a)
        assert np.linalg.eigvalsh(p).min() > -1e-12
        for _ in range(20):
            root = rng.normal(size=(4, 4))
            assert np.sum((a - p) * (root @ root.T - p)) <= 1e-9
        good = p + np.eye(4)
        assert np.allclose(naive.nearest_psd(good), good)
    broken = naive.regression([[50, 1, 2], [1, -3, 4], [2, 4, 6]], 50)
    assert np.isfinite(broken.draws["beta"]).all()


def test_moments_are_read_off_cells() -> None:
    """Cells of two columns hold all sums of products up to squares, in the columns' own units; groups add up."""
    rng = np.random.default_rng(7)
    x, y = rng.uniform(-2, 3, 400), rng.uniform(1, 5, 400)
    both = exact_moments({"x": x, "y": y}, Factor("square", "x", -2, 3), Factor("linear", "y", 1, 5))
    moments = Moments([both])
    assert moments.rows == pytest.approx(400)
    for powers, exact in (
        ({"x": 1}, x),
        ({"x": 2}, x**2),
        ({"y": 1}, y),
        ({"x": 1, "y": 1}, x * y),
        ({"x": 2, "y": 1}, x**2 * y),
    ):
        assert moments.of(powers) == pytest.approx(exact.sum(), abs=1e-3)
    assert moments.of({"y": 2}) is None
    assert moments.columns == ["x", "y"]
    level = exact_moments({"x": x}, Factor("level", "x", -2, 3))
    assert Moments([level]).rows is None
    assert Moments([level], 400).of({"x": 1}) == pytest.approx(x.sum(), abs=1e-3)
    law = ds.Laplace(1)
    variance = ds.Release(np.var(x, ddof=1) / 25, law, Spread(Factor("level", "x", -2, 3), Factor("level", "x", -2, 3), 400))
    assert Moments([level, variance]).of({"x": 2}) == pytest.approx((x**2).sum(), abs=1e-2)
    signed = exact_moments({"x": x}, Factor("signed", "x", -2, 3))
    assert Moments([signed], 400).of({"x": 1}) == pytest.approx(x.sum(), abs=1e-3)


def test_naive_of_a_posterior() -> None:
    """The model, the prior and the released numbers are those of the posterior."""
    made = posterior(model={"model": "dirichlet_multinomial", "alpha": 2.0, "columns": None}).naive()
    assert made.draws["theta"][..., 0, 0].mean() == pytest.approx(31 / 96, abs=5 * 0.048 / np.sqrt(naive.DRAWS))
    assert made.summary()["theta[f, yes]"]["mean"] > 0
    assert made.sampler == "naive"
    law = ds.RandomizedResponse.keeping("0.75", ["no", "yes"])
    pairs = ds.Release.of(law, np.array([["no", "yes"], ["no", "no"], ["no", "yes"], ["yes", "yes"]]))
    both_bits = posterior(releases=(pairs,)).naive().draws["theta"]
    assert both_bits.mean((0, 1)) == pytest.approx(np.array([[2, 3], [1, 2]]) / 8, abs=5 * 0.17 / np.sqrt(naive.DRAWS))
    bit = {"model": "beta_bernoulli", "a": 1.0, "b": 1.0, "success": "no"}
    single = ds.Release.of(law, np.array(["no", "yes", "no", "no"]))
    fields: dict[str, Any] = {"draws": {"theta": np.zeros((1, 9))}, "model": bit, "stats": {}}
    assert posterior(**fields, releases=(single,)).naive().draws["theta"].mean() == pytest.approx(4 / 6, abs=0.015)
    count = ds.Release.of(ds.DiscreteLaplace(1), 3)
    known = posterior(**fields | {"model": bit | {"n": 4}}, releases=(count,)).naive()
    assert known.draws["theta"].mean() == pytest.approx(4 / 6, abs=0.015)
    with pytest.raises(InvalidRequest, match="needs the number of people"):
        posterior(**fields, releases=(count,)).naive()
    rng = np.random.default_rng(8)
    x = rng.uniform(0, 1, 300)
    y = np.clip(0.2 + 0.5 * x + rng.normal(0, 0.05, 300), 0, 1)
    both = exact_moments({"x": x, "y": y}, Factor("square", "x", 0, 1), Factor("square", "y", 0, 1))
    beta = np.zeros((1, 8, 2))
    prior = {"deviation": 10.0, "variance": [2.0, 1e-6]}
    fields = {"draws": {"beta": beta}, "releases": (both,), "stats": {}}
    line = posterior(**fields, model={"model": "linear_regression", "columns": ["x", "y"], **prior}).naive()
    assert line.draws["beta"][0].mean(0) == pytest.approx(np.polyfit(x, y, 1)[::-1], abs=0.01)
    assert [row["name"] for row in line.summary()][:2] == ["beta[constant]", "beta[x]"]
    one = {"model": "normal", "columns": ["y"], "mean": 0.0, **prior}
    assert posterior(**fields, model=one).naive().draws["mean"].mean() == pytest.approx(y.mean(), abs=0.01)
    rate = {"model": "gamma_poisson", "columns": ["y"], "shape": 1e-6, "inverse_scale": 1e-6}
    assert posterior(**fields, model=rate).naive().draws["rate"].mean() == pytest.approx(y.mean(), rel=0.05)
    lacking = exact_moments({"x": x, "y": y}, Factor("linear", "x", 0, 1), Factor("linear", "y", 0, 1))
    with pytest.raises(InvalidRequest, match=r"needs the sum of x\*\*2, and no release has it"):
        posterior(
            **fields | {"releases": (lacking,)}, model={"model": "linear_regression", "columns": ["x", "y"], **prior}
        ).naive()
    with pytest.raises(InvalidRequest, match="no naive analysis is known for the model 'logistic_regression'"):
        posterior(model={"model": "logistic_regression"}).naive()


def text_of(figure: Figure) -> str:
    from matplotlib.text import Text

    return " | ".join(t.get_text() for t in figure.findobj(Text))


def draw(figure: Figure) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=50)
    return out.getvalue()


def test_pictures_are_drawn_and_say_what_they_show() -> None:
    made = posterior(count=300).derive("odds_ratio", odds_ratio)
    rough = dataclasses.replace(made, approximate=True)
    for name in ("plot_trace", "plot_density", "plot_forest", "plot_comparison"):
        figure = getattr(made, name)()
        assert isinstance(figure, Figure)
        assert draw(figure)[:4] == b"\x89PNG"
        assert "theta[f, yes]" in text_of(figure)
        assert "approximate" not in text_of(figure)
        assert "approximate" in text_of(getattr(rough, name)())
    assert "odds_ratio" in text_of(made.plot_forest())
    assert "naive: the noise is ignored" in text_of(made.plot_comparison())
    assert "truth" in text_of(made.plot_comparison(truth={"theta": [[0.2, 0.3], [0.1, 0.4]], "odds_ratio": 2.0}))
    only = text_of(made.plot_density(["odds_ratio", "theta[m, no]"]))
    assert "theta[m, no]" in only
    assert "theta[f, yes]" not in only


def test_intervals_are_drawn_where_they_are() -> None:
    """The thin line of a forest ends at the quantiles; a comparison's curves have their masses where the draws are."""
    made = posterior()
    axes = made.plot_forest(["n"], level=0.8).axes[0]
    ends = axes.get_lines()[0].get_xdata()
    assert list(ends) == pytest.approx(list(np.quantile(made.draws["n"], [0.1, 0.9])))
    at, height = estimated(series(made)[0])
    assert np.trapezoid(height, at) == pytest.approx(1.0, abs=0.01)
    assert np.trapezoid(at * height, at) == pytest.approx(made.draws["theta"][..., 0, 0].mean(), rel=0.01)
    counted, frequency = estimated(series(made, ["n"])[0])
    assert frequency.sum() * np.diff(counted)[0] == pytest.approx(1.0)


def test_mass_stays_inside_a_bound() -> None:
    """Exponential draws: the density at 0 is 1; without reflection it would be one half.

    20,000 draws, a kernel of 0.1 sd: the height is known to 2 %, and 0.2 is far beyond five times that.
    """
    values = np.random.default_rng(9).exponential(size=(1, 20_000))
    _, height = estimated(Series("x", "x", values))
    assert height[0] == pytest.approx(1.0, abs=0.2)


def test_long_tails_are_drawn_in_orders_of_magnitude() -> None:
    """The area under what is drawn stays 1 in the logarithm; what may be negative keeps its scale."""
    rng = np.random.default_rng(11)
    made = posterior(draws={"ratio": np.exp(1.5 * rng.normal(size=(2, 4000))), "shift": rng.normal(size=(2, 4000))})
    ratio, shift = made.plot_density().axes
    assert (ratio.get_xscale(), shift.get_xscale()) == ("log", "linear")
    curve = ratio.get_lines()[0]
    assert np.trapezoid(curve.get_ydata(), np.log(curve.get_xdata())) == pytest.approx(1.0, abs=0.01)
    assert [a.get_xscale() for a in made.plot_forest().axes] == ["log", "linear"]
    assert draw(made.plot_comparison(made))


def test_many_constant_and_unknown() -> None:
    many = posterior(draws={"theta": np.random.default_rng(10).normal(size=(10, 200, 30))})
    assert "18 more are not drawn; name those you want" in text_of(many.plot_density())
    assert "8 of 10 chains" in text_of(many.plot_trace())
    assert "Note" not in text_of(many.plot_forest())
    still = posterior(draws={"theta": np.full((4, 500), 0.3), "k": np.full((4, 500), 7)})
    for name in ("plot_trace", "plot_density", "plot_forest"):
        assert draw(getattr(still, name)())
    assert draw(posterior(count=1).plot_density())
    with pytest.raises(UnknownName, match="nothing is called 'beta'; known: theta, n"):
        posterior().plot_trace(["beta"])
    with pytest.raises(InvalidRequest, match="must share a quantity"):
        posterior().plot_comparison(posterior(draws={"x": np.zeros((1, 9))}))
    with pytest.raises(InvalidRequest, match="the truth of theta must have 4 numbers, got 3"):
        posterior().plot_comparison(truth={"theta": [1, 2, 3]})
    with pytest.raises(InvalidRequest, match="level"):
        posterior().plot_forest(level=2)
