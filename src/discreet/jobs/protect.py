"""Pseudonyms, anonymous copies and a person's requests, as a job file asks for them: one function for each.

A job file says where the table is and what is wanted of it; paths in it are relative to the file. Nothing in it is
imported or run. The functions return what a command prints; they write the files that the job names, each whole or not
at all.

    table = "patients.parquet"            # all jobs on one table
    output = "patients-anonymous.csv"     # anonymize and pseudonymize
    report = "report.html"                # anonymize, if wanted

    row_order = "kept"                    # anonymize and pseudonymize: not in a new random order

    [identity]                            # pseudonymize, access, erase
    keys = "keys.json"                    # a key file; or keys = "environment"
    domain = "people"
    fields = [{ name = "name" }, { name = "born", date = "%d.%m.%Y" }]
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from discreet.core import toml
from discreet.core.labels import closest
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.protect.access_request import Access
from discreet.protect.analyses import check_target
from discreet.protect.anonymous import Anonymized, listed
from discreet.protect.hierarchies import Hierarchy, read_columns
from discreet.protect.keys import EnvironmentKeys, FileKeys, KeyStore
from discreet.protect.local_recoding import LocalCopy
from discreet.protect.methods import method_named
from discreet.protect.pseudonyms import Pseudonymizer
from discreet.protect.receipts import Receipt
from discreet.protect.report import write
from discreet.protect.risk import Check
from discreet.protect.risk import check as _check
from discreet.protect.scanning import Scan
from discreet.protect.scanning import scan as _scan
from discreet.protect.stored_table import Delimited, Progress, open_table
from discreet.protect.treatment import safe_harbour as told
from discreet.protect.upgrading import Upgraded
from discreet.protect.upgrading import upgrade as _upgrade
from discreet.protect.vault import Vault
from discreet.protect.writing import write_whole

_WANTED = (
    "k", "l", "t", "sensitive", "suppression", "metric", "diversity", "c", "weights", "at_most", "beta", "likeness",
    "disclosure", "insiders", "presence",
)  # fmt: skip
_LONGEST = 255  # bytes of the name of a file
_KINDS = {"metric": str, "diversity": str, "likeness": str, "weights": dict, "at_most": dict}


@dataclass(frozen=True)
class Job:
    """A job file that was read: its keys and the folder its paths start from."""

    facts: Mapping[str, Any]
    folder: Path
    name: str

    @staticmethod
    def read(source: str | Path) -> Job:
        """A job from its file."""
        facts, _ = toml.read(source, "job")
        return Job(facts, Path(source).parent, str(source))

    def only(self, *known: str) -> Job:
        """The same job, after refusing keys that this command does not know."""
        for key in self.facts:
            if key not in known:
                raise UnsupportedFormat(f"{self.name}: unknown key {key!r}{closest(key, known)}")
        return self

    def get(self, key: str, kind: type, default: Any = None) -> Any:
        """The value of a key, of a kind; without a default it has to be there."""
        if key not in self.facts and default is not None:
            return default
        value = self.facts.get(key)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise UnsupportedFormat(f"{self.name}: {key} must be given as {kind.__name__}, got {value!r}")
        return value

    def path(self, key: str) -> Path:
        """The path under a key."""
        return self.folder / self._plain(key)

    def table(self, key: str = "table") -> Path | Delimited:
        """The table under a key, its cells separated by ``delimiter`` where the job says one."""
        path = self.path(key)
        return Delimited(path, self.get("delimiter", str)) if "delimiter" in self.facts else path

    def names(self, key: str, default: list[str] | None = None) -> list[str]:
        """A list of names under a key."""
        found: list[str] = self.get(key, list, default)
        if not all(isinstance(name, str) for name in found):
            raise UnsupportedFormat(f"{self.name}: {key} must be a list of names, got {found!r}")
        return found

    def pairs(self, key: str) -> dict[str, str]:
        """A table of names to names under a key; none where it is left out."""
        found: dict[str, str] = self.get(key, dict, {})
        if not all(isinstance(name, str) for name in found.values()):
            raise UnsupportedFormat(f"{self.name}: {key} must say a name for each name, got {found!r}")
        return found

    def _plain(self, key: str) -> str:
        text = str(self.get(key, str))
        if (
            not text
            or "\0" in text
            or any(len(part.encode("utf-8", "surrogatepass")) > _LONGEST for part in text.split("/"))
        ):
            raise UnsupportedFormat(f"{self.name}: {key} must be a path, got {text[:100]!r}")
        return text

    def pseudonymizer(self) -> Pseudonymizer:
        """Who is one person, from the table ``identity``."""
        part = Job(self.get("identity", dict), self.folder, f"{self.name}, [identity]").only("keys", "domain", "fields")
        where = part._plain("keys")
        keys: KeyStore = EnvironmentKeys() if where == "environment" else FileKeys(self.folder / where)
        return Pseudonymizer(part.get("fields", list), keys, part.get("domain", str, "people"))

    def vault(self) -> Vault:
        """The vault, from ``vault`` (the address of its database) and ``identity``."""
        return Vault(self.address(), self.pseudonymizer())

    def address(self) -> str:
        """The address of the vault's database, from ``vault``."""
        url = self._plain("vault")
        # A relative SQLite path means the job's folder, as every other path in the file does.
        start = "sqlite:///"
        if url.startswith(start) and not url.startswith("sqlite:////") and url != start:
            url = f"{start}{(self.folder / url.removeprefix(start)).absolute()}"
        return url


