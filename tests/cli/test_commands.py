"""Every command: its help, its happy path and its JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

import discreet as ds
from discreet.cli.ledger import question_in_words
from discreet.core.schema import Schema
from tests.cli.conftest import Run

COMMANDS = (
    (), ("demo",), ("schema",), ("schema", "new"), ("schema", "check"), ("plan",), ("release",), ("ask",), ("fit",),
    ("ledger",), ("ledger", "show"), ("ledger", "verify"),
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help(run: Run, command: tuple[str, ...]) -> None:
    ran = run(*command, "--help")
    assert ran.code == 0
    assert "Usage: discreet" in ran.out
    assert "\x1b" not in ran.out
    leaf = command not in ((), ("schema",), ("ledger",))
    assert ("--json" in ran.out) == leaf


def test_no_arguments_and_version(run: Run) -> None:
    assert "Commands:" in run().out
    assert run("--version").out.strip() == f"discreet {ds.__version__}"


def test_help_is_instant() -> None:
    """Help loads nothing heavy: well below the half second that is promised (of processor time: the machine may be busy)."""
    code = (
        "import sys; from discreet.cli import main; main(['--help']); "
        "sys.stderr.write(repr([m for m in ('numpy', 'sqlalchemy', 'duckdb', 'scipy') if m in sys.modules]))"
    )
    best = 9.0
    for _ in range(3):
        start = os.times()
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        end = os.times()
        best = min(best, end.children_user + end.children_system - start.children_user - start.children_system)
        assert done.stderr == "[]"
    assert best < 0.5


def test_plan_touches_nothing(run: Run, folder: Path) -> None:
    before = sorted(p.name for p in folder.iterdir())
    ran = run("plan", folder / "people.toml")
    assert (ran.code, ran.err) == (0, "")
    assert "It fits: ε=0.5 would be left" in ran.out
    assert "rows of rank" in ran.out
    assert sorted(p.name for p in folder.iterdir()) == before, "a plan makes no ledger"
    assert "Errors are for 300 rows (expected_rows in the schema)" in ran.out
    doc = run("plan", folder / "people.toml", "--json").doc
    assert doc["fits"]
    assert [a["cost"] for a in doc["asks"]] == ["ε=0.1", "ε=0.2", "ε=0.2"]
    assert doc["asks"][1]["title"] == "Mean of age by sex"
    assert doc["price"]["epsilon"] == "1/2"
    assert 0 < doc["asks"][0]["error"] < 100
    assert doc["asks"][2]["rank_error"] > 0


def test_a_plan_says_which_number_of_rows_it_assumes(run: Run, folder: Path) -> None:
    schema = folder / "people.schema.toml"
    schema.write_text(schema.read_text().replace("expected_rows = 300\n", ""))
    ran = run("plan", folder / "people.toml")
    assert "Errors are for 1,000 rows (assumed, as the schema has no expected_rows)" in ran.out


def test_plan_that_does_not_fit_says_so(run: Run, folder: Path) -> None:
    path = folder / "people.toml"
    path.write_text(path.read_text().replace("epsilon = 0.2", "epsilon = 0.8"))
    ran = run("plan", path)
    assert ran.code == 0
    assert "does NOT fit" in ran.out
    assert [a["fits"] for a in run("plan", path, "--json").doc["asks"]] == [True, True, False]


def test_release_then_again_for_nothing(run: Run, folder: Path) -> None:
    path, out = folder / "people.toml", folder / "people-release"
    first = run("release", path)
    assert (first.code, first.err) == (0, "")
    assert "These answers cost ε=0.5, of which ε=0.5 was paid now." in first.out
    assert sorted(p.name for p in out.iterdir()) == ["releases.json", "report.html"]
    doc = json.loads((out / "releases.json").read_text())
    results = [ds.Result.from_json(json.dumps(a["result"])) for a in doc["asks"]]
    assert [str(r.cost) for r in results] == ["ε=0.1", "ε=0.2", "ε=0.2"]
    again = run("release", path, "--json").doc
    assert all(a["known"] for a in again["asks"])
    assert [a["result"]["value"] for a in again["asks"]] == [a["result"]["value"] for a in doc["asks"]]
    assert again["ledger"]["paid_now"] == "ε=0"
    assert again["ledger"]["price"] == "ε=0.5"
    assert again["written"][1].endswith("report.html")
    page = " ".join((out / "report.html").read_text().split())
    assert "The answers on this page cost ε=0.5, whenever that was paid; newly paid when the page was made: ε=0." in page
    assert "0 % spent on other answers, 50 % on this page" in page
    assert "cost ε=0.5, of which ε=0 was paid now" in run("release", path).out
    assert "free: paid before" in run("plan", path).out


def test_a_named_version_is_free_again(run: Run, folder: Path) -> None:
    path = folder / "people.toml"
    path.write_text('version = "2024"\n' + path.read_text())
    first = run("release", path, "--json").doc
    os.utime(folder / "people.csv", (1, 1))
    again = run("release", path, "--json").doc
    assert again["ledger"]["paid_now"] == "ε=0"
    assert [a["result"]["value"] for a in again["asks"]] == [a["result"]["value"] for a in first["asks"]]


def test_a_changed_table_is_told(run: Run, folder: Path) -> None:
    """`touch` makes it another state of the table: both commands say why it costs again, and how to say that it is not."""
    path = folder / "people.toml"
    assert "Note" not in run("plan", path).out
    assert "Note" not in run("release", path).out
    assert "Note" not in run("plan", path).out
    os.utime(folder / "people.csv", (1, 1))
    assert "the table changed since entries 1, 2, " in run("plan", path).out
    assert 'set version = "..."' in run("plan", path, "--json").doc["note"]
    assert "the table changed since entries 1, 2, " in run("release", path).out
    assert run("plan", path, "--json").doc["note"] is None
    path.write_text('version = "2024"\n' + path.read_text())
    assert "for another version, filter or schema" in run("plan", path, "--json").doc["note"]
    refused = run("release", path)
    assert refused.code == 2
    assert "Nothing was charged. Note: entries " in refused.err


def test_release_asks_together(run: Run, folder: Path) -> None:
    """All questions of a file are paid in one transaction, whatever rows they are about: their events have one time."""
    run("release", folder / "people.toml", "--out", folder / "out")
    with ds.Ledger(f"sqlite:///{folder / 'ledger.db'}", name="people") as ledger:
        charges = [e for e in ledger.events() if e.kind == "charge"]
    assert len(charges) == 3
    assert charges[0].time == charges[1].time == charges[2].time


def test_paths_are_those_of_the_file(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From whichever folder it is run, the same file finds the same table and the same ledger."""
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    assert run("release", "../people.toml", "--out", "here").code == 0
    assert (folder / "ledger.db").exists()
    assert os.listdir() == ["here"]


