"""``discreet audit`` and ``discreet protect``: help, the happy path, JSON and errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from discreet.audit import claims, law_claims, statistic_claims
from discreet.cli import main
from discreet.protect import FileKeys


def few(quick: bool) -> list[claims.Row]:
    return [
        law_claims.audit_law(law_claims.CASES[0], 4000),
        statistic_claims.audit_statistic("count", "add_remove", 2000),
    ]


def test_audit(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "everything", few)
    assert main(["audit", "--quick", "--out", str(tmp_path / "a")]) == 0
    out = capsys.readouterr().out
    assert "2 of 2 entries are as they should be" in out
    assert "laplace" in out
    page = (tmp_path / "a" / "audit.html").read_text()
    assert page.count("<svg") == 2
    assert json.loads((tmp_path / "a" / "audit.json").read_text())["mode"] == "quick"
    assert main(["audit", "--quick", "--json", "--out", str(tmp_path / "a")]) == 0
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 2


def test_a_broken_claim_is_told_and_exits_with_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = claims.Row("law", "too good", 1.0, 0.0, 1.5, False, 0.1)
    monkeypatch.setattr(claims, "everything", lambda quick: [wrong])
    assert main(["audit", "--out", str(tmp_path)]) == 2
    assert "too good" in capsys.readouterr().err
    assert "BROKEN" in (tmp_path / "audit.html").read_text()


def test_an_unwritable_place_is_refused_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["audit", "--quick", "--out", str(tmp_path / "file" / "deeper")]) == 2
    assert "--out" in capsys.readouterr().err


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = "\n".join(f"p{i},{20 + i % 40},{'f' if i % 2 else 'm'},{'flu' if i % 3 else 'cold'}" for i in range(120))
    (tmp_path / "people.csv").write_text(f"name,age,sex,illness\n{rows}\n")
    FileKeys.create(tmp_path / "keys.json")
    identity = '[identity]\nkeys = "keys.json"\nfields = [{ name = "name" }]\n'
    (tmp_path / "tokens.toml").write_text(f'table = "people.csv"\noutput = "tokens.csv"\npartner = "university"\n{identity}')
    (tmp_path / "anonymous.toml").write_text(
        'table = "people.csv"\noutput = "anonymous.csv"\nreport = "report.html"\nk = 5\n'
        'quasi_identifiers = ["age", "sex"]\n[hierarchies.age]\nkind = "intervals"\nlo = 0\nhi = 100\nwidths = [10, 50]\n'
        '[hierarchies.sex]\nkind = "tree"\npaths = { f = ["any"], m = ["any"] }\n'
    )
    (tmp_path / "check.toml").write_text('table = "people.csv"\nquasi_identifiers = ["sex"]\nsensitive = "illness"\n')
    (tmp_path / "vault.toml").write_text(f'vault = "sqlite:///vault.db"\n{identity}')
    return tmp_path


def test_tokens_and_measures(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["protect", "pseudonymize", str(folder / "tokens.toml")]) == 0
    assert "120 rows" in capsys.readouterr().out
    written = (folder / "tokens.csv").read_text()
    assert "name" not in written.splitlines()[0]
    assert "\np7," not in written
    assert main(["protect", "check", str(folder / "check.toml"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["k"], found["l"]) == (60, 2)
    assert main(["protect", "check", str(folder / "check.toml")]) == 0
    assert "prosecutor" in capsys.readouterr().out


def test_an_anonymous_copy_with_its_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["protect", "anonymize", str(folder / "anonymous.toml"), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert set(made["levels"]) == {"age", "sex"}
    assert "<svg" in (folder / "report.html").read_text() or "<img" in (folder / "report.html").read_text()
    assert made["copied"] == ["name", "illness"]
    assert main(["protect", "anonymize", str(folder / "anonymous.toml")]) == 2  # it does not write over what is there
    assert "must not exist" in capsys.readouterr().err


def test_columns_copied_unchanged_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = folder / "anonymous.toml"
    job.write_text(job.read_text().replace('report = "report.html"\n', ""))
    assert main(["protect", "anonymize", str(job)]) == 0
    assert "Copied unchanged: name, illness; check that none of them identifies anyone" in capsys.readouterr().out
    (folder / "anonymous.csv").unlink()
    job.write_text('drop = ["name"]\n' + job.read_text())
    assert main(["protect", "anonymize", str(job)]) == 0
    assert "Copied unchanged" not in capsys.readouterr().out
    assert (folder / "anonymous.csv").read_text().startswith("age,sex,illness")
    assert main(["protect", "--help"]) == 0
    assert "docs/how-to/protect.md" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["pseudonymize", "anonymize", "check", "access", "erase", "refuse"])
def test_help_and_errors(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["protect", command, "--help"]) == 0
    assert "JOB.toml" in capsys.readouterr().out
    extra = ["--identity", "name=x"] if command in ("access", "erase", "refuse") else []
    extra += ["--ground", "expression"] if command == "refuse" else []
    assert main(["protect", command, str(tmp_path / "none.toml"), *extra]) == 2
    assert "none.toml" in capsys.readouterr().err


def test_requests_of_a_person(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from discreet.jobs.protect import Job

    with Job.read(folder / "vault.toml").vault() as vault:
        vault.register("people", folder / "people.csv", purpose="care", categories=["health"], recipients=["university"],
                       retention="ten years")  # fmt: skip
    assert main(["protect", "access", str(folder / "vault.toml"), "-i", "name=p7", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"]["people"][0]["name"] == "p7"
    assert main(["protect", "refuse", str(folder / "vault.toml"), "-i", "name=p8", "--ground", "expression"]) == 0
    capsys.readouterr()
    assert main(["protect", "erase", str(folder / "vault.toml"), "-i", "name=p7"]) == 0
    assert "university" in capsys.readouterr().out
    assert "p7," not in (folder / "people.csv").read_text()
    assert main(["protect", "erase", str(folder / "vault.toml"), "-i", "name=p8"]) == 2  # refused above
    assert main(["protect", "erase", str(folder / "vault.toml"), "-i", "name=p8", "--override"]) == 0
    capsys.readouterr()
    assert main(["protect", "access", str(folder / "vault.toml"), "-i", "p7"]) == 2
    assert "name=value" in capsys.readouterr().err