def pseudonymize(source: str | Path, progress: Progress | None = None) -> int:
    """Write the table with tokens, and return its rows.

    Keys ``table``, ``output``, ``partner``, ``data_set``, ``column``, ``columns``, ``keep``, ``row_order``, ``identity`` and
    ``receives``, the columns that this partner is given; without it all but the identity. ``shift_dates`` (with ``days``)
    and ``same_format`` list columns whose dates are moved and whose numbers become others.
    """
    known = (
        "table", "output", "partner", "data_set", "column", "columns", "keep", "row_order", "identity", "receives",
        "delimiter", "shift_dates", "days", "same_format",
    )  # fmt: skip
    job = Job.read(source).only(*known)
    return job.pseudonymizer().write(
        job.table(),
        job.path("output"),
        job.get("partner", str),
        job.get("data_set", str, "default"),
        progress=progress,
        order=job.get("row_order", str, "shuffled"),
        column=job.get("column", str, "token"),
        columns=job.pairs("columns"),
        keep=job.facts.get("keep", False) is True,
        receives=job.names("receives") if "receives" in job.facts else None,
        shift_dates=job.names("shift_dates", []),
        days=job.get("days", int, 365),
        same_format=job.names("same_format", []),
    )


def anonymize(
    source: str | Path, progress: Progress | None = None, *, override: bool = False, node: str | None = None
) -> Anonymized | LocalCopy:
    """Write the anonymous copy, and the report where one is named.

    Keys ``table``, ``quasi_identifiers``, ``hierarchies`` (a table for each column), ``output``, ``report``, ``row_order``,
    ``method`` (full_domain, mondrian or microaggregation), and those of ``discreet.protect.anonymize``. Of the other
    columns, ``drop`` lists those that are left out, or ``keep`` those that are copied. ``target`` and ``positive`` say what
    the report's regression predicts. With ``vault`` and ``identity``, ``table`` is the name of a registered table,
    ``recipient`` says who gets the copy, and it leaves only if the copies that left before allow it, or with ``override``.
    ``node`` chooses another safe node: ``age=1,zip=2``.
    """
    known = (
        "table", "delimiter", "output", "report", "quasi_identifiers", "hierarchies", "keep", "drop", "row_order", "method",
        "population", "order", "target", "positive",
    )  # fmt: skip
    job = Job.read(source)
    registered = "vault" in job.facts
    job.only(*known, *_WANTED, *(("vault", "identity", "recipient") if registered else ()))
    job.get("k", int)
    for key in ("output", "report"):
        if key in job.facts and job.path(key).exists():
            raise InvalidRequest(f"the file to write must not exist yet, got {str(job.path(key))!r}; remove it")
    hierarchies = read_columns(job.get("hierarchies", dict), job.folder)
    options = {key: job.facts[key] for key in _WANTED if key in job.facts}
    for key, kind in _KINDS.items():
        if key in options:
            job.get(key, kind)
    if not isinstance(options.get("sensitive", ""), str):
        job.names("sensitive")
    options |= _declared(job)
    names = job.names("quasi_identifiers")
    used = [*names, *listed(options.get("sensitive"))]
    order = job.get("row_order", str, "shuffled")
    method = job.get("method", str, "full_domain")
    if node is not None and (registered or method != "full_domain"):
        raise InvalidRequest(
            "a node is chosen for a full-domain copy of a table file; for a vault say at_most in the job file instead"
        )
    make = method_named(method, options)
    if "report" in job.facts and method != "full_domain":
        raise InvalidRequest(f"a report is about levels, which the method {method!r} does not have; leave it out")
    if registered:
        with job.vault() as vault:
            name = job.get("table", str)
            where = vault.paths(name)
            drop = _dropped(job, used, where)
            _check_target(job, names, where)
            options |= {"drop": drop, "row_order": order, "progress": progress, "override": override, "method": method}
            k, to = options.pop("k"), job.get("recipient", str)
            result = vault.anonymize(name, job.path("output"), names, hierarchies, k, recipient=to, **options)
    else:
        _check_target(job, names, job.table())
        result = make(job.table(), names, hierarchies, drop=_dropped(job, used, job.table()), **options)
        if node is not None:
            result = _at(result, node)
        if "output" in job.facts:
            result.write(job.path("output"), progress, order=order)
    if "report" in job.facts and isinstance(result, Anonymized):
        target = job.get("target", str) if "target" in job.facts else None
        title = f"Anonymous copy of {Path(job.get('table', str)).name}"
        write(result, job.path("report"), title, target, job.facts.get("positive"))
    return result


