"""What version 0.1.0 wrote still opens: as it is, or after one command that begins with a backup."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import discreet as ds
from discreet.core.release import Release
from discreet.core.result import Result
from discreet.errors import UnitMismatch, UnsupportedFormat
from discreet.ledger import Ledger, keeping
from tests.cli.conftest import Run, run

__all__ = ["run"]
WRITTEN = Path(__file__).parents[1] / "fixtures" / "0.1.0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of everything, to upgrade."""
    shutil.copytree(WRITTEN, tmp_path / "old")
    return tmp_path / "old"


def test_a_ledger_is_upgraded_by_one_command_after_a_backup(folder: Path, run: Run) -> None:
    path = folder / "book" / "ledger.db"
    before = path.read_bytes()
    told = run("ledger", "verify", path, "--name", "everything")
    assert told.code == 2
    assert "written by an earlier version" in told.err
    assert "discreet ledger upgrade" in told.err
    assert told.err.count("\n") == 1
    assert path.read_bytes() == before, "a refusal changes nothing"
    done = run("ledger", "upgrade", path)
    assert (done.code, done.err) == (0, "")
    assert (folder / "book" / "ledger.db.0.1.0").stat().st_size > 0
    facts: dict[str, Any] = {}
    for name in ("everything", "concentrated", "renyi", "both"):
        assert run("ledger", "verify", path, "--name", name).code == 0
        with Ledger(f"sqlite:///{path}", name=name) as ledger:
            facts[name] = (str(ledger.budget), ledger.relation, ledger.unit, ledger.unanswered())
    assert facts == {
        "everything": ("ε=2", "add_remove", None, []),
        "concentrated": ("ρ=0.5", "replace", None, []),
        "renyi": ("ε=1, δ=1e-06", "add_remove", None, []),
        "both": ("ε=1, δ=1e-06", "both", None, []),
    }
    with Ledger(f"sqlite:///{path}", name="everything") as ledger:
        count = ledger.count
        spent = ledger.spent()
        ledger.charge(ds.Laplace(scale=100), 1, "one more")
        assert ledger.verify() == count + 1
        assert ledger.spent().epsilon == spent.epsilon + ds.Laplace(scale=100).cost(1).epsilon
    assert "Nothing to do" in run("ledger", "upgrade", path).out


def test_a_release_of_then_is_read_and_its_answers_are_still_free(folder: Path, run: Run) -> None:
    there = folder / "release"
    doc = json.loads((there / "releases.json").read_text())
    for asked in doc["asks"]:
        result = Result.from_json(json.dumps(asked["result"]))
        for release in result.releases:
            assert Release.from_json(release.to_json()).entry == release.entry
    keeping.upgrade(f"sqlite:///{there}/ledger.db", there / "before.db")
    with Ledger(f"sqlite:///{there}/ledger.db", name="people") as ledger:
        assert ledger.verify(doc["ledger"]["head"]) > 0
        spent = ledger.spent()
    again = run("release", there / "people.toml", "--out", there / "again")
    assert (again.code, again.err) == (0, "")
    with Ledger(f"sqlite:///{there}/ledger.db", name="people") as ledger:
        assert ledger.spent() == spent, "asked again of the same version it is free"
        session = ds.Session(there / "people.csv", there / "people.schema.toml", ledger=ledger)
        session.count(epsilon=0.1)
        assert ledger.unit.person == "id", "the first question after the upgrade binds the unit"
        with pytest.raises(UnitMismatch):
            ds.mean([1.0, 2.0], bounds=(0, 10), epsilon=0.1, ledger=ledger)
        ledger.verify()


@pytest.mark.parametrize("name", ["logistic.json", "linear.json"])
def test_a_published_model_of_then_predicts(folder: Path, name: str) -> None:
    model = ds.models.load(folder / "model" / name)
    assert len(model.predict({"age": [20, 80]})) == 2


def test_an_upgrade_that_cannot_make_its_backup_changes_nothing(folder: Path) -> None:
    path = folder / "book" / "ledger.db"
    before = path.read_bytes()
    with pytest.raises(ds.errors.InvalidRequest, match="begins with a backup in a new file"):
        keeping.upgrade(f"sqlite:///{path}", path)
    assert path.read_bytes() == before
    with pytest.raises(UnsupportedFormat):
        Ledger(f"sqlite:///{path}", name="everything")
