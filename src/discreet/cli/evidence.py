"""``discreet evidence``: one folder for a review board."""

from __future__ import annotations

import json as _json
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet import jobs
from discreet.cli import show
from discreet.errors import UnsupportedFormat


def register(app: typer.Typer) -> None:
    """Add the command ``evidence``."""
    app.command("evidence")(evidence)


def evidence(
    file: Annotated[Path, typer.Argument(help="The release file whose ledger paid.", metavar="FILE")],
    about: Annotated[Path, typer.Argument(help="A file in TOML with names and purpose.", metavar="ABOUT")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write into.")] = Path("evidence"),
    key: Annotated[
        Path | None,
        typer.Option("--key", help="The private key that signs; made where there is none, beside FILE."),
    ] = None,
    audit: Annotated[
        Path | None, typer.Option("--audit", help="The audit.json of `discreet audit`; without it, a quick audit is made.")
    ] = None,
    json: show.Json = False,
) -> None:
    """Write what a review board needs about FILE's deployment into one folder. Reads no record.

    registry.yaml describes the deployment, ledger_head.json is the ledger's signed head with the digests of the other files,
    public_key.txt checks it, audit.csv holds what the auditor certified, proofs.csv where each claim is proved and tested,
    and people.html is for the people in the table. README.md says how to read and check them.
    """
    from discreet.service.signing import Signer

    release, names = jobs.release_file.read(file), jobs.evidence.read_about(about)
    with jobs.output.folder_for(out, jobs.evidence.FILES) as write:
        signer = Signer(key or file.parent / "evidence.key")
        found = _audit(audit)
        document = jobs.evidence.written(release, names, found, lambda text: (signer.public, signer.sign_head(text)), write)
    if json:
        show.document(document)
        return
    show.say(f"Wrote {', '.join(jobs.evidence.FILES)} into {out}.")
    show.say(f"Give the board this public key by another way: {signer.public}")


def _audit(path: Path | None) -> list[dict[str, Any]]:
    """What the auditor certified: as it was written, or quickly now."""
    from discreet.audit import claims
    from discreet.audit.row import verdict

    if path is None:
        with show.working("sampling every law, statistic and exhibit"):
            return [row.to_dict() | {"verdict": row.verdict} for row in claims.everything(True)]
    try:
        found = _json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise UnsupportedFormat(f"{path}: the audit cannot be read ({problem}); make it with `discreet audit`") from None
    if not isinstance(found, dict) or found.get("kind") != "audit" or not isinstance(found.get("rows"), list):
        raise UnsupportedFormat(f"{path}: not an audit, which `discreet audit` writes as audit.json")
    return [row | {"verdict": verdict(row.get("kind", ""), bool(row.get("holds")))} for row in found["rows"]]
