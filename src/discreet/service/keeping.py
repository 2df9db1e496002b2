"""Keeping a service: copies that lack no payment, mailboxes brought up to date, and whether all is as it should be."""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import select

from discreet.errors import DiscreetError, InvalidRequest
from discreet.ledger import keeping as ledgers
from discreet.service import inbox, outbox_tables, trail
from discreet.service.config import Config
from discreet.service.hand import Hand
from discreet.service.heads import Heads, is_behind
from discreet.service.limits import Limits
from discreet.service.mailbox import FOLDER_MODE, upgrade_box
from discreet.service.outbox import Outbox
from discreet.service.register import count_rows, ledger_of, register
from discreet.service.signing import Signer
from discreet.service.weights import Weights, parts, usual

# What brings a mailbox from the schema of the number before to this number.
MIGRATIONS: dict[str, dict[int, list[str]]] = {"front": {}, "desk": {}}
_RUNS = 3


def backup(config: Config, folder: Path) -> list[Path]:
    """Copy the mailboxes, then the ledgers: a payment that an answer rests on is in the copy, whatever happens meanwhile."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    made = []
    if not config.on_postgres:
        for name, file in (("front", "inbox.db"), ("desk", "outbox.db")):
            source, copy = Path(config.desk_boxes) / name / file, folder / file
            if source.exists():
                _vacuum(source, copy)
                made.append(copy)
    key = config.private / "signing.key"
    if key.exists():
        shutil.copy2(key, folder / "signing.key")
        made.append(folder / "signing.key")
    for population in config.populations.values():
        copy = folder / f"ledger-{population.name}.db"
        ledgers.backup(population.ledger, copy)
        made.append(copy)
    return made


def _vacuum(source: Path, copy: Path) -> None:
    if copy.exists():
        raise InvalidRequest(f"a backup overwrites nothing, and {copy} is there; choose another folder")
    connection = sqlite3.connect(f"file:{source}?mode=ro", uri=True)
    try:
        connection.execute("VACUUM INTO ?", [str(copy)])
    except sqlite3.OperationalError as problem:
        raise InvalidRequest(f"{source} cannot be copied ({problem}); run this as the user who may read it") from None
    finally:
        connection.close()
    copy.chmod(0o600)


def upgrade(config: Config, copies: Path | None = None) -> dict[str, tuple[int, int]]:
    """Bring both mailboxes up to date, each in one transaction, after a backup; the schemas before and after."""
    wanted = {"front": inbox.SCHEMA, "desk": outbox_tables.SCHEMA}
    found = {
        name: upgrade_box(config.desk_boxes, name, number, MIGRATIONS[name], dry=True) for name, number in wanted.items()
    }
    if all(before == after for before, after in found.values()):
        return found
    backup(config, copies or config.private / f"before-upgrade-{time.strftime('%Y%m%d-%H%M%S')}")
    return {name: upgrade_box(config.desk_boxes, name, number, MIGRATIONS[name]) for name, number in wanted.items()}


def calibrate(config: Config, only: str | None = None, *, quick: bool = False) -> Iterator[tuple[str, float]]:
    """Measure what questions weigh, on made-up tables of the most rows; each class as it is measured.

    ``quick`` leaves out models that are fitted step by step. It gives no class less time: what is left out, or was not
    reached when this was stopped, is measured in the same way before it is answered for the first time.
    """
    weights = Weights(config.private / "weights.json")
    boxes = Outbox(config.desk_boxes, write=True)
    with boxes.box.writing() as connection:
        register(connection, boxes, config)
    for population in config.populations.values():
        ledger_of(population, config).close()
    hand = Hand.open(config)
    try:
        for table in boxes.tables():
            if table.name not in config.tables or only not in (None, table.name):
                continue
            served = config.tables[table.name]
            if served.seconds is not None:
                continue
            seen: set[str] = set()
            for question in usual(table, Limits(), quick=quick):
                (part,) = parts(question, table, served.most_rows)
                if part.name in seen:
                    continue
                seen.add(part.name)
                seconds = hand.measure({"text": question.text, "rows": table.rows, "runs": _RUNS})
                weights.note(part.name, seconds)
                yield part.name, seconds
    finally:
        boxes.close()
        for ledger in hand.ledgers.values():
            ledger.close()


@dataclass(frozen=True)
class CheckResult:
    """One thing that was looked at."""

    fine: bool
    what: str


def check(config: Config) -> list[CheckResult]:
    """Whether everything is as it should be; changes nothing but what opening a ledger does."""
    found = [CheckResult(config.one_user is False, _users(config)), *_folders(config)]
    for table in config.tables.values():
        found.append(_tried(f"the table {table.name} has at most {table.most_rows} rows", partial(count_rows, table)))
    signer = None
    if (config.private / "signing.key").exists():
        signer = Signer(config.private / "signing.key")
    for population in config.populations.values():
        with ledger_of(population, config) as ledger:
            found.append(_tried(f"every event of the ledger {population.name} holds", ledger.verify))
            if signer is not None and config.heads_file is not None:
                behind = is_behind(ledger, Heads(config.heads_file, signer).newest().get(population.name))
                found.append(CheckResult(not behind, f"the ledger {population.name} has all that was seen of it"))
    kept = "heads are kept elsewhere" if config.heads_file else "no heads_file: a ledger set back as a whole is not noticed"
    found.append(CheckResult(config.heads_file is not None, kept))
    try:
        boxes = Outbox(config.desk_boxes, write=False)
        found.append(_tried("the custodian's trail holds", lambda: trail.verify(boxes)))
        p = boxes.t.populations
        for row in boxes.box.read(select(p)):
            found.append(
                CheckResult(bool(row.open), f"the population {row.name} is {'open' if row.open else f'closed: {row.why}'}")
            )
        boxes.close()
    except DiscreetError as problem:
        found.append(CheckResult(False, f"the outbox cannot be read: {problem}"))
    return found


def _users(config: Config) -> str:
    return (
        "one user runs all: file modes protect nothing, whoever breaks into the front can read the tables"
        if config.one_user
        else f"front and desk are two users: {config.users.get('front')}, {config.users.get('desk')}"
    )


def _folders(config: Config) -> Iterator[CheckResult]:
    if config.on_postgres:
        return
    for name in ("front", "desk"):
        folder = Path(config.desk_boxes) / name
        fine = folder.is_dir() and folder.stat().st_mode & 0o7777 == FOLDER_MODE
        yield CheckResult(fine, f"{folder} is a folder of mode {FOLDER_MODE:o}")
    secret = [config.private, *(Path(p.ledger.removeprefix("sqlite:///")).parent for p in config.populations.values())]
    for folder in secret:
        fine = not folder.is_dir() or folder.stat().st_mode & 0o077 == 0
        yield CheckResult(fine, f"{folder} is closed to all but its owner")


def _tried(what: str, act: Callable[[], Any]) -> CheckResult:
    try:
        act()
    except DiscreetError as problem:
        return CheckResult(False, f"{what}: {problem}")
    return CheckResult(True, what)
