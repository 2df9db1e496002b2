"""Tokens: stable, unlinkable, translatable, and refused when anything about them is wrong."""

from __future__ import annotations

import base64
import hashlib
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InvalidRequest, UnknownName, UnsupportedFormat
from discreet.protect import CallableKeys, EnvironmentKeys, Field, FileKeys, Pseudonymizer
from discreet.protect.identifiers import check_new, public_name

FIXED = CallableKeys(lambda name: hashlib.sha256(name.encode()).digest(), newest=2)


def test_partners_share_no_token_and_translation_is_exact(keys: FileKeys) -> None:
    """10**4 identities here, 10**5 in the bench."""
    people = Pseudonymizer(["id"], keys)
    ids = [f"person {i}" for i in range(10_000)]
    lab, clinic = people.tokens(ids, "lab"), people.tokens(ids, "clinic")
    other = people.tokens(ids, "lab", "second study")
    assert len({*lab, *clinic, *other}) == 30_000
    assert people.translate(lab, "lab", "clinic") == clinic
    assert people.translate(other, ("lab", "second study"), "lab") == lab
    assert people.tokens(ids, "lab") == lab
    assert not {t[-43:] for t in lab} & {t[-43:] for t in clinic}


def test_a_known_token() -> None:
    """Written out once from the definition with other code: the form of a token must not change between releases."""
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    def prefixed(*parts: str) -> bytes:
        return b"".join(len(p.encode()).to_bytes(4, "big") + p.encode() for p in parts)

    digest = _hmac(FIXED.key("identity"), prefixed("1", "people", "name", "born", "müller anna", "1990-02-01"))
    key = HKDF(SHA256(), 64, None, prefixed("partner-key", "lab", "2")).derive(FIXED.key("master/2"))
    sealed = AESSIV(key).encrypt(digest, [b"lab", b"study", b"2"])
    people = Pseudonymizer([Field("name"), Field("born", date="%d.%m.%Y")], FIXED)
    made = people.tokens([("Müller   ANNA", "01.02.1990")], "lab", "study")
    assert made == ["2." + base64.urlsafe_b64encode(sealed).decode()]


def _hmac(key: bytes, message: bytes) -> bytes:
    inner = hashlib.sha256(bytes(b ^ 0x36 for b in key.ljust(64, b"\0")) + message).digest()
    return hashlib.sha256(bytes(b ^ 0x5C for b in key.ljust(64, b"\0")) + inner).digest()


def test_spellings_of_one_person_share_a_token(pseudonyms: Pseudonymizer) -> None:
    forms = [("José  García", "01.02.1990"), (" JOSÉ garcía ", "1.2.1990"), ("Jose\u0301 García", "01.02.1990")]
    assert len(set(pseudonyms.tokens(forms, "lab"))) == 1
    assert len(set(pseudonyms.tokens([{"born": "01.02.1990", "name": "José García"}, forms[0]], "lab"))) == 1
    assert len(set(pseudonyms.tokens([("ab", "01.02.1990"), ("a b", "01.02.1990")], "lab"))) == 2
    plain = Pseudonymizer([Field("a", case="keep", blanks="keep"), Field("b", case="keep", blanks="none")], pseudonyms.keys)
    assert len(set(plain.tokens([("x", "y"), ("X", "y"), ("x ", "y"), ("xy", "z"), ("x", "yz")], "lab"))) == 5
    assert len(set(plain.tokens([("x", "1 2"), ("x", "12")], "lab"))) == 1
    assert len(set(plain.tokens([(1, "y"), (1.0, "y"), ("1", "y")], "lab"))) == 1


def test_dictionary_attack_without_the_key_finds_nothing(tmp_path: Path, keys: FileKeys) -> None:
    """Everyone who may be in the table, hashed and tokenised by someone with other keys: no token appears."""
    ids = [f"{i:04}" for i in range(2000)]
    tokens = set(Pseudonymizer(["id"], keys).tokens(ids, "lab"))
    guesses = set(Pseudonymizer(["id"], FileKeys.create(tmp_path / "other.json")).tokens(ids, "lab"))
    hashes = {base64.urlsafe_b64encode(hashlib.sha256(i.encode()).digest()).decode()[:43] for i in ids}
    assert not tokens & guesses
    assert not {t[2:45] for t in tokens} & hashes
    assert not {t[-43:] for t in tokens} & hashes


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 65), st.sampled_from("AZaz09-_=. é"))
def test_altered_tokens_are_refused(place: int, letter: str) -> None:
    people = Pseudonymizer(["id"], FIXED)
    token = people.tokens(["someone"], "lab")[0]
    altered = token[:place] + letter + token[place + 1 :]
    if altered == token:
        assert people.verify(token, "lab", identity="someone")
        return
    with pytest.raises((InvalidRequest, UnknownName)):
        people.verify(altered, "lab")
    with pytest.raises((InvalidRequest, UnknownName)):
        people.translate([altered], "lab", "clinic")


