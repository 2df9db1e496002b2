"""The scanner on made-up notes and columns whose words are not its own: precision and recall, and that no cell is shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidRequest
from discreet.protect import Hierarchy, anonymize, mondrian, patterns, report, scan
from discreet.protect.scanning import IDENTIFIERS
from discreet.protect.treatment import UNTOUCHED, safe_harbour, treatment
from tests.protect import hard_notes
from tests.protect.hard_notes import hard_note

FIRST = [
    "Aroha", "Bjarne", "Chidi", "Dariela", "Eluned", "Fjodor", "Ghislaine", "Hokulani", "Ishaan", "Jorunn", "Kwabena",
    "Ludmila", "Mireille", "Nasrin",
]  # fmt: skip
LAST = [
    "Achterberg", "Bhattacharya", "Castellanos", "Dunsmore", "Eriksdotter", "Fitzwilliam", "Grzelak", "Holloway",
    "Ibarra", "Jankowski",
]  # fmt: skip
FILLER = [
    "complains of a dry cough at night", "was given two tablets of 500 mg", "had a temperature of 38.4 degrees",
    "walks with a stick since the fall", "sleeps well and eats little", "weighs 72.5 kg at 181 cm", "pressure was 140/90",
    "takes 12 units before breakfast", "scored 27 of 30 on the questionnaire", "ratio of 3.5 to 1 in the sample",
]  # fmt: skip


def note(rng: np.random.Generator) -> tuple[str, list[tuple[str, str]]]:
    """A note and what identifies a person in it, by kind."""

    def some(words: list[str]) -> str:
        return str(rng.choice(words))

    def digits(many: int) -> str:
        return "".join(map(str, rng.integers(1, 9, many)))

    person = f"{some(FIRST)} {some(LAST)}"
    y, m, d = int(rng.integers(1940, 2024)), int(rng.integers(1, 13)), int(rng.integers(1, 29))
    days = [f"{y}-{m:02}-{d:02}", f"{d}.{m}.{y}", f"{m}/{d}/{y}", f"{d} {['March', 'October', 'Sept'][m % 3]} {y}"]
    calls = [
        f"+44 20 {digits(4)} {digits(4)}",
        f"({digits(3)}) {digits(3)}-{digits(4)}",
        f"{digits(3)}-{digits(3)}-{digits(4)}",
    ]
    parts = [
        (f"the parcel for {{}} {some(FILLER)}", "name", person),
        (f"since {{}} the leg {some(FILLER)}", "date", some(days)),
        ("reach the family on {}", "telephone number", some(calls)),
        ("letters go to {}", "e-mail", f"{some(FIRST).lower()}.{some(LAST).lower()}@mail{digits(2)}.example.org"),
        ("the card shows {}", "social security number", f"{digits(3)}-{digits(2)}-{digits(4)}"),
        ("lives in the valley, zip {}", "postal code", digits(5)),
        (f"the child {some(FILLER)}", "", ""),
        (f"everyone {some(FILLER)}", "", ""),
    ]
    chosen = [parts[i] for i in rng.permutation(len(parts))[:4]]
    text = ". ".join(form.format(value) for form, _, value in chosen) + "."
    return text, [(kind, value) for _, kind, value in chosen if kind]


@pytest.mark.parametrize("made", [note, hard_note])
def test_precision_and_recall_on_made_up_notes(made: Callable[[np.random.Generator], tuple[str, list[Any]]]) -> None:
    rng = np.random.default_rng(11)
    right = told = true = 0
    for _ in range(800):
        text, expected = made(rng)
        found = [(match.kind, text[match.start : match.stop]) for match in patterns.find(text)]
        right += len(set(found) & set(expected))
        told, true = told + len(found), true + len(expected)
    assert right / told > 0.95
    assert right / true > 0.95


def test_the_scanner_knows_none_of_the_made_up_names() -> None:
    source = Path(patterns.__file__).read_text() + Path(scan.__code__.co_filename).read_text()
    known = set(re.findall(r"\w+", source.lower()))
    names = " ".join([*FIRST, *LAST, *hard_notes.FIRST, *hard_notes.LAST]).lower()
    assert not known & {word for word in re.findall(r"\w+", names) if len(word) > 1}


def columns(rng: np.random.Generator) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Columns with names that say nothing, and what is in them."""
    many = 60

    def digits(n: int) -> str:
        return "".join(map(str, rng.integers(1, 9, n)))

    table = {
        "c1": [f"{rng.choice(FIRST)} {rng.choice(LAST)}" for _ in range(many)],
        "c2": [f"{rng.integers(1950, 2020)}-{rng.integers(1, 13):02}-{rng.integers(1, 29):02}" for _ in range(many)],
        "c3": [f"x{digits(4)}@example.org" for _ in range(many)],
        "c4": [f"{digits(3)}-{digits(2)}-{digits(4)}" for _ in range(many)],
        "c5": [f"+49 30 {digits(7)}" for _ in range(many)],
        "c6": [f"0{digits(4)}" for _ in range(many)],
        "c7": [note(rng)[0] for _ in range(many)],
        "c8": [str(rng.choice(["yes", "no", "unknown"])) for _ in range(many)],
        "c9": [f"{rng.normal(70, 9):.1f}" for _ in range(many)],
        "c10": [digits(3) for _ in range(many)],
        "c11": [str(rng.choice(["fever", "dry cough", "Type B"])) for _ in range(many)],
    }  # fmt: skip
    kinds = ["name", "date", "e-mail", "social security number", "telephone number", "postal code", "free text"]
    return table, dict(zip(table, kinds, strict=False))


