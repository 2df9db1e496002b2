"""``discreet protect`` on what falls due, on automated decisions and on refitting: end to end, and refused in a line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.test_model_commands import refused

FIT = """
table = "people.csv"
schema = "people.schema.toml"
ledger = "l.db"
out = "model.json"
[budget]
epsilon = 3
[model]
kind = "logistic"
target = "sex"
features = ["age", "weight"]
epsilon = 1
"""
JOB = 'vault = "sqlite:///vault.db"\n[identity]\nkeys = "keys.json"\nfields = [{ name = "id" }]\n'


@pytest.fixture
def job(run: Run, folder: Path) -> Path:
    """A vault over the table of people, whose weight column is no date, and over visits with dates."""
    place = folder / "vault.toml"
    place.write_text(JOB)
    (folder / "visits.csv").write_text("id,day\n" + "".join(f"{i},{2000 + i}-01-01\n" for i in range(20)))
    assert run("protect", "keys", place, "--create").code == 0
    facts = ["--purpose", "care", "--category", "health", "--retention", "ten years"]
    assert run("protect", "register", place, "visits", "--table", "visits.csv", "--due", "day,3650", *facts).code == 0
    assert run("protect", "register", place, "people", "--table", "people.csv", "--ledger", "default", *facts).code == 0
    return place


def test_due(run: Run, folder: Path, job: Path) -> None:
    before = (folder / "visits.csv").read_text()
    assert run("protect", "due", job, "--on", "2015-01-01", "--dry-run", "--json").doc["tables"] == {"visits": 6}
    assert "Due: 6 rows of visits" in run("protect", "due", job, "--on", "2015-01-01", "--dry-run").out
    assert (folder / "visits.csv").read_text() == before
    done = run("protect", "due", job, "--on", "2015-01-01", "--json").doc
    assert done["receipts"][0]["receipt"]["tables"] == {"visits": 6}
    (folder / "r.json").write_text(json.dumps(done["receipts"][0]))
    genuine = run("protect", "verify", folder / "r.json", "--public-key", done["receipts"][0]["public_key"])
    assert "genuine: erased" in genuine.out
    assert "Nothing fell due" in run("protect", "due", job, "--on", "2015-01-01").out
    assert len((folder / "visits.csv").read_text().splitlines()) == 15
    facts = ["--purpose", "x", "--category", "y", "--retention", "z"]
    assert "must be a day" in refused(run, "protect", "due", job, "--on", "soon")
    assert "before they fall due" in refused(run, "protect", "due", job, "--on", "2999-01-01")
    assert "cannot be read" in refused(run, "protect", "due", folder / "none.toml")
    for wrong in ("day", "day,soon", "day,-1", "dya,1"):
        refused(run, "protect", "register", job, "again", "--table", "r.json", "--due", wrong, *facts)


def test_what_cannot_be_looked_through_is_said_and_not_taken_for_nothing_due(run: Run, folder: Path, job: Path) -> None:
    table = folder / "visits.csv"
    table.unlink()
    for text in (None, "id,when\n1,2000-01-01\n"):
        if text is not None:
            table.write_text(text)
        said = run("protect", "due", job, "--on", "2015-01-01")
        assert said.code == 0
        assert "NOT reached in visits" in said.out
        assert "Nothing fell due" not in said.out
        one = run("protect", "due", job, "--on", "2015-01-01", "--json").doc["receipts"][0]["receipt"]
        assert list(one["missed"]) == ["visits"]


def test_decisions(run: Run, folder: Path, job: Path) -> None:
    who = ["--identity", "id=7"]
    number = run("protect", "decide", job, *who, "--decision", "no loan", "--made-by", "model.json", "--json").doc["number"]
    assert "no decision" in refused(run, "protect", "contest", job, "999", *who, "--reason", "x")
    assert "no decision" in refused(run, "protect", "contest", job, number, "--identity", "id=8", "--reason", "x")
    assert "name=value" in refused(run, "protect", "contest", job, number, "--identity", "7", "--reason", "x")
    assert "must be contested" in refused(
        run, "protect", "review", job, number, "--reviewer", "B", "--outcome", "upheld", "--reason", "x"
    )
    done = run("protect", "contest", job, number, *who, "--reason", "wrong income", "--receipt", folder / "c.json")
    assert f"contest of decision {number}" in done.out
    assert "wrong income" in run("protect", "waiting", job).out
    options = ["--reviewer", "B", "--reason", "corrected"]
    assert "outcome must be" in refused(run, "protect", "review", job, number, *options, "--outcome", "fine")
    assert run("protect", "review", job, number, *options, "--outcome", "changed", "--json").doc["kind"] == "reviewed"
    assert run("protect", "waiting", job, "--json").doc["contests"] == []
    assert "in words" in refused(run, "protect", "decide", job, *who, "--decision", " ", "--made-by", "m")


def test_refit(run: Run, folder: Path, job: Path) -> None:
    fit = folder / "fit.toml"
    fit.write_text(FIT)
    assert "no receipt" in refused(run, "protect", "refit", job, fit)
    assert run("fit", fit).code == 0
    old = (folder / "model.json").read_text()
    assert run("protect", "erase", job, "--identity", "id=7").code == 0
    seen = run("protect", "refit", job, fit, "--json").doc
    assert (seen["cost"], seen["models"][0]["tables"], seen["models"][0]["fits"]) == ("ε=1", ["people"], True)
    assert (folder / "model.json").read_text() == old
    assert "refitted for ε=1" in run("protect", "refit", job, fit, "--pay").out
    assert (folder / "model.json").read_text() != old
    assert "not touched" in run("protect", "refit", job, fit).out
    assert run("protect", "erase", job, "--identity", "id=8").code == 0
    other = folder / "other.toml"
    other.write_text(FIT.replace("epsilon = 1", "epsilon = 2").replace("model.json", "other.json"))
    assert "not published yet" in run("protect", "refit", job, other).out
    (folder / "other.json").write_text(old)

    os.utime(folder / "other.json", (0, 0))
    told = refused(run, "protect", "refit", job, fit, other, "--pay")
    assert "Nothing was charged" in told
    assert "cannot be read" in refused(run, "protect", "refit", job, folder / "none.toml")
    assert run("ledger", "show", folder / "l.db", "--json").doc["events"][-1]["number"] < 6
