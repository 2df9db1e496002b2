"""A clinic of made-up people behind a service of its own, in a folder that is gone afterwards."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import discreet as ds
from discreet.core.price import Price
from discreet.ledger import Ledger
from discreet.service import access_tokens, config
from discreet.service.access import Custodian
from discreet.service.config import Config
from discreet.service.desk import Office
from discreet.service.errands import Errands, Made
from discreet.service.hand import Hand
from discreet.service.helper import Helper
from discreet.service.inbox import Inbox
from discreet.service.log import Log
from discreet.service.mailbox import prepare_folders
from discreet.service.outbox import FINAL, Outbox, SignedAnswer

if TYPE_CHECKING:
    from tests.service.stand import Stand

SCHEMA = ds.Schema(
    {
        "age": ds.Integer(0, 100),
        "bmi": ds.Real(10, 60),
        "sex": ds.Categories(["f", "m"]),
        "stroke": ds.Categories(["no", "yes"]),
    },
    expected_rows=200,
)
SERVE = """
[service]
url = "https://ask.clinic.example"
listen = "127.0.0.1:8443"
boxes = {boxes}
private = "private"
slot = {slot}
heads_file = "elsewhere.jsonl"
one_user = true
[population.clinic]
ledger = "ledger/clinic.db"
budget = {budget}
[table.patients]
population = "clinic"
files = "patients.csv"
schema = "patients.toml"
version = "1"
most_rows = 500
seconds = 0.01
"""
FOREVER = 60.0  # seconds after which a test gives up waiting


def mean(epsilon: Any = "0.1", **more: Any) -> dict[str, Any]:
    """An ask for the mean age."""
    return {"statistic": "mean", "columns": ["age"], "epsilon": epsilon, **more}


def body(*asks: dict[str, Any], table: str = "patients") -> str:
    """A question of several asks."""
    return json.dumps({"table": table, "ask": list(asks)})


def rows(count: int) -> str:
    """So many patients, as CSV."""
    lines = (f"{i * 37 % 101},{10 + i * 13 % 50},{'fm'[i % 2]},{('no', 'yes')[i % 3 == 0]}" for i in range(count))
    return "\n".join(["age,bmi,sex,stroke", *lines, ""])


@dataclass
class Clinic:
    """A service in a folder: its file, and what a test does with it as custodian, front and analyst."""

    folder: Path

    @property
    def config(self) -> Config:
        return config.read(self.folder / "serve.toml")

    def edit(self, old: str, new: str) -> None:
        path = self.folder / "serve.toml"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    @contextmanager
    def custodian(self) -> Iterator[Custodian]:
        with Custodian.at(self.config) as made:
            yield made

    def analyst(self, name: str, epsilon: Any = 1, **options: Any) -> Analyst:
        with self.custodian() as custodian:
            custodian.add(name)
            if epsilon is not None:
                custodian.grant(name, "patients", Price(epsilon), **options)
            return Analyst(self, name, custodian.token(name))

    @contextmanager
    def desk(self, hands: Any = None) -> Iterator[Office]:
        """A desk whose hand is this process: it neither takes time nor dies. ``hands=Errands`` makes a real one."""
        with Office.open(self.config, hands or Inline) as office:
            assert office.errands.ready(FOREVER)
            yield office

    def ledger(self) -> Ledger:
        return Ledger(f"sqlite:///{self.folder}/ledger/clinic.db")

    def spent(self) -> dict[str, Any]:
        with self.ledger() as ledger:
            ledger.verify()
            return {"spent": ledger.spent().epsilon, "kinds": [e.kind for e in ledger.events() if e.kind != "store"]}


@dataclass
class Analyst:
    """Somebody with a token, and a front that does as it is told."""

    clinic: Clinic
    name: str
    secret: str

    def submit(self, *asks: dict[str, Any], text: str | None = None) -> str:
        settings = self.clinic.config
        outbox, inbox = Outbox(settings.front_boxes, write=False), Inbox(settings.front_boxes, write=True)
        try:
            who = outbox.identify(access_tokens.digest(self.secret), time.time())
            return inbox.submit(0 if who is None else who.token, text or body(*asks), time.time())
        finally:
            inbox.close()
            outbox.close()

    def state(self, ref: str) -> str:
        outbox = Outbox(self.clinic.config.front_boxes, write=False)
        try:
            found = outbox.states([ref])
            return found[ref].state if ref in found else "sent"
        finally:
            outbox.close()

    def answer(self, ref: str) -> SignedAnswer | None:
        outbox = Outbox(self.clinic.config.front_boxes, write=False)
        try:
            return outbox.answer(ref)
        finally:
            outbox.close()


class Inline(Errands):
    """A hand in the desk's own process: what it is told is done at once."""

    def __init__(self, path: Path, log: Log) -> None:
        self.hand, self.made, self.times = Hand.open(config.read(path)), Made(), ("", 0.0)

    def ready(self, wait: float = 0.0) -> bool:
        return True

    def answer(self, orders: list[dict[str, Any]], end: float) -> None:
        self.made = Made({order["ref"]: self.hand.answer(order) for order in orders})

    def collect(self) -> Made:
        return self.made

    def measure(self, name: str, text: str, rows: int | None, longest: float) -> None:
        self.times = (name, self.hand.measure({"text": text, "rows": rows, "runs": 1}))

    def measured(self) -> tuple[str, float | None] | None:
        return self.times

    def stop(self) -> None:
        for ledger in self.hand.ledgers.values():
            ledger.close()