def test_verify_and_rotate(keys: FileKeys) -> None:
    people = Pseudonymizer(["id"], keys)
    old = people.tokens(["a", "b"], "lab")
    assert people.verify(old[0], "lab", identity="a")
    assert not people.verify(old[0], "lab", identity="b")
    with pytest.raises(InvalidRequest, match="altered, or made"):
        people.verify(old[0], "clinic")
    with pytest.raises(InvalidRequest, match="altered, or made"):
        people.verify(old[0], "lab", "another set")
    assert keys.add_version() == 2
    new = people.rotate(old, "lab")
    assert new == people.tokens(["a", "b"], "lab")
    assert all(token.startswith("2.") for token in new)
    assert not {t[2:] for t in old} & {t[2:] for t in new}
    assert people.rotate(new, "lab", version=1) == old
    with pytest.raises(UnknownName, match="no key 'master/3'"):
        people.tokens(["a"], "lab", version=3)


def test_wrong_key_is_refused(keys: FileKeys, tmp_path: Path) -> None:
    token = Pseudonymizer(["id"], keys).tokens(["a"], "lab")[0]
    other = Pseudonymizer(["id"], FileKeys.create(tmp_path / "other.json"))
    with pytest.raises(InvalidRequest, match="other keys"):
        other.verify(token, "lab")


@pytest.mark.parametrize("identity", [None, "", "  ", float("nan"), ("a", "b"), {"name": "a"}])
def test_missing_or_misshapen_identities(identity: Any) -> None:
    with pytest.raises(InvalidRequest, match=r"must not be missing|must have"):
        Pseudonymizer(["id"], FIXED).tokens([identity], "lab")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("аnna", "mix Cyrillic and Latin"),
        ("αnna", "mix Greek and Latin"),
        ("an\u200bna", r"U\+200B"),
        ("anna\u202e", r"U\+202E"),
        ("an\u00adna", r"U\+00AD"),
    ],
)
def test_look_alikes_are_refused_without_saying_the_name(text: str, says: str) -> None:
    with pytest.raises(InvalidRequest, match=says) as problem:
        Pseudonymizer(["id"], FIXED).tokens([text], "lab")
    assert "nna" not in str(problem.value)
    allowed = Pseudonymizer([Field("id", look_alikes="allow")], FIXED)
    assert allowed.tokens([text], "lab") != allowed.tokens(["anna"], "lab")
    with pytest.raises(InvalidRequest, match=says):
        allowed.tokens(["a"], text)


def test_whole_names_in_another_script_are_fine() -> None:
    people = Pseudonymizer(["id"], FIXED)
    assert len(set(people.tokens(["Анна Иванова", "Ελένη", "李小龍", "Anna Иванова", "O’Brien-Ñandú"], "lab"))) == 5
    assert people.tokens(["ﬁn", "Ⅳ", "Straße"], "lab") == people.tokens(["fin", "iv", "STRASSE"], "lab")


def test_names_that_look_alike_are_not_both_registered() -> None:
    with pytest.raises(InvalidRequest, match="looks like 'coop'"):
        check_new("сооp".replace("p", "р"), ["coop"], "a table")
    with pytest.raises(InvalidRequest, match="once"):
        check_new("coop", ["coop"], "a table")
    for bad in ("", " lab", "x" * 201, 7, "ﬁn"):
        with pytest.raises(InvalidRequest):
            public_name(bad, "partner")


