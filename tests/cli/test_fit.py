"""``discreet fit``: a model for a price, published; or one clear line, exit code 2 and nothing charged."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import discreet as ds
from discreet.cli.ledger import question_in_words
from discreet.jobs.fit_file import KINDS, STEPWISE
from discreet.models.estimators.gradient_descent import Descends
from tests.cli.conftest import Run

FILE = """\
table = "people.csv"
schema = "people.schema.toml"
ledger = "sqlite:///ledger.db"
name = "people"
out = "rule.json"

[budget]
epsilon = 1

[model]
kind = "svm"
target = "sex"
features = ["age", "weight"]
epsilon = 0.5
ridge = 2
"""


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    (folder / "fit.toml").write_text(FILE)
    return folder


def options(**changes: str | None) -> list[str]:
    given = {"schema": "people.schema.toml", "model": "logistic", "target": "sex", "features": "age,weight",
             "epsilon": "0.4", "ledger": "ledger.db", "name": "people", "budget": "1"} | changes  # fmt: skip
    return ["fit", "people.csv", *[w for key, value in given.items() if value is not None for w in (f"--{key}", value)]]


def spent(folder: Path) -> str:
    with ds.Ledger(f"sqlite:///{folder / 'ledger.db'}", name="people") as ledger:
        ledger.verify()
        return str(ledger.spent())


def test_a_model_is_fitted_and_published(run: Run, here: Path) -> None:
    ran = run(*options(), "--out", "model.json")
    assert (ran.code, ran.err) == (0, "")
    for words in ("A logistic model of sex", "age", "weight", "intercept", "ε=0.4 of ε=1. Left: ε=0.6", "Wrote model.json"):
        assert words in ran.out
    assert spent(here) == "ε=0.4"
    model = ds.models.load(here / "model.json")
    assert set(model.predict({"age": [20, 80], "weight": [60, 90]})) <= {"f", "m"}
    assert model.document["card"]["most_rows_of_a_person"] == 2
    again = run(*options(), "--json")
    assert again.doc["coefficients"].keys() == {"age", "weight", "intercept"}
    assert again.doc["paid"] is False, "the same of the same file: free"
    assert again.doc["price"]["epsilon"] == "2/5"
    assert again.doc["written"] == "model.json"
    assert np.allclose(model.coefficients, [again.doc["coefficients"][n] for n in ("age", "weight")])


def test_intervals(run: Run, here: Path) -> None:
    ran = run(*options(), "--intervals")
    assert "95 % interval" in ran.out
    assert "regularised minimiser" in ran.out
    assert spent(here) == "ε=0.4", "of the same price"
    with ds.Ledger(f"sqlite:///{here / 'ledger.db'}", name="people") as ledger:
        words = [question_in_words(event.question) for event in ledger.events() if event.kind == "charge"]
    assert [w.split(" model")[0].split(" of")[0] for w in words] == [
        "model",
        "intervals (curvature),",
        "intervals (slopes),",
    ]
    assert len(json.loads((here / "model.json").read_text())["intervals"]["lower"]) == 3


def test_a_regression_has_intervals_in_any_case(run: Run, here: Path) -> None:
    ran = run(*options(model="linear", target="weight", features="age,sex"), "--intervals")
    assert (ran.code, ran.err) == (0, "")
    assert "95 % interval" in ran.out
    assert np.isfinite(ds.models.load(here / "model.json").predict({"age": [50], "sex": ["f"]})).all()
    assert "use method='statistics'" in run(*options(model="linear"), "--intervals", "--method", "objective").err
    assert "leave intervals out" in run(*options(model="kernel"), "--intervals").err


def test_a_plan_reads_no_rows_and_makes_nothing(run: Run, here: Path) -> None:
    before = sorted(p.name for p in here.iterdir())
    ran = run(*options(), "--plan")
    assert "would cost ε=0.4" in ran.out
    assert "raised from 1: this price needs as much" in ran.out
    assert "It fits: ε=0.6 would be left. No row was read" in ran.out
    assert run(*options(epsilon="1.5"), "--plan", "--json").doc["fits"] is False
    assert "does NOT fit" in run(*options(epsilon="1.5"), "--plan").out
    assert sorted(p.name for p in here.iterdir()) == before


def test_a_table_that_was_touched_is_said_to_be_new(run: Run, here: Path) -> None:
    assert "Note" not in run(*options()).out
    assert "on this version of the table: it costs nothing now" in run(*options(), "--plan").out
    os.utime(here / "people.csv", (1, 1))
    assert "give --version a word" in run(*options(), "--plan").out
    assert "the table changed since entry" in run(*options()).out


def test_options_that_cannot_be_meant(run: Run, here: Path) -> None:
    assert "there is no such folder" in run(*options(), "--out", "nowhere/model.json").err
    assert not (here / "nowhere").exists()
    assert "repeat it: --set a=1 --set b=2" in run(*options(), "--set", "ridge=1,width=2").err


def test_fit_files(run: Run, here: Path) -> None:
    assert "would cost ε=0.5" in run("fit", "fit.toml", "--plan").out
    ran = run("fit", "fit.toml")
    assert (ran.code, ran.err) == (0, "")
    assert ds.models.load(here / "rule.json").guarantee.startswith("ε=0.5")
    path = here / "fit.toml"
    path.write_text(FILE.replace('kind = "svm"', 'kind = "kernel"\ncomponents = 5').replace("0.5", "0.2"))
    assert "5 random features" in run("fit", "fit.toml").out
    assert spent(here) == "ε=0.7"


def test_treatments_filters_and_settings(run: Run, here: Path) -> None:
    common = {"features": "age", "weight": "weight", "propensity": "0.5"}
    ran = run(*options(model="treatment", **common), "--set", "weight_bound=100", "--set", "method='output'")
    assert (ran.code, ran.err) == (0, "")
    assert "noise: output" in ran.out
    ran = run(*options(model="svm", target="sex", epsilon="0.1"), "--where", "sex=f", "--ridge", "3", "--method", "output")
    assert (ran.code, ran.err) == (0, "")
    assert "ridge 3." in ran.out
    assert spent(here) == "ε=0.5"


def test_descents_and_networks(run: Run, here: Path) -> None:
    for model, more in (("sgd", []), ("network", ["--set", "hidden_layer_sizes=[3]"])):
        common = options(model=model, epsilon="0.5", delta="1e-6", budget="epsilon=2,delta=1e-4")
        seen = run(*common, "--set", "steps=5", "--set", "expected_rows=300", *more, "--plan", "--json")
        assert seen.err == ""
        assert seen.doc["fits"]
        ran = run(*common, "--set", "steps=5", "--set", "expected_rows=300", *more)
        assert (ran.code, ran.err) == (0, "")
        assert set(ds.models.load(here / "model.json").predict({"age": [20], "weight": [60]})) <= {"f", "m"}


WRONG = [
    ({"schema": None}, [], "a fit needs --schema"),
    ({"schema": "none.toml"}, [], "none.toml"),
    ({"model": None}, [], "a fit needs --model"),
    ({"model": "logistik"}, [], "did you mean 'logistic'"),
    ({"target": "sexx"}, [], "did you mean 'sex'"),
    ({"target": "age", "features": "weight"}, [], "two labels"),
    ({"features": "age,,weight"}, [], "features must be names"),
    ({"features": "age,agee"}, [], "did you mean 'age'"),
    ({"epsilon": None}, [], "needs epsilon"),
    ({"epsilon": "-1"}, [], "epsilon must be positive"),
    ({"epsilon": "much"}, [], "epsilon must be"),
    ({"epsilon": "2"}, [], "more than the budget"),
    ({"ledger": None}, [], "a fit needs --ledger"),
    ({"ledger": "test"}, [], "a ledger that lasts"),
    ({"budget": None}, [], "give --budget 1"),
    ({"budget": "dollars=3"}, [], "a budget is"),
    ({}, ["--set", "components=3"], "takes no 'components'"),
    ({}, ["--set", "bounds=3"], "comes from the schema"),
    ({}, ["--set", "random_state=3"], "comes from the schema"),
    ({}, ["--set", "ridge"], "name=value"),
    ({}, ["--set", "penalty='l1'"], "strongly convex"),
    ({}, ["--where", "sex"], "column=label"),
    ({}, ["--where", "sex=x"], "'x'"),
    ({}, ["--ridge", "0"], "ridge must be positive"),
    ({}, ["--out", "people.csv/model.json"], "can be written"),
    ({}, ["--method", "magic"], "method must be one of"),
]


@pytest.mark.parametrize(("changes", "more", "words"), WRONG, ids=[w for _, _, w in WRONG])
def test_wrong_options(run: Run, here: Path, changes: dict[str, str | None], more: list[str], words: str) -> None:
    before = sorted(p.name for p in here.iterdir())
    ran = run(*options(**changes), *more)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("discreet: ")
    assert ran.err.count("\n") == 1
    assert words in ran.err
    assert sorted(p.name for p in here.iterdir()) == before, "nothing was made"


TYPOS = [
    ("[model]\n", "[model]\nridgee = 3\n", ["line 10", "did you mean 'ridge'"]),
    ('kind = "svm"', 'kind = "svn"', ["line 10", "did you mean 'svm'"]),
    ('target = "sex"\n', "", ["line 10", "needs 'target'"]),
    ('target = "sex"', "target = 3", ["line 12", "must be a text"]),
    ("epsilon = 0.5", "epsilon = 1.5", ["more than the budget"]),
    ("epsilon = 0.5", "epsilon = -1", ["line 10", "epsilon must be positive, got -1; write"]),
    ('out = "rule.json"', 'outt = "rule.json"', ["line 5", "did you mean 'out'"]),
    (FILE[FILE.index("[model]") :], "", ["needs a table [model]"]),
    ("[budget]\nepsilon = 1\n", "", ["line 3", "a new ledger needs a budget"]),
]


@pytest.mark.parametrize(("old", "new", "words"), TYPOS, ids=lambda t: str(t)[:20])
def test_wrong_fit_files(run: Run, here: Path, old: str, new: str, words: list[str]) -> None:
    assert old in FILE
    (here / "fit.toml").write_text(FILE.replace(old, new, 1))
    ran = run("fit", "fit.toml")
    assert ran.code == 2
    assert ran.err.count("\n") == 1
    for word in words:
        assert word in ran.err
    assert not (here / "ledger.db").exists()


def test_a_fit_of_several_questions_is_paid_whole_or_not_at_all(run: Run, here: Path) -> None:
    assert run(*options(epsilon="0.7")).code == 0
    ran = run(*options(epsilon="0.4"), "--intervals")
    assert ran.code == 2
    assert "ε=0.3 is left" in ran.err
    assert spent(here) == "ε=0.7", "not even the first of its three questions"
    assert "beside it" in run("fit", "fit.toml", "--epsilon", "1").err


def test_models_that_descend_are_known_by_name() -> None:
    """The service treats them apart: their steps are counted before anything, and are not kept."""
    descend = {kind for kind, name in KINDS.items() if issubclass(getattr(ds.models, name), Descends)}
    assert descend == set(STEPWISE)
