"""Whatever is registered is audited: a new entry without a claim is named until somebody writes one."""

from __future__ import annotations

from typing import Any

import pytest

import discreet.models
from discreet.audit import claims, exams, procedure_claims, waist
from discreet.audit.exams import EXAMS, Exam
from discreet.core.mechanism import mechanisms
from discreet.core.query import queries
from discreet.local import local_mechanisms
from discreet.models.estimators.private_model import PrivateModel
from discreet.statistics import question


def test_everything_registered_is_audited() -> None:
    assert claims.unaudited() == set()


@pytest.mark.parametrize("registry", [mechanisms, queries, local_mechanisms], ids=lambda r: r.kind)
def test_a_new_entry_is_missed(registry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._known, "brand_new", type("BrandNew", (), {"__module__": "discreet.brand_new"}))
    monkeypatch.setitem(registry._known, "somebody_elses", type("Other", (), {"__module__": "elsewhere"}))
    assert claims.unaudited() == {f"{registry.kind} brand_new"}


def test_a_new_statistic_query_elsewhere_and_estimator_are_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    class BrandNew(PrivateModel):
        pass

    monkeypatch.setitem(question._BUILDERS, "brand_new", question.builder("count"))
    monkeypatch.setitem(queries._elsewhere, "not_loaded", "discreet.models.nowhere")
    monkeypatch.setattr(discreet.models, "BrandNew", BrandNew, raising=False)
    monkeypatch.setattr(discreet.models, "__all__", [*discreet.models.__all__, "BrandNew"])
    assert claims.unaudited() == {"statistic brand_new", "query not_loaded", "estimator BrandNew"}


@pytest.mark.parametrize("taken_away", sorted({q for exam in EXAMS for q in exam.asked} - claims._asked_by_statistics()))
def test_a_claim_taken_away_is_missed(taken_away: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exams, "EXAMS", [e for e in EXAMS if taken_away not in e.asked])
    assert f"query {taken_away}" in claims.unaudited()


@pytest.mark.parametrize("exam", [e for e in EXAMS if not e.whole], ids=lambda e: e.name)
def test_a_distance_that_is_too_small_is_seen(exam: Exam, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every question moves more than half of its distance, so it fails the audit once that is halved. No draw decides."""
    asked = [a for a in exam.requests if a.mechanism.name != "objective_perturbation"]
    true = waist.apart
    monkeypatch.setattr(waist, "apart", lambda *given: _doubled(true(*given)))
    rows = list(procedure_claims.audit_questions(exam, 40))
    assert [r.holds for r in rows if r.note] == [False] * len(asked)


def _doubled(moved: waist.Moved) -> waist.Moved:
    return waist.Moved(2 * moved.l1, 2 * moved.l2, 2 * moved.linf)
