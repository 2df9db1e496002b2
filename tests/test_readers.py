"""Damaged documents are read or refused in one line: 130 of each kind here, a hundred thousand in ``study/readers.py``."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from study import readers

from discreet.errors import UnsupportedFormat


@pytest.mark.parametrize("kind", [each["document"] for each in readers.SETTINGS if each["document"] != "receipt"])
def test_damaged_documents_are_answered_in_one_line(kind: str, tmp_path: Path) -> None:
    """Fixed seed; true for any, so no false alarms."""
    chance = random.Random(7)
    outcomes = [readers.case(kind, chance, tmp_path) for _ in range(130)]
    assert not [said for outcome, said in outcomes if outcome == "failed"]
    assert {outcome for outcome, _ in outcomes} == {"read", "refused"}


@pytest.mark.parametrize("kind", [each["document"] for each in readers.SETTINGS])
def test_documents_as_they_were_written_are_read(kind: str, tmp_path: Path) -> None:
    import json

    documents, use = readers.KINDS[kind]
    assert documents(), "a kind without a document would be read without a look"
    for document in documents():
        text: Any = readers._toml(document) if kind.endswith("file") or kind == "schema" else json.dumps(document)
        (tmp_path / "document").write_text(text)
        use(tmp_path / "document", text)


def _counts_as_text(document: Any) -> None:
    document["releases"][0]["value"] = [str(count) for count in document["releases"][0]["value"]]


def _endless(document: Any) -> None:
    document["seconds"] = 10**400


def _nested_by(document: Any) -> None:
    document["ask"][0]["by"] = [["sex"]]


@pytest.mark.parametrize(
    ("kind", "harm"), [("result", _counts_as_text), ("posterior", _endless), ("release file", _nested_by)]
)
def test_what_does_not_fit_is_refused_where_it_is_read(kind: str, harm: Any, tmp_path: Path) -> None:
    """Each was read, and raised where it was shown or named."""
    import copy
    import json

    document = copy.deepcopy(readers.KINDS[kind][0]()[8 if kind == "result" else 0])  # a crosstab
    harm(document)
    text = readers._toml(document) if kind.endswith("file") else json.dumps(document)
    (tmp_path / "document").write_text(text)
    with pytest.raises(UnsupportedFormat) as refusal:
        readers.KINDS[kind][1](tmp_path / "document", text)
    assert "\n" not in str(refusal.value)
