"""The vault's file and its keys: private from the first moment, wrapped, rotated, retired, and brought up from 0.1.0."""

from __future__ import annotations

import base64
import os
import shutil
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import DiscreetError, InvalidRequest, LedgerUnavailable, UnknownName, UnsupportedFormat
from discreet.protect import CallableKeys, EnvironmentKeys, Field, FileKeys, Pseudonymizer, Receipt, Vault, upgrade
from tests.patches import only_here

FACTS: dict[str, Any] = {"purpose": "care", "categories": ["health"], "retention": "10 years"}
OLD = Path(__file__).parents[1] / "fixtures" / "0.1.0" / "sealed"


@pytest.fixture
def people(keys: FileKeys) -> Pseudonymizer:
    return Pseudonymizer(["name"], keys)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_the_file_is_private_from_the_first_moment(
    umask: int, people: Pseudonymizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    connect = sqlite3.connect

    def watched(path: str, *args: Any, **options: Any) -> Any:
        seen.append(stat.S_IMODE(Path(path).stat().st_mode))  # before SQLite touches it
        return connect(path, *args, **options)

    only_here(monkeypatch, sqlite3, "connect", watched)
    before = os.umask(umask)
    try:
        with Vault(f"sqlite:///{tmp_path}/new/vault.db", people) as vault:
            vault.seal("Ann", b"x")
            assert set(modes(tmp_path / "new").values()) == {0o600}
            assert {"vault.db", "vault.db-wal", "vault.db-shm"} <= set(modes(tmp_path / "new"))
    finally:
        os.umask(before)
    assert set(seen) == {0o600}
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_a_link_to_a_file_that_is_not_there_yet(people: Pseudonymizer, tmp_path: Path) -> None:
    (tmp_path / "away").mkdir(mode=0o700)
    (tmp_path / "vault.db").symlink_to(tmp_path / "away" / "real.db")
    before = os.umask(0o022)
    try:
        with Vault(f"sqlite:///{tmp_path}/vault.db", people):
            assert set(modes(tmp_path / "away").values()) == {0o600}
    finally:
        os.umask(before)


def test_a_file_that_others_could_read_is_closed_to_them(people: Pseudonymizer, tmp_path: Path) -> None:
    path = tmp_path / "vault.db"
    sqlite3.connect(path).close()
    path.touch()
    path.chmod(0o644)
    with Vault(f"sqlite:///{path}", people):
        assert modes(tmp_path)["vault.db"] == 0o600
    tmp_path.chmod(0o777)
    try:
        with pytest.raises(InvalidRequest, match="folder that others cannot write to"):
            Vault(f"sqlite:///{path}", people)
    finally:
        tmp_path.chmod(0o700)


def test_keys_in_the_database_open_nothing(people: Pseudonymizer, tmp_path: Path) -> None:
    """Neither a person's key nor the log's is in any file of the vault, and a row of one person does not serve another."""
    url = f"sqlite:///{tmp_path}/vault.db"
    with Vault(url, people) as vault:
        sealed = {name: vault.seal(name, b"a scan of " + name.encode()) for name in ("Ann", "Bob")}
        found: list[bytes] = []
        with vault._database.transaction(write=False) as connection:
            for name in ("Ann", "Bob"):
                found.append(vault._ring.get(connection, vault._log.id, vault._subject(people.digest(name))) or b"")
            found.append(vault._ring.log_key(connection, vault._log.id))
        for part in tmp_path.glob("vault.db*"):
            content = part.read_bytes()
            for key in found:
                assert key not in content
                assert key.hex().encode() not in content
                assert base64.b64encode(key) not in content
    with sqlite3.connect(tmp_path / "vault.db") as raw:
        rows = dict(raw.execute("SELECT holder, key FROM discreet_vault_keys WHERE holder != 'log'").fetchall())
        first, second = rows
        raw.execute("UPDATE discreet_vault_keys SET key = ? WHERE holder = ?", [rows[first], second])
        raw.execute("UPDATE discreet_vault_keys SET key = ? WHERE holder = ?", [rows[second], first])
    raw.close()
    with Vault(url, people) as vault, pytest.raises(InvalidRequest, match="does not open"):
        vault.unseal("Ann", sealed["Ann"])
    stranger = Pseudonymizer(["name"], FileKeys.create(tmp_path / "other.json"))
    with pytest.raises(InvalidRequest, match="must be those of the vault"):
        Vault(url, stranger)


def test_rotation_and_retirement(keys: FileKeys, people: Pseudonymizer, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/vault.db"
    people.write({"name": ["Ann", "Bob"], "x": [1, 2]}, tmp_path / "lab.csv", "lab")
    with Vault(url, people) as vault:
        sealed = vault.seal("Ann", b"a scan")
        vault.register("lab", tmp_path / "lab.csv", token=("token", "lab", "default"), **FACTS)
        vault.refuse("Bob", "legal claims")
        assert vault.keys() == {1: 2}
        with pytest.raises(InvalidRequest, match="the newest stays"):
            vault.retire(1)
        assert keys.add_version() == 2
        with pytest.raises(InvalidRequest, match="wraps 2 keys"):
            vault.retire(1)
        assert vault.rotate() == 2
        assert vault.rotate() == 0
        assert vault.keys() == {1: 0, 2: 2}
        with pytest.raises(InvalidRequest, match="in 2 of the table 'lab'"):
            vault.retire(1)
        old = (tmp_path / "lab.csv").read_text()
        for token in [line.split(",")[1] for line in old.splitlines()[1:]]:
            old = old.replace(token, people.rotate([token], "lab")[0])
        (tmp_path / "lab.csv").write_text(old)
        vault.retire(1)
        assert vault.keys() == {2: 2}
        assert [row["kind"] for row in vault.log()][-3:] == ["rotate", "rotate", "retire"]
    assert keys.versions() == (2,)
    assert b"master/1" not in keys.path.read_bytes()
    with Vault(url, people) as vault:  # what was under the old key is found as before
        assert vault.unseal("Ann", sealed) == b"a scan"
        assert [row["kind"] for row in vault.access("Bob").requests] == ["refuse"]
        assert vault.erase("Ann").tables == {"lab": 1}
        vault.verify()
    for bad in (1, 2, 0, "2", True):
        with pytest.raises(InvalidRequest, match="version must be an old one"):
            keys.retire(bad)  # type: ignore[arg-type]


def test_master_keys_from_the_environment_and_from_a_call(
    keys: FileKeys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("identity", "master/1", "receipts"):
        variable = "DISCREET_KEY_" + name.upper().replace("/", "_")
        monkeypatch.setenv(variable, base64.b64encode(keys.key(name)).decode())
    url = f"sqlite:///{tmp_path}/vault.db"
    with Vault(url, Pseudonymizer(["name"], keys)) as vault:
        sealed = vault.seal("Ann", b"a scan")
    with Vault(url, Pseudonymizer(["name"], EnvironmentKeys())) as vault:
        assert vault.unseal("Ann", sealed) == b"a scan"
    fresh = {"master/2": os.urandom(32)}
    service = CallableKeys(lambda name: fresh[name] if name in fresh else keys.key(name), newest=2)
    with Vault(url, Pseudonymizer(["name"], service)) as vault:
        assert vault.rotate() == 2
        vault.retire(1)
    later = CallableKeys(lambda name: fresh[name] if name in fresh else keys.key(name), newest=2, retired=(1,))
    assert later.versions() == (2,)
    with Vault(url, Pseudonymizer(["name"], later)) as vault:
        assert vault.unseal("Ann", sealed) == b"a scan"
        assert vault.keys() == {2: 2}
    with pytest.raises(UnknownName, match="master/2"):
        Vault(url, Pseudonymizer(["name"], keys))


def test_a_key_file_left_half_written_is_removed(keys: FileKeys, people: Pseudonymizer, tmp_path: Path) -> None:
    stale = tmp_path / ".keys.json.abc.part"
    stale.write_bytes(keys.path.read_bytes())
    with Vault(f"sqlite:///{tmp_path}/vault.db", people):
        assert not stale.exists()
    stale.write_text("x")
    keys.add_version()
    assert not stale.exists()


def old_vault(folder: Path) -> tuple[str, Pseudonymizer]:
    shutil.copytree(OLD, folder / "old")
    (folder / "old" / "vault.db").chmod(0o644)
    (folder / "old" / "keys.json").chmod(0o600)
    return f"sqlite:///{folder}/old/vault.db", Pseudonymizer([Field("name")], folder / "old" / "keys.json")


def test_a_vault_of_0_1_0_is_brought_up_to_date(tmp_path: Path) -> None:
    url, people = old_vault(tmp_path)
    folder = tmp_path / "old"
    with sqlite3.connect(folder / "vault.db") as raw:
        plain = [key for (key,) in raw.execute("SELECT key FROM discreet_vault_subjects")]
    raw.close()
    assert len(plain) == 2
    with pytest.raises(UnsupportedFormat, match="discreet protect upgrade"):
        Vault(url, people)
    done = upgrade(url, people)
    assert (done.keys, done.overwritten, done.several_files) == (2, True, ["visits"])
    [backup] = done.backups
    assert modes(folder)[backup.name] == 0o600
    for key in plain:
        assert key.encode() in backup.read_bytes()
        assert not any(key.encode() in part.read_bytes() for part in folder.glob("vault.db*") if part != backup)
    assert modes(folder)["vault.db"] == 0o600
    with Vault(url, people) as vault:
        assert vault.public_key == (folder / "public_key.txt").read_text().strip()
        assert vault.verify() == len(vault.log()) == 5
        for name in ("anna", "cy"):
            assert vault.unseal(name, (folder / f"{name}.sealed").read_bytes()) == f"scan of {name.capitalize()}".encode()
        with pytest.raises(UnknownName):
            vault.unseal("bo", (folder / "bo.sealed").read_bytes())
        [receipt] = vault.receipts()
        receipt.verify(vault.public_key)
        assert receipt.complete
        assert Receipt.from_json(receipt.to_json()) == receipt
        found = vault.access("Anna")  # its files lie elsewhere now; the request goes through all the same
        assert [place["reason"] for place in found.missed["visits"]] == ["the file is not there"] * 2
        assert vault.access("Bo").requests[0]["kind"] == "erase"
        vault.unregister("visits", "to be registered with its pattern", override=True)
        vault.register("visits", folder / "visits*.csv", **FACTS)
        assert vault.erase("Anna").tables == {"visits": 3}
        vault.verify()
    for again in (url, f"sqlite:///{tmp_path}/fresh.db"):
        with pytest.raises(DiscreetError, match=r"needs no upgrade|no vault"):
            upgrade(again, people)
    with pytest.raises(UnknownName, match="no vault 'other'"):
        upgrade(url, people, name="other")


def test_an_upgrade_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.protect.wrapping import KeyRing

    url, people = old_vault(tmp_path)
    with sqlite3.connect(tmp_path / "old" / "vault.db") as raw:
        before = list(raw.execute("SELECT * FROM discreet_vault_subjects"))
    raw.close()
    put = KeyRing.put
    left = [2]

    def full(self: KeyRing, *args: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(28, "No space left on device")
        put(self, *args)

    monkeypatch.setattr(KeyRing, "put", full)
    with pytest.raises(LedgerUnavailable, match="No space"):
        upgrade(url, people)
    monkeypatch.undo()
    with sqlite3.connect(tmp_path / "old" / "vault.db") as raw:
        assert list(raw.execute("SELECT * FROM discreet_vault_subjects")) == before
    raw.close()
    done = upgrade(url, people)
    assert done.keys == 2
    assert [path.stat().st_mode & 0o777 for path in done.backups] == [0o600] * 2  # the one of the interrupted upgrade too


@pytest.mark.parametrize("part", ["vault.db", "vault.db-wal", "vault.db-shm", "vault.db.head", ".", "link"])
def test_what_another_user_put_there_is_not_written_to(
    part: str, people: Pseudonymizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder such as /tmp somebody may have been there first, with a file of theirs, or a link to one."""
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o1777)
    place = folder / ("vault.db" if part == "link" else part)
    if part == "link":
        place.symlink_to(tmp_path / "theirs.db")
    elif part != ".":
        place.touch()
    if os.getuid() == 0:
        os.chown(place, 65534, 65534, follow_symlinks=False)
    else:
        only_here(monkeypatch, os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(InvalidRequest, match="belongs to user"):
        Vault(f"sqlite:///{folder}/vault.db", people)
    assert not (tmp_path / "theirs.db").exists()
    assert all(path.stat().st_size == 0 for path in folder.iterdir() if path.exists())


def test_a_log_that_leads_elsewhere_is_refused(people: Pseudonymizer, tmp_path: Path) -> None:
    (tmp_path / "vault.db-wal").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidRequest, match="must be plain files"):
        Vault(f"sqlite:///{tmp_path}/vault.db", people)


def test_no_master_key_is_retired_that_something_out_of_sight_is_under(
    keys: FileKeys, people: Pseudonymizer, tmp_path: Path
) -> None:
    """A file with tokens that is not there just now, another vault of the database, and one of 0.1.0 in it; a vault under
    somebody else's keys is none of ours."""
    url, place = f"sqlite:///{tmp_path}/vault.db", tmp_path / "lab.csv"
    people.write({"name": ["Ann"], "x": [1]}, place, "lab")
    stranger = Pseudonymizer(["name"], FileKeys.create(tmp_path / "other.json"))
    Vault(url, stranger, name="theirs").close()
    with Vault(url, people, name="second") as second:
        sealed = second.seal("Ann", b"a scan")
    with Vault(url, people) as vault:
        vault.register("lab", place, token=("token", "lab", "default"), **FACTS)
        keys.add_version()
        vault.rotate()
        with pytest.raises(InvalidRequest, match="opens 'second'"):
            vault.retire(1)
        with Vault(url, people, name="second") as second:
            second.rotate()
        place.rename(tmp_path / "away.csv")
        with pytest.raises(InvalidRequest, match=r"lab\.csv.*not there"):
            vault.retire(1)
        place.mkdir()
        with pytest.raises(InvalidRequest, match="it is a folder"):
            vault.retire(1)
        place.rmdir()
        people.write({"name": ["Ann"], "x": [1]}, place, "lab")
        vault.retire(1)
    with Vault(url, people, name="second") as second:
        assert second.unseal("Ann", sealed) == b"a scan"


def test_every_vault_of_a_database_can_be_upgraded(tmp_path: Path) -> None:
    """The table of clear keys is shared: it is gone after the last key, also for a vault that never had one. No master key
    that such a vault still needs is retired by another."""
    url, people = old_vault(tmp_path)
    with sqlite3.connect(tmp_path / "old" / "vault.db") as raw:
        raw.execute(
            "INSERT INTO discreet_vaults (name, created, number, head) SELECT 'empty', created, 0, '' FROM discreet_vaults"
        )
    raw.close()
    with pytest.raises(UnsupportedFormat, match=r"written by discreet 0\.1\.0"):
        Vault(url, people, name="empty")
    assert upgrade(url, people).keys > 0
    with Vault(url, people) as vault:
        assert isinstance(people.keys, FileKeys)
        people.keys.add_version()
        vault.rotate()
        with pytest.raises(InvalidRequest, match="opens 'empty'"):
            vault.retire(1)
    assert upgrade(url, people, name="empty").keys == 0
    with pytest.raises(InvalidRequest, match="needs no upgrade"):
        upgrade(url, people, name="empty")
    with Vault(url, people, name="empty") as vault:
        vault.seal("Ann", b"x")


@pytest.mark.parametrize("text", ["*", "é" * 44, "QUJDREVGR0g", "x" * 4000, "QUJDREVGR0g=\n\x1f", "\udcff"])
def test_a_key_that_is_none_is_not_quoted(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by the refusal nor by what a traceback shows with it."""
    for name in ("IDENTITY", "MASTER_1", "RECEIPTS"):
        monkeypatch.setenv(f"DISCREET_KEY_{name}", text)
    with pytest.raises(InvalidRequest) as problem:
        Vault("sqlite://", Pseudonymizer(["name"], EnvironmentKeys()))
    assert len(text) == 1 or text not in str(problem.value)
    assert problem.value.__cause__ is None
    assert problem.value.__suppress_context__ or problem.value.__context__ is None


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:SECRET@host:port/base",
        "postgresql://me:SECRET@host:99x",
        "postgresql://me:SE/SECRET@host:1x/base",
        "mysql://me:SECRET@host/base",
        "postgresql://me:SECRET@127.0.0.1:1/base",
        "://me:SECRET@host",
        "sqlite://me:SECRET@host/base?x=1",
    ],
)
def test_no_refusal_of_an_address_quotes_its_password(url: str, people: Pseudonymizer) -> None:
    for attempt in (lambda: Vault(url, people, timeout=1.0), lambda: upgrade(url, people, timeout=1.0)):
        with pytest.raises(DiscreetError) as problem:
            attempt()
        assert "SECRET" not in str(problem.value)
