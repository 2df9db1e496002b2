"""One database without a word about names is one budget, whoever opens it and from whichever folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.core.cost import Cost
from discreet.errors import BudgetExceeded, InvalidRequest
from discreet.ledger.creation import names_at

from .conftest import Run

UNNAMED = """\
table = "people.csv"
schema = "people.schema.toml"
ledger = "ledger.db"
budget.epsilon = 1
[[ask]]
statistic = "count"
epsilon = 0.2
"""


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (folder / "people.toml").write_text(UNNAMED)
    monkeypatch.chdir(folder)
    return folder


def _session(here: Path, **options: object) -> ds.Session:
    return ds.Session(here / "people.csv", here / "people.schema.toml", ledger="sqlite:///ledger.db", **options)  # type: ignore[arg-type]


def _fit(run: Run, target: str) -> int:
    options = ("--schema", "people.schema.toml", "--model", "logistic", "--target", "sex", "--features", target)
    return run("fit", "people.csv", *options, "--epsilon", "0.2", "--ledger", "ledger.db", "--budget", "1").code


def _ask(here: Path, column: str) -> int:
    try:
        _session(here, budget=ds.Budget(epsilon=1)).mean(column, epsilon="0.2")
    except BudgetExceeded:
        return 2
    return 0


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(range(5)))
def test_sessions_commands_and_a_file_share_one_budget(run: Run, here: Path, order: list[int]) -> None:
    """Two sessions, two fits and a release, each 0.2 of 1, in any order: one ledger, and then no more."""
    uses: list[Callable[[], int]] = [
        lambda: _ask(here, "age"),
        lambda: _ask(here, "weight"),
        lambda: _fit(run, "age"),
        lambda: _fit(run, "weight"),
        lambda: run("release", "people.toml").code,
    ]
    for path in here.glob("ledger.db*"):
        path.unlink()
    assert [uses[place]() for place in order] == [0] * 5
    url = f"sqlite:///{here}/ledger.db"
    assert names_at(url) == ["default"]
    with ds.Ledger(url) as ledger:
        assert ledger.spent().epsilon == 1
        assert ledger.verify() > 5
    (here / "people.toml").write_text(UNNAMED.replace("count", 'median"\ncolumns = "age'))
    assert run("release", "people.toml").code == _fit(run, "age,weight") == 2
    (here / "people.toml").write_text(UNNAMED)
    with pytest.raises(BudgetExceeded):
        _session(here).std("age", epsilon="0.2")
    assert names_at(url) == ["default"]


@pytest.mark.parametrize("name", ["people", "default", "patients 2"])
def test_the_only_ledger_serves_all_whatever_it_is_called(run: Run, here: Path, name: str) -> None:
    """As where 0.1.0 called a ledger by the release file's name."""
    url = f"sqlite:///{here}/ledger.db"
    ds.Ledger(url, ds.Budget(epsilon=1), name=name).close()
    assert _ask(here, "age") == _fit(run, "age") == run("release", "people.toml").code == 0
    assert names_at(url) == [name]
    shown = run("ledger", "show", "ledger.db")
    assert shown.code == 0
    assert repr(name) in shown.out
    assert run("ledger", "verify", "ledger.db", "--json").doc["name"] == name


def test_several_ledgers_are_asked_for_by_name(run: Run, here: Path) -> None:
    """As where 0.1.0 was used by a release file and by a session: nobody guesses which budget is meant."""
    url = f"sqlite:///{here}/ledger.db"
    for name in ("people", "default"):
        with ds.Ledger(url, ds.Budget(epsilon=1), name=name) as ledger:
            ledger.charge(ds.Laplace(scale=10))
    line = "holds 'default', 'people'; say which one pays by its name"
    with pytest.raises(InvalidRequest, match=line):
        _session(here)
    for refused in (run("release", "people.toml"), run("plan", "people.toml"), run("ledger", "verify", "ledger.db")):
        assert refused.code == 2
        assert line in refused.err.replace("say which one with --name", "say which one pays by its name")
        assert refused.err.count("\n") == 1
    listed = run("ledger", "show", "ledger.db")
    assert listed.code == 0
    assert "2 ledgers" in listed.out
    assert [each["name"] for each in run("ledger", "show", "ledger.db", "--json").doc["ledgers"]] == ["default", "people"]
    assert _session(here, name="people").spent().epsilon * 10 == 1
    (here / "people.toml").write_text('name = "people"\n' + UNNAMED)
    assert run("release", "people.toml").code == 0
    assert _session(here, name="people").spent().epsilon * 10 == 3
    assert _session(here, name="default").spent().epsilon * 10 == 1


def test_a_path_means_one_file_from_every_folder(
    run: Run, here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _ask(here, "age") == 0
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    for table in (
        here / "people.csv",
        os.path.relpath(here / "people.csv"),
        [str(here / "people.csv")],
        str(here / "p*.csv"),
    ):
        session = ds.Session(table, here / "people.schema.toml", ledger="sqlite:///ledger.db")
        assert session.spent().epsilon * 10 == 2
    in_memory = {"id": [1], "age": [30], "weight": [70.0], "sex": ["f"]}
    assert ds.Session(in_memory, here / "people.schema.toml", ledger="sqlite:///ledger.db").spent().epsilon * 10 == 2
    assert not list(elsewhere.iterdir())
    schema = ds.Schema.from_toml(here / "people.schema.toml")
    with pytest.raises(InvalidRequest, match=r"must mean one file in every folder.*write it in full, as in sqlite:////"):
        ds.Session(in_memory, schema, ds.Budget(epsilon=1), "sqlite:///ledger.db")
    (elsewhere / "ledger.db").touch()
    with pytest.raises(InvalidRequest, match="a ledger's path must mean one file"):
        _session(here)
    (elsewhere / "ledger.db").unlink()
    fit = ("fit", here / "people.csv", "--schema", here / "people.schema.toml", "--model", "logistic", "--target", "sex")
    refused = run(*fit, "--features", "age", "--epsilon", "0.1", "--ledger", "ledger.db", "--budget", "1")
    assert refused.code == 2
    assert "a ledger's path must mean one file" in refused.err
    assert not list(elsewhere.iterdir())


def test_an_open_ledger_stays_where_it_is(here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections are opened anew after a fork or an error: a change of folder in between changes nothing."""
    with ds.Ledger("sqlite:///ledger.db", ds.Budget(epsilon=1)) as ledger:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        ledger._database._drop()
        ledger.charge(ds.Laplace(scale=10))
        assert not list(Path.cwd().iterdir())
        assert ledger.spent() != Cost.nothing()
