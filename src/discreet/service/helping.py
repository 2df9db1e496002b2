"""What a helper of the front does with a job: from declarations and released documents, and from nothing else.

A job is an object with the word ``do`` of the closed table ``JOBS``. A helper reads jobs from standard input and writes one
line for each. It knows no address of a table, a ledger or a mailbox.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any

from discreet.core.random import Random
from discreet.core.runner import Desk, NoLedger
from discreet.core.schema import Schema
from discreet.errors import DiscreetError, InvalidRequest, UnknownName
from discreet.service import dummy
from discreet.service.limits import Limits
from discreet.service.pages import fields, shown
from discreet.service.remote_question import ROWS_WITHOUT_A_GUESS, RemoteQuestion, parse, price
from discreet.sources import open_source

REHEARSED = 10_000  # rows of a made-up table at most
_MEMORY = 2 << 30


class Helping:
    """The tables as they are declared, and what is done with questions about them."""

    def __init__(self) -> None:
        self._tables: dict[str, tuple[Schema, int | None]] = {}

    def tables(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Take note of what is public about the tables."""
        self._tables = {name: (Schema.from_dict(public["schema"]), public["rows"]) for name, public in job["tables"].items()}
        return {}

    def price(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Check a question and say what it costs."""
        question, limits = self._question(job)
        schema, rows = self._tables[question.table]
        made = price(question, schema, rows, limits, told=job["told"])
        said = {"question": question.digest, "text": question.text, "table": question.table, "kind": question.kind.word}
        return said | made.to_dict() | {"numbers": made.numbers, "titles": question.kind.titles()}

    def rehearse(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a question from a table made up from the schema; marked as not private."""
        question, limits = self._question(job)
        schema, rows = self._tables[question.table]
        price(question, schema, rows, limits)
        count = min(rows or schema.expected_rows or ROWS_WITHOUT_A_GUESS, REHEARSED)
        guess = {} if schema.expected_rows is None else {"expected_rows": count}
        made_up = Schema.from_dict(schema.to_dict() | guess)
        source = open_source(dummy.table(made_up, count), made_up, version="made up")
        public = count if rows is not None else None
        narrowed = question.narrowed(source)
        procedure = question.kind.procedure(narrowed, public, limits)
        returned = Desk(narrowed, NoLedger(), Random(seed=count), schema.neighbors).run(procedure)
        return {"question": question.digest, "rehearsal": True, "parts": shown.parts(question, returned)}

    def show(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """An answer as a page shows it."""
        question = parse(job["text"], Limits.of(job["limits"]))
        schema, rows = self._tables[question.table]
        return {"parts": shown.answer(question, json.loads(job["document"]), schema, rows)}

    def statistics(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Every statistic and model with the fields of its form."""
        return {
            "statistics": fields.statistics(),
            "models": fields.models(),
            "several": fields.several(),
            "synthetic": fields.synthetic(),
        }

    def scored(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """The question for the score of a fitted model that an answer holds: its design, and its coefficients."""
        question = parse(job["text"], Limits.of(job["limits"]))
        schema, rows = self._tables[question.table]
        return shown.score(question, json.loads(job["document"]), schema, rows)

    def nothing(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Be ready."""
        return {}

    def _question(self, job: Mapping[str, Any]) -> tuple[RemoteQuestion, Limits]:
        limits = Limits.of(job["limits"])
        question = parse(job["body"], limits)
        if question.table not in job["granted"] or question.table not in self._tables:
            raise UnknownName(
                f"no table called {question.table!r} is open to you", key="table", remedy="see the list of tables"
            )
        return question, limits


JOBS: dict[str, Callable[[Helping, Mapping[str, Any]], dict[str, Any]]] = {
    "tables": Helping.tables,
    "price": Helping.price,
    "rehearse": Helping.rehearse,
    "show": Helping.show,
    "statistics": Helping.statistics,
    "scored": Helping.scored,
    "nothing": Helping.nothing,
}


def reply(helping: Helping, line: str) -> str:
    """The line that answers a job: what was done, or the refusal."""
    try:
        job = json.loads(line)
        return json.dumps({"done": JOBS[job["do"]](helping, job)})
    except DiscreetError as problem:
        told = _refusal(problem)
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as problem:
        # Made of a request that no rule foresaw; nothing but declarations is in reach here, so it may be told.
        told = _refusal(InvalidRequest(f"this question cannot be asked ({type(problem).__name__})", remedy="correct it"))
    return json.dumps({"refused": told})


def _refusal(problem: DiscreetError) -> dict[str, str]:
    said = problem if problem.remedy == "" else problem.remedied("")
    return {"kind": type(problem).__name__, "rule": str(said), "key": problem.key, "remedy": problem.remedy}


def main() -> None:
    """Do jobs until there are no more; an interrupt is for the front, which then sends none."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no reply
    helping = Helping()
    helping.statistics({})  # loads every statistic and model, so that the first question is not the one to wait for it
    for line in sys.stdin:
        out.write(reply(helping, line) + "\n")


if __name__ == "__main__":
    main()
