"""The custodian's commands, from an empty folder to an answer, a backup and a check."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from discreet.cli import main
from discreet.errors import DiscreetError
from discreet.service import keeping, run
from discreet.service.outbox import Outbox

from .conftest import Analyst, Clinic, mean, settle


@pytest.fixture
def command(clinic: Clinic, capsys: pytest.CaptureFixture[str]) -> object:
    def call(*words: str, code: int = 0) -> str:
        group = ["--file", str(clinic.folder / "serve.toml")] if words[0] == "access" else []
        assert main([*words, *group]) == code
        out = capsys.readouterr()
        return out.out if code == 0 else out.out + out.err

    return call


def test_from_nothing_to_an_answer(clinic: Clinic, command: object) -> None:
    assert callable(command)
    path = str(clinic.folder / "serve.toml")
    command("access", "add", "ann", "--contact", "ann@clinic.example")
    command("access", "grant", "ann", "patients", "--epsilon", "1", "--approve-above", "0.5", "--purpose", "stroke")
    second = command("access", "grant", "ann", "patients", "--epsilon", "1", "--approve-above", "0.5", "--purpose", "stroke")
    assert "in place of grant 1" in " ".join(second.split())
    assert "in place" not in command("access", "revoke", "ann", "--grant", "1")
    token = command("access", "token", "ann").strip()
    command("access", "add", "bob")
    assert "budget" in command("access", "grant", "bob", "patients", "--epsilon", "99", code=2)
    assert "no analyst" in command("access", "token", "nobody", code=2)
    ann = Analyst(clinic, "ann", token)
    with clinic.desk() as office:
        ref, other = ann.submit(mean("0.6")), ann.submit(mean("0.7"))
        settle(office, ann.submit(mean("0.1")))
        said = command("access", "pending")
        assert "ann asks patients" in said
        assert "Mean of age: ±" in said
        assert len(json.loads(command("access", "pending", "--json"))["requests"]) == 2
        command("access", "approve", ref)
        command("access", "deny", other)
        assert settle(office, ref, other) == ["answered", "denied"]
        command("access", "publish", ref)
        assert [row["title"] for row in office.outbox.catalogue()] == ["Mean of age"]
    assert "ε=0.7" in command("access", "list")
    deployed = json.loads(command("access", "registry"))["deployments"][0]["deployment"]
    assert deployed["dp_variant"]["name"] == "Pure DP"
    assert (
        "discrete_laplace" in deployed["implementation"]["mechanisms"]
        or "laplace" in deployed["implementation"]["mechanisms"]
    )
    command("serve", "backup", path, str(clinic.folder / "copies"))
    names = {copy.name for copy in (clinic.folder / "copies").iterdir()}
    assert {"inbox.db", "outbox.db", "ledger-clinic.db", "signing.key"} <= names
    assert "is there" in command("serve", "backup", path, str(clinic.folder / "copies"), code=2)
    command("serve", "upgrade", path)
    assert "LOOK one user runs all" in command("serve", "check", path, code=1)
    command("access", "revoke", "ann")
    assert "revoked" in command("access", "list")


def test_questions_are_weighed_on_a_made_up_table(clinic: Clinic, command: object) -> None:
    """Without a weight in the file it is measured, ahead or when a question of its class first comes."""
    assert callable(command)
    clinic.edit("seconds = 0.01\n", "")
    ann = clinic.analyst("ann")
    with clinic.desk() as office:
        assert settle(office, ann.submit(mean(), mean("0.2"))) == ["answered"]
        known = json.loads((clinic.folder / "private" / "weights.json").read_text())
    assert list(known) == ['patients, version 1, 500 rows: ask {"columns":[1],"statistic":"mean"}']
    assert all(0 < seconds < 60 for seconds in known.values())
    assert len(list((clinic.folder / "private").glob("made-up-patients-*.csv"))) == 1


def test_mailboxes_are_brought_up_to_date_after_a_backup(clinic: Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    clinic.analyst("ann")
    monkeypatch.setattr("discreet.service.outbox_tables.SCHEMA", 2)
    monkeypatch.setitem(keeping.MIGRATIONS["desk"], 2, ["ALTER TABLE analysts ADD COLUMN badge TEXT"])
    assert keeping.upgrade(clinic.config)["desk"] == (1, 2)
    assert list((clinic.folder / "private").glob("before-upgrade-*/outbox.db"))
    monkeypatch.setattr("discreet.service.outbox_tables.SCHEMA", 1)
    with pytest.raises(DiscreetError, match="upgrade discreet"):
        Outbox(clinic.config.desk_boxes, write=True)
    with pytest.raises(DiscreetError, match="newer"):
        keeping.upgrade(clinic.config)


def test_an_altered_trail_shows(clinic: Clinic) -> None:
    clinic.analyst("ann")
    outbox = sqlite3.connect(clinic.folder / "boxes" / "desk" / "outbox.db")
    outbox.execute("UPDATE audit SET what = '{}' WHERE n = 2")
    outbox.commit()
    outbox.close()
    found = [each for each in keeping.check(clinic.config) if not each.fine]
    assert any("row 2 of the custodian's trail" in each.what for each in found)


def test_two_users_are_asked_for(clinic: Clinic) -> None:
    clinic.edit("one_user = true\n", "")
    with pytest.raises(DiscreetError, match="one_user"):
        run.check_users(clinic.config)
    clinic.edit("[population", 'users = {front = "somebody", desk = "somebody"}\n[population')
    with pytest.raises(DiscreetError, match="two users"):
        run.check_users(clinic.config)


def test_an_interrupt_ends_the_service_without_a_fault(clinic: Clinic) -> None:
    """A terminal interrupts all its processes at once: each part says once that it was stopped, and nothing went wrong."""
    said = clinic.folder / "said"
    path = str(clinic.folder / "serve.toml")
    clinic.edit(str(clinic.config.port), "0")
    command = [sys.executable, "-m", "discreet", "serve", path]
    with said.open("w") as out:
        service = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            patience = time.monotonic() + 300
            while "listens" not in said.read_text() and service.poll() is None and time.monotonic() < patience:
                time.sleep(0.1)
            os.killpg(service.pid, signal.SIGINT)
            code = service.wait(60)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(service.pid, signal.SIGKILL)
    lines = said.read_text().splitlines()
    assert code == 0, lines
    assert "listens" in lines[1]
    assert sorted(lines[2:]) == ["The desk was stopped.", "The front was stopped.", "The service was stopped."]


def test_one_desk_at_a_time(clinic: Clinic) -> None:
    with clinic.desk(), pytest.raises(DiscreetError, match="one desk"), clinic.desk():
        pass


def test_the_units_name_both_parts() -> None:
    folder = Path(__file__).parents[2] / "deploy" / "systemd"
    front, desk = ((folder / f"discreet-{name}.service").read_text() for name in ("front", "desk"))
    assert "InaccessiblePaths" in front
    assert "RestrictAddressFamilies=AF_UNIX\n" in desk