class Slots:
    """A clock that stands at the beginning of a slot until it is sent on: no test waits for it, or fails for being slow."""

    def __init__(self, slot: float) -> None:
        self._slot, self._number = slot, int(time.time() / slot) + 1

    def __call__(self) -> float:
        return self._number * self._slot

    def next(self) -> float:
        self._number += 1
        return self()


def run_until(office: Office, done: Callable[[], bool]) -> None:
    """Tick at the beginning of every slot until something is so; with a hand of its own process, slots take their time."""
    slot, end = float(office.config.slot), time.time() + FOREVER
    if isinstance(office.errands, Inline) and not isinstance(office.clock, Slots):
        office.clock = Slots(slot)
    while not done():
        assert time.time() < end, "waited too long"
        if isinstance(office.clock, Slots):
            office.tick(office.clock.next())
        else:
            office.tick(time.time())
            time.sleep(max(0.0, (int(time.time() / slot) + 1) * slot - time.time()))


def settle(office: Office, *refs: str) -> list[str]:
    """Run the desk until these requests have come to an end; their states."""

    def states() -> list[str]:
        found = office.outbox.states(refs)
        return [found[ref].state if ref in found else "sent" for ref in refs]

    run_until(office, lambda: all(state in FINAL for state in states()))
    return states()


def make_clinic(
    folder: Path, *, count: int = 200, budget: str = "{epsilon = 10}", slot: str = "0.1", boxes: str = '"boxes"'
) -> Clinic:
    """A service that nobody runs yet."""
    (folder / "ledger").mkdir(mode=0o700)
    (folder / "patients.csv").write_text(rows(count))
    (folder / "patients.toml").write_text(SCHEMA.to_toml())
    (folder / "serve.toml").write_text(SERVE.format(budget=budget, slot=slot, boxes=boxes))
    prepare_folders(folder / "boxes", folder / "private")
    return Clinic(folder)


@pytest.fixture
def clinic(tmp_path: Path) -> Clinic:
    return make_clinic(tmp_path)


@pytest.fixture
def boxes(tmp_path: Path) -> str:
    """The folder of empty mailboxes."""
    prepare_folders(tmp_path / "boxes", tmp_path / "private")
    return str(tmp_path / "boxes")


@pytest.fixture(scope="session")
def helpers() -> Iterator[tuple[Helper, Helper]]:
    """Two helpers for all fronts of the tests: starting one takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        own_code(patch)
        made = Helper(20.0), Helper(20.0)
        for each in made:
            each.start()
    yield made
    for each in made:
        each.close()


@pytest.fixture(scope="session")
def stand(tmp_path_factory: pytest.TempPathFactory, helpers: Any) -> Iterator[Stand]:
    """A front that listens, with a stand-in for the desk."""
    from tests.service.stand import standing

    limits = "[limits]\nper_minute = 100000\nqueued = 10000\n"
    with standing(tmp_path_factory.mktemp("stand"), slot=0.02, more=limits, helpers=helpers) as made:
        yield made


@pytest.fixture(autouse=True)
def _own(monkeypatch: pytest.MonkeyPatch) -> None:
    own_code(monkeypatch)


def own_code(patch: pytest.MonkeyPatch) -> None:
    """The hand is another process: it runs the code under test too."""
    patch.setenv("PYTHONPATH", os.pathsep.join([str(Path(ds.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]))