@pytest.mark.parametrize("seed", range(8))
def test_columns_are_found_by_the_form_of_their_cells(seed: int) -> None:
    table, expected = columns(np.random.default_rng(seed))
    found = scan(table)
    assert {f.column: f.kind for f in found.findings} == expected
    assert found.clear == ("c8", "c9", "c10", "c11")
    said = str(found.to_dict()) + found.plan() + str(found.safe_harbour())
    assert not any(cell in said for name in ("c1", "c3", "c4", "c5") for cell in table[name])
    assert [row[0] for row in found.safe_harbour()] == list(IDENTIFIERS)
    assert len(IDENTIFIERS) == 18


def test_a_columns_name_decides_where_its_cells_say_little() -> None:
    found = scan({"surname": ["ek", "lind"], "patient_id": [7, 8], "date of birth": ["?", "!"], "cost": [12, 13]})
    assert {f.column: f.kind for f in found.findings} == {
        "surname": "name", "patient_id": "record number", "date of birth": "date",
    }  # fmt: skip


@pytest.mark.parametrize(
    "cell", ["a@b.org", "call 030 123 4567", "since 12.3.2020", "ask Dr. Holloway about it", "123-45-6789"]
)
def test_few_cells_that_identify_are_found_among_others(cell: str) -> None:
    found = scan({"remark": ["fine", "tired", "Type B", "", "none"] * 20 + [cell]})
    assert [(f.column, f.kind, sum(f.within.values())) for f in found.findings] == [("remark", "free text", 1)]
    assert cell not in str(found.to_dict())


@pytest.mark.parametrize("cell", ["ann@b.org", "123-45-6789", "030 123 4567"])
def test_a_first_row_that_is_no_header_is_not_quoted(cell: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"Ann Ek,{cell}\nBo Lind,\n")
    with pytest.raises(InvalidRequest, match="number 2 looks like a cell of somebody") as refusal:
        scan(tmp_path / "t.csv")
    assert cell not in str(refusal.value)
    assert "Ann" not in str(refusal.value)


def test_what_a_copy_did_to_each_identifier() -> None:
    table = {
        "name": ["Ann", "Bo"] * 5,
        "zip": ["01234", "05678"] * 5,
        "born": [f"19{50 + n}-01-02" for n in range(10)],
        "ill": list("ab") * 5,
    }
    levels = {"zip": Hierarchy.prefixes(5), "born": Hierarchy.dates("1900-01-01", "2000-01-01", ["year", "decade"])}
    copy = anonymize(table, ["zip", "born"], levels, 5, drop=["name"])
    told = {row[0][0]: row[1:] for row in safe_harbour(copy)}
    assert len(told) == 18
    assert told["A"] == ("name", "name: left out")
    assert told["B"] == ("zip", "zip: copied unchanged")
    assert told["C"] == ("born", "born: generalized: decade")
    assert told["D"] == ("none found", "check by hand")
    assert list(treatment(copy.at({"zip": 2, "born": 3})).values())[1:3] == ["generalized: first 3", "one word for all"]
    boxes = treatment(mondrian(table, ["born"], levels, 2, drop=["name"]))
    assert list(boxes.values()) == ["left out", UNTOUCHED, "replaced by the stretch of its class", UNTOUCHED]
    assert "born: generalized: decade" in report.render(copy)
