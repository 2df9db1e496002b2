"""One ledger, one unit: person column, rows of a person, relation and population; and what an event says of its rows."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import discreet as ds
from discreet.core.unit import Unit
from discreet.errors import LedgerUnavailable, RelationMismatch, UnitMismatch
from discreet.ledger import Ledger

Make = Callable[..., Ledger]
COLUMNS = {"age": ds.Real(0, 100), "sex": ds.Categories(["f", "m"])}
TABLE = {"id": [1, 1, 2, 3], "patient": [1, 1, 2, 3], "age": [10.0, 20.0, 30.0, 40.0], "sex": ["f", "f", "m", "f"]}


def schema(**facts: object) -> ds.Schema:
    return ds.Schema(COLUMNS, **({"person": "id", "max_rows": 2} | facts))


OTHERS = {
    "rows": schema(person=None, max_rows=None),
    "another column": schema(person="patient"),
    "more rows": schema(max_rows=3),
    "fewer rows": schema(max_rows=1),
    "another population": schema(population="students"),
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("at_creation", [False, True])
def test_a_question_about_another_unit_is_refused_and_costs_nothing(make: Make, other: str, at_creation: bool) -> None:
    unit = Unit("id", 2, "patients") if at_creation else None
    ledger = make(ds.Budget(epsilon=1), unit=unit)
    mine = schema(population="patients")
    if not at_creation:
        ds.Session(TABLE, mine, ledger=ledger).count(epsilon=0.1)
    before = ledger.head
    with pytest.raises(
        UnitMismatch, match=r"counts one 'id' with at most 2 rows of the population 'patients', got .*Nothing"
    ):
        ds.Session(TABLE, OTHERS[other], ledger=ledger).count(epsilon=0.1)
    assert ledger.head == before
    for fitting in (mine, schema()):  # a schema without a population asks about the ledger's
        ds.Session(TABLE, fitting, ledger=ledger).count(epsilon=0.1)
    assert ledger.unit == Unit("id", 2, "patients")
    assert make().unit == ledger.unit
    ledger.verify()


def test_rows_after_people_are_refused_for_functions_and_models_too(make: Make) -> None:
    ledger = make(ds.Budget(epsilon=2))
    ds.Session(TABLE, schema(), ledger=ledger).count(epsilon=0.1)
    with pytest.raises(UnitMismatch):
        ds.mean(np.arange(10.0), bounds=(0, 10), epsilon=0.1, ledger=ledger)
    with pytest.raises(UnitMismatch):
        ds.models.LogisticRegression(epsilon=0.1, bounds=[(0, 1)], classes=[0, 1], ledger=ledger).fit([[0.0], [1.0]], [0, 1])
    assert str(ledger.spent()) == "ε=0.1"


@pytest.mark.parametrize("kept", ["add_remove", "replace", "both"])
@pytest.mark.parametrize("asked", ["add_remove", "replace", "both"])
def test_a_ledger_takes_questions_under_its_relation_and_under_both(make: Make, kept: str, asked: str) -> None:
    ledger = make(ds.Budget(epsilon=1), neighbors=kept)
    session = ds.Session(TABLE, schema(neighbors=asked), ledger=ledger)
    if asked in (kept, "both"):
        session.count(epsilon=0.1)
        assert next(ledger.events()).relation == asked
    else:
        with pytest.raises(RelationMismatch, match=f"neighbors={kept!r}"):
            session.count(epsilon=0.1)
        assert ledger.count == 0
    ledger.verify()


def test_events_say_which_rows_were_asked_about(make: Make) -> None:
    ledger = make(ds.Budget(epsilon=1))
    session = ds.Session(TABLE, schema(), ledger=ledger)
    session.count(epsilon=0.1, where={"sex": "f"})
    session.count(epsilon=0.1)
    events = [e for e in ledger.events() if e.kind == "charge"]
    assert [e.rows and json.loads(e.rows) for e in events] == [{"sex": ["f"]}, None]
    assert [e.to_dict()["rows"] for e in events] == [{"sex": ["f"]}, None]
    assert events[0].unit is not None
    assert events[1].unit is None, "bound once"
    ledger.verify()


def as_anybody(act: Callable[[], str]) -> str:
    """What ``act`` returns in a process that is not the superuser's, whom no file refuses anything."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        # Threads of JAX that an earlier test started do not go along, and nothing here needs them.
        warnings.simplefilter("ignore", RuntimeWarning)
        child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            os.write(write, act().encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as told:
        said = told.read()
    os.waitpid(child, 0)
    return said


@pytest.mark.parametrize("which", ["folder", "new", "head"])
def test_what_cannot_be_written_is_told_in_one_line(which: str) -> None:
    """A folder that is read-only, one in which a new ledger is made, and a head file of somebody else."""
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        url = f"sqlite:///{folder}/{'new' if which == 'new' else 'ledger'}.db"
        with Ledger(f"sqlite:///{folder}/ledger.db", ds.Budget(epsilon=1)) as ledger:
            before = ledger.head
        for each in folder.iterdir():
            each.chmod(0o444 if which == "folder" or each.suffix == ".head" else 0o666)
        folder.chmod(0o777 if which == "head" else 0o555)

        def act() -> str:
            try:
                with Ledger(url, ds.Budget(epsilon=1)) as ledger:
                    ledger.charge(ds.Laplace(scale=10))
            except LedgerUnavailable as refusal:
                return str(refusal)
            return "it was charged"

        said = as_anybody(act)
        assert said.endswith(("Nothing was charged", "Nothing was charged and nothing was looked at")), said
        assert "\n" not in said
        folder.chmod(0o700)
        with Ledger(f"sqlite:///{folder}/ledger.db") as ledger:
            assert ledger.head == before
