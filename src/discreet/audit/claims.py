"""Every claim of the package against what its own samples certify: the table that a reviewer asks for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import discreet.models
from discreet.audit import (
    exams,
    key_claims,
    law_claims,
    local_claims,
    model_claims,
    museum,
    procedure_claims,
    statistic_claims,
)
from discreet.audit.broken import Exhibit
from discreet.audit.lower_bound import CONFIDENCE
from discreet.audit.row import Row
from discreet.audit.traps import CLAIM, Trap
from discreet.core.mechanism import mechanisms
from discreet.core.query import RELATIONS, queries
from discreet.core.schema import Schema
from discreet.local import local_mechanisms
from discreet.models.estimators.private_model import PrivateModel
from discreet.models.perturbation import METHODS
from discreet.statistics.question import Table, build, builder, names

Part = Callable[[], Iterator[Row]]


def audit_exhibit(exhibit: Exhibit, confidence: float = CONFIDENCE) -> Row:
    """An exhibit of the museum: it holds if the auditor refutes it."""
    start = time.perf_counter()
    found = exhibit.audit(confidence)
    refuted = found.refutes(exhibit.epsilon)
    note = f"{exhibit.why} Seen in its {found.view}." if refuted else exhibit.why
    return Row("broken", exhibit.name, exhibit.epsilon, exhibit.delta, found.epsilon, refuted,
               time.perf_counter() - start, note)  # fmt: skip


def audit_trap(trap: Trap, confidence: float = CONFIDENCE) -> Row:
    """A wrong reading of sound noise: it holds if it is certainly wrong more often than it says."""
    start = time.perf_counter()
    found = trap.audit(confidence)
    note = f"{trap.why} Wrong in {100 * found.share:.0f} of 100 tables."
    return Row("trap", trap.name, CLAIM, 0.0, found.certified, found.certified > CLAIM, time.perf_counter() - start, note)


def everything(quick: bool = False) -> Iterator[Row]:
    """The whole table: laws, statistics under each relation, local reports, models and what they ask, and the museum."""
    for part in parts(quick).values():
        yield from part()


def parts(quick: bool = False) -> dict[str, Part]:
    """The same in parts that can be had one by one, in any order, by name."""
    laws = [
        (case.law.name, partial(law_claims.audit_law, case, 20_000 if quick else 2_000_000)) for case in law_claims.CASES
    ]
    keys = [(key.name, partial(key_claims.audit_key, key, 10_000 if quick else 400_000)) for key in key_claims.KEYS]
    reports = local_claims.reports(20_000 if quick else 1_000_000)
    museums = [(exhibit.name, partial(audit_exhibit, exhibit)) for exhibit in museum.EXHIBITS]
    rooms: dict[str, Sequence[tuple[str, Part]]] = {
        "law": _single([*laws, *keys]),
        "statistic": statistic_claims.parts(quick),
        "local": _single(reports),
        "fit": _single(model_claims.fits(quick)),
        "exam": procedure_claims.parts(quick),
        "broken": _single(museums),
        "trap": _single([(trap.name, partial(audit_trap, trap)) for trap in museum.TRAPS]),
    }
    found: dict[str, Part] = {}
    for room, made in rooms.items():
        for name, part in made:
            title = f"{room}: {name}"
            again = sum(known == title or known.startswith(f"{title}, case ") for known in found)
            found[f"{title}, case {again + 1}" if again else title] = part
    return found


def _single(made: Sequence[tuple[str, Callable[[], Row]]]) -> list[tuple[str, Part]]:
    """Parts of one row each."""
    return [(name, partial(_row, make)) for name, make in made]


def _row(make: Callable[[], Row]) -> Iterator[Row]:
    yield make()


def unaudited() -> set[str]:
    """Whatever is registered and has no case: laws, statistics, queries, local laws, estimators, ways to fit.

    Empty, or the audit is not whole. Queries count as covered where a statistic or a procedure that is audited asks them.
    """
    fits = [fit.ask() for fit in model_claims.FITS]
    laws = {case.law.name for case in law_claims.CASES} | {ask.mechanism.name for ask in fits} | law_claims.UNCLAIMED
    laws |= {key.law.name for key in key_claims.KEYS}
    asked = {word for exam in exams.EXAMS for word in exam.asked} | _asked_by_statistics()
    examined = {exam.model.__name__ for exam in exams.EXAMS if exam.model is not None}
    missing = {
        "mechanism": _ours(mechanisms.homes()) - laws,
        "statistic": _ours({name: builder(name).__module__ for name in names()})
        - set(statistic_claims.ASKED)
        - key_claims.STATISTICS,
        "query": _ours(queries.homes()) - asked - key_claims.QUERIES,
        "local mechanism": _ours(local_mechanisms.homes()) - {law.name for law, _, _ in local_claims.LOCAL},
        "estimator": estimators() - examined,
        "method": {str(m) for m in METHODS} - {str(fit.method) for fit in model_claims.FITS},
    }
    return {f"{kind} {word}" for kind, words in missing.items() for word in words}


def _ours(homes: dict[str, str]) -> set[str]:
    """What this package registers itself; whoever adds a law of their own audits it with ``lower_bound``."""
    return {word for word, module in homes.items() if module.startswith("discreet.")}


def _asked_by_statistics() -> set[str]:
    found = set()
    for name, (args, kwargs) in statistic_claims.ASKED.items():
        for relation in RELATIONS:
            table = Table(Schema(statistic_claims.SCHEMA, neighbors=relation), 6 if relation == "replace" else None)
            found.add(build(name, table, *args, **kwargs).query.name)
    for name, (args, kwargs) in statistic_claims.PEOPLE.items():
        several = Schema(statistic_claims.SCHEMA, person="who", max_rows=3)
        found.add(build(name, Table(several), *args, **kwargs).query.name)
    return found


def estimators() -> set[str]:
    """The models that the package offers."""
    offered: dict[str, Any] = {name: getattr(discreet.models, name) for name in discreet.models.__all__}
    return {name for name, made in offered.items() if isinstance(made, type) and issubclass(made, PrivateModel)}
