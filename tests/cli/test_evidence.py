"""The folder for a review board: valid, signed, complete, and made without reading a record."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

import discreet as ds
from discreet.cli import main
from discreet.core.mechanism import mechanisms
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.jobs import deployment_document
from discreet.jobs.evidence import About
from discreet.report import for_people as people
from discreet.service.signing import verify_head

ROOT = Path(__file__).parents[2]
ABOUT = 'author = "Ana"\nshort_name = "Visits"\ncurator = "A clinic"\npurpose = "To plan <hours>."\n'
RELEASE = """
title = "Visits"
table = "t.csv"
ledger = "sqlite:///ledger.db"
[budget]
epsilon = 1
[schema]
person = "who"
max_rows = 2
columns.x = { type = "real", bounds = [0, 5] }
columns.c = { type = "category", values = ["a", "b"] }
[[ask]]
title = "How high"
statistic = "mean"
columns = "x"
by = "c"
epsilon = 0.25
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("board")
    (here / "t.csv").write_text("who,x,c\n1,1,a\n2,2,b\n")
    (here / "r.toml").write_text(RELEASE)
    (here / "about.toml").write_text(ABOUT)
    row = {"kind": "law", "name": "laplace", "claim": 1.0, "delta": 0.0, "certified": 0.9, "holds": True}
    (here / "audit.json").write_text(json.dumps({"kind": "audit", "rows": [row]}))
    assert main(["release", str(here / "r.toml")]) == 0
    (here / "t.csv").unlink()  # no record is read for evidence
    assert main(_command(here)) == 0
    return here


def _command(here: Path) -> list[str]:
    given = ["evidence", str(here / "r.toml"), str(here / "about.toml"), "--audit", str(here / "audit.json")]
    return [*given, "--out", str(here / "evidence")]


