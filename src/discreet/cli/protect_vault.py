"""``discreet protect`` on a vault: tables, keys, and what a person may ask for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet import jobs
from discreet.cli import show
from discreet.errors import InvalidRequest

JobFile = Annotated[
    Path, typer.Argument(help="The job file; docs/how-to/protect.md shows one of each kind.", metavar="JOB.toml")
]
Who = Annotated[list[str], typer.Option("--identity", "-i", help="One identifying field, as name=value; repeat it.")]
Name = Annotated[str, typer.Argument(help="The name the table is registered as.", metavar="NAME")]


def register(group: typer.Typer) -> None:
    """Add the commands."""
    for command in (register_table, unregister, keys, rotate, access, erase, refuse, verify, export, upgrade):
        group.command("register" if command is register_table else command.__name__)(command)


def register_table(
    job: JobFile,
    name: Name,
    purpose: Annotated[str, typer.Option("--purpose", help="What the table is kept for.")],
    category: Annotated[list[str], typer.Option("--category", help="A category of data in it; repeat it.")],
    retention: Annotated[str, typer.Option("--retention", help="How long it is kept, in words.")],
    table: Annotated[
        list[str] | None,
        typer.Option("--table", help="A file, or a quoted pattern that is read again at every request; repeat it."),
    ] = None,
    database: Annotated[str | None, typer.Option("--database", help="Instead: a table of the vault's own database.")] = None,
    recipient: Annotated[list[str] | None, typer.Option("--recipient", help="Who receives it; repeat it.")] = None,
    column: Annotated[
        list[str] | None, typer.Option("--column", help="A field called otherwise in this table, as field=column.")
    ] = None,
    token: Annotated[
        str | None, typer.Option("--token", help="People are in it as tokens: column,partner,data set.")
    ] = None,
    ledger: Annotated[str | None, typer.Option("--ledger", help="The ledger that paid for its releases.")] = None,
    due: Annotated[
        str | None, typer.Option("--due", help="When rows fall due: day,3650 or day,3650,%d.%m.%Y, days after that column.")
    ] = None,
    json: show.Json = False,
) -> None:
    """Put a table into the vault's care: its people can then ask for access and erasure."""
    parts = None if token is None else tuple(token.split(","))
    if parts is not None and len(parts) != 3:
        raise InvalidRequest(f"--token must be column,partner,data set, got {token!r}")
    jobs.protect.register(
        job,
        name,
        table or [],
        database=database,
        columns=pairs(column or [], "--column field=column"),
        token=parts,
        purpose=purpose,
        categories=category,
        recipients=recipient or [],
        retention=retention,
        ledger=ledger,
        due=None if due is None else _due(due),
    )
    tell(json, {"kind": "registered", "name": name}, f"Registered {name}.")


def unregister(
    job: JobFile,
    name: Name,
    reason: Annotated[str, typer.Option("--reason", help="Why, in words; the log keeps it.")],
    override: Annotated[bool, typer.Option("--override", help="Although an erasure is unfinished: it is lost.")] = False,
    json: show.Json = False,
) -> None:
    """Take a table out of the vault's care; the log keeps that it was there."""
    jobs.protect.unregister(job, name, reason, override=override)
    tell(json, {"kind": "unregistered", "name": name}, f"Unregistered {name}.")


def keys(
    job: JobFile,
    create: Annotated[bool, typer.Option("--create", help="Make the key file that the job names.")] = False,
    retire: Annotated[int | None, typer.Option("--retire", help="Give up this old version of the master key.")] = None,
    json: show.Json = False,
) -> None:
    """Make a key file, see what is under each master key, or retire one that nothing is under any more."""
    if create:
        path = jobs.protect.create_keys(job)
        tell(
            json, {"kind": "keys created", "path": str(path)}, f"Wrote {path}, readable by you only. Keep it apart and safe."
        )
        return
    if retire is not None:
        jobs.protect.retire(job, retire)
        tell(
            json, {"kind": "key retired", "version": retire}, f"Retired master key {retire}; copies of the key file keep it."
        )
        return
    found, public_key = jobs.protect.keys(job), jobs.protect.public_key(job)
    if json:
        versions = {str(version): count for version, count in found.items()}
        show.document({"kind": "keys", "versions": versions, "public_key": public_key})
        return
    show.table("Master keys", ["version", "keys under it"], [[str(v), str(n)] for v, n in found.items()])
    show.say(f"Receipts are checked with the public key {public_key}.")


def rotate(job: JobFile, json: show.Json = False) -> None:
    """Make a new master key in the key file, and bring every key in the vault under the newest one."""
    count, version = jobs.protect.rotate(job)
    tell(json, {"kind": "rotated", "keys": count, "version": version}, f"Brought {count} keys under master key {version}.")


def access(job: JobFile, identity: Who, json: show.Json = False) -> None:
    """Everything the vault's tables hold about a person, with the log of uses."""
    found = jobs.protect.access(job, identity_of(identity)).to_dict()
    if json:
        show.document({"kind": "access", **found})
        return
    for name, rows in found["rows"].items():
        columns = list(rows[0]) if rows else []
        show.table(f"Table {name!r}", columns, [[str(v) for v in row.values()] for row in rows])
    show.say(f"Subject {found['subject']}; {len(found['uses'])} uses and {len(found['requests'])} requests on record.")
    missed_words(found["missed"])