def _check_target(job: Job, names: Sequence[str], where: Path | Delimited | list[Path]) -> None:
    """What the report is to predict is looked at before a copy is written: else it would have left without its report."""
    if "target" in job.facts or "positive" in job.facts:
        job.path("report")
        check_target(open_table(where), names, job.get("target", str), job.facts.get("positive"))


def safe_harbour(copy: Anonymized | LocalCopy) -> list[list[str]]:
    """What a copy did to each of the eighteen identifiers of HIPAA's safe harbour: identifier, columns, words."""
    return [list(row) for row in told(copy)]


def _at(result: Anonymized, node: str) -> Anonymized:
    """The copy at another node, written as column=level with commas between."""
    parts = [part.rpartition("=") for part in node.split(",")]
    if any(not sep or not level.strip().isdecimal() for _, sep, level in parts):
        raise InvalidRequest(f"a node is written as age=1,zip=2, got {node!r}")
    return result.at({name.strip(): int(level) for name, _, level in parts})


def _declared(job: Job) -> dict[str, Any]:
    """The population, a path, and the order of sensitive values, which may be a hierarchy like those of columns."""
    made: dict[str, Any] = {"population": job.table("population")} if "population" in job.facts else {}
    if "order" in job.facts:
        order = job.facts["order"]
        made["order"] = Hierarchy.from_dict(order, job.folder) if isinstance(order, dict) else order
    return made


def _dropped(job: Job, used: list[str], where: Path | Delimited | list[Path]) -> list[str]:
    """The columns to leave out: ``drop``, or all that are neither used nor in ``keep``."""
    if "keep" not in job.facts:
        return job.names("drop", [])
    if "drop" in job.facts:
        raise UnsupportedFormat(f"{job.name}: keep and drop say the same thing twice; give one of them")
    keep = job.names("keep")
    table = open_table(where)
    table.check(keep)
    return [name for name in table.columns if name not in (*used, *keep)]


def check(source: str | Path) -> Check:
    """Measure a table; keys ``table``, ``quasi_identifiers``, and those of ``discreet.protect.check``."""
    plain = ("sensitive", "l", "people")
    job = Job.read(source).only("table", "delimiter", "quasi_identifiers", "population", "order", *plain)
    options = _declared(job) | {key: job.facts[key] for key in plain if key in job.facts}
    for key, kind in (("sensitive", str), ("l", int), ("people", int)):
        if key in options:
            job.get(key, kind)
    return _check(job.table(), job.names("quasi_identifiers"), **options)


def scan(table: Path, plan: Path | None = None, delimiter: str | None = None) -> Scan:
    """Look at every column of a table, and write the beginning of a job file to a new file where one is given."""
    found = _scan(table if delimiter is None else Delimited(table, delimiter))
    if plan is not None:
        write_whole(plan, found.plan())
    return found


def access(source: str | Path, identity: Mapping[str, str]) -> Access:
    """Everything a vault holds about a person; keys ``vault`` and ``identity``."""
    with _vault(source) as vault:
        return vault.access(dict(identity))


def erase(source: str | Path, identity: Mapping[str, str], *, override: bool = False, out: Path | None = None) -> Receipt:
    """Erase a person from everything a vault looks after, and write the receipt to a new file where one is given."""
    return _kept(out, source, lambda vault: vault.erase(dict(identity), override=override))


def refuse(source: str | Path, identity: Mapping[str, str], ground: str, note: str = "") -> dict[str, Any]:
    """Record that an erasure is refused; keys ``vault`` and ``identity``."""
    with _vault(source) as vault:
        return vault.refuse(dict(identity), ground, note)


def due(source: str | Path, on: date | None, *, dry_run: bool) -> dict[str, Any]:
    """What fell due in a vault's tables by a day; removed, unless it is a dry run."""
    with _vault(source) as vault:
        if not dry_run:
            return {"kind": "expired", "receipts": [json.loads(one.to_json()) for one in vault.retention.expire(on)]}
        found = vault.retention.due(on)
        return {
            "kind": "due",
            "tables": {name: part.rows.num_rows for name, part in found.items()},
            "rows_without_date": {name: part.unreadable for name, part in found.items() if part.unreadable},
            "missed": {name: part.seen.missed for name, part in found.items() if part.seen.missed},
        }