def test_a_ledger_by_its_path(run: Run, folder: Path) -> None:
    path = folder / "people.toml"
    assert run("release", path).code == 0
    path.write_text(path.read_text().replace("sqlite:///ledger.db", "ledger.db"))
    assert run("release", path, "--json").doc["ledger"]["paid_now"] == "ε=0"


def test_questions_in_words() -> None:
    squares = '{"name": "cells", "factors": [{"kind": "square", "column": "a"}, {"kind": "bins", "column": "b"}]}'
    for question, words in (
        (squares, "sums and sums of squares over a, by b"),
        ('{"name": "cells", "factors": [{"kind": "category", "column": "b"}]}', "counts by b"),
        ('{"name": "ranks", "column": "a", "q": "9/10"}', "quantile 0.9 of a"),
        ('{"name": "other", "column": "a"}', "other of a"),
        ('{"name": "other"}', "other"),
        ("{torn", "{torn"),
        ("in free words", "in free words"),
    ):
        assert question_in_words(question) == words


def test_public_rows(run: Run, folder: Path) -> None:
    """Under replace without a person column the number of rows is public, and a release uses it."""
    text = (folder / "people.schema.toml").read_text().split("expected_rows")[1]
    (folder / "people.schema.toml").write_text('neighbors = "replace"\nexpected_rows' + text)
    assert run("plan", folder / "people.toml").code == 0
    doc = run("release", folder / "people.toml", "--json").doc
    assert doc["declared"]["neighbors"] == "replace"
    assert all(a["known"] for a in run("release", folder / "people.toml", "--json").doc["asks"])


def test_inline_schema_rho_and_delta(run: Run, folder: Path) -> None:
    path = folder / "small.toml"
    head = 'table = "people.csv"\nledger = "sqlite:///small.db"\n'
    schema = '[schema]\ncolumns.age = { type = "real", bounds = [0, 100] }\n'
    path.write_text(head + '[budget]\nrho = "1/2"\n' + schema + '[[ask]]\nstatistic = "std"\ncolumns = "age"\nrho = 0.1\n')
    assert run("release", path, "--json").doc["ledger"]["remaining"] == "ρ=0.4"
    ask = '[[ask]]\nstatistic = "histogram"\ncolumns = "age"\nepsilon = 0.5\ndelta = 1e-6\n[ask.options]\nbins = 4\n'
    path.write_text(head.replace("small.db", "two.db") + "[budget]\nepsilon = 1\ndelta = 1e-6\n" + schema + ask)
    assert "95" in (Path(run("release", path, "--json").doc["written"][1])).read_text()


