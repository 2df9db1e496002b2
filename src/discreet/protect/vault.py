"""Answers to a person's requests: what is kept about them, where it went, and taking it out for good.

``access``, ``erase`` and ``refuse`` serve articles 15, 17 and 19 of the General Data Protection Regulation (GDPR), and
``record`` is the record of processing of article 30. Everything is a row of one log in the ledger's database.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from discreet.errors import InvalidRequest, UnknownName
from discreet.protect.access_request import Access, entry
from discreet.protect.anonymous import Anonymized
from discreet.protect.automated_decisions import KINDS as DECISIONS
from discreet.protect.automated_decisions import AutomatedDecisions
from discreet.protect.cleaning import clean
from discreet.protect.erasure import Erasures, Register, holding, receipt_of
from discreet.protect.facts import GROUNDS, facts_of, text
from discreet.protect.finding import as_given, find_now
from discreet.protect.hierarchies import Hierarchy
from discreet.protect.holdings import Found
from discreet.protect.identifiers import check_new, partner_name, public_name
from discreet.protect.leaving import Leaving
from discreet.protect.local_recoding import LocalCopy
from discreet.protect.methods import method_named
from discreet.protect.private import open_private
from discreet.protect.pseudonyms import Pseudonymizer
from discreet.protect.reach import TROUBLE, Reached
from discreet.protect.receipts import Receipt
from discreet.protect.retention import Keep, Overdue, Retention
from discreet.protect.shredding import Shredder
from discreet.protect.shuffle import Order
from discreet.protect.spark_files import files_behind
from discreet.protect.stored_table import Progress
from discreet.protect.vault_keys import VaultKeys
from discreet.protect.vault_log import VaultLog
from discreet.protect.wrapping import KeyRing
from discreet.protect.writing import write_whole
from discreet.sources.files import find_files


class Vault:
    """Registered tables, the log of what is done with them, and the requests of people in them.

    ``url`` is a database as a ledger has it; an SQLite file is made readable by its owner alone. ``pseudonyms`` declares who
    is one person, and its keys open the vault: keys in the database are encrypted under a master key that is not in it.
    Opening a vault finishes erasures that a crash interrupted, unless ``resume`` is false, and removes what killed processes
    left; an erasure that still cannot be finished stands in the way of nobody else and is in ``unfinished``.
    ``retention`` takes out rows that were kept long enough; ``decisions`` records automated decisions, contests and reviews.

    Proof that an erasure is never half-done and forgotten: before anything is removed, the intent is committed to the
    log; each removal takes out whatever is left, so doing it again does no harm; the receipt is committed only after
    every registered table is done. Whenever the process dies, either there is no intent and nothing was removed, or the
    intent stands without a receipt and the next opening goes through all tables again and writes it. A file is replaced
    by one rename after the new one is on the disk, so it is always whole; rewriting happens under a lock of its folder,
    so that two erasures do not undo one another.
    """

    def __init__(
        self,
        url: str,
        pseudonyms: Pseudonymizer,
        *,
        name: str = "default",
        who: str | None = None,
        timeout: float = 30.0,
        resume: bool = True,
    ) -> None:
        if not isinstance(pseudonyms, Pseudonymizer):
            raise InvalidRequest(f"pseudonyms must be a Pseudonymizer, got {type(pseudonyms).__name__}")
        self.name = public_name(name, "the name of a vault")
        self._pseudonyms = pseudonyms
        # Before the database is touched: a vault without its keys could neither find a person nor sign.
        self._seed = pseudonyms.keys.key("receipts")  # type: ignore[union-attr]
        pseudonyms.derived("vault-key", self.name, pseudonyms.newest())
        self._database = open_private(url, timeout)
        try:
            self._ring = KeyRing(pseudonyms, self.name)
            self._log = VaultLog(self._database, self.name, who, self._ring.start)
            with self._database.transaction(write=False) as connection:
                self._cipher = pseudonyms.of_vault(self.name, self._ring.log_key(connection, self._log.id))
            self._shredder = Shredder(self._log, self._ring)
            self._register = Register(self._log, pseudonyms)
            self._erasures = Erasures(self._log, self._register, self._shredder, self._cipher, self._seed)
            self.retention = Retention(self._log, self._register, self._shredder, self._cipher, self._seed)
            self.decisions = AutomatedDecisions(self._log, self._pseudonyms, self._cipher, self._seed)
            self._keys = VaultKeys(self._log, self._ring, self._register, self._shredder)
            if resume:
                clean(self._log, self._register, self._shredder)
                with suppress(*TROUBLE):  # it stays unfinished, and others are served
                    self.resume()
        except BaseException:
            self._database.close()
            raise

    def close(self) -> None:
        """Close the connection; the vault object is of no use afterwards."""
        self._database.close()

    def __enter__(self) -> Vault:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def public_key(self) -> str:
        """The key that receipts are checked with; give it to whoever has to believe them."""
        return Receipt.sign({}, self._seed).public_key

    def register(
        self,
        name: str,
        table: Any = None,
        *,
        database: str | None = None,
        columns: dict[str, str] | None = None,
        token: tuple[str, str, str] | None = None,
        purpose: str,
        categories: Sequence[str],
        recipients: Sequence[str] = (),
        retention: str,
        ledger: str | None = None,
        due: Sequence[Any] | None = None,
    ) -> None:
        """Register a table: CSV or Parquet files, or with ``database`` a table of the vault's own database.

        A pattern such as ``visits-*.csv`` stands for the files there are at each request, not at registration. A Spark table
        stands for the Parquet files in its folder.

        A person's rows are those whose identifying columns (``columns`` renames fields) give their digest, or with
        ``token=("column", "partner", "data set")`` those with their token. ``purpose``, ``categories`` of data,
        ``recipients`` and ``retention`` go into the record of processing; ``ledger`` names the ledger in this database
        that paid for what was released from the table. ``due=("column", days)`` says when rows have been kept long enough:
        so many days after the date in that column, in ISO form or as a third value says, such as "%d.%m.%Y".
        """
        public_name(name, "the name of a table")
        if (table is None) == (database is None):
            raise InvalidRequest("a table must be given as files or as database='table', got both or neither")
        if type(table).__module__.startswith("pyspark."):
            table = files_behind(table)
        given = [] if table is None else [table] if isinstance(table, str | Path) else list(table)
        paths = [str(path) for path in find_files(given)] if given else []
        facts = {
            "name": name,
            "given": as_given(given),
            "paths": paths,
            "database": database,
            "columns": list(self._pseudonyms.columns(columns)) if token is None else [token[0]],
            "partner": None if token is None else [partner_name(token[1]), public_name(token[2], "data set")],
            **facts_of(purpose, categories, recipients, retention),
            "ledger": ledger,
        }
        if due is not None:
            facts["due"] = list(astuple(Keep.of(due)))
        if any(path.lower().endswith(".gz") for path in paths):
            raise InvalidRequest("a table that people can be erased from must not be compressed as .gz; use Parquet")
        with self._database.transaction(write=True) as connection:
            self._log.lock(connection)
            known = self._register.tables(connection)
            check_new(name, known, "a table")
            for other in known.values():
                here = {str(path) for path in find_now(other.get("given") or [], Reached())} | set(other["paths"])
                shared = set(paths) & here or ({database} - {None}) & {other["database"]}
                if shared:
                    raise InvalidRequest(f"a table must be registered once, and {shared.pop()!r} is, as {other['name']!r}")
            table_now = holding(facts, self._pseudonyms)
            table_now.check(connection)
            if due is not None:
                replace(table_now, finder=Overdue(Keep.of(due), date.min, table_now.finder, ())).check(connection)
            self._log.append(connection, "register", facts)

    def unregister(self, name: str, reason: str, *, override: bool = False) -> None:
        """Take a table out of the vault's care, such as one that was deleted; the log keeps that it was there.

        Refused while an erasure is unfinished. Where the table is lost for good, ``override`` does it nevertheless, and
        the receipt says that the person's rows there were not reached.
        """
        with self._database.transaction(write=True) as connection:
            self._log.lock(connection)
            if name not in self._register.tables(connection):
                raise UnknownName(
                    f"no table is registered as {name!r}; known: {', '.join(self._register.tables(connection)) or 'none'}"
                )
            if not override and self._erasures.unfinished(connection):
                raise InvalidRequest(
                    f"the table {name!r} must stay registered while an erasure is unfinished; run resume() first, or "
                    "override it (override=True, --override) if the table is lost"
                )
            self._log.append(connection, "unregister", {"name": name, "reason": text(reason, "reason")})

    def processing(
        self,
        activity: str,
        *,
        purpose: str,
        categories: Sequence[str],
        recipients: Sequence[str] = (),
        retention: str,
        people: str = "",
        transfers: str = "",
        security: str = "",
    ) -> None:
        """Record an activity of processing; the same activity again replaces what is said of it."""
        extra = {"activity": text(activity, "activity"), "people": people, "transfers": transfers, "security": security}
        self._log.write("processing", extra | facts_of(purpose, categories, recipients, retention))

    def use(self, table: str, purpose: str, recipient: str | None = None) -> None:
        """Log that a registered table was used, and by whom it was received, if by someone else."""
        with self._database.transaction(write=True) as connection:
            self._log.lock(connection)
            known = self._register.tables(connection)
            if table not in known:
                raise UnknownName(f"no table is registered as {table!r}; known: {', '.join(known) or 'none'}")
            self._log.append(
                connection, "use", {"table": table, "purpose": text(purpose, "purpose"), "recipient": recipient}
            )

    def seal(self, identity: Any, data: bytes) -> bytes:
        """Encrypt under a random key of this person, for copies that cannot be rewritten; ``erase`` destroys the key."""
        return self._shredder.seal(self._subject(self._pseudonyms.digest(identity)), data)

    def unseal(self, identity: Any, sealed: bytes) -> bytes:
        """What was sealed; refused for good once the person is erased."""
        return self._shredder.unseal(self._subject(self._pseudonyms.digest(identity)), sealed)

    def access(self, identity: Any) -> Access:
        """Everything held about a person, and the log of what was done with it. The request itself is logged."""
        person = self._pseudonyms.digest(identity)
        subject = self._subject(person)
        found = self._find(person)
        missed = {name: part.seen.missed for name, part in found.items() if part.seen.missed}
        counts = {name: part.rows.num_rows for name, part in found.items()}
        here = {name for name, rows in counts.items() if rows}
        earlier = self._log.rows(("access", "erase", "refuse", "receipt", *DECISIONS), subject)
        self._log.write("access", {"tables": counts, "missed": missed}, subject)
        if not here and not earlier and not self._shredder.holds(subject):
            raise self._absent(missed)
        with self._database.transaction(write=False) as connection:
            known = self._register.tables(connection)
        uses = [row for row in self._log.rows(("use", "copy")) if row.document["table"] in here]
        return Access(
            subject,
            {name: found[name].rows for name in found if name in here},
            [known[name] for name in known if name in here],
            [entry(row) for row in uses],
            [entry(row) for row in earlier],
            {name: part.unreadable for name, part in found.items() if part.unreadable},
            {name: part.seen.looked for name, part in found.items()},
            missed,
        )

    def erase(self, identity: Any, *, override: bool = False) -> Receipt:
        """Remove a person's rows from every registered table, and return the signed receipt.

        The receipt lists what was gone through and what could not be; a place that is there again at a later opening is gone
        through then, with a receipt of its own.
        A person who was erased before and has no rows now gets that receipt again, unless a place cannot be gone through now
        that could be then: that takes a receipt which says so. Nothing released before is undone,
        and no budget is refunded. Rows that arrive later are not kept out: stop the supply as well. Where a refusal is
        on record, the law may demand that the rows be kept: they go only with ``override``.
        """
        person = self._pseudonyms.digest(identity)
        subject = self._subject(person)
        for intent in self._erasures.unfinished():
            if intent.subject == subject:
                return self._erasures.finish(intent)
        decided = self._log.rows(("refuse", "receipt"), subject)
        if decided and decided[-1].kind == "refuse" and not override:
            raise InvalidRequest(
                f"this person's erasure was refused on {decided[-1].time} ({decided[-1].document['ground']}); "
                "override it (override=True, --override) if the ground no longer holds"
            )
        found = self._find(person)
        counts = {name: part.rows.num_rows for name, part in found.items()}
        sealed = self._shredder.holds(subject)
        if not any(counts.values()) and not sealed:
            missed = {name: part.seen.missed for name, part in found.items() if part.seen.missed}
            receipts = self._log.rows(("receipt",), subject)
            if not receipts:
                raise self._absent(missed)
            last = receipt_of(receipts[-1])
            if _places(missed) <= _places(last.missed):  # else it would say that more was gone through than can be
                return last
        links = {name: part.links for name, part in found.items() if part.links and counts[name]}
        facts = {"tables": counts, "sealed": sealed, "hard_links": links, "override": override}
        return self._erasures.finish(self._log.write("erase", facts, subject))

    def refuse(self, identity: Any, ground: str, note: str = "") -> dict[str, Any]:
        """Record that a request for erasure is refused, on a ground the law knows; what was recorded."""
        if ground not in GROUNDS:
            raise InvalidRequest(f"ground must be one of {', '.join(GROUNDS)}, got {ground!r}")
        person = self._pseudonyms.digest(identity)
        subject = self._subject(person)
        found = self._find(person)
        if not any(part.rows.num_rows for part in found.values()) and not self._shredder.holds(subject):
            raise self._absent({name: part.seen.missed for name, part in found.items() if part.seen.missed})
        if any(row.subject == subject for row in self._erasures.unfinished()):
            raise InvalidRequest("this person's erasure has begun and cannot be refused any more; finish it with resume()")
        return entry(self._log.write("refuse", {"ground": ground, "law": GROUNDS[ground], "note": note}, subject))

    def resume(self) -> list[Receipt]:
        """Finish every erasure that was begun and has no receipt, and those that missed a place which is there again.

        All are tried; what still stands in the way of one is raised after the others are done.
        """
        done, trouble = [], []
        for intent in [*self._erasures.unfinished(), *self._erasures.again()]:
            try:
                done.append(self._erasures.finish(intent))
            except TROUBLE as problem:
                trouble.append(problem)
        if trouble:
            raise trouble[0]
        return done

    @property
    def unfinished(self) -> list[str]:
        """The people, as the log knows them, whose erasure was begun and has no receipt yet."""
        return [row.subject or "" for row in self._erasures.unfinished()]

    @property
    def pseudonyms(self) -> Pseudonymizer:
        """Who is one person, with the keys of the vault."""
        return self._pseudonyms

    def paths(self, name: str) -> list[Path]:
        """The files of a registered table that there are now; refused where one that was named is lost."""
        return Leaving(self._log, self._register).paths(name)

    def keys(self) -> dict[int, int]:
        """How many keys in the database are under each version of the master key."""
        return self._keys.counts()

    def rotate(self) -> int:
        """Bring every key in the database under the newest master key; how many there were to bring.

        ``keys.add_version()`` makes a new one first. What the old one wrapped is overwritten.
        """
        return self._keys.rotate()

    def retire(self, version: int) -> None:
        """Give up an old master key: refused while a key in the database or a token in a registered table is under it.

        Refused as well while a file with tokens cannot be read, or another vault of the database is under it. The key is
        taken out of a key file; in the environment or a key service, remove it there. Tokens that partners hold under it
        cannot be translated afterwards: rotate them first, and vaults in other databases too. Copies of the key file, as in
        backups, keep it.
        """
        self._keys.retire(version)

    def anonymize(
        self,
        name: str,
        path: str | Path,
        quasi_identifiers: Sequence[str],
        hierarchies: Mapping[str, Hierarchy],
        k: int,
        *,
        recipient: str,
        override: bool = False,
        method: str = "full_domain",
        progress: Progress | None = None,
        row_order: Order = "shuffled",
        seed: int | None = None,
        **options: Any,
    ) -> Anonymized | LocalCopy:
        """Write an anonymous copy of a registered table for a recipient, unless it breaks what earlier copies promised.

        Before a copy leaves, its classes are joined with those of every copy of the table that left before: where a joint
        class has fewer than k rows, for the largest k that was promised, or breaks a rule on a sensitive column, it is
        refused; ``override`` lets it leave, and the log says so. What left is kept in the log as how it was made, and
        computed again on the table as it is. ``method`` is full_domain (``discreet.protect.anonymize``), mondrian or
        microaggregation, and ``options`` are those of its function; ``row_order`` and ``seed`` say the order of its rows.
        """
        options |= {"quasi_identifiers": quasi_identifiers, "hierarchies": hierarchies, "k": k}
        make = partial(method_named(method, options), **options)
        made = Leaving(self._log, self._register).check(name, path, make, recipient=recipient, override=override)
        made.write(path, progress, order=row_order, seed=seed)
        return made

    def receipts(self) -> list[Receipt]:
        """Every receipt, in order."""
        return [receipt_of(row) for row in self._log.rows(("receipt", "expired", "contest", "review"))]

    def log(self) -> list[dict[str, Any]]:
        """Every row of the log, in order."""
        return [entry(row) for row in self._log.rows()]

    def verify(self) -> int:
        """The number of rows of the log, after checking the chain of all and the signature of every receipt."""
        count = self._log.verify()
        for receipt in self.receipts():
            receipt.verify(self.public_key)
        return count

    def record(self) -> dict[str, Any]:
        """The record of processing: activities, tables, and how many requests of each kind there were."""
        rows = self._log.rows()
        with self._database.transaction(write=False) as connection:
            known = self._register.tables(connection)
        activities = {row.document["activity"]: row.document for row in rows if row.kind == "processing"}
        kinds = ("access", "copy", "erase", "receipt", "refuse", "use", "expired", *DECISIONS)
        return {
            "kind": "record of processing",
            "vault": self.name,
            "activities": list(activities.values()),
            "tables": [{k: v for k, v in facts.items() if k not in ("paths", "given")} for facts in known.values()],
            "requests": {kind: sum(row.kind == kind for row in rows) for kind in kinds},
        }

    def export(self, path: str | Path) -> Path:
        """The record of processing as a new JSON file."""
        place = Path(path)
        try:
            write_whole(place, json.dumps(self.record(), indent=1, ensure_ascii=False) + "\n")
        except OSError as problem:
            raise InvalidRequest(f"the record must go into a new file, and {str(place)!r}: {problem.strerror}") from None
        return place

    def _subject(self, person: bytes) -> str:
        return self._cipher.tokens([person])[0]

    def _absent(self, missed: dict[str, list[dict[str, Any]]]) -> UnknownName:
        # Nothing about who was asked for: the message may be shown or kept.
        places = [f"{place['place']} ({place['reason']})" for parts in missed.values() for place in parts]
        also = f"; not looked into: {', '.join(places)}" if places else ""
        return UnknownName(
            f"no registered table holds this identity; check its spelling and which tables are registered{also}"
        )

    def _find(self, person: bytes) -> dict[str, Found]:
        return {table.name: table.find(person, self._database) for table in self._register.holdings()}


def _places(missed: Mapping[str, list[dict[str, Any]]]) -> set[tuple[str, str]]:
    return {(name, place["place"]) for name, places in missed.items() for place in places}
