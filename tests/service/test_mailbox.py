"""The mailboxes: one side writes, the other reads; what was submitted is there once and for good."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import psycopg
import pytest

from discreet.service import access_tokens, signing
from discreet.service import mailbox as mailboxes
from discreet.service.inbox import Inbox
from discreet.service.outbox import Outbox


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, boxes: str) -> str:
    if request.param == "sqlite":
        return boxes
    server: str = request.getfixturevalue("server")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS front CASCADE")
        connection.execute("DROP SCHEMA IF EXISTS desk CASCADE")
    return server


def test_what_was_submitted_is_there_once(address: str) -> None:
    assert Inbox(address, write=False).after(0, 10) == []  # nobody has written yet
    inbox = Inbox(address, write=True)
    got: list[str] = []

    def submit(who: int) -> None:
        for number in range(10):
            got.append(inbox.submit(who, f"body {number}", time.time(), key=f"{number % 5}"))

    threads = [threading.Thread(target=submit, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    desk = Inbox(address, write=False)
    rows = desk.after(0, 1000)
    assert sorted({*got}) == sorted(row.ref for row in rows)  # a key used twice is one request
    assert len(rows) == 20
    assert [row.n for row in rows] == sorted(row.n for row in rows)
    with pytest.raises(mailboxes.Unavailable):
        desk.submit(1, "x", 0.0)
    inbox.close()
    assert len(desk.after(0, 1000)) == 20  # the file as it lies after a clean end
    desk.close()


def test_roles_on_postgresql(server: str) -> None:
    with psycopg.connect(server, autocommit=True) as owner:
        for name in ("front", "desk"):
            owner.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")
        for role in ("the_front", "the_desk"):
            if not owner.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone():
                owner.execute(f"CREATE ROLE {role} LOGIN")
    for made in (Inbox(server, write=True), Outbox(server, write=True)):
        made.close()
    mailboxes.grant_roles(server, "the_front", "the_desk")
    as_front, as_desk = (f"{server}&options=-crole%3Dthe_{name}" for name in ("front", "desk"))
    inbox, outbox = Inbox(as_front, write=True), Outbox(as_desk, write=True)
    inbox.submit(1, "asked", 0.0)
    assert [row.body for row in Inbox(as_desk, write=False).after(0, 10)] == ["asked"]
    assert Outbox(as_front, write=False).tables() == outbox.tables() == []
    with psycopg.connect(server, autocommit=True) as front:
        front.execute("SET ROLE the_front")
        assert front.execute("SELECT count(*) FROM desk.answers").fetchone() == (0,)
        front.execute("INSERT INTO front.requests (ref, token, body, at) VALUES ('r', 1, '', 0)")
        for forged in (
            "INSERT INTO desk.answers VALUES ('r', '', '')",
            "UPDATE desk.grants SET cap = ''",
            "DELETE FROM desk.tokens",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                front.execute(forged)
        front.execute("RESET ROLE")
        front.execute("SET ROLE the_desk")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            front.execute("INSERT INTO front.requests (ref, token, body, at) VALUES ('s', 1, '', 0)")
    for each in (inbox, outbox):
        each.close()


def test_sessions_of_browsers_end(boxes: str) -> None:
    inbox = Inbox(boxes, write=True)
    secret, csrf = inbox.sign_in(7, 1000.0)
    assert inbox.session(secret, 1001.0) == (found := inbox.session(secret, 1100.0))
    assert found is not None
    assert (found.token, found.csrf) == (7, csrf)
    assert inbox.session("another", 1001.0) is None
    assert inbox.session(secret, 1100.0 + 30 * 60 + 1) is None
    inbox.sign_out(secret)
    assert inbox.session(secret, 1101.0) is None
    assert inbox.box.path is not None
    assert secret.encode() not in inbox.box.path.read_bytes()


def test_tokens_and_signatures(tmp_path: Path) -> None:
    token = access_tokens.make()
    assert access_tokens.is_token(token)
    assert not access_tokens.is_token(token + "x")
    assert access_tokens.digest(token) == access_tokens.digest(token) != access_tokens.digest(access_tokens.make())
    signer = signing.Signer(tmp_path / "key")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert signing.Signer(tmp_path / "key").public == signer.public
    signing.verify(signer.public, "text", signer.sign("text"))
    for text, signature in (("other", signer.sign("text")), ("text", signer.sign_head("text")), ("text", "zz")):
        with pytest.raises(ValueError, match="signature"):
            signing.verify(signer.public, text, signature)