def test_the_registry_document_is_yaml_and_valid(folder: Path) -> None:
    document = yaml.safe_load((folder / "evidence" / "registry.yaml").read_text())
    deployment_document.check(document)
    told = document["deployment"]
    assert document["approved"] is False
    assert told["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0}
    assert told["dp_variant"]["name"] == "Pure DP"
    assert "at most 2 rows" in told["privacy_loss"]["privacy_unit_details"]
    assert "ε=0.25 was spent" in told["privacy_loss"]["privacy_parameters_details"]
    assert isinstance(told["publication_date"], str)
    assert "laplace with scale or rate" in told["implementation"]["mechanisms"]


def _paths(schema: deployment_document.Schema, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = []
    for key, rule in schema.items():
        found += [(*path, key)] if isinstance(rule, deployment_document.RegistryField) else _paths(rule, (*path, key))
    return found


def test_any_field_missing_unknown_or_of_another_kind_is_refused(folder: Path) -> None:
    good = yaml.safe_load((folder / "evidence" / "registry.yaml").read_text())
    assert len(_paths(deployment_document.SCHEMA)) == 30
    for path in _paths(deployment_document.SCHEMA):
        for change in ("missing", "list", "unknown"):
            bad: Any = deepcopy(good)
            place = bad
            for key in path[:-1]:
                place = place[key]
            if change == "missing":
                optional = path[-1] in ("epsilon", "rho", "delta", "additional_information_url")
                if place.pop(path[-1], None) is None or optional:
                    continue
            else:
                place[path[-1] if change == "list" else "dp_flavor"] = ["x"]
            with pytest.raises(UnsupportedFormat, match=re.escape(path[-1]) if change != "unknown" else "dp_flavor"):
                deployment_document.check(bad)
    for path, value in ((("model", "model_type"), "Cloud"), (("publication_date",), "18.11.2026"), (("short_name",), " ")):
        bad = deepcopy(good)
        place = bad["deployment"]
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        with pytest.raises(UnsupportedFormat, match=path[-1]):
            deployment_document.check(bad)
    bad = deepcopy(good)
    bad["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"] = True
    with pytest.raises(UnsupportedFormat, match="epsilon"):
        deployment_document.check(bad)


def test_texts_survive_yaml_whatever_they_hold() -> None:
    words = {"a": 'x: "y" # no\n- ε \\ {', "b": {"c": "yes", "d": 1e-06, "e": False}}
    assert yaml.safe_load(deployment_document.to_yaml(words))["a"] == words["a"]
    assert yaml.safe_load(deployment_document.to_yaml(words))["b"]["c"] == "yes"
    assert yaml.safe_load(deployment_document.to_yaml(words))["b"]["d"] == 1e-06


def test_the_head_is_signed_and_binds_the_files(folder: Path) -> None:
    inside = folder / "evidence"
    signed = json.loads((inside / "ledger_head.json").read_text())
    public = (inside / "public_key.txt").read_text().strip()
    verify_head(public, signed["fact"], signed["signature"])
    with pytest.raises(InvalidRequest):
        verify_head(public, signed["fact"].replace("1/4", "1/5"), signed["signature"])
    fact = json.loads(signed["fact"])
    assert fact["total"]["epsilon"] == "1/4"
    assert set(fact["files"]) == {"registry.yaml", "people.html", "audit.csv", "proofs.csv"}
    for name, digest in fact["files"].items():
        assert hashlib.sha256((inside / name).read_bytes()).hexdigest() == digest
    assert main(["ledger", "verify", str(folder / "ledger.db"), "--head", fact["head"]]) == 0
    assert (folder / "evidence.key").stat().st_mode & 0o077 == 0


def test_the_audit_says_what_came_of_it_in_words(folder: Path) -> None:
    """A mistake made on purpose that was found reads as refuted, not as a claim that holds."""
    rows = [{"kind": kind, "name": "n", "holds": holds} for kind in ("law", "broken") for holds in (True, False)]
    (folder / "all.json").write_text(json.dumps({"kind": "audit", "rows": rows}))
    given = ["--audit", str(folder / "all.json"), "--out", str(folder / "all")]
    assert main(["evidence", str(folder / "r.toml"), str(folder / "about.toml"), *given]) == 0
    with (folder / "all" / "audit.csv").open() as file:
        told = [row["verdict"] for row in csv.DictReader(file)]
    assert told == ["holds", "BROKEN", "refuted", "NOT REFUTED"]
    guide = (folder / "all" / "README.md").read_text()
    assert all(f"`{word}`" in guide for word in told)


def test_the_guide_checks_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder / "evidence")
    code = re.findall(r"```python\n(.*?)```", Path("README.md").read_text(), re.DOTALL)[0]
    exec(code, {})
    people = Path("people.html").read_text()
    assert "73.1" in people
    assert "&lt;hours&gt;" in people
    assert "http" not in people.replace("http-equiv", "")
    Path("people.html").write_text(people + " ")
    with pytest.raises(AssertionError):
        exec(code, {})
    Path("people.html").write_text(people)


def test_every_law_is_in_the_index_of_proofs_and_every_suite_exists(folder: Path) -> None:
    with (folder / "evidence" / "proofs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 200
    assert all(
        row["claim"] and row["proof"] and (ROOT / row["file"]).exists() and (ROOT / row["test"]).is_dir() for row in rows
    )
    assert not [row["name"] for row in rows if re.search(r"(\.\.|\bal\.| \.)$|``", row["claim"])]
    assert next(row["claim"] for row in rows if row["name"] == "discreet.core.grid.quantise").startswith(
        "Whole numbers 0 .. "
    )
    proved = {row["name"] for row in rows}
    laws = [
        mechanisms[n] for n in mechanisms if mechanisms[n].__module__.startswith("discreet.mechanisms.") and n != "no_noise"
    ]
    for law in laws:
        parents = {f"{c.__module__}.{c.__name__}" for c in law.__mro__}
        assert parents & proved, law


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("about.toml", ABOUT.replace("Ana", " "), "line 1: author must be a few words"),
        ("about.toml", ABOUT + 'purpos = "x"\n', "did you mean 'purpose'"),
        ("audit.json", "{}", "not an audit"),
        ("audit.json", "x", "cannot be read"),
        ("r.toml", RELEASE.replace("ledger.db", "other.db"), "run `discreet release` first"),
    ],
)
def test_refusals_say_what_to_do(
    folder: Path, name: str, text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for each in ("r.toml", "about.toml", "audit.json", "ledger.db", "ledger.db.head", "ledger.db.key"):
        (tmp_path / each).write_bytes((folder / each).read_bytes())
    (tmp_path / name).write_text(text)
    assert main(_command(tmp_path)) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "evidence").exists()


def test_people_are_told_what_their_relation_hides() -> None:
    about = About(author="A", short_name="B", curator="C", purpose="D")
    for relation, words in (("replace", "what you told"), ("add_remove", "whether you are in the table at all")):
        schema = ds.Schema({"x": ds.Real(0, 1)}, neighbors=relation)
        page = people.render("T", about, Book(budget=ds.Budget(rho="0.5"), spent="ρ=0.1"), schema)
        assert words in page
        assert "each is protected by itself" in page
        assert "How sure" not in page  # a table of beliefs is for pure guarantees


@dataclass
class Book:
    """What the page reads of a ledger."""

    budget: ds.Budget
    spent: str