def decide(source: str | Path, identity: Mapping[str, str], decision: str, made_by: str) -> int:
    """Record an automated decision about a person; its number."""
    with _vault(source) as vault:
        return vault.decisions.record(dict(identity), decision, made_by)


def contest(source: str | Path, identity: Mapping[str, str], number: int, reason: str, out: Path | None) -> Receipt:
    """Record that a person contests a decision, and write the receipt to a new file where one is given."""
    return _kept(out, source, lambda vault: vault.decisions.contest(dict(identity), number, reason))


def review(source: str | Path, number: int, reviewer: str, outcome: str, reason: str, out: Path | None) -> Receipt:
    """Record what a human made of a contested decision, and write the receipt to a new file where one is given."""
    return _kept(out, source, lambda vault: vault.decisions.review(number, reviewer, outcome, reason))


def waiting(source: str | Path) -> list[dict[str, Any]]:
    """The contests that nobody has reviewed."""
    with _vault(source) as vault:
        return vault.decisions.waiting()


def register(source: str | Path, name: str, files: Sequence[str], **facts: Any) -> None:
    """Register a table with a vault; paths and patterns are taken from where the job lies."""
    job = Job.read(source).only("vault", "identity")
    given = [str(job.folder / path) for path in files]
    with job.vault() as vault:
        vault.register(name, given or None, **facts)


def unregister(source: str | Path, name: str, reason: str, *, override: bool = False) -> None:
    """Take a table out of a vault's care."""
    with _vault(source) as vault:
        vault.unregister(name, reason, override=override)


def create_keys(source: str | Path) -> Path:
    """Make the key file that the job names."""
    keys = Job.read(source).only("vault", "identity").pseudonymizer().keys
    if not isinstance(keys, FileKeys):
        raise InvalidRequest('keys can be made in a file only, got keys = "environment"; export them instead')
    return FileKeys.create(keys.path).path


def keys(source: str | Path) -> dict[int, int]:
    """How many keys of a vault are under each version of the master key."""
    with _vault(source) as vault:
        return vault.keys()


def public_key(source: str | Path) -> str:
    """The key that a vault's receipts are checked with: give it out, apart from the receipts."""
    with _vault(source) as vault:
        return vault.public_key


def rotate(source: str | Path) -> tuple[int, int]:
    """Make a new master key where there is a key file, and bring a vault's keys under the newest: how many, and which."""
    job = Job.read(source).only("vault", "identity")
    with job.vault() as vault:
        store = vault.pseudonyms.keys
        if isinstance(store, FileKeys):
            store.add_version()
        return vault.rotate(), vault.pseudonyms.newest()


def retire(source: str | Path, version: int) -> None:
    """Give up an old master key that nothing is under any more."""
    with _vault(source) as vault:
        vault.retire(version)


def verify(source: str | Path) -> int:
    """The number of rows of a vault's log, after checking all of it and every receipt."""
    with _vault(source) as vault:
        return vault.verify()


def verify_receipt(receipt: str | Path, public_key: str) -> Receipt:
    """The receipt in a file, after checking that it carries the signature of a public key."""
    try:
        text = Path(receipt).read_text(encoding="utf-8")
    except (OSError, ValueError) as problem:
        raise UnsupportedFormat(f"{receipt}: the receipt cannot be read ({problem}); check the path") from None
    found = Receipt.from_json(text)
    found.verify(public_key)
    return found


def export(source: str | Path, path: str | Path) -> Path:
    """Write the record of processing of a vault to a new file."""
    with _vault(source) as vault:
        return vault.export(path)


def upgrade(source: str | Path) -> Upgraded:
    """Bring a vault of 0.1.0 up to date."""
    job = Job.read(source).only("vault", "identity")
    return _upgrade(job.address(), job.pseudonymizer())


def _vault(source: str | Path) -> Vault:
    return Job.read(source).only("vault", "identity").vault()


def _kept(out: Path | None, source: str | Path, work: Callable[[Vault], Receipt]) -> Receipt:
    """The receipt of some work on a vault, in a new file as well where one is given, which is looked at first."""
    if out is not None and out.exists():
        raise InvalidRequest(f"the receipt must go into a new file, got {str(out)!r}, which exists; choose another name")
    with _vault(source) as vault:
        receipt = work(vault)
    if out is not None:
        write_whole(out, receipt.to_json() + "\n")
    return receipt