def erase(
    job: JobFile,
    identity: Who,
    override: Annotated[
        bool, typer.Option("--override", help="Although it was refused: the ground no longer holds.")
    ] = False,
    out: Annotated[Path | None, typer.Option("--receipt", help="Write the receipt to this new file as well.")] = None,
    json: show.Json = False,
) -> None:
    """Erase a person from everything the vault looks after, and print the signed receipt."""
    receipt = jobs.protect.erase(job, identity_of(identity), override=override, out=out)
    gone = ", ".join(f"{n} rows of {name}" for name, n in receipt.tables.items()) or "nothing was there"
    told = ", ".join(receipt.recipients) or "nobody"
    document = {
        "kind": "erased",
        "receipt": receipt.document,
        "signature": receipt.signature,
        "public_key": receipt.public_key,
    }
    tell(json, document, f"Erased {gone}. To be notified: {told}. No budget comes back. Signature {receipt.signature}")
    if not json:
        missed_words(receipt.missed)


def refuse(
    job: JobFile,
    identity: Who,
    ground: Annotated[str, typer.Option("--ground", help='Such as "legal obligation" or "public interest".')],
    note: Annotated[str, typer.Option("--note", help="Words for the record.")] = "",
    json: show.Json = False,
) -> None:
    """Record that an erasure is refused, and on which ground."""
    found = jobs.protect.refuse(job, identity_of(identity), ground, note)
    tell(json, {"kind": "refused", **found}, f"Recorded: erasure refused on the ground {ground!r}.")


def verify(
    job: Annotated[Path, typer.Argument(help="The job file of a vault, or a receipt in JSON.", metavar="JOB.toml")],
    public_key: Annotated[
        str | None, typer.Option("--public-key", help="The file is a receipt: check it with this key.")
    ] = None,
    json: show.Json = False,
) -> None:
    """Check a vault's log and its receipts, or with --public-key one receipt."""
    if public_key is not None:
        receipt = jobs.protect.verify_receipt(job, public_key)
        document = {"kind": "verified", "receipt": receipt.document, "complete": receipt.complete}
        tell(json, document, f"The receipt is genuine: {receipt.words}.")
        return
    if job.suffix == ".json":
        raise InvalidRequest(
            f"a receipt is checked with the public key of its vault, got none for {str(job)!r}; give --public-key with the "
            "key that `discreet protect keys` shows"
        )
    rows = jobs.protect.verify(job)
    tell(json, {"kind": "verified", "rows": rows}, f"All {rows} rows of the log and every receipt are as they were written.")


def export(
    job: JobFile,
    path: Annotated[Path, typer.Argument(help="The new file.", metavar="RECORD.json")],
    json: show.Json = False,
) -> None:
    """Write the record of processing to a new file."""
    tell(json, {"kind": "exported", "path": str(jobs.protect.export(job, path))}, f"Wrote {path}.")


def upgrade(job: JobFile, json: show.Json = False) -> None:
    """Bring a vault that 0.1.0 wrote up to date; names the backup, which has keys in clear, so that you can destroy it."""
    done = jobs.protect.upgrade(job)
    document = {
        "kind": "upgraded",
        "keys": done.keys,
        "backups": [str(backup) for backup in done.backups],
        "overwritten": done.overwritten,
        "several_files": done.several_files,
    }
    tell(json, document, f"Wrapped {done.keys} keys. 0.1.0 let others read them: seal copies again where that matters.")
    if json:
        return
    for backup in done.backups:
        show.say(f"The backup {backup} holds the keys in clear: destroy it (shred -u) once the vault has proved good.")
    if not done.overwritten:
        show.say("Another program has the database open: the keys in clear are overwritten at the next opening without it.")
    if done.several_files:
        names = ", ".join(done.several_files)
        show.say(f"Of these tables the files of that day are known, but no pattern: {names}. Register them again with it.")


def missed_words(missed: dict[str, list[dict[str, Any]]]) -> None:
    """Say which places could not be gone through."""
    for name, places in missed.items():
        for place in places:
            show.say(f"NOT reached in {name}: {place['place']} ({place['reason']})")


def pairs(given: list[str], form: str) -> dict[str, str]:
    """Options such as name=value as a mapping."""
    parts = [text.partition("=") for text in given]
    if any(not sep or not name for name, sep, _ in parts):
        raise InvalidRequest(f"{form.split(maxsplit=1)[0]} must be given as {form}, got {given}")
    return {name: value for name, _, value in parts}


def _due(given: str) -> list[Any]:
    column, days, *form = given.split(",", 2) if "," in given else (given, "")
    if not days.strip().isdecimal():
        raise InvalidRequest(f"--due must be column,days, such as day,3650, got {given!r}")
    return [column, int(days), *form]


def identity_of(given: list[str]) -> dict[str, str]:
    """Who is meant, from options."""
    if not given or any("=" not in text or text.startswith("=") for text in given):
        raise InvalidRequest(f"an identity is given as --identity name=value, got {given}")
    return pairs(given, "--identity name=value")


def tell(json: bool, document: dict[str, Any], words: str) -> None:
    """The document for programs, or the words for people."""
    show.document(document) if json else show.say(words)
