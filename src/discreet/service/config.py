"""``serve.toml``: where the service listens, who pays for whom, and which tables can be asked about.

Paths are taken from where the file lies. The front reads ``[service]`` and ``[limits]`` only: what it shows of tables comes
from the outbox.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from discreet.core import numbers, toml
from discreet.core.budget import Budget
from discreet.core.price import Price
from discreet.core.schema import Schema
from discreet.core.toml import Place
from discreet.errors import DiscreetError, InvalidRequest, UnsupportedFormat
from discreet.jobs.release_file import check_keys, ledger_at
from discreet.service.limits import Limits

_NUMBER = (int, float, str)
_AMOUNT = {"epsilon": _NUMBER, "delta": _NUMBER, "rho": _NUMBER}
_TOP = {"service": (dict,), "limits": (dict,), "population": (dict,), "table": (dict,)}
_SERVICE = {
    "url": (str,), "listen": (str,), "boxes": (str, dict), "private": (str,), "slot": _NUMBER, "heads_file": (str,),
    "users": (dict,), "one_user": (bool,), "custodians": (list,), "title": (str,), "access_log": (str,),
}  # fmt: skip
_USERS = {"front": (str,), "desk": (str,), "group": (str,)}
_POPULATION = {"ledger": (str,), "budget": (dict,), "approve_above": (dict,), "registry": (dict,)}
_TABLE = {
    "population": (str,), "files": (str, list), "schema": (str, dict), "version": (str,), "most_rows": (int,),
    "seconds": (int, float), "distinct_people": (str,), "title": (str,),
}  # fmt: skip
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,59}")


@dataclass(frozen=True)
class Population:
    """The people that one ledger pays for."""

    name: str
    ledger: str
    budget: Budget
    approve_above: Price | None
    registry: Mapping[str, Any]


@dataclass(frozen=True)
class Served:
    """A table that can be asked about. ``seconds`` is its weight where it is no file and cannot be calibrated."""

    name: str
    population: str
    files: Any
    schema: Schema
    version: str
    most_rows: int
    seconds: float | None
    distinct_people: str | None


@dataclass(frozen=True)
class Config:
    """The file, as it was read."""

    path: Path
    title: str
    url: str
    host: str
    port: int
    front_boxes: str
    desk_boxes: str
    private: Path
    slot: Fraction
    heads_file: Path | None
    users: Mapping[str, str]
    one_user: bool
    custodians: tuple[str, ...]  # analysts who are shown the queue on a page
    access_log: Path | None  # of the front; None is standard output
    limits: Limits
    populations: Mapping[str, Population]
    tables: Mapping[str, Served]

    @property
    def on_postgres(self) -> bool:
        """Whether the mailboxes are on PostgreSQL."""
        return self.desk_boxes.startswith("postgresql")


def read(path: str | Path) -> Config:
    """The configuration in a file; every refusal says the line."""
    where = Path(path)
    doc, place = toml.read(where, "service file")
    check_keys(doc, _TOP, place)
    service = doc.get("service", {})
    check_keys(service, _SERVICE, place, "service")
    check_keys(service.get("users", {}), _USERS, place, "service", "users")
    folder = where.resolve().parent
    for key in ("url", "listen", "boxes"):
        if not service.get(key):
            raise UnsupportedFormat(f"{place('service')}a service needs {key!r}, got none; add it")
    front, desk = _boxes(service["boxes"], folder, place("service", "boxes"))
    host, port = _listen(service["listen"], place("service", "listen"))
    local = None if desk.startswith("postgresql") else Path(desk)
    beside = None if local is None else local / "front" / "access.log"
    try:
        limits = Limits.of(doc.get("limits", {}))
    except DiscreetError as problem:
        raise problem.at(place("limits")) from None
    populations = {name: _population(name, each, folder, place) for name, each in doc.get("population", {}).items()}
    tables = {name: _table(name, each, folder, place) for name, each in doc.get("table", {}).items()}
    for table in tables.values():
        if table.population not in populations:
            raise InvalidRequest(
                f"{place('table', table.name)}a table belongs to a population of this file, got {table.population!r}"
            )
    _check_people(tables, place)
    return Config(
        path=where.resolve(),
        title=service.get("title", "Questions to a table"),
        url=_origin(service["url"], place("service", "url")),
        host=host,
        port=port,
        front_boxes=front,
        desk_boxes=desk,
        private=folder / service["private"] if "private" in service else (local or folder) / "private",
        slot=_slot(service.get("slot", "0.25"), place("service", "slot")),
        heads_file=folder / service["heads_file"] if "heads_file" in service else None,
        users=dict(service.get("users", {})),
        one_user=service.get("one_user", False),
        custodians=tuple(map(str, service.get("custodians", ()))),
        access_log=folder / service["access_log"] if "access_log" in service else beside,
        limits=limits,
        populations=populations,
        tables=tables,
    )


def _origin(url: str, place: str) -> str:
    parts = urlsplit(url)
    local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.path.strip("/") or parts.query:
        raise InvalidRequest(f"{place}url is where browsers find the service, such as https://ask.example, got {url!r}")
    if parts.scheme == "http" and not local:
        raise InvalidRequest(f"{place}url must begin with https:// except on this machine itself, got {url!r}")
    return f"{parts.scheme}://{parts.netloc}"


def _listen(text: str, place: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or int(port) > 65535:
        raise InvalidRequest(f"{place}listen is an address and a port, such as 127.0.0.1:8443, got {text!r}")
    return host.strip("[]"), int(port)


def _boxes(given: str | dict[str, Any], folder: Path, place: str) -> tuple[str, str]:
    """The addresses of the mailboxes, for the front and for the desk: a folder, or a database with a role for each."""
    if isinstance(given, str):
        both = given if given.startswith("postgresql") else str(folder / given)
        return both, both
    if given.keys() != {"front", "desk"} or not all(str(v).startswith("postgresql") for v in given.values()):
        raise InvalidRequest(
            f"{place}boxes is a folder, or two addresses on PostgreSQL: {{front = 'postgresql://...', desk = 'postgresql://...'}}"
        )
    return given["front"], given["desk"]


def _slot(value: Any, place: str) -> Fraction:
    exact = numbers.rational(value, "slot")
    if not Fraction(1, 20) <= exact <= 60:
        raise InvalidRequest(f"{place}slot must lie between 0.05 and 60 seconds, got {value}")
    return exact


def _population(name: str, doc: Any, folder: Path, place: Place) -> Population:
    check_keys(doc, _POPULATION, place, "population", name)
    at = place("population", name)
    _check_name(name, at)
    if "ledger" not in doc or "budget" not in doc:
        raise UnsupportedFormat(f"{at}a population needs ledger and budget; add them")
    check_keys(doc["budget"], {**_AMOUNT, "composition": (str,)}, place, "population", name, "budget")
    try:
        above = doc.get("approve_above")
        return Population(
            name,
            ledger_at(doc["ledger"], folder, place("population", name, "ledger")),
            Budget(**doc["budget"]),
            None if above is None else Price(**above),
            doc.get("registry", {}),
        )
    except (DiscreetError, TypeError) as problem:
        raise InvalidRequest(f"{at}{problem}") from None


def _table(name: str, doc: Any, folder: Path, place: Place) -> Served:
    check_keys(doc, _TABLE, place, "table", name)
    at = place("table", name)
    _check_name(name, at)
    for key in ("population", "files", "schema", "version", "most_rows"):
        if not doc.get(key):
            raise UnsupportedFormat(f"{at}a table needs {key!r}, got none; add it")
    given = doc["schema"]
    try:
        schema = Schema.from_dict(given) if isinstance(given, dict) else Schema.from_toml(folder / given)
    except DiscreetError as problem:
        raise problem.at(at) from None
    files = doc["files"]
    paths = str(folder / files) if isinstance(files, str) else [str(folder / each) for each in files]
    return Served(
        name,
        doc["population"],
        paths,
        schema,
        doc["version"],
        doc["most_rows"],
        doc.get("seconds"),
        doc.get("distinct_people"),
    )


def _check_name(name: str, place: str) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidRequest(f"{place}a name has letters, digits, - and _, at most 60, got {name!r:.80}")


def _check_people(tables: Mapping[str, Served], place: Place) -> None:
    """Refuse people who seem to stand in two populations: their budgets would be spent apart and add up."""
    seen: dict[str, Served] = {}
    for table in tables.values():
        marks = [f"the id column {table.schema.person!r}"] if table.schema.person is not None else []
        for path in [table.files] if isinstance(table.files, str) else table.files:
            real = Path(path).resolve()
            marks += [f"the file {real}", *([f"the inode {real.stat().st_ino}"] if os.path.isfile(real) else [])]
        for mark in marks:
            other = seen.setdefault(mark, table)
            if other.population != table.population and not (table.distinct_people or other.distinct_people):
                raise InvalidRequest(
                    f"{place('table', table.name)}{mark} stands in the populations {other.population!r} and "
                    f"{table.population!r}: people in two have two budgets; put both tables into one, or write "
                    'distinct_people = "why they are others"'
                )
