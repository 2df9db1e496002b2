"""``discreet audit``: try to break every claim of the package, and show how far the attempt came."""

from __future__ import annotations

import json as _json
from pathlib import Path
from typing import Annotated

import typer

from discreet import jobs
from discreet.cli import show
from discreet.errors import NotPrivate


def register(app: typer.Typer) -> None:
    """Add the command ``audit``."""
    app.command("audit")(audit)


def audit(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer samples: about ten to thirty seconds.")] = False,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder for audit.json and audit.html.")] = Path("audit"),
    json: show.Json = False,
) -> None:
    """Certify, from samples alone, how much of every claimed epsilon can be reached; refute a museum of broken claims.

    Exits with 2 if any claim of the package is refuted, or any exhibit of the museum is not.
    """
    from discreet.audit import claims, page

    with jobs.output.folder_for(out, ["audit.json", "audit.html"]) as write:
        rows = []
        with show.working("sampling every law, statistic and exhibit"):
            rows = list(claims.everything(quick))
        mode = "quick" if quick else "full"
        document = {"kind": "audit", "mode": mode, "rows": [row.to_dict() for row in rows]}
        write("audit.json", _json.dumps(document, indent=1) + "\n")
        target = write("audit.html", page.render(rows, mode))
    if json:
        show.document(document)
    else:
        lines = [
            [
                r.kind,
                r.name,
                f"{r.claim:.3g}",
                f"{r.certified:.3f}",
                f"{r.margin:.0%}",
                r.verdict,
                f"{r.seconds:.1f}",
            ]
            for r in rows
        ]
        show.table("Audit", ["kind", "entry", "claim", "certified", "margin", "verdict", "seconds"], lines)
        show.say(f"{sum(r.holds for r in rows)} of {len(rows)} entries are as they should be. The page is {target}.")
    wrong = [r.name for r in rows if not r.holds]
    if wrong:
        raise NotPrivate(f"the audit must confirm every claim, and does not for {', '.join(wrong)}; do not release with it")
