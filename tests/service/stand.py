"""A front that listens on this machine, and a stand-in for the desk: it answers at once, from a table in memory."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn

import discreet as ds
from discreet.core.random import system
from discreet.core.release import Release
from discreet.core.runner import Desk, relayed
from discreet.ledger.events import canonical
from discreet.service import access_tokens
from discreet.service import config as service_file
from discreet.service.front import application
from discreet.service.inbox import Inbox
from discreet.service.limits import Limits
from discreet.service.outbox import Outbox
from discreet.service.remote_question import parse
from discreet.service.signing import Signer
from discreet.sources import open_source
from tests.service.conftest import SCHEMA

CAP = {"epsilon": "5", "delta": "1/1000", "rho": None}


def people(rows: int = 200) -> dict[str, Any]:
    """A table of the clinic."""
    return {
        "age": np.arange(rows) % 100,
        "bmi": 20 + np.arange(rows) % 20,
        "sex": np.array(["f", "m"] * rows)[:rows],
        "stroke": np.array(["no", "no", "yes"] * rows)[:rows],
    }


@dataclass
class Stand:
    """Where the front listens, and the tokens of two analysts."""

    url: str
    token: str
    other: str
    key: str
    outbox: Outbox
    boxes: str


class PretendDesk(threading.Thread):
    """Answers whatever comes, one by one; not private, and not the desk."""

    def __init__(self, boxes: str, signer: Signer, table: dict[str, Any], slot: float) -> None:
        super().__init__(daemon=True)
        self.inbox, self.outbox = Inbox(boxes, write=False), Outbox(boxes, write=True)
        self._signer, self._slot, self._ended = signer, slot, threading.Event()
        self._source = open_source(table, SCHEMA, version="1")
        self._ledger = ds.Ledger("test", ds.Budget(epsilon=10_000, delta=0.5, composition="renyi"))
        self._seen = 0

    def run(self) -> None:
        while not self._ended.wait(self._slot / 4):
            for row in self.inbox.after(self._seen, 100):
                self._seen = row.n
                self._answer(row)

    def end(self) -> None:
        self._ended.set()
        self.join(10)
        for each in (self.inbox, self.outbox, self._ledger):
            each.close()

    def _answer(self, row: Any) -> None:
        question = parse(row.body)
        source = question.narrowed(self._source)
        seen: list[Release] = []

        def note(_: Any, answer: Any) -> None:
            if isinstance(answer, Release):
                seen.append(answer)
            elif isinstance(answer, tuple):
                seen.extend(answer)

        desk = Desk(source, self._ledger, system(), SCHEMA.neighbors)
        returned = desk.run(relayed(question.kind.procedure(source, None, Limits()), note=note))
        model = None
        if not question.kind.replays:
            from discreet.models.publish.document import document

            model, seen = document(question.kind.model(returned)), []
        text = canonical(
            {"ref": row.ref, "question": question.digest, "releases": [r.to_dict() for r in seen], "model": model}
        )
        due = time.time() + self._slot
        t = self.outbox.t
        with self.outbox.box.writing() as connection:
            connection.execute(
                t.requests.insert(),
                {"ref": row.ref, "n": row.n, "analyst": row.token, "token": row.token, "grant_id": 1, "state": "answered",
                 "table_name": "patients", "due": due, "question_sha256": question.digest, "at": row.at, "price": "{}",
                 "question": row.body,
                 "weight": 0.0},
            )  # fmt: skip
            connection.execute(t.answers.insert(), {"ref": row.ref, "document": text, "signature": self._signer.sign(text)})


def set_up(folder: Path) -> tuple[str, str, str, Signer]:
    """Mailboxes with one table, two analysts with a token each, and the desk's key."""
    for name in ("front", "desk"):
        (folder / "boxes" / name).mkdir(parents=True)
    signer, boxes = Signer(folder / "key"), str(folder / "boxes")
    outbox, given = Outbox(boxes, write=True), [access_tokens.make(), access_tokens.make()]
    t = outbox.t
    with outbox.box.writing() as connection:
        outbox.set_fact(connection, "key", signer.public)
        connection.execute(t.populations.insert(), {"name": "clinic", "open": True, "overruns": 0, "why": ""})
        connection.execute(
            t.tables.insert(),
            {"name": "patients", "population": "clinic", "schema_json": json.dumps(SCHEMA.to_dict()), "version": "1",
             "open": True},
        )  # fmt: skip
        for number, token in enumerate(given, 1):
            connection.execute(t.analysts.insert(), {"name": f"analyst {number}", "contact": "", "active": True})
            connection.execute(
                t.tokens.insert(), {"sha256": access_tokens.digest(token), "analyst": number, "revoked": False}
            )
            connection.execute(
                t.grants.insert(),
                {"analyst": number, "table_name": "patients", "account": number, "cap": json.dumps(CAP),
                 "purpose": "How strokes go with age", "revoked": False},
            )  # fmt: skip
            connection.execute(
                t.statements.insert(), {"grant_id": number, "spent": json.dumps({}), "left_json": json.dumps(CAP)}
            )
    outbox.close()
    return boxes, given[0], given[1], signer


def listener() -> socket.socket:
    """A socket on this machine whose replies leave at once, as those of a server that makes its own."""
    made = socket.create_server(("127.0.0.1", 0))
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # asyncio sets it where the protocol of a socket is named
    return made


@contextmanager
def listening(front: Any, ear: socket.socket) -> Iterator[None]:
    """A front that listens, for as long as the block lasts."""
    settings = uvicorn.Config(
        front, http="h11", ws="none", lifespan="on", log_level="critical", server_header=False, date_header=False
    )
    server = uvicorn.Server(settings)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [ear]}, daemon=True)
    thread.start()
    until = time.monotonic() + 60
    while not server.started and time.monotonic() < until:
        time.sleep(0.02)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(20)


@contextmanager
def standing(folder: Path, slot: float = 0.1, more: str = "", helpers: Any = None) -> Iterator[Stand]:
    """A front with its stand-in desk, for as long as the block lasts."""
    boxes, token, other, signer = set_up(folder)
    with listener() as ear:
        port = ear.getsockname()[1]
        file = folder / "serve.toml"
        here = f'url = "http://127.0.0.1:{port}"\nlisten = "127.0.0.1:{port}"'
        file.write_text(f'[service]\n{here}\nboxes = "boxes"\none_user = true\ncustodians = ["analyst 1"]\n{more}')
        config = service_file.read(file)
        front = application(config, helpers)
        desk = PretendDesk(boxes, signer, people(), slot)
        desk.start()
        try:
            with listening(front, ear):
                yield Stand(config.url, token, other, signer.public, desk.outbox, boxes)
        finally:
            desk.end()
