"""The hand: the desk's child, the only process that reads a table for an analyst. Pay, look, keep, speak.

It is told what to do by lines of JSON and answers in lines of JSON, on pipes that the desk made; it has no socket. Until the
end of its slots it stays busy, whatever it had to do: an analyst who watches how fast the machine answers elsewhere sees the
same load for a small table as for a large one. It runs at a lower priority than the desk, so that answers leave on time.

Whatever goes wrong here is one word to the analyst. What an exception says could tell of a record, so nobody reads it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from discreet.core.ask import Account, Ask, Open
from discreet.core.random import system
from discreet.core.release import Release
from discreet.core.runner import Desk, NoLedger, Procedure, R, Yielded, relayed
from discreet.errors import AccountClosed, BudgetExceeded, InvalidRequest
from discreet.ledger import Ledger
from discreet.ledger.events import canonical
from discreet.models.publish.document import document
from discreet.service import config, dummy_file, grants
from discreet.service.config import Config, Served
from discreet.service.remote_question import RemoteQuestion, parse
from discreet.sources import open_source
from discreet.sources.base import BaseSource

_NICE = 10
_FEW = 100  # rows to warm up with
_LONG = 5.0  # seconds, in which what a machine does besides is averaged out


@dataclass
class Hand:
    """Tables and ledgers, opened once."""

    config: Config
    tables: dict[str, BaseSource]
    ledgers: dict[str, Ledger]
    made_up: dict[str, BaseSource]

    @staticmethod
    def open(settings: Config) -> Hand:
        tables = {name: opened(each) for name, each in settings.tables.items()}
        ledgers = {name: Ledger(each.ledger, name=name, who="the desk") for name, each in settings.populations.items()}
        made = Hand(settings, tables, ledgers, {})
        for name in settings.tables:
            made._warm(name)
        return made

    def _warm(self, name: str) -> None:
        """Load what answering needs, on a few made-up rows: a first question would pay for it with its own time.

        On the table itself it would take as long as the table is large, and after an overrun that shows.
        """
        import discreet.models  # noqa: F401

        served = self.config.tables[name]
        with contextlib.suppress(InvalidRequest):  # no file that could be made up
            few = replace(served, name=f"few-{name}", most_rows=_FEW)
            source = dummy_file.made_up(few, self.config.private)
            for asked in ({"statistic": "count", "epsilon": 1}, {"statistic": "count", "rho": 1}):
                question = parse(canonical({"table": name, "ask": [asked]}), self.config.limits)
                procedure = question.kind.procedure(source, None, self.config.limits)
                Desk(source, NoLedger(), system(), source.schema.neighbors).run(procedure)
        self.ledgers[served.population].spent()

    def answer(self, order: dict[str, Any]) -> dict[str, Any]:
        """What is handed to an analyst: the word ``answered`` with releases, or another word alone."""
        try:
            question = parse(order["text"], self.config.limits)
            return {"state": "answered", **self._released(question, order)}
        except BudgetExceeded:
            return {"state": "refused_cap"}
        except AccountClosed:
            return {"state": "revoked"}
        except Exception:
            return {"state": "withheld"}

    def _released(self, question: RemoteQuestion, order: dict[str, Any]) -> dict[str, Any]:
        source = question.narrowed(self.tables[question.table])
        population = self.config.tables[question.table].population
        share = self.ledgers[population].drawing(Account(order["account"]), grants.who(order["analyst"]))
        kept: list[Release] = []
        procedure = question.kind.procedure(source, order["rows"], self.config.limits)
        returned = Desk(source, share, system(), source.schema.neighbors).run(_recorded(procedure, kept))
        model = question.kind.model(returned)
        if question.kind.replays:
            return {"releases": [release.to_dict() for release in kept], "model": None}
        return {"releases": [], "model": document(model)}

    def measure(self, order: dict[str, Any]) -> float:
        """The worst of a few times that a question takes on the made-up table; what takes long is timed once."""
        question = parse(order["text"], self.config.limits)
        served = self.config.tables[question.table]
        if question.table not in self.made_up:
            self.made_up[question.table] = dummy_file.made_up(served, self.config.private)
        worst = 0.0
        for _ in range(order["runs"]):
            source = question.narrowed(self.made_up[question.table])
            procedure = question.kind.procedure(source, order["rows"], self.config.limits)
            began = time.perf_counter()
            Desk(source, NoLedger(), system(), source.schema.neighbors).run(procedure)
            worst = max(worst, time.perf_counter() - began)
            if worst > _LONG:
                break
        return worst


def opened(served: Served) -> BaseSource:
    """The table, opened without looking at a record."""
    return open_source(served.files, served.schema, version=served.version)


def _recorded(procedure: Procedure[R], kept: list[Release]) -> Procedure[R]:
    """The same procedure; what is released to it is kept, but for the steps of a plan."""

    def keep(request: Yielded, answer: Any) -> None:
        match request:
            case Open():
                return
            case Ask(rate=None):
                kept.append(answer)
            case tuple():
                kept.extend(answer)

    return relayed(procedure, note=keep)


def serve(orders: IO[str], out: IO[str], settings: Config) -> None:
    """Do what is ordered, line by line, until there is nobody who orders."""
    hand = Hand.open(settings)
    _say(out, {"ready": True})
    for line in orders:
        order = json.loads(line)
        if order["do"] == "measure":
            try:
                _say(out, {"name": order["name"], "seconds": hand.measure(order)})
            except Exception:
                _say(out, {"name": order["name"], "seconds": None})
            continue
        for each in order["requests"]:
            began = time.perf_counter()
            _say(out, {"began": each["ref"]})
            made = hand.answer(each)
            _say(out, {"ref": each["ref"], "seconds": time.perf_counter() - began, **made})
        _stay_busy(order["end"])
        _say(out, {"free": True})


def _say(out: IO[str], what: dict[str, Any]) -> None:
    out.write(json.dumps(what) + "\n")
    out.flush()


def _stay_busy(end: float) -> None:
    """Work on nothing until a moment: read and write a little memory, as a pass over a table does."""
    block = bytearray(1 << 20)
    while time.time() < end:
        for _ in range(20):
            block[:] = bytes(block)


def main(arguments: list[str]) -> None:
    """Run as ``python -m discreet.service.hand serve.toml``, by the desk."""
    os.nice(_NICE)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # for the desk, which then gives no more orders
    with os.fdopen(os.dup(sys.stdout.fileno()), "w") as out, open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())  # whatever a library prints is heard by nobody
        serve(sys.stdin, out, config.read(Path(arguments[0])))


if __name__ == "__main__":
    main(sys.argv[1:])
