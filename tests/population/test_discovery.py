"""A schema with private bounds and labels: found once, for their price, before the first question that needs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as ds
from discreet.cli import main
from discreet.errors import BudgetExceeded, DiscreetError, InvalidRequest, UnknownName

TOML = """
expected_rows = 3000
[columns.income]
type = "real"
bounds = "private"
outer = [0, 1e9]
price = {epsilon = 0.25}
[columns.town]
type = "category"
values = "private"
price = {epsilon = 0.5, delta = 1e-6}
missing = "unknown"
[columns.age]
type = "integer"
bounds = [0, 120]
"""


def rows(size: int = 3000) -> dict[str, Any]:
    rng = np.random.default_rng(8)
    towns = rng.choice(["Ulm", "Bonn", "", "one"], size, p=[0.5, 0.3, 0.199, 0.001])
    return {"income": rng.uniform(20_000, 60_000, size), "town": towns, "age": rng.integers(20, 90, size)}


def session(table: dict[str, Any] | None = None, ledger: Any = "sqlite://", text: str = TOML, **budget: Any) -> ds.Session:
    given = ds.Budget(**({"epsilon": 10, "delta": 1e-3} | budget)) if isinstance(ledger, str) else None
    return ds.Session(rows() if table is None else table, ds.Schema.from_toml(text), given, ledger, version="v1")


def test_a_question_finds_what_it_needs_and_nothing_more() -> None:
    asked = session()
    asked.count(by=None, epsilon=1)
    assert asked.schema["income"].private
    assert asked.preview("mean", "income", epsilon=1).cost.epsilon == ds.Cost.pure("1.25").epsilon
    mean = asked.mean("income", epsilon=1)
    assert float(mean) == pytest.approx(40_000, abs=500)
    assert asked.schema["income"] == ds.Real(16384, 65536)
    assert asked.schema["town"].private
    assert asked.spent().epsilon == ds.Cost.pure("2.25").epsilon
    counts = asked.count(by="town", epsilon=1)
    assert counts.labels == (("town", ("Bonn", "Ulm", "unknown", "(other)")),)
    assert np.abs(counts.value - [900, 1500, 597, 3]).max() < 150
    assert asked.count(by="town", epsilon=1).value.tolist() == counts.value.tolist()
    assert asked.count(where={"town": "Ulm"}, epsilon=1).value < 1700
    assert float(asked.mean("income", epsilon=1)) == float(mean)  # free: the version is that of the declared schema
    assert asked.spent().epsilon == ds.Cost.pure("4.75").epsilon


def test_what_was_found_is_remembered_by_the_ledger() -> None:
    first = session()
    found = first.discover()
    paid = first.spent()
    second = session(ledger=first.ledger)
    assert second.discover() == found
    assert second.discover("income") == found
    assert second.spent() == paid
    assert (paid.epsilon, paid.delta) == (ds.Cost.pure("0.75").epsilon, ds.Cost.approximate(1, "1e-6").delta)
    assert second.bounds("income", epsilon="0.25").value.tolist() == [16384, 65536]  # under its own declaration
    assert second.spent() == paid


def test_models_and_several_questions_find_too() -> None:
    asked = session()
    seen = asked.preview_fit(ds.models.LinearRegression(epsilon=1), ["age"], "income")
    assert seen.cost.epsilon == ds.Cost.pure("1.25").epsilon
    model = asked.fit(ds.models.LinearRegression(epsilon=1), ["age"], "income")
    assert np.isfinite(model.coef_).all()
    assert asked.spent().epsilon == seen.cost.epsilon
    assert len(session().together([("mean", "income"), ("count",)], epsilon=1)) == 2
    assert len(session().quantiles("income", [0.25, 0.75], epsilon=1)) == 2


@pytest.mark.parametrize("table", [{"income": [], "town": [], "age": []}, {k: v[:3] for k, v in rows().items()}])
def test_where_nothing_is_found_everything_still_works(table: dict[str, Any]) -> None:
    asked = session(table)
    asked.mean("income", by="town", epsilon=1)
    assert asked.schema["income"] == ds.Real(0, 1e9)
    assert asked.schema["town"].labels == ("unknown", "(other)")  # type: ignore[union-attr]


def test_refusals_cost_nothing() -> None:
    asked = session(epsilon="1.2")
    for ask, kind in (
        (lambda: asked.mean("income", by="towns", epsilon=0.1), UnknownName),
        (lambda: asked.mean("income", epsilon=0), InvalidRequest),
        (lambda: asked.mean("income", where={"town": "Ulm"}, epsilon=0.1), InvalidRequest),
        (lambda: asked.mean("income", by="town", epsilon=1), BudgetExceeded),
        (lambda: asked.discover("age"), InvalidRequest),
        (lambda: asked.discover("nobody"), UnknownName),
        (lambda: asked.fit(ds.models.LogisticRegression(epsilon=0.1), ["age"], "town"), DiscreetError),
    ):
        with pytest.raises(kind) as caught:
            ask()
        assert "\n" not in str(caught.value)
    assert not asked.spent().epsilon
    assert asked.schema["income"].private


def test_schemas_say_it_and_are_read_back() -> None:
    made = ds.Schema.from_toml(TOML)
    assert made["income"] == ds.Real(0, 1e9, price={"epsilon": 0.25})
    assert ds.Schema.from_toml(made.to_toml()) == made == ds.Schema.from_dict(json.loads(json.dumps(made.to_dict())))
    assert ds.Real(0, 100, 90, price={"rho": 1}).found(2, 8) == ds.Real(2, 8, 8)
    drop = ds.Categories("private", missing="drop")  # type: ignore[arg-type]
    assert drop.found(["drop"]).values == ("drop",)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("price = {epsilon = 0.25}", "", "private bounds need a price"),
        ("outer = [0, 1e9]", "", r"outer must be two numbers"),
        ("outer = [0, 1e9]", "outer = [5, 1]", "lo < hi"),
        ("{epsilon = 0.25}", "{epsilon = -1}", "epsilon must be positive"),
        ("{epsilon = 0.25}", "{money = 1}", "price must be"),
        ("{epsilon = 0.25}", "3", "price must be"),
        (", delta = 1e-6}", "}", "an epsilon and a delta"),
        ('values = "private"\nprice = {epsilon = 0.5, delta = 1e-6}', 'values = "secret"', "a list of labels"),
        ('values = "private"', 'values = ["a"]', "unknown key 'price'"),
        ('missing = "unknown"', "minimum = 0", "minimum must be"),
        ('missing = "unknown"', 'missing = ""', "empty"),
    ],
)
def test_bad_declarations_are_refused_with_their_line(old: str, new: str, words: str) -> None:
    assert old in TOML
    with pytest.raises(DiscreetError, match=words) as caught:
        ds.Schema.from_toml(TOML.replace(old, new))
    assert "line" in str(caught.value)


def test_release_files_find_first_and_show_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import pandas as pd

    pd.DataFrame(rows()).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "schema.toml").write_text(TOML.replace('missing = "unknown"', "minimum = 50"))
    (tmp_path / "r.toml").write_text(
        'table = "t.csv"\nschema = "schema.toml"\nledger = "sqlite:///l.db"\n[budget]\nepsilon = 3\ndelta = 1e-3\n'
        '[[ask]]\nstatistic = "mean"\ncolumns = "income"\nby = "town"\nepsilon = 1\n'
        '[[ask]]\nstatistic = "bounds"\ncolumns = "age"\nepsilon = 0.25\n'
    )
    assert main(["schema", "check", str(tmp_path / "schema.toml")]) == 0
    assert "private within" in capsys.readouterr().out
    assert main(["plan", str(tmp_path / "r.toml"), "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert [a["title"] for a in planned["asks"]] == [
        "Bounds of income",
        "Categories of town",
        "Bounds of age",
        "Mean of income by town",
    ]
    assert planned["price"]["epsilon"] == "2"
    assert main(["release", str(tmp_path / "r.toml"), "--json"]) == 0
    doc = json.loads(capsys.readouterr().out)
    assert doc["asks"][0]["result"]["value"] == [16384, 65536]
    assert doc["declared"]["columns"]["town"]["values"] == ["Bonn", "Ulm"]
    assert doc["note"] is None
    page = (tmp_path / "r-release" / "report.html").read_text()
    assert "Nearly everybody lies between 16,384 and 65,536" in page
    assert "Found labels: 2." in page
    assert main(["plan", str(tmp_path / "r.toml"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["price"]["epsilon"] == "0"
