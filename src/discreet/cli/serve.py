"""``discreet serve``: run the service that answers people who may not see the table, and look after it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import show
from discreet.errors import InvalidRequest

_WORDS = ("front", "desk", "calibrate", "backup", "upgrade", "check")


def register(app: typer.Typer) -> None:
    """Add the command ``serve``."""
    app.command("serve")(serve)


def serve(
    words: Annotated[
        list[str],
        typer.Argument(metavar="[front|desk|calibrate|backup|upgrade|check] SERVE.TOML [FOLDER]", show_default=False),
    ],
    quick: Annotated[bool, typer.Option("--quick", help="Calibrate without models that are fitted step by step.")] = False,
    json: show.Json = False,
) -> None:
    """Run the service of a file, or one part of it; or look after it.

    `discreet serve serve.toml` starts both parts on this machine. `front` listens and can open no table; `desk` answers.
    `calibrate` measures on made-up tables how long questions take; it can be stopped, and what it did not come to is
    measured when it is first asked for. `backup` copies mailboxes and ledgers into FOLDER.
    `upgrade` brings mailboxes up to date. `check` looks whether all is as it should be.
    """
    from discreet.service import config

    action, rest = (words[0], words[1:]) if words[0] in _WORDS else ("both", words)
    if len(rest) != (2 if action == "backup" else 1):
        raise InvalidRequest(
            f"discreet serve takes the service's file{' and a folder' if action == 'backup' else ''}, got {rest}"
        )
    settings = config.read(Path(rest[0]))
    if action in ("both", "front", "desk"):
        _run(action, settings)
        return
    from discreet.service import keeping

    if action == "backup":
        made = keeping.backup(settings, Path(rest[1]))
        _tell(json, {"kind": "backup", "files": [str(path) for path in made]}, [f"Wrote {path}" for path in made])
    elif action == "upgrade":
        found = keeping.upgrade(settings)
        said = [
            f"The mailbox {name}: schema {before} is " + ("up to date." if before == after else f"now {after}.")
            for name, (before, after) in found.items()
        ]
        _tell(json, {"kind": "upgraded", "mailboxes": found}, said)
    elif action == "calibrate":
        _calibrate(settings, quick, json)
    else:
        results = keeping.check(settings)
        said = [f"{'ok  ' if each.fine else 'LOOK'} {each.what}" for each in results]
        _tell(json, {"kind": "check", "found": [{"fine": each.fine, "what": each.what} for each in results]}, said)
        if not all(each.fine for each in results):
            raise typer.Exit(1)


def _run(action: str, settings: object) -> None:
    from discreet.service import run

    if action == "both" and getattr(settings, "one_user", False):
        show.say("One user runs all: file modes protect nothing, and whoever breaks into the front can read the tables.")
    try:
        failed = getattr(run, action)(settings)
    except KeyboardInterrupt:  # or SIGTERM: how a service ends
        show.say(f"The {'service' if action == 'both' else action} was stopped.")
        return
    if failed:
        raise typer.Exit(1)


def _calibrate(settings: object, quick: bool, json: bool) -> None:
    from discreet.service import keeping
    from discreet.service.config import Config

    assert isinstance(settings, Config)
    measured: dict[str, float] = {}
    for name, seconds in keeping.calibrate(settings, quick=quick):
        measured[name] = seconds
        if not json:  # each as it is measured: a wait without a word looks like a fault
            show.say(f"{seconds:8.4f} s  {name}")
    _tell(json, {"kind": "weights", "seconds": measured}, [f"{len(measured)} kinds of questions were measured."])


def _tell(json: bool, document: dict[str, object], said: list[str]) -> None:
    if json:
        show.document(document)
        return
    for line in said:
        show.say(line)