def test_key_files(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    keys = FileKeys.create(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["keys.json"]
    assert len({keys.key(name) for name in ("identity", "master/1", "receipts")}) == 3
    with pytest.raises(InvalidRequest, match="must not exist yet"):
        FileKeys.create(path)
    for mode in (0o640, 0o604, 0o620, 0o606):
        path.chmod(mode)
        with pytest.raises(InvalidRequest, match=f"owner only, got mode {mode:o}"):
            Pseudonymizer(["id"], path).tokens(["a"], "lab")
    path.chmod(0o600)
    assert Pseudonymizer(["id"], path).tokens(["a"], "lab") == Pseudonymizer(["id"], str(path)).tokens(["a"], "lab")
    link = tmp_path / "link.json"
    link.symlink_to(path)
    with pytest.raises(InvalidRequest, match="must be there and readable"):
        FileKeys(link).key("identity")
    with pytest.raises(InvalidRequest, match="must be there and readable"):
        FileKeys(tmp_path / "none").key("identity")
    with pytest.raises(UnknownName, match="no key 'secret'; known: identity, master/1, receipts"):
        keys.key("secret")
    for content in ("{", '{"kind": "keys", "schema": 1}', '{"kind": "keys", "schema": 1, "keys": {"identity": "%"}}'):
        path.write_text(content)
        with pytest.raises(UnsupportedFormat):
            keys.key("identity")
    path.write_text('{"kind": "keys", "schema": 1, "keys": {"identity": "aGVsbG8="}}')
    with pytest.raises(InvalidRequest, match="must be 32 bytes, got 5 bytes"):
        keys.key("identity")


def test_other_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownName, match="DISCREET_KEY_IDENTITY, and it is not set"):
        EnvironmentKeys().key("identity")
    for name in ("IDENTITY", "MASTER_1", "MASTER_12"):
        monkeypatch.setenv(f"DISCREET_KEY_{name}", base64.b64encode(os.urandom(32)).decode())
    assert EnvironmentKeys().version() == 12
    assert Pseudonymizer(["id"], EnvironmentKeys()).tokens(["a"], "lab")[0].startswith("12.")
    monkeypatch.setenv("DISCREET_KEY_IDENTITY", "short!")
    with pytest.raises(InvalidRequest, match="base64 of 32 bytes"):
        EnvironmentKeys().key("identity")
    with pytest.raises(InvalidRequest, match="32 bytes, got str"):
        CallableKeys(lambda name: name).key("identity")  # type: ignore[arg-type, return-value]
    with pytest.raises(UnknownName, match="no key 'identity'"):
        CallableKeys({}.__getitem__).key("identity")
    with pytest.raises(InvalidRequest, match="key store"):
        Pseudonymizer(["id"], 7)  # type: ignore[arg-type]


def test_declarations_are_checked(keys: FileKeys, pseudonyms: Pseudonymizer) -> None:
    for bad in ([], ["a", "a"], [""], [{"name": "a", "kase": "fold"}], [{"name": "a", "case": "up"}]):
        with pytest.raises(InvalidRequest):
            Pseudonymizer(bad, keys)
    with pytest.raises(InvalidRequest, match=r"dates written as '%d\.%m\.%Y'") as problem:
        pseudonyms.tokens([("Anna", "1990-02-01")], "lab")
    assert "1990-02-01" not in str(problem.value)
    with pytest.raises(UnknownName, match="no field is called 'nam'"):
        pseudonyms.table({"name": ["a"], "born": ["01.01.2000"]}, "lab", columns={"nam": "x"})
    with pytest.raises(UnknownName, match="no column 'born'"):
        pseudonyms.table({"name": ["a"]}, "lab")
    with pytest.raises(InvalidRequest, match="a column 'token' already"):
        pseudonyms.table({"name": ["a"], "born": ["01.01.2000"], "token": ["t"]}, "lab")
    kept = pseudonyms.table({"name": ["a"], "born": ["01.01.2000"]}, "lab", keep=True, column="alias")
    assert list(kept) == ["name", "born", "alias"]


def test_secrets_stay_out_of_texts_and_travel_to_workers(pseudonyms: Pseudonymizer) -> None:
    change = pseudonyms.change("lab")
    assert repr(change.cipher.key)[2:20] not in repr(change)
    assert repr(change.digests.key)[2:20] not in repr(change)
    change.cipher.tokens([b"x" * 32])
    again = pickle.loads(pickle.dumps(change))
    columns = {"name": ["a"], "born": ["01.01.2000"]}
    import pyarrow as pa

    arrays = {name: pa.array(column) for name, column in columns.items()}
    assert again(arrays).columns["token"] == change(arrays).columns["token"]


def test_write_appears_whole_or_not_at_all(pseudonyms: Pseudonymizer, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("name,born,x\nAnna,01.02.1990,1\n,01.02.1990,2\n")
    with pytest.raises(InvalidRequest, match="must not be missing"):
        pseudonyms.write(table, tmp_path / "out.csv", "lab")
    assert {p.name for p in tmp_path.iterdir()} == {"t.csv", "keys.json"}
    table.write_text('name,born,x\nAnna,01.02.1990,"a ""b"", c"\n')
    assert pseudonyms.write(table, tmp_path / "out.csv", "lab") == 1
    token = pseudonyms.tokens([("Anna", "01.02.1990")], "lab")[0]
    assert (tmp_path / "out.csv").read_text().splitlines()[1].replace('"', "").endswith(token)
