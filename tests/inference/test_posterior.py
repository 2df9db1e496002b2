"""What is done with draws: effective sizes, R-hat, summaries, derived quantities, ArviZ objects, documents."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.cost import Cost
from discreet.errors import InvalidRequest, UnknownName, UnsupportedFormat
from discreet.inference.outputs import diagnostics
from discreet.inference.outputs.diagnostics import PoorSampling, ess_bulk, ess_tail, r_hat
from discreet.inference.outputs.posterior import Posterior
from tests.inference.made import ALPHA, odds_ratio, posterior, release
from tests.patches import only_here


def autoregressive(phi: float, shape: tuple[int, int, int], seed: int) -> np.ndarray[Any, Any]:
    """Stationary chains of which the autocorrelation at lag k is phi**k."""
    noise = np.random.default_rng(seed).normal(size=shape)
    x = np.empty(shape)
    x[:, 0] = noise[:, 0] / np.sqrt(1 - phi**2)
    for t in range(1, shape[1]):
        x[:, t] = phi * x[:, t - 1] + noise[:, t]
    return x


@pytest.mark.parametrize("phi", [-0.5, 0.0, 0.3, 0.9, 0.99])
@pytest.mark.parametrize("size", [(4, 1000), (3, 101), (2, 50), (2, 8)])
def test_measures_agree_with_arviz(phi: float, size: tuple[int, int]) -> None:
    arviz = importlib.import_module("arviz")
    x = autoregressive(phi, (*size, 3), 1)
    for i in range(3):
        assert ess_bulk(x)[i] == pytest.approx(arviz.ess(x[:, :, i], method="bulk"), rel=1e-9)
        assert ess_tail(x)[i] == pytest.approx(arviz.ess(x[:, :, i], method="tail", prob=(0.05, 0.95)), rel=1e-9)
        assert r_hat(x)[i] == pytest.approx(arviz.rhat(x[:, :, i]), rel=1e-9)


def test_size_of_a_known_chain() -> None:
    """An autoregressive chain is worth (1 - phi) / (1 + phi) of its draws.

    8 series of 4 x 5000: the estimate of one is off by about 5 % (a standard deviation), the mean of 8 by 2 %; 10 % is five
    standard deviations, a false alarm of 6e-7.
    """
    for phi in (-0.3, 0.0, 0.6):
        x = autoregressive(phi, (4, 5000, 8), 2)
        assert ess_bulk(x).mean() == pytest.approx(20_000 * (1 - phi) / (1 + phi), rel=0.1)


def test_chains_that_disagree_are_told() -> None:
    x = np.random.default_rng(3).normal(size=(4, 500))
    assert r_hat(x) < 1.01
    apart = x + np.arange(4)[:, None]
    wide = x * np.array([1, 1, 1, 10])[:, None]
    assert r_hat(apart) > 1.3
    assert r_hat(wide) > 1.05, "found by folding only"
    found = diagnostics.problems({"theta": apart})
    assert "the chains disagree about theta: R-hat is " in found[0]
    assert "use a longer warm-up" in found[0]
    assert diagnostics.problems({"theta": x}) == []


def test_few_constant_and_broken_draws() -> None:
    x = np.random.default_rng(4).normal(size=(4, 50, 2))
    assert "worth only" in diagnostics.problems({"x": x})[0]
    assert "too short" in diagnostics.problems({"x": x[:, :5]})[0]
    assert np.isnan(ess_bulk(x[:, :5])).all()
    x[..., 1] = 3.0
    assert np.isnan(r_hat(x)).tolist() == [False, True], "what never moves has no R-hat and is no problem"
    assert len(diagnostics.problems({"x": x})) == 1
    x[0, 0, 0] = np.nan
    assert "not finite" in diagnostics.problems({"x": x})[0]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.integers(1, 40), st.integers(0, 2), st.integers(0, 2**31), st.sampled_from([0, 1, 5]))
def test_any_draws_can_be_judged(chains: int, count: int, places: int, seed: int, values: int) -> None:
    rng = np.random.default_rng(seed)
    shape = (chains, count, *([2] * places))
    x = rng.normal(size=shape) if values == 0 else rng.integers(0, values, shape).astype(float)
    for measure in (ess_bulk, ess_tail, r_hat):
        assert measure(x).shape == shape[2:]
        assert (np.isnan(measure(x)) | (measure(x) > 0)).all()
    assert all(isinstance(p, str) for p in diagnostics.problems({"x": x}))


def test_summary_has_the_numbers_of_the_law() -> None:
    """4000 independent draws: means within 5 standard errors (6e-7 each)."""
    made = posterior()
    summary = made.summary(level=0.9)
    assert [row["name"] for row in summary] == ["theta[f, yes]", "theta[f, no]", "theta[m, yes]", "theta[m, no]", "n"]
    total = sum(ALPHA)
    for row, a in zip(summary, ALPHA, strict=False):
        deviation = np.sqrt(a * (total - a) / total**2 / (total + 1))
        assert abs(row["mean"] - a / total) < 5 * deviation / np.sqrt(4000)
        assert row["sd"] == pytest.approx(deviation, rel=5 / np.sqrt(8000))
        assert row["low"] < row["median"] < row["high"]
    draws = made.draws["theta"][..., 0, 1]
    row = summary["theta[f, no]"]
    assert (row["low"], row["high"]) == pytest.approx(np.quantile(draws, [0.05, 0.95]))
    assert (row["mean"], row["sd"]) == pytest.approx((draws.mean(), draws.std(ddof=1)))
    assert row["ess_bulk"] == pytest.approx(float(ess_bulk(draws)))
    assert "5 %" in summary.heads()
    text = str(summary)
    assert len({len(line) for line in text.splitlines()}) == 1, "columns are aligned"
    assert summary.to_frame().loc["n", "mean"] == summary["n"]["mean"]
    assert summary.to_frame("polars").shape == (5, 10)
    assert summary.to_csv().splitlines()[0].startswith("name,mean,sd,median,mad,low,high,ess_bulk")
    assert summary.to_dict()["rows"][0]["name"] == "theta[f, yes]"
    with pytest.raises(UnknownName, match="no number is called"):
        summary["nothing"]
    with pytest.raises(InvalidRequest, match="level must lie strictly between 0 and 1"):
        made.summary(level=95)


def test_bad_draws_warn_and_are_noted() -> None:
    few = posterior(count=20)
    with pytest.warns(PoorSampling) as caught:
        summary = few.summary()
    assert [str(w.message) for w in caught] == few.problems
    assert any("take more draws" in note for note in summary.notes)
    assert "Note: the draws of theta are worth only" in str(summary)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "take more draws" in few._repr_html_()
        posterior().summary()


def test_what_must_be_said_is_said() -> None:
    plain = posterior()
    assert plain.notes == []
    rough = dataclasses.replace(plain, approximate=True, interrupted=True, releases=(release(private=False),))
    for shown in (repr(rough), str(rough.summary()), rough._repr_html_(), str(rough.to_arviz().attrs["approximate"])):
        assert "approximate" in shown or shown == "1"
    assert "interrupted: these are the first 1000 draws" in str(rough.summary())
    assert "not private" in rough._repr_html_()
    assert repr(plain) == "Posterior(theta, n; 4 chains of 1000 draws; sampler: counts; 0.5 s)"
    assert "cost of what was released: ε=1" in plain._repr_html_()


def test_labels_are_text_in_html() -> None:
    made = posterior(model={"axes": {"theta": [["<b>", ["<i>x</i>", "y"]], ["k", ["u", "v"]]]}})
    assert "<i>" not in made._repr_html_()
    assert made.axes("theta")[0][0] == "<b>"


def test_derived_quantities() -> None:
    made = posterior().derive("odds_ratio", odds_ratio)
    theta = made.draws["theta"]
    assert made.draws["odds_ratio"].tolist() == odds_ratio(theta).tolist()
    assert made.interval("odds_ratio", 0.5) == pytest.approx(tuple(np.quantile(odds_ratio(theta), [0.25, 0.75])))
    several = made.derive("rows", lambda theta: theta.sum(-1)).derive("both", lambda rows, n: rows * n[..., None])
    assert several.draws["both"].shape == (4, 1000, 2)
    assert several.summary()["rows[0]"]["mean"] == pytest.approx(theta[..., 0, :].sum(-1).mean())
    named = made.derive("ratio", lambda draws: draws["theta"][..., 0, 0] / draws["n"])
    assert named.draws["ratio"].shape == (4, 1000)
    assert "odds_ratio" not in posterior().draws
    with pytest.raises(InvalidRequest, match=r"got \(\); write places from the right"):
        made.derive("sum", lambda theta: theta.sum())
    with pytest.raises(UnknownName, match="asks for beta, which are not drawn; known: theta, n"):
        made.derive("x", lambda theta, beta: theta * beta)
    with pytest.raises(UnknownName, match="no draws are called 'beta'"):
        made.interval("beta")


def test_draws_must_fit_together() -> None:
    one = np.zeros((2, 10))
    for draws in ({}, {"a": np.zeros(3)}, {"a": one, "b": np.zeros((2, 9))}, {"a": np.zeros((2, 0))}):
        with pytest.raises(InvalidRequest, match="draws"):
            posterior(draws=draws)


def test_cost_counts_an_entry_once() -> None:
    one = release().cost
    assert one is not None
    assert posterior(releases=(release(1), release(1))).cost == one
    assert posterior(releases=(release(1), release(2))).cost == one + one
    unpaid = dataclasses.replace(release(), entry=None)
    assert posterior(releases=(unpaid, unpaid)).cost == one + one
    assert posterior(releases=(dataclasses.replace(unpaid, cost=None),)).cost is None
    assert isinstance(one, Cost)


def test_posterior_is_labelled() -> None:
    made = posterior()
    theta = made.posterior["theta"]
    assert theta.dims == ("chain", "draw", "sex", "smoker")
    assert float(theta.sel(sex="m", smoker="no").mean()) == made.draws["theta"][..., 1, 1].mean()
    assert np.asarray(theta).shape == (4, 1000, 2, 2)


def test_axes_can_be_named() -> None:
    made = posterior(releases=()).label("theta", sex=["f", "m"], smoker=[1, 0]).derive("odds_ratio", odds_ratio)
    assert [row["name"] for row in made.summary()][:2] == ["theta[f, 1]", "theta[f, 0]"]
    assert made.posterior["theta"].dims == ("chain", "draw", "sex", "smoker")
    with pytest.raises(InvalidRequest, match=r"the axes of theta have \(2, 2\) places, got labels for \(2,\)"):
        made.label("theta", sex=["f", "m"])


def test_plain_without_xarray(monkeypatch: pytest.MonkeyPatch) -> None:
    only_here(monkeypatch, importlib.util, "find_spec", lambda name: None)
    made = posterior()
    assert made.posterior["theta"] is made.draws["theta"]
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(InvalidRequest, match=r"arviz is not installed; install discreet\[bayes\]"):
        made.to_arviz()


def check_arviz(made: Any, whole: Posterior) -> None:
    assert made["posterior"]["theta"].dims == ("chain", "draw", "sex", "smoker")
    assert (np.asarray(made["posterior"]["theta"]) == whole.draws["theta"]).all()
    assert made["sample_stats"]["acceptance"].dims == ("chain", "draw")
    assert made["sample_stats"]["acceptance_per_record"].dims == ("chain", "record")
    assert np.asarray(made["observed_data"]["release"]).tolist() == [[29, 41], [18, -1]]
    for attrs in (made.attrs, made["observed_data"]["release"].attrs):
        assert attrs["privacy_cost"] == "ε=1"
        assert attrs["privacy_relation"] == "add_remove"
        assert json.loads(attrs["privacy_law"])["name"] == "discrete_laplace"
        assert json.loads(attrs["privacy_entry"]) == {"ledger": "people", "number": 1, "hash": "abc"}
    assert made.attrs["sampler"] == "counts"


def test_arviz_before_one(tmp_path: Path) -> None:
    arviz = importlib.import_module("arviz")
    if int(arviz.__version__.split(".")[0]) >= 1:
        pytest.skip("ArviZ 1 has no InferenceData")
    whole = posterior()
    made = whole.to_arviz()
    assert isinstance(made, arviz.InferenceData)
    check_arviz(made, whole)
    check_arviz(arviz.from_netcdf(str(whole.to_netcdf(tmp_path / "draws.nc"))), whole)
    assert "theta[f, yes]" in arviz.summary(made, var_names=["theta"]).index


def test_arviz_since_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tree that ArviZ 1 works on, with that version played where an older one is installed."""
    import xarray

    arviz = importlib.import_module("arviz")
    monkeypatch.setattr(arviz, "__version__", "1.3.0")
    whole = posterior()
    made = whole.to_arviz()
    assert isinstance(made, xarray.DataTree)
    check_arviz(made, whole)
    with xarray.open_datatree(whole.to_netcdf(tmp_path / "draws.nc"), engine="h5netcdf") as tree:
        check_arviz(tree, whole)


