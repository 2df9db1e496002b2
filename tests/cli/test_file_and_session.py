"""A release file can ask whatever a session can, and both ask the same: what one paid for is free for the other."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pytest

import discreet as ds

from .conftest import SCHEMA, Run

PURE, GAUSSIAN, RHO = {"epsilon": "1/2"}, {"epsilon": "1/2", "delta": "1e-6"}, {"rho": "1/50"}
# A statistic, its columns, its options, and what to spend.
ASKED: list[tuple[str, list[str], dict[str, Any], dict[str, str]]] = [
    ("count", [], {"by": "sex"}, PURE),
    ("sum", ["age"], {}, PURE),
    ("mean", ["age"], {"of": "population"}, PURE),
    ("mean", ["age"], {"by": "sex", "of": "population"}, GAUSSIAN),
    ("variance", ["age"], {"of": "population"}, RHO),
    ("std", ["weight"], {}, PURE),
    ("covariance", ["age", "weight"], {}, PURE),
    ("correlation", ["age", "weight"], {"of": "population"}, PURE),
    ("pooled_variance", ["age"], {"by": "sex"}, PURE),
    ("pooled_covariance", ["age", "weight"], {"by": "sex"}, PURE),
    ("crosstab", ["sex"], {}, PURE),
    ("share", ["sex"], {"of": "population"}, PURE),
    ("histogram", ["age"], {"bins": 4}, GAUSSIAN),
    ("quantile", ["age"], {"q": 0.9}, PURE),
    ("quantile", ["age"], {"q": 0.9, "method": "pair", "level": 0.9}, PURE),
    ("median", ["age"], {"method": "pair"}, RHO),
    ("median", ["age"], {"interval": True, "bins": 16}, PURE),
    ("median", ["age"], {"by": "sex", "bins": 8}, PURE),
    ("distribution", ["age"], {"bins": 16}, PURE),
    ("distribution", ["age"], {"bins": 8, "by": "sex"}, GAUSSIAN),
    ("distribution", ["age"], {"bins": 16}, RHO),
    ("ttest_1samp", ["age"], {"popmean": 50}, PURE),
    ("ttest_ind", ["age"], {"by": "sex"}, GAUSSIAN),
    ("ttest_rel", ["age", "weight"], {}, PURE),
]


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + " }"
    return json.dumps(value)


def _file(ledger: str, budget: str, asks: list[tuple[str, list[str], dict[str, Any], dict[str, str]]]) -> str:
    lines = ['table = "people.csv"', 'version = "1"', 'schema = "people.schema.toml"', f'ledger = "{ledger}"', budget]
    for statistic, columns, options, spend in asks:
        direct = {k: v for k, v in options.items() if k in ("by", "of")}
        rest = {k: v for k, v in options.items() if k not in direct}
        lines += ["[[ask]]", f"statistic = {_toml(statistic)}", f"columns = {_toml(columns)}", f"options = {_toml(rest)}"]
        lines += [f"{key} = {_toml(value)}" for key, value in {**direct, **spend}.items()]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("people", [True, False], ids=["people with several rows", "replace, rows public"])
def test_what_a_release_paid_for_is_free_in_a_session(run: Run, folder: Path, people: bool) -> None:
    """Statistics of every form, under every kind of price: answered once, and the same numbers to whoever asks again."""
    schema = SCHEMA if people else SCHEMA.replace('person = "id"\nmax_rows = 2\n', 'neighbors = "replace"\n')
    (folder / "people.schema.toml").write_text(schema)
    possible = [each for each in ASKED if not (people and each[2].get("method") == "pair")]
    for kind, budget in (("epsilon", "budget.epsilon = 100\nbudget.delta = 0.01"), ("rho", "budget.rho = 100")):
        asks = [each for each in possible if kind in each[3]]
        (folder / "people.toml").write_text(_file(f"{kind}.db", budget, asks))
        planned = run("plan", folder / "people.toml", "--json")
        assert planned.code == 0, planned.err
        ran = run("release", folder / "people.toml", "--json")
        assert ran.code == 0, ran.err
        assert ran.doc["ledger"]["paid_now"] == ran.doc["ledger"]["spent"] == planned.doc["cost"]
        again = run("release", folder / "people.toml", "--json").doc
        assert all(each["known"] for each in again["asks"])
        assert again["ledger"]["spent"] == ran.doc["ledger"]["spent"]
        with ds.Ledger(f"sqlite:///{folder}/{kind}.db") as ledger:
            session = ds.Session(folder / "people.csv", folder / "people.schema.toml", ledger=ledger, version="1")
            for (statistic, columns, options, spend), told in zip(asks, ran.doc["asks"], strict=True):
                answer = session.ask(statistic, *columns, **options, **spend)
                assert json.loads(answer.to_json())["value"] == told["result"]["value"], statistic
                assert str(session.spent()) == ran.doc["ledger"]["spent"], f"{statistic} was paid for twice"


def test_the_page_shows_a_distribution_by_its_quantiles(run: Run, folder: Path) -> None:
    """Seven quantiles a group with intervals of the population, on the axis that is declared; not hundreds of bins."""
    asks = [("distribution", ["age"], {"by": "sex", "bins": 16}, PURE), ("mean", ["age"], {}, PURE)]
    (folder / "people.toml").write_text(_file("ledger.db", "budget.epsilon = 1", asks))
    ran = run("release", folder / "people.toml", "--json")
    assert ran.code == 0, ran.err
    page = html.unescape((folder / "people-release" / "report.html").read_text())
    assert page.count('<th scope="row">f</th>') == page.count('<th scope="row">m</th>') == 7
    assert "rows below" in page
    assert page.count('<span class="tag">population</span>') == 1  # the other card is about this table
    assert page.count('class="legend"') == 1
    answer = ds.Result.from_json(json.dumps(ran.doc["asks"][0]["result"]))
    low, high = answer.quantile(0.5).interval(0.95, of="population")
    for value in (*low, *high):
        assert f">{value:.4g}</td>" in page


def test_a_quantile_by_rank_shows_no_interval_in_values(run: Run, folder: Path) -> None:
    (folder / "people.toml").write_text(_file("ledger.db", "budget.epsilon = 1", [("median", ["age"], {}, PURE)]))
    ran = run("release", folder / "people.toml")
    assert "none: see the report" in ran.out
    assert "interval = true" in ran.out
    assert "0 to 100" not in ran.out
