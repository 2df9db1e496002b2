"""FF1 on the examples that NIST publishes, tokens of the same format, and dates moved person by person."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from discreet.errors import InvalidRequest
from discreet.jobs import protect as jobs
from discreet.protect import FileKeys, Pseudonymizer, SameFormat, shift_dates
from discreet.protect.ff1 import FF1

LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
KEY = "2B7E151628AED2A6ABF7158809CF4F3C"
LONG = KEY + "EF4359D8D580AA4F7F036D6F04FC6A94"
TWEAK, OTHER = "39383736353433323130", "3737373770717273373737"
# Key, radix, tweak, plaintext and ciphertext of the nine FF1 samples of SP 800-38G.
SAMPLES = [
    (KEY, 10, "", "0123456789", "2433477484"),
    (KEY, 10, TWEAK, "0123456789", "6124200773"),
    (KEY, 36, OTHER, "0123456789abcdefghi", "a9tv40mll9kdu509eum"),
    (KEY + "EF4359D8D580AA4F", 10, "", "0123456789", "2830668132"),
    (KEY + "EF4359D8D580AA4F", 10, TWEAK, "0123456789", "2496655549"),
    (KEY + "EF4359D8D580AA4F", 36, OTHER, "0123456789abcdefghi", "xbj3kv35jrawxv32ysr"),
    (LONG, 10, "", "0123456789", "6657667009"),
    (LONG, 10, TWEAK, "0123456789", "1001623463"),
    (LONG, 36, OTHER, "0123456789abcdefghi", "xs8a0azh2avyalyzuwd"),
]


@pytest.mark.parametrize(("key", "radix", "tweak", "text", "expected"), SAMPLES)
def test_ff1_gives_the_published_samples(key: str, radix: int, tweak: str, text: str, expected: str) -> None:
    cipher = FF1(bytes.fromhex(key), radix)
    made = cipher.encrypt([LETTERS.index(x) for x in text], bytes.fromhex(tweak))
    assert "".join(LETTERS[x] for x in made) == expected
    assert "".join(LETTERS[x] for x in cipher.decrypt(made, bytes.fromhex(tweak))) == text


def test_ff1_is_a_permutation_and_small_domains_are_refused() -> None:
    cipher = FF1(bytes(16), 1000)
    made = {tuple(cipher.encrypt([a, b])) for a in range(40) for b in range(40)}
    assert len(made) == 1600
    with pytest.raises(InvalidRequest, match="1,000,000 possible values"):
        FF1(bytes(16), 10).encrypt([1, 2, 3, 4, 5])
    with pytest.raises(InvalidRequest, match="radix"):
        FF1(bytes(16), 1)


@pytest.fixture
def people(tmp_path: Path) -> Pseudonymizer:
    return Pseudonymizer(["name"], FileKeys.create(tmp_path / "keys.json"))


def test_tokens_keep_the_format_and_can_be_turned_back_for_their_partner(people: Pseudonymizer) -> None:
    lab, firm = SameFormat(people, "lab"), SameFormat(people, "firm")
    texts = ["078-05-1120", "219-09-9999", None]
    tokens = lab.tokens(texts)
    assert all(token[3] == token[6] == "-" and len(token) == 11 for token in tokens if token)
    assert lab.texts(tokens) == texts
    assert tokens[0] not in (texts[0], *firm.tokens(texts))
    with pytest.raises(InvalidRequest) as refused:
        lab.tokens(["12345"])
    assert "12345" not in str(refused.value)


def test_dates_of_a_person_move_together_and_keep_their_distance(people: Pseudonymizer) -> None:
    names = [f"person {i % 300}" for i in range(600)]
    seen = [date(2020, 1, 1 + i % 28) if i < 300 else date(2021, 1 + i % 12, 3) for i in range(600)]
    table = {"name": names, "seen": [str(day) for day in seen], "cost": list(range(600))}
    moved = shift_dates(table, ["seen"], people, "lab", days=30, order="kept")
    assert list(moved) == ["seen", "cost"]
    days = [(date.fromisoformat(new) - old).days for new, old in zip(moved["seen"], seen, strict=True)]
    assert days[:300] == days[300:]
    assert {abs(shift) for shift in days} <= set(range(1, 31))
    assert len(set(days)) > 40  # of 60: missing 20 of them in 300 draws has a chance below 1e-30
    assert list(shift_dates(table, ["seen"], people, "firm", days=30, order="kept")["seen"]) != list(moved["seen"])
    odd = shift_dates({"name": ["a", "b"], "seen": ["9999-12-31", "soon"]}, ["seen"], people, "lab", days=30, order="kept")
    assert odd["seen"][1] is None


def test_dates_move_by_the_key_that_makes_the_tokens(tmp_path: Path) -> None:
    """A newer key changes neither of an older version: two shifts under one token would tell much of both."""
    keys = FileKeys.create(tmp_path / "keys.json")
    people = Pseudonymizer(["name"], keys)
    table = {"name": [f"person {i}" for i in range(50)], "seen": ["2020-01-10"] * 50}

    def made(partner: str = "lab", data_set: str = "one", version: int = 1) -> list[str]:
        options = {"version": version, "shift_dates": ["seen"], "order": "kept"}
        return list(people.table(table, partner, data_set, **options)["seen"])

    before = made()
    keys.add_version()
    assert made() == before
    assert made(version=2) != before
    assert made("lab one", "two") != made("lab", "one two")


def test_a_job_moves_dates_and_writes_numbers_of_the_same_form(tmp_path: Path) -> None:
    FileKeys.create(tmp_path / "keys.json")
    lines = [f"p{n % 3},2020-03-{n + 1:02},{n:03}-45-{n:04},{n}" for n in range(9)]
    (tmp_path / "t.csv").write_text("\n".join(["name,seen,ssn,n", *lines]) + "\n")
    text = 'table = "t.csv"\noutput = "out.csv"\npartner = "lab"\nrow_order = "kept"\ndays = 20\nshift_dates = ["seen"]\n'
    identity = '[identity]\nkeys = "keys.json"\nfields = [{ name = "name" }]\n'
    (tmp_path / "job.toml").write_text(text + 'same_format = ["ssn"]\n' + identity)
    assert jobs.pseudonymize(tmp_path / "job.toml") == 9
    rows = [line.split(",") for line in (tmp_path / "out.csv").read_text().splitlines()]
    assert rows[0] == ["seen", "ssn", "n", "token"]
    moves = [(date.fromisoformat(row[0]) - date(2020, 3, place)).days for place, row in enumerate(rows[1:], 1)]
    assert moves == moves[:3] * 3  # three people, each with days of their own
    assert all(1 <= abs(move) <= 20 for move in moves)
    people = Pseudonymizer(["name"], tmp_path / "keys.json")
    assert SameFormat(people, "lab").texts(row[1] for row in rows[1:]) == [f"{n:03}-45-{n:04}" for n in range(9)]
    for wrong, says in (('same_format = ["n"]', "1,000,000 possible"), ('same_format = ["seen"]', "named once")):
        (tmp_path / "out.csv").unlink(missing_ok=True)
        (tmp_path / "job.toml").write_text(text + wrong + "\n" + identity)
        with pytest.raises(InvalidRequest, match=says):
            jobs.pseudonymize(tmp_path / "job.toml")
        assert not (tmp_path / "out.csv").exists()
