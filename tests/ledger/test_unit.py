"""One ledger, one unit: person column, rows of a person, relation and population; and what an event says of its rows."""

from __future__ import annotations

import json
import os
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


def test_a_read_only_folder_is_told_in_one_line(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/ledger.db"
    Ledger(url, ds.Budget(epsilon=1)).close()
    os.chmod(tmp_path / "ledger.db.head", 0o400)
    os.chmod(tmp_path, 0o500)
    try:
        if os.access(tmp_path, os.W_OK):
            return  # the superuser is refused nothing
        with Ledger(url) as ledger, pytest.raises(LedgerUnavailable, match="Nothing was charged") as told:
            ledger.charge(ds.Laplace(scale=10))
        assert "\n" not in str(told.value)
    finally:
        os.chmod(tmp_path, 0o700)
