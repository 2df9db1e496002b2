"""``discreet protect`` on a vault: every command, its JSON, its refusals, and the upgrade of a vault of 0.1.0."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from discreet.cli import main

OLD = Path(__file__).parents[1] / "fixtures" / "0.1.0" / "sealed"
IDENTITY = '[identity]\nkeys = "keys.json"\nfields = [{ name = "name" }]\n'
FACTS = ["--purpose", "care", "--category", "health", "--retention", "ten years"]


@pytest.fixture
def job(tmp_path: Path) -> str:
    (tmp_path / "people-1.csv").write_text("name,age\n" + "".join(f"p{i},{20 + i % 40}\n" for i in range(60)))
    (tmp_path / "vault.toml").write_text(f'vault = "sqlite:///vault.db"\n{IDENTITY}')
    return str(tmp_path / "vault.toml")


def test_a_vault_from_its_keys_to_its_end(job: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def told(*arguments: str) -> Any:
        assert main(["protect", *arguments, "--json"]) == 0, capsys.readouterr().err
        return json.loads(capsys.readouterr().out)

    def says(*arguments: str) -> str:
        assert main(["protect", *arguments]) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    assert "keys.json" in says("keys", job, "--create")
    assert main(["protect", "keys", job, "--create"]) == 2
    assert "never overwritten" in capsys.readouterr().err
    assert told("register", job, "people", "--table", "people-*.csv", "--recipient", "lab", *FACTS)["name"] == "people"
    (tmp_path / "people-2.csv").write_text("name,age\np7,99\n")
    assert told("keys", job)["versions"] == {"1": 1}
    assert told("rotate", job) == {"kind": "rotated", "keys": 1, "version": 2}
    assert "version" in says("keys", job)
    assert "Retired master key 1" in says("keys", job, "--retire", "1")
    assert len(told("access", job, "-i", "name=p7")["rows"]["people"]) == 2
    erased = told("erase", job, "-i", "name=p7", "--receipt", str(tmp_path / "receipt.json"))
    assert erased["receipt"]["tables"] == {"people": 2}
    assert [Path(p["place"]).name for p in erased["receipt"]["looked_at"]["people"]] == ["people-1.csv", "people-2.csv"]
    assert main(["protect", "erase", job, "-i", "name=p7", "--receipt", str(tmp_path / "receipt.json")]) == 2
    assert "must go into a new file" in capsys.readouterr().err
    assert "genuine" in says("verify", str(tmp_path / "receipt.json"), "--public-key", erased["public_key"])
    assert main(["protect", "verify", str(tmp_path / "receipt.json"), "--public-key", "00" * 32]) == 2
    assert "signature" in capsys.readouterr().err
    (tmp_path / "people-1.csv").unlink()
    (tmp_path / "people-2.csv").unlink()
    assert "NOT reached in people" in says("access", job, "-i", "name=p7")
    assert told("verify", job)["rows"] >= 7
    assert "Wrote" in says("export", job, str(tmp_path / "record.json"))
    assert json.loads((tmp_path / "record.json").read_text())["requests"]["erase"] == 1
    assert main(["protect", "export", job, str(tmp_path / "record.json")]) == 2
    assert "Unregistered people" in says("unregister", job, "people", "--reason", "lost")
    for wrong in (["--token", "a,b"], ["--column", "x"], []):
        assert main(["protect", "register", job, "again", "--table", "none.csv", *FACTS, *wrong]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_copy_leaves_through_the_vault(job: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["protect", "keys", job, "--create"]) == 0
    (tmp_path / "t.csv").write_text("name,age,sex\n" + "".join(f"p{i},{i % 20},{'fm'[i // 20 % 2]}\n" for i in range(80)))
    assert main(["protect", "register", job, "t", "--table", "t.csv", *FACTS]) == 0
    start = f'vault = "sqlite:///vault.db"\ntable = "t"\nrecipient = "lab"\nkeep = []\nk = 3\n{IDENTITY}'
    levels = '[hierarchies.age]\nkind = "intervals"\nlo = 0\nhi = 20\nwidths = [5]\n'
    levels += '[hierarchies.sex]\nkind = "tree"\npaths = { f = ["*"], m = ["*"] }\n'
    for name, columns in (("one", '["age"]'), ("two", '["age", "sex"]')):
        text = f'output = "{name}.csv"\nquasi_identifiers = {columns}\n{start}{levels}'
        (tmp_path / f"{name}.toml").write_text(text)
    assert main(["protect", "anonymize", str(tmp_path / "one.toml")]) == 0
    assert "new random order" in capsys.readouterr().out
    assert main(["protect", "anonymize", str(tmp_path / "two.toml"), "--json"]) == 2
    refused = capsys.readouterr()
    assert "joint classes" in refused.err
    assert not (tmp_path / "two.csv").exists()
    assert main(["protect", "anonymize", str(tmp_path / "two.toml"), "--override"]) == 0
    assert (tmp_path / "two.csv").stat().st_mode & 0o777 == 0o600


def test_upgrade_names_the_backup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(OLD, tmp_path / "old")
    (tmp_path / "old" / "keys.json").chmod(0o600)
    job = tmp_path / "old" / "vault.toml"
    job.write_text(f'vault = "sqlite:///vault.db"\n{IDENTITY}')
    assert main(["protect", "verify", str(job)]) == 2
    assert "discreet protect upgrade" in capsys.readouterr().err
    assert main(["protect", "upgrade", str(job)]) == 0
    out = capsys.readouterr().out
    [backup] = (tmp_path / "old").glob("vault.db.before-upgrade-*")
    assert str(backup) in out
    assert "destroy it" in out
    assert "Register them again" in out
    assert main(["protect", "verify", str(job)]) == 0
    assert main(["protect", "upgrade", str(job), "--json"]) == 2


def test_refusals_of_a_vault_speak_of_the_command(job: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each says what to type: no keyword of Python, no empty list, no complaint about TOML where a receipt was given."""
    assert main(["protect", "keys", job, "--create"]) == 0
    assert main(["protect", "register", job, "people", "--table", "people-*.csv", *FACTS]) == 0
    assert main(["protect", "erase", job, "-i", "name=p1", "--receipt", str(tmp_path / "receipt.json")]) == 0
    assert main(["protect", "refuse", job, "-i", "name=p2", "--ground", "archiving"]) == 0
    capsys.readouterr()
    assert main(["protect", "keys", job, "--json"]) == 0
    key = json.loads(capsys.readouterr().out)["public_key"]
    assert main(["protect", "verify", str(tmp_path / "receipt.json"), "--public-key", key]) == 0
    assert main(["protect", "rotate", job]) == main(["protect", "keys", job, "--retire", "1"]) == 0
    capsys.readouterr()
    for arguments, words in (
        (["erase", job, "-i", "name=p2"], "--override) if"),
        (["verify", str(tmp_path / "receipt.json")], "give --public-key"),
        (["upgrade", job], "it needs no upgrade"),
    ):
        assert main(["protect", *arguments]) == 2
        assert words in capsys.readouterr().err
    assert main(["protect", "unregister", job, "people", "--reason", "over"]) == 0
    assert main(["protect", "unregister", job, "people", "--reason", "over"]) == 2
    assert "known: none" in capsys.readouterr().err
