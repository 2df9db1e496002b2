"""What the command line does with the protect package: one function for each command, driven by a TOML document.

A job file says where the table is and what is wanted of it; paths in it are relative to the file. Nothing in it is
imported or run. The functions return what a command prints; they write the files that the job names, each whole or not
at all.

    table = "patients.parquet"            # all jobs on one table
    output = "patients-anonymous.csv"     # anonymize and pseudonymize
    report = "report.html"                # anonymize, if wanted

    [identity]                            # pseudonymize, access, erase
    keys = "keys.json"                    # a key file; or keys = "environment"
    domain = "people"
    fields = [{ name = "name" }, { name = "born", date = "%d.%m.%Y" }]
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.core.schema import closest
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.protect.anonymous import Anonymized
from discreet.protect.anonymous import anonymize as _anonymize
from discreet.protect.hierarchies import read_columns
from discreet.protect.keys import EnvironmentKeys, FileKeys, KeyStore
from discreet.protect.pseudonyms import Pseudonymizer
from discreet.protect.receipts import Receipt
from discreet.protect.risk import Check
from discreet.protect.risk import check as _check
from discreet.protect.tables import Progress, open_table
from discreet.protect.vault import Access, Vault

_WANTED = ("k", "l", "t", "sensitive", "suppression", "metric", "diversity", "c", "order", "weights", "at_most")


@dataclass(frozen=True)
class Job:
    """A job file that was read: its keys and the folder its paths start from."""

    facts: Mapping[str, Any]
    folder: Path
    name: str

    @staticmethod
    def read(source: str | Path) -> Job:
        """A job from its file."""
        path = Path(source)
        try:
            facts = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as problem:
            raise UnsupportedFormat(f"{path}: the job cannot be read ({problem}); check the path") from None
        except tomllib.TOMLDecodeError as problem:
            raise UnsupportedFormat(f"{path}: not valid TOML: {problem}") from None
        return Job(facts, path.parent, str(path))

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
        if not isinstance(value, kind):
            raise UnsupportedFormat(f"{self.name}: {key} must be given as {kind.__name__}, got {value!r}")
        return value

    def path(self, key: str) -> Path:
        """The path under a key."""
        return self.folder / str(self.get(key, str))

    def pseudonymizer(self) -> Pseudonymizer:
        """Who is one person, from the table ``identity``."""
        part = Job(self.get("identity", dict), self.folder, f"{self.name}, [identity]").only("keys", "domain", "fields")
        where = part.get("keys", str)
        keys: KeyStore = EnvironmentKeys() if where == "environment" else FileKeys(self.folder / where)
        return Pseudonymizer(part.get("fields", list), keys, part.get("domain", str, "people"))

    def vault(self) -> Vault:
        """The vault, from ``vault`` (the address of its database) and ``identity``."""
        url = str(self.get("vault", str))
        # A relative SQLite path means the job's folder, as every other path in the file does.
        start = "sqlite:///"
        if url.startswith(start) and not url.startswith("sqlite:////") and url != start:
            url = f"{start}{(self.folder / url.removeprefix(start)).absolute()}"
        return Vault(url, self.pseudonymizer())


def pseudonymize(source: str | Path, progress: Progress | None = None) -> int:
    """Write the table with tokens, and return its rows.

    Keys ``table``, ``output``, ``partner``, ``data_set``, ``column``, ``columns``, ``keep`` and ``identity``.
    """
    job = Job.read(source).only("table", "output", "partner", "data_set", "column", "columns", "keep", "identity")
    return job.pseudonymizer().write(
        job.path("table"),
        job.path("output"),
        job.get("partner", str),
        job.get("data_set", str, "default"),
        progress=progress,
        column=job.get("column", str, "token"),
        columns=job.get("columns", dict, {}),
        keep=job.facts.get("keep", False) is True,
    )


def anonymize(source: str | Path, progress: Progress | None = None) -> Anonymized:
    """Write the anonymous copy, and the report where one is named.

    Keys ``table``, ``quasi_identifiers``, ``hierarchies`` (a table for each column), ``output``, ``report``, and those of
    ``discreet.protect.anonymize``. Of the other columns, ``drop`` lists those that are left out, or ``keep`` those that
    are copied.
    """
    job = Job.read(source).only("table", "output", "report", "quasi_identifiers", "hierarchies", "keep", "drop", *_WANTED)
    job.get("k", int)
    for key in ("output", "report"):
        if key in job.facts and job.path(key).exists():
            raise InvalidRequest(f"the file to write must not exist yet, got {str(job.path(key))!r}; remove it")
    hierarchies = read_columns(job.get("hierarchies", dict), job.folder)
    options = {key: job.facts[key] for key in _WANTED if key in job.facts}
    names = job.get("quasi_identifiers", list)
    drop = _dropped(job, [*names, *([job.facts["sensitive"]] if "sensitive" in job.facts else [])])
    result = _anonymize(job.path("table"), names, hierarchies, drop=drop, **options)
    if "output" in job.facts:
        result.write(job.path("output"), progress)
    if "report" in job.facts:
        from discreet.protect.report import write

        write(result, job.path("report"), f"Anonymous copy of {job.path('table').name}")
    return result


def _dropped(job: Job, used: list[str]) -> list[str]:
    """The columns to leave out: ``drop``, or all that are neither used nor in ``keep``."""
    if "keep" not in job.facts:
        return list(job.get("drop", list, []))
    if "drop" in job.facts:
        raise UnsupportedFormat(f"{job.name}: keep and drop say the same thing twice; give one of them")
    keep = job.get("keep", list)
    table = open_table(job.path("table"))
    table.check(keep)
    return [name for name in table.columns if name not in (*used, *keep)]


def check(source: str | Path) -> Check:
    """Measure a table; keys ``table``, ``quasi_identifiers``, ``sensitive``, ``l``, ``order``, ``population``."""
    job = Job.read(source).only("table", "quasi_identifiers", "sensitive", "l", "order", "population")
    options = {key: job.facts[key] for key in ("sensitive", "l", "order") if key in job.facts}
    if "population" in job.facts:
        options["population"] = job.path("population")
    return _check(job.path("table"), job.get("quasi_identifiers", list), **options)


def access(source: str | Path, identity: Mapping[str, str]) -> Access:
    """Everything a vault holds about a person; keys ``vault`` and ``identity``."""
    with _vault(source) as vault:
        return vault.access(dict(identity))


def erase(source: str | Path, identity: Mapping[str, str], *, override: bool = False) -> Receipt:
    """Erase a person from everything a vault looks after; keys ``vault`` and ``identity``."""
    with _vault(source) as vault:
        return vault.erase(dict(identity), override=override)


def refuse(source: str | Path, identity: Mapping[str, str], ground: str, note: str = "") -> dict[str, Any]:
    """Record that an erasure is refused; keys ``vault`` and ``identity``."""
    with _vault(source) as vault:
        return vault.refuse(dict(identity), ground, note)


def _vault(source: str | Path) -> Vault:
    return Job.read(source).only("vault", "identity").vault()