def test_schema_new_holds_names_only(run: Run, folder: Path) -> None:
    ran = run("schema", "new", folder / "people.csv", "--out", folder / "new.toml")
    assert ran.code == 0
    text = (folder / "new.toml").read_text()
    doc = tomllib.loads(text)
    assert doc == {"neighbors": "add_remove", "columns": {name: {"type": ""} for name in ("id", "age", "sex", "weight")}}
    assert "100" not in text.replace("1000", "")
    ran = run("schema", "check", folder / "new.toml")
    assert ran.code == 2, "a template is not a schema until a person has filled it in"
    assert "line" in ran.err
    odd = folder / "odd.csv"
    odd.write_text('"a b","c.d",e\n1,2,3\n')
    assert run("schema", "new", odd, "--json").doc["columns"] == ["a b", "c.d", "e"]
    assert list(tomllib.loads((folder / "odd.schema.toml").read_text())["columns"]) == ["a b", "c.d", "e"]


def test_schema_check(run: Run, folder: Path) -> None:
    ran = run("schema", "check", folder / "people.schema.toml")
    assert ran.code == 0
    assert "the rows with the same 'id', 2 at most" in ran.out
    doc = run("schema", "check", folder / "people.schema.toml", "--json").doc
    assert Schema.from_dict(doc) == Schema.from_toml(folder / "people.schema.toml")


def test_schema_check_says_how_cells_are_made_and_spelt(run: Run, folder: Path) -> None:
    path = folder / "more.schema.toml"
    path.write_text(
        '[columns.born]\ntype = "integer"\nbounds = [1900, 2030]\n'
        '[columns.age]\ntype = "real"\nbounds = [0, 120]\nformula = "2026 - born"\n'
        '[columns.sex]\ntype = "category"\nvalues = ["f", "m"]\naliases = {f = ["w", "F"]}\nfold = true\nother = "x"\n'
        '[columns.wait]\ntype = "duration"\nbounds = [0, 5]\nunit = "minutes"\n'
    )
    told = " ".join(run("schema", "check", path).out.split())
    for words in ("= 2026 - born", "'w', 'F' for 'f'", "letter case does not matter", "other x", "unit minutes"):
        assert words in told, told
    assert "read as" not in run("schema", "check", folder / "people.schema.toml").out


def test_ledger_show_and_verify(run: Run, folder: Path) -> None:
    run("release", folder / "people.toml")
    book = folder / "ledger.db"
    ran = run("ledger", "show", book, "--name", "people")
    assert ran.code == 0
    assert "left ε=0.5" in ran.out
    for words in ("count of rows", "sums over age, by sex", "median of age"):
        assert words in ran.out, words
    doc = run("ledger", "show", f"sqlite:///{book}", "--name", "people", "--last", "1", "--json").doc
    assert len(doc["events"]) == 1
    count = doc["events"][0]["number"]
    ran = run("ledger", "verify", book, "-n", "people", "--head", doc["head"])
    assert ran.code == 0
    assert f"{count} events" in ran.out
    assert run("ledger", "verify", book, "-n", "people", "--json").doc["events"] == count


def test_demo(run: Run, tmp_path: Path) -> None:
    """It says what it did, what it spent and where the report is; again it costs nothing."""
    out = tmp_path / "demo"
    start = time.perf_counter()
    ran = run("demo", "--out", out)
    assert time.perf_counter() - start < 60
    assert ran.code == 0
    for words in ("Made ", "Planned 7 questions", "These answers cost ε=1.5, of which ε=1.5", str(out / "report.html")):
        assert words in ran.out
    assert {p.name for p in out.iterdir()} >= {"clinic.csv", "clinic.toml", "ledger.db", "releases.json", "report.html"}
    doc = run("demo", "--out", out, "--json").doc
    assert doc["releases"]["ledger"]["paid_now"] == "ε=0"
    assert Path(doc["report"]).exists()
    assert run("plan", out / "clinic.toml").code == 0


def test_colours_on_a_terminal_only(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in run("plan", folder / "people.toml").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b" in run("plan", folder / "people.toml").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in run("plan", folder / "people.toml").out.replace("\x1b[3m", "")
