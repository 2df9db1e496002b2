"""Bad input: one clear line, exit code 2, nothing charged, nothing half-written."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

import discreet as ds
from tests.cli.conftest import RELEASE, Run

# What is changed in the release file, into what, and the words that must be in the one line of the refusal.
TYPOS = (
    ("[budget]", "[budget", ["people.toml", "line 7"]),
    ("epsilon = 0.1", "epsilom = 0.1", ["people.toml, line 13", "did you mean 'epsilon'"]),
    ("title = \"A", "tilte = \"A", ["line 1", "did you mean 'title'"]),
    ('statistic = "count"', 'statistic = "cuont"', ["line 10", "no statistic is called 'cuont'"]),
    ('columns = "age"', 'columns = "agee"', ["line 15", "did you mean 'age'"]),
    ('columns = "age"', "columns = 3", ["line 17", "columns must be a text or a list"]),
    ('columns = "age"', "columns = [3]", ["line 17", "columns must be names"]),
    ('columns = "age"', 'columns = ["age", "age"]', ["line 17", "columns must differ"]),
    ('columns = "age"', 'columns = ["age", "sex"]', ["line 15", "'mean' takes other arguments"]),
    ('by = "sex"', "options = { bins = 3 }", ["line 15", "mean takes no 'bins'"]),
    ('sex = "f"', 'sex = "x"', ["line 21", "no category 'x'"]),
    ("epsilon = 0.1", "epsilon = -1", ["line 10", "epsilon must be positive, got -1; write"]),
    ("epsilon = 0.1", "epsilon = inf", ["line 10", "finite"]),
    ("epsilon = 0.1", "epsilon = true", ["line 13", "epsilon must be a number"]),
    ("epsilon = 0.1", "", ["line 10", "needs epsilon"]),
    ("epsilon = 1\n", "epsilon = 1\nrho = 1\n", ["line 7", "either epsilon or rho"]),
    ("[budget]\nepsilon = 1\n", "", ["line 4", "a new ledger needs a budget", "[budget] with epsilon = 1"]),
    ("people.csv", "none.csv", ["line 2", "none.csv", "exists"]),
    ("people.schema.toml", "none.toml", ["line 3", "none.toml", "exists"]),
    ("sqlite:///ledger.db", "sqlite://", ["line 4", "a ledger that lasts"]),
    ("sqlite:///ledger.db", "sqlite:ledger.db", ["line 4", "sqlite"]),
    ("sqlite:///ledger.db", "oracle://x", ["line 4", "oracle"]),
    ("sqlite:///ledger.db", "sqlite:///no/such/folder/l.db", ["line 4"]),
    ('name = "people"', 'name = " "', ["line 5", "must not be empty"]),
    ('table = "people.csv"\n', "", ["needs 'table'"]),
    (RELEASE[RELEASE.index("[[ask]]") :], "", ["needs 'ask'"]),
)  # fmt: skip


def events(folder: Path) -> int:
    with ds.Ledger(f"sqlite:///{folder / 'ledger.db'}", name="people") as ledger:
        return ledger.verify()


def one_line(text: str) -> bool:
    return text.count("\n") == 1 and text.startswith("discreet: ")


@pytest.mark.parametrize(("old", "new", "words"), TYPOS, ids=[f"{o.splitlines()[0]} to {n}" for o, n, _ in TYPOS])
def test_a_wrong_release_file(run: Run, folder: Path, old: str, new: str, words: list[str]) -> None:
    path = folder / "people.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    before = sorted(p.name for p in folder.iterdir())
    for command in ("plan", "release"):
        ran = run(command, path)
        assert (ran.code, ran.out) == (2, ""), ran
        assert one_line(ran.err), ran.err
        for word in words:
            assert word in ran.err, ran.err
    assert sorted(p.name for p in folder.iterdir()) == before, "no ledger, no output folder"


def test_the_last_ask_is_checked_before_the_first_is_paid(run: Run, folder: Path) -> None:
    path = folder / "people.toml"
    run("release", path)
    paid = events(folder)
    path.write_text(path.read_text() + '\n[[ask]]\nstatistic = "mean"\ncolumns = "sex"\nepsilon = 0.1\n')
    ran = run("release", path)
    assert ran.code == 2
    assert "line 27" in ran.err
    assert "holds categories" in ran.err
    assert events(folder) == paid


def test_a_spent_budget(run: Run, folder: Path) -> None:
    path, out = folder / "people.toml", folder / "people-release"
    run("release", path)
    page = (out / "report.html").read_text()
    path.write_text(path.read_text().replace("epsilon = 0.2", "epsilon = 0.4"))
    ran = run("release", path)
    assert ran.code == 2
    assert one_line(ran.err)
    assert "asks for ε=0.8" in ran.err
    assert "ε=0.5 is left" in ran.err
    assert "Nothing was charged" in ran.err
    assert (out / "report.html").read_text() == page
    with ds.Ledger(f"sqlite:///{folder / 'ledger.db'}", name="people") as ledger:
        assert str(ledger.remaining()) == "ε=0.5"


def test_a_ledger_of_another_table(run: Run, folder: Path) -> None:
    run("release", folder / "people.toml")
    (folder / "other.csv").write_text("id,x\n1,1\n2,2\n")
    text = (
        'table = "other.csv"\nledger = "sqlite:///ledger.db"\nname = "people"\n'
        '[schema]\nperson = "id"\nmax_rows = 2\ncolumns.x = { type = "real", bounds = [0, 1] }\n'
        '[[ask]]\nstatistic = "mean"\ncolumns = "x"\nepsilon = 0.1\n'
    )
    (folder / "other.toml").write_text(text)
    ran = run("release", folder / "other.toml")
    assert ran.code == 2
    assert one_line(ran.err)
    assert "seems to be of another table: it paid for questions about age" in ran.err
    (folder / "other.toml").write_text("same_people = true\n" + text)
    assert run("release", folder / "other.toml").code == 0
    rows = text.replace('person = "id"\nmax_rows = 2\n', "")
    (folder / "other.toml").write_text("same_people = true\n" + rows)
    ran = run("release", folder / "other.toml")
    assert ran.code == 2
    assert one_line(ran.err)
    assert "counts one 'id' with at most 2 rows, got a question about one row" in ran.err
    (folder / "other.toml").write_text("same_people = true\n" + text.replace("[schema]", '[schema]\nneighbors = "replace"'))
    ran = run("release", folder / "other.toml")
    assert ran.code == 2
    assert "relation is fixed" in ran.err


def test_another_budget_than_the_ledgers(run: Run, folder: Path) -> None:
    path = folder / "people.toml"
    run("release", path)
    path.write_text(path.read_text().replace("epsilon = 1\n", "epsilon = 2\n"))
    ran = run("plan", path)
    assert ran.code == 2
    assert "fixed when it is made" in ran.err


@pytest.mark.parametrize("kind", ["file", "folder in the way", "below a file", "no such device"])
def test_an_output_that_cannot_be_written(run: Run, folder: Path, kind: str) -> None:
    out = folder / "out"
    if kind == "file":
        out.write_text("mine")
    elif kind == "folder in the way":
        (out / "report.html").mkdir(parents=True)
    elif kind == "below a file":
        (folder / "file").write_text("mine")
        out = folder / "file" / "out"
    else:
        out = Path("/proc/none/out")
    before = sorted(str(p) for p in folder.rglob("*"))
    ran = run("release", folder / "people.toml", "--out", out)
    assert (ran.code, ran.out) == (2, "")
    assert one_line(ran.err)
    assert "--out" in ran.err
    assert sorted(str(p) for p in folder.rglob("*")) == before, "nothing written, no ledger made"


def test_missing_files_and_wrong_commands(run: Run, folder: Path) -> None:
    for command, words in (
        (("plan", folder / "none.toml"), "none.toml"),
        (("release", folder), "cannot be read"),
        (("schema", "new", folder / "none.csv"), "none.csv"),
        (("schema", "new", folder / "people.csv", "-o", folder / "people.schema.toml"), "never overwritten"),
        (("schema", "check", folder / "none.toml"), "none.toml"),
        (("ledger", "show", folder / "none.db"), "none.db"),
        (("ledger", "verify", folder / "people.csv"), "people.csv"),
        (("nonsense",), "nonsense"),
        (("plan",), "FILE"),
        (("plan", folder / "people.toml", "--wrong"), "--wrong"),
        (("ledger", "show", "x.db", "--last", "0"), "last"),
    ):
        ran = run(*command)
        assert ran.code == 2, command
        assert ran.out == ""
        assert one_line(ran.err), ran.err
        assert words in ran.err, ran.err
    assert not (folder / "none.db").exists()


def test_what_to_write_instead(run: Run, folder: Path) -> None:
    path, schema = folder / "people.toml", folder / "people.schema.toml"
    assert run("release", path).code == 0
    assert "there are: 'people'" in run("ledger", "show", folder / "ledger.db", "--name", "persons").err
    path.write_text(RELEASE.replace("epsilon = 1\n", "epsilon = 2\n"))
    ran = run("plan", path)
    assert "line 7" in ran.err
    assert "leave [budget] out" in ran.err
    path.write_text(RELEASE.replace('name = "people"', 'name = "poeple"').replace("[budget]\nepsilon = 1\n", ""))
    assert "there are: 'people'" in run("plan", path).err
    text = schema.read_text()
    for old, new, words in (
        ("bounds = [0, 100]\n", "", "as in bounds = [0, 100]"),
        ('values = ["f", "m"]\n', "", 'as in values = ["a", "b"]'),
        ('"integer"', '"blob"', "got 'blob'; write type ="),
    ):
        schema.write_text(text.replace(old, new, 1))
        for command in (("plan", path), ("schema", "check", schema)):
            assert words in run(*command).err, words


def test_an_empty_table_of_public_size(run: Run, folder: Path) -> None:
    schema = folder / "people.schema.toml"
    schema.write_text('neighbors = "replace"\n' + schema.read_text().split("expected_rows = 300\n")[1])
    (folder / "people.csv").write_text("id,age,sex,weight\n")
    ran = run("release", folder / "people.toml")
    assert ran.code == 2
    assert "line 2" in ran.err
    assert "there are none" in ran.err
    assert not (folder / "ledger.db").exists()


def test_errors_as_json(run: Run, folder: Path) -> None:
    ran = run("plan", folder / "none.toml", "--json")
    assert (ran.code, ran.out) == (2, "")
    assert json.loads(ran.err)["kind"] == "UnsupportedFormat"


def test_a_tampered_ledger(run: Run, folder: Path) -> None:
    import sqlite3

    run("release", folder / "people.toml")
    with closing(sqlite3.connect(folder / "ledger.db")) as connection, connection:
        names = [n for (n,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        events = next(n for n in names if "event" in n)
        connection.execute(f"UPDATE {events} SET who = 'nobody' WHERE number = 2")
    connection.close()
    ran = run("ledger", "verify", folder / "ledger.db", "--name", "people")
    assert ran.code == 2
    assert one_line(ran.err)


def test_a_damaged_table_charges_nothing(run: Run, folder: Path) -> None:
    (folder / "people.csv").write_bytes(b"\0\0\0")
    ran = run("release", folder / "people.toml")
    assert ran.code == 2
    assert "people.csv" in ran.err
    assert not (folder / "ledger.db").exists()


def test_looking_for_a_ledger_that_is_not_there(run: Run, folder: Path) -> None:
    """Whoever only looks is told which ledgers there are and how to name one; not how to make one."""
    with pytest.raises(ds.errors.InvalidRequest, match=r"for a file write 'sqlite:///ledger\.db'"):
        ds.Ledger("ledger.db", ds.Budget(epsilon=1))
    run("release", folder / "people.toml")
    for command in ("show", "verify"):
        ran = run("ledger", command, folder / "none.db")
        assert ran.code == 2
        assert one_line(ran.err)
        assert "there is no ledger called 'default'" in ran.err
        assert "budget" not in ran.err
        ran = run("ledger", command, folder / "ledger.db", "--name", "other")
        assert "(there are: 'people'); correct the path or --name" in ran.err
    assert not (folder / "none.db").exists()