def test_several_releases_and_axes_that_clash() -> None:
    twice = posterior(
        releases=(release(1), release(2)),
        model={"axes": {"theta": [["k", ["a", "b"]], ["k", ["a", "b"]]], "n": []}},
    ).derive("eta", lambda theta: theta[..., 0])
    made = dataclasses.replace(twice, model={"axes": {**twice.model["axes"], "eta": [["k", ["c", "d"]]]}}).to_arviz()
    assert made["posterior"]["theta"].dims == ("chain", "draw", "k", "k_2")
    assert made["posterior"]["eta"].dims == ("chain", "draw", "k_3")
    assert set(made["observed_data"]) == {"release_0", "release_1"}
    assert made.attrs["privacy_cost"] == "ε=2"


def test_netcdf_says_where_it_cannot_write(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="must be a place that can be written"):
        posterior().to_netcdf(tmp_path / "nowhere" / "draws.nc")


def test_json_keeps_every_digit() -> None:
    made = posterior(interrupted=True).derive("odds_ratio", odds_ratio).derive("large", lambda theta: theta[..., 0, 0] > 0.2)
    again = Posterior.from_json(made.to_json())
    for name, array in (*made.draws.items(), *made.stats.items()):
        other = again.draws.get(name, again.stats.get(name))
        assert other is not None
        assert other.dtype == array.dtype
        assert (other == array).all()
    assert again.releases[0].to_dict() == made.releases[0].to_dict()
    assert (again.sampler, again.interrupted, again.model, again.seconds) == ("counts", True, made.model, 0.5)


@pytest.mark.parametrize(
    "change",
    [
        lambda doc: doc.pop("draws"),
        lambda doc: doc["draws"]["theta"].update(dtype="O"),
        lambda doc: doc["draws"]["theta"].update(base64="@@"),
        lambda doc: doc["draws"]["theta"].update(shape=[1, 2]),
        lambda doc: doc.update(schema=99),
        lambda doc: doc.update(kind="release"),
        lambda doc: doc.update(draws=3),
    ],
)
def test_garbled_documents_are_refused(change: Any) -> None:
    doc = json.loads(posterior(count=3).to_json())
    change(doc)
    with pytest.raises(UnsupportedFormat):
        Posterior.from_json(json.dumps(doc))


def test_a_posterior_is_light() -> None:
    """Reading, summing up and writing draws needs neither JAX nor ArviZ nor Matplotlib."""
    code = (
        "import sys; from discreet.inference.outputs.posterior import Posterior; import numpy as np; "
        "p = Posterior({'x': np.random.default_rng(0).normal(size=(4, 500))}, {}, 'sweep', False, {}, (), 1.0, 0.0); "
        "Posterior.from_json(p.to_json()).summary(); "
        "print([m for m in ('jax', 'arviz', 'xarray', 'matplotlib', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
