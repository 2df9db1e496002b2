"""``discreet infer``: from what ``discreet release`` wrote to draws, a table and a page; and what it refuses."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as ds
from discreet import inference
from discreet.cli import main
from discreet.inference.outputs.posterior import Posterior
from discreet.report.posterior import assumed, render
from tests.cli.conftest import RELEASE, SCHEMA, Run
from tests.cli.test_report import Page
from tests.inference.made import posterior, release

ASKS = """
[[ask]]
title = "Sexes"
statistic = "crosstab"
columns = "sex"
epsilon = 0.1

[[ask]]
statistic = "correlation"
columns = ["age", "weight"]
epsilon = 0.1
"""


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a release was made."""
    folder = tmp_path_factory.mktemp("people")
    rows = "".join(f"{i % 200},{(i * 37) % 101},{'fm'[i % 2]},{40 + (i * 13) % 90}\n" for i in range(300))
    (folder / "people.csv").write_text("id,age,sex,weight\n" + rows)
    (folder / "people.schema.toml").write_text(SCHEMA)
    (folder / "people.toml").write_text(RELEASE + ASKS)
    assert main(["release", str(folder / "people.toml")]) == 0
    return folder / "people-release" / "releases.json"


@pytest.fixture
def released(once: Path, tmp_path: Path) -> Path:
    """What it wrote, in a folder of this test's own."""
    path = tmp_path / "people-release" / "releases.json"
    path.parent.mkdir()
    path.write_bytes(once.read_bytes())
    (tmp_path / "people.csv").write_text("id,age\n")
    return path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What ``infer`` is asked, with made-up draws for an answer."""
    calls: list[tuple[Any, ...]] = []

    def answer(releases: Any, model: Any, **options: Any) -> Posterior:
        calls.append((releases, model, options))
        return posterior(count=50, model=model.describe())

    monkeypatch.setattr(inference, "infer", answer)
    monkeypatch.setattr("discreet.report.posterior.render", lambda made, title, **rest: f"{title}: {rest['draws_file']}")
    return calls


def test_table_from_end_to_end(run: Run, released: Path) -> None:
    """The share of women in a table of 300 where half are: far beyond any doubt between 0.2 and 0.8 (scale of noise 20)."""
    out = released.parent / "shares"
    command = ["infer", released, "--model", "table", "--ask", "Sexes", "--seed", "1", "--draws", "500", "--out", out]
    ran = run(*command, "--design-effect", "1")
    assert (ran.code, ran.err) == (0, "")
    assert "theta[f]" in ran.out
    assert "4 chains of 500 draws by the sampler 'counts'" in ran.out
    assert sorted(p.name for p in out.iterdir()) == ["draws.nc", "posterior.html", "summary.csv", "summary.json"]
    rows = list(csv.DictReader((out / "summary.csv").read_text().splitlines()))
    assert [row["name"] for row in rows] == ["theta[f]", "theta[m]", "n"]
    assert 0.2 < float(rows[0]["mean"]) < 0.8
    doc = json.loads((out / "summary.json").read_text())
    assert doc["cost"] == "ε=0.1"
    assert doc["summary"]["rows"][0]["mean"] == float(rows[0]["mean"])
    import xarray

    with xarray.open_datatree(out / "draws.nc", engine="h5netcdf") as tree:
        assert tree["posterior"]["theta"].dims == ("chain", "draw", "sex")
        assert tree.attrs["privacy_cost"] == "ε=0.1"
    text = (out / "posterior.html").read_text()
    page = Page(text)
    assert not re.findall(r"(?:src|href)=\"(?!data:image/png;base64,)", text), "nothing is fetched"
    assert all(attrs.get("alt") for tag, attrs, _ in page.elements if tag == "img")
    assert "A person may have up to 2 rows" in text
    assert "Nothing more was paid" in text


def test_the_same_seed_makes_the_same_draws(run: Run, released: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.report.posterior.render", lambda made, title, **rest: title)
    command = ["infer", released, "-m", "table", "-a", "4", "--seed", "7", "--draws", "40", "--chains", "2",
               "--design-effect", "1", "--json"]  # fmt: skip
    first, second = (run(*command, "--out", released.parent / name).doc for name in ("one", "two"))
    assert first["summary"] == second["summary"]
    assert first["chains"] == 2
    assert any("take more draws" in note for note in first["summary"]["notes"])
    assert [Path(p).name for p in first["written"]] == ["draws.nc", "summary.csv", "summary.json", "posterior.html"]


def test_models_and_their_priors(run: Run, released: Path, asked: list[tuple[Any, ...]]) -> None:
    """Each model gets the releases that fit, and a prior in the units of the declared bounds."""
    assert run("infer", released, "-m", "mean", "--ask", "5", "--ask", "2", "-c", "age").code == 2, "two columns"
    assert run("infer", released, "-m", "share", "-a", "Sexes", "--success", "f", "--alpha", "2").code == 0
    assert asked[-1][1] == inference.BetaBernoulli(2, 2, success="f")
    line = run("infer", released, "-m", "regression", "-t", "weight", "-c", "age", "--rows", "300", "--sampler", "sweep")
    assert (line.code, line.err) == (0, "")
    releases, model, options = asked[-1]
    assert [r.query.columns for r in releases] == [("age", "weight")]
    assert model.columns == ("age", "weight")
    assert (model.deviation, model.variance) == (400.0, (4.0, 3 * 42.5**2))
    assert (options["n"], options["sampler"], options["draws"]) == (300, "sweep", 1000)
    assert run("infer", released, "-m", "logistic", "-t", "weight", "-c", "age").code == 0
    assert asked[-1][1].deviation == 2.5


def test_mean_of_a_plain_release(run: Run, tmp_path: Path, asked: list[tuple[Any, ...]]) -> None:
    x = np.linspace(-2, 6, 50)
    mean = ds.mean(x, bounds=(-4, 8), epsilon=1)
    spread = ds.variance(x, bounds=(-4, 8), epsilon=1)
    for name, text in (
        ("release", mean.releases[0].to_json()),
        ("result", mean.to_json()),
        ("list", f"[{mean.to_json()}, {spread.releases[0].to_json()}]"),
    ):
        path = tmp_path / f"{name}.json"
        path.write_text(text)
        assert run("infer", path, "--model", "mean").code == 0
        releases, model, _ = asked[-1]
        assert len(releases) == (2 if name == "list" else 1)
        assert (model.mean, model.deviation, model.variance) == (2.0, 12.0, (4.0, 27.0))
    own = ["--prior-mean", "1", "--prior-sd", "3", "--variance", "4"]
    assert run("infer", path, "--model", "mean", *own).code == 0
    assert (asked[-1][1].mean, asked[-1][1].deviation, asked[-1][1].variance) == (1.0, 3.0, 4.0)
    assert run("infer", path, "--model", "rate").code == 0
    told = [
        ("mean", "--variance", "0"),
        ("mean", "--prior-sd", "0"),
        ("rate", "--prior-mean", "0"),
        ("rate", "--prior-mean", "-3"),
    ]
    for kind, option, wrong in told:
        ran = run("infer", path, "--model", kind, option, wrong)
        assert (ran.code, "must be positive, got" in ran.err, len(ran.err.splitlines())) == (2, True, 1), (option, wrong)
    assert (asked[-1][1].shape, asked[-1][1].inverse_scale) == (1.0, 0.5)


def test_draws_as_json_without_netcdf(
    run: Run, released: Path, asked: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(self: Posterior, path: Path) -> Path:
        raise ds.errors.InvalidRequest("netCDF needs h5netcdf")

    monkeypatch.setattr(Posterior, "to_netcdf", missing)
    out = released.parent / "plain"
    assert run("infer", released, "-m", "table", "-a", "4", "-o", out).code == 0
    assert sorted(p.name for p in out.iterdir()) == ["draws.json", "posterior.html", "summary.csv", "summary.json"]
    assert Posterior.from_json((out / "draws.json").read_text()).count == 50
    assert (out / "posterior.html").read_text() == "A small table: draws.json"
    assert asked


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.json", "-m", "table"], "the file cannot be read (No such file or directory); check the path"),
        (["people.csv", "-m", "table"], "not a JSON document"),
        (["strange.json", "-m", "table"], "not a releases.json, a result or a release"),
        (["newer.json", "-m", "table"], "version"),
        (["broken.json", "-m", "table"], "lacks or garbles a field"),
        (["R", "-m", "table"], "--model table is about one answer, and 2 fit; choose with --ask: 1 (How many), 4 (Sexes)"),
        (
            ["R", "-m", "table", "--ask", "9"],
            "--ask must be the number or the title of an answer, got '9'; there are: 1 (How",
        ),
        (["R", "-m", "mean"], "--model mean needs an answer to mean, sum, variance or std, and the file has none"),
        (["R", "-m", "regression"], "--model regression needs a target and features, got None and []"),
        (["R", "-m", "regression", "-t", "age"], "write --target y --column x"),
        (["R", "-m", "regression", "-t", "age", "-c", "height"], "and the file has none"),
        (["R", "-m", "regression", "-t", "age", "-c", "weight", "-c", "height"], "none of them has 'height'"),
        (["R", "-m", "mean", "-a", "4"], "the releases must say the bounds of a column"),
        (["R", "-m", "mean", "-a", "3"], "no density that a posterior can use: it chose among candidates"),
        (["R", "-m", "table", "-a", "4", "--level", "95"], "level must lie strictly between 0 and 1, got 95"),
        (["R", "-m", "table", "-a", "4", "--draws", "1"], "draws must be a whole number of at least 4, got 1"),
        (["R", "-m", "table", "-a", "4", "--sampler", "magic"], "sampler must be one of sweep, gibbs, counts"),
        (["R", "-m", "table", "-a", "4", "--alpha", "-1"], "alpha must be positive, got -1"),
        (["R", "-m", "table", "-a", "4", "-o", "people.csv"], "the output must be a place that can be written"),
        (["R", "-m", "nonsense"], "'nonsense' is not one of"),
    ],
)
def test_refusals(run: Run, released: Path, arguments: list[str], words: str, monkeypatch: Any) -> None:
    monkeypatch.chdir(released.parents[1])
    doc = json.loads(released.read_text())
    Path("strange.json").write_text('{"kind": "poem"}')
    Path("newer.json").write_text(json.dumps(doc | {"schema": 99}))
    Path("broken.json").write_text(json.dumps(doc | {"asks": [{"title": "x"}]}))
    ran = run("infer", *(str(released) if a == "R" else a for a in arguments))
    assert ran.code == 2
    assert words in ran.err
    assert len(ran.err.splitlines()) == 1
    assert "posterior" not in " ".join(p.name for p in released.parent.iterdir())


def test_a_page_says_what_must_be_said() -> None:
    import dataclasses

    made = dataclasses.replace(posterior(count=30), approximate=True, releases=(release(private=False),))
    text = render(made, 'Ages <"&> & more', level=0.9)
    Page(text)
    for words in (
        "Approximate: the sum over people",
        "Not private",
        "take more draws",
        "should not be trusted yet",
        "90\u00a0%",
    ):
        assert words in text, words
    assert 'Ages <"' not in text
    assert "The sampler is exact" not in text
    unknown = render(posterior(model={"model": "own"}), "Own")
    assert "There is no comparison: no naive analysis is known for the model" in unknown


def test_every_model_is_told_in_words() -> None:
    models = (
        inference.BetaBernoulli(1, 1), inference.DirichletMultinomial(2.0), inference.DirichletMultinomial([1.0, 2.0]),
        inference.Normal(), inference.Normal(variance=3), inference.GammaPoisson(), inference.LinearRegression(),
        inference.LogisticRegression(),
    )  # fmt: skip
    told = [assumed(m.describe() | {"n": 1000}) for m in models]
    assert all("Before" in lines[0] or "before" in lines[0] for lines in told)
    assert all("1,000" in lines[1] for lines in told)
    assert len({lines[0] for lines in told}) == len(models)
    unknown = models[3].describe() | {"rows": inference.UniformRows(900, 1100).describe()}
    assert "flat from 900 to 1,100" in assumed(unknown)[1]
    unknown = models[3].describe() | {"rows": inference.PoissonRows(500).describe()}
    assert "Poisson of mean 500" in assumed(unknown)[1]
    assert "mean was taken to be 0 ± 10" in assumed(unknown)[0]
