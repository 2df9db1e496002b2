"""From the inbox to the outbox: what is asked is paid, answered at its moment, and signed."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest

from discreet.core.price import Price
from discreet.core.release import Release
from discreet.models.publish.predictor import read
from discreet.service import signing

from .conftest import Analyst, Clinic, body, make_clinic, mean, settle


def test_a_question_is_paid_answered_and_signed(clinic: Clinic) -> None:
    ann = clinic.analyst("ann")
    with clinic.desk() as office:
        ref = ann.submit(mean("0.25"), mean("0.25", where={"sex": "f"}))
        assert settle(office, ref) == ["answered"]
        key = office.outbox.fact("key")
        answer = ann.answer(ref)
        assert answer is not None
        assert key is not None
        signing.verify(key, answer.text, answer.signature)
        releases = [Release.from_dict(doc) for doc in answer.document["releases"]]
        assert [r.private for r in releases] == [True, True]
        (grant,) = office.outbox.grants()
        assert (grant.spent["epsilon"], grant.left["epsilon"]) == ("1/2", "1/2")
    assert clinic.spent()["kinds"] == ["reserve", "draw", "draw"]
    assert clinic.spent()["spent"] == Fraction(1)


COLUMNS = {"features": ["age", "sex"], "target": "stroke"}


@pytest.mark.parametrize(
    "kind",
    [
        {"together": {"questions": [["mean", "age"], ["count"]], "epsilon": "0.2"}},
        {"fit": {"kind": "logistic", "epsilon": "0.5", "intervals": True, **COLUMNS}},
        {"tune": {"kind": "logistic", "candidates": [{"ridge": 1}, {"ridge": 9}], "epsilon": 1, **COLUMNS}},
        {"synthesize": {"columns": ["sex", "stroke"], "epsilon": 1, "tables": 3}},
    ],
    ids=lambda kind: next(iter(kind)),
)
def test_every_kind_is_answered_for_its_price_and_again_for_nothing(clinic: Clinic, kind: dict[str, Any]) -> None:
    """What was paid for is answered again, although the share has nothing left; accounts of parts are opened anew."""
    (doc,) = kind.values()
    ann = clinic.analyst("ann", doc["epsilon"])
    with clinic.desk() as office:
        refs = [ann.submit(text=json.dumps({"table": "patients", **kind})) for _ in range(2)]
        again = "refused_cap" if "tune" in kind else "answered"
        assert settle(office, *refs) == ["answered", again]
        assert office.ledgers["clinic"].spent().epsilon == Fraction(doc["epsilon"])
        answers = [ann.answer(ref) for ref in refs]
        if answers[1] is not None and answers[0] is not None:
            assert answers[0].document["releases"] == answers[1].document["releases"]
        assert office.ledgers["clinic"].verify()


def test_a_descent_is_handed_out_as_it_is_published(tmp_path: Path) -> None:
    clinic = make_clinic(tmp_path, budget="{epsilon = 3, delta = 1e-4}")
    fit = {"kind": "sgd", "epsilon": 1, "delta": "1e-5", "steps": 5, **COLUMNS}
    with clinic.custodian() as custodian:
        custodian.add("ann")
        custodian.grant("ann", "patients", Price(2, "5e-5"))
        ann = Analyst(clinic, "ann", custodian.token("ann"))
    with clinic.desk() as office:
        ref = ann.submit(text=json.dumps({"table": "patients", "fit": fit}))
        assert settle(office, ref) == ["answered"]
        answer = ann.answer(ref)
        assert answer is not None
        model = read(answer.document["model"])
        assert set(model.predict({"age": [20.0], "sex": ["f"]})) <= {"no", "yes"}
        assert [event.kind for event in office.ledgers["clinic"].events()][:2] == ["reserve", "open"]
        assert office.ledgers["clinic"].verify()


def test_mailboxes_on_postgresql(tmp_path: Path, server: str) -> None:
    """The same way from the inbox to the outbox, by a database; rows that become visible late are taken too."""
    with psycopg.connect(server, autocommit=True) as owner:
        for name in ("front", "desk"):
            owner.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")
    clinic = make_clinic(tmp_path, boxes=json.dumps(server))
    ann = clinic.analyst("ann")
    with clinic.desk() as office:
        refs = [ann.submit(mean("0.1")), ann.submit(mean("0.2"))]
        assert settle(office, *refs) == ["answered"] * 2
        with psycopg.connect(server, autocommit=True) as owner:  # a transaction that began before both and ended after
            late = "f" * 32
            insert = "INSERT INTO front.requests (n, ref, token, body, at) VALUES (0, %s, 1, %s, 0)"
            owner.execute(insert, [late, body(mean("0.3"))])
            owner.execute("UPDATE front.requests SET n = n + 10")
            owner.execute("UPDATE front.requests SET n = n - 9")
        assert settle(office, late) == ["answered"]
        answer = ann.answer(late)
        assert answer is not None
        assert len(office.outbox.box.read(office.outbox.t.requests.select())) == 3
