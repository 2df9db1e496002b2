"""The front as it stands to the outside: what it may open, what it notes of calls, and that it keeps nothing open."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from discreet.errors import InvalidRequest
from discreet.service.front import check_blind

from . import twins
from .conftest import Clinic, body, make_clinic, mean
from .stand import standing


def test_calls_are_noted_without_what_was_asked(tmp_path: Path, helpers: Any) -> None:
    """A line for each: whose, which request, by which route, code and length; nothing that was sent or answered."""
    with standing(tmp_path, slot=0.02, helpers=helpers) as stand:
        caller = twins.Caller(stand.url, stand.token)
        got = caller.asked(body(mean("0.123456", title="a title of mine")))
        for path in ("/health", "/v1/requests/secret-path", "/nowhere/secret-path"):
            caller.call("GET", path)
        caller.call("GET", "/v1/tables", headers={"Authorization": "Bearer wrong"})
        cookie = twins.sign_in(caller, stand.token)
        page = caller.call("GET", "/tables", headers={"Cookie": cookie})
        caller.close()
    text = (tmp_path / "boxes" / "front" / "access.log").read_text()
    rows = [json.loads(line) for line in text.splitlines()]
    assert all(row.keys() == {"time", "analyst", "ref", "route", "code", "bytes"} for row in rows)
    told = [(row["route"], row["analyst"], row["ref"], row["code"]) for row in rows]
    ref = got["request"]
    assert told[0] == ("/v1/requests", 1, ref, 202)
    assert told[1] == ("/v1/requests/{ref}", 1, ref, 200)
    assert told[-6:] == [
        ("/health", 0, "", 200),
        ("/v1/requests/{ref}", 1, "", 404),
        ("none", 0, "", 404),
        ("/v1/tables", 0, "", 401),
        ("/sign-in", 0, "", 303),
        ("/tables", 1, "", 200),
    ]
    assert rows[-1]["bytes"] == len(page.body)
    for word in (
        "0.123456",
        "a title",
        "secret-path",
        "wrong",
        stand.token,
        json.loads(got["answer"])["releases"][0]["value"],
    ):
        assert str(word) not in text


_BLIND = """
import os, sys
from discreet.errors import InvalidRequest
from discreet.service import config
from discreet.service.front import check_blind
settings = config.read(sys.argv[1])
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(54322); os.setuid(54321)
for _ in sys.stdin:
    try: check_blind(settings)
    except InvalidRequest as problem: print(problem, flush=True)
    else: print("blind", flush=True)
"""


_CLOSED = """
import os, sys
from discreet.service import config
from discreet.service.front import check_blind
config.read(sys.argv[1])  # loads what another user may not: Python may lie in somebody's home
os.setgroups([]); os.setgid(54322); os.setuid(54321)
check_blind(config.read(sys.argv[1]))
"""


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A folder that any user comes to: those of pytest are closed again by whichever run begins next."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="changing users needs root")
def test_a_front_starts_where_the_tables_folder_is_closed_to_it(open_path: Path) -> None:
    """It cannot even see whether they are there: files, folders and patterns."""
    clinic = make_clinic(open_path)
    clinic.edit("one_user = true\n", "")
    clinic.edit('files = "patients.csv"', 'files = ["closed/patients.csv", "closed/*.csv", "closed", "closed/more"]')
    (open_path / "closed" / "more").mkdir(parents=True)
    (open_path / "patients.csv").rename(open_path / "closed" / "patients.csv")
    for folder in ("closed", "private", "ledger"):
        (open_path / folder).chmod(0o700)
    subprocess.run([sys.executable, "-c", _CLOSED, str(open_path / "serve.toml")], check=True)


def test_a_front_that_could_open_a_table_or_a_ledger_does_not_start(open_path: Path) -> None:
    """As a user of its own: each file that it can open is named, one after the other, until none is left."""
    tmp_path = open_path
    clinic = make_clinic(tmp_path)
    clinic.analyst("ann")
    clinic.edit("one_user = true\n", "")
    (tmp_path / "ledger").chmod(0o755)
    (tmp_path / "private").chmod(0o755)
    (tmp_path / "private" / "signing.key").write_text("made by the desk")
    secret = [tmp_path / "patients.csv", tmp_path / "ledger" / "clinic.db", tmp_path / "private" / "signing.key"]
    for path in (*secret, *(p for p in (tmp_path / "private").iterdir() if p not in secret)):
        path.chmod(0o644)

    command = [sys.executable, "-c", _BLIND, str(tmp_path / "serve.toml")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as front:
        assert front.stdin is not None
        assert front.stdout is not None

        def said() -> str:
            front.stdin.write("look\n")
            front.stdin.flush()
            return front.stdout.readline().strip()

        for path in secret:
            assert str(path) in said()
            path.chmod(0o000)
        for path in (tmp_path / "private").iterdir():
            path.chmod(0o000)
        assert said() == "blind"
        front.stdin.close()


def test_one_user_has_to_be_written_down(clinic: Clinic) -> None:
    check_blind(clinic.config)
    clinic.edit("one_user = true\n", "")
    with pytest.raises(InvalidRequest, match=r"it can open .*patients\.csv"):
        check_blind(clinic.config)


def test_a_thousand_calls_leave_nothing_open(tmp_path: Path, helpers: Any) -> None:
    """Submissions, polls and connections, of which some are cut off: front, desk and hand have open what they had before."""
    with twins.running(tmp_path, helpers) as whole:
        caller = twins.Caller(whole.url, whole.token)
        question = body(mean()).encode()
        caller.asked(question.decode())
        caller.close()
        before = len(os.listdir("/proc/self/fd"))
        parts = urlsplit(whole.url)
        for number in range(450):
            with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=60) as wire:
                if number % 3:
                    wire.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"[: 60 if number % 2 else 20])
        refs = [json.loads(caller.call("POST", "/v1/requests", question).body)["request"] for _ in range(50)]
        for number in range(500):
            assert caller.call("GET", f"/v1/requests/{refs[number % 50]}").code == 200
        caller.waited(refs[-1])
        caller.close()
        until = time.monotonic() + 60
        while len(os.listdir("/proc/self/fd")) > before and time.monotonic() < until:
            time.sleep(0.05)  # the server closes what was cut off in its own time
        assert len(os.listdir("/proc/self/fd")) <= before
