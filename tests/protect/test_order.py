"""Copies that leave: in an order that says nothing, and never so that two of them together show fewer than k alike."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from discreet.errors import InvalidRequest, UnknownName
from discreet.protect import FileKeys, Hierarchy, Pseudonymizer, Vault, anonymize
from discreet.protect import shuffle as shuffle_module
from discreet.protect.copies import joint
from discreet.protect.shuffle import Shuffle

FACTS: dict[str, Any] = {"purpose": "care", "categories": ["health"], "retention": "10 years"}
LEVELS: dict[str, Hierarchy] = {
    "age": Hierarchy.intervals(0, 100, [10, 50]),
    "zip": Hierarchy.prefixes(3),
    "sex": Hierarchy.tree({"f": ["*"], "m": ["*"]}),
}


def table(rows: int = 400, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "name": [f"person {i}" for i in range(rows)],
            "age": rng.integers(0, 100, rows),
            "zip": [f"{z:03}" for z in rng.integers(0, 40, rows)],
            "sex": rng.choice(["f", "m"], rows),
            "row": range(rows),
        }
    )


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "dict", "csv", "parquet"])
def test_rows_leave_in_a_new_order(kind: str, keys: FileKeys, tmp_path: Path) -> None:
    """The same rows, in another order each time; kept on request; the same for the same seed. Two fresh orders of 400 rows
    agree with probability 1 / 400!."""
    given: Any = table()
    if kind == "pandas":
        given = given.to_pandas()
    elif kind == "polars":
        given = pl.DataFrame(given.to_pandas())
    elif kind == "dict":
        given = {name: given[name].to_numpy() for name in given.column_names}
    elif kind in ("csv", "parquet"):
        path = tmp_path / f"t.{kind}"
        given.to_pandas().to_csv(path, index=False) if kind == "csv" else pyarrow.parquet.write_table(given, path)
        given = path
    people = Pseudonymizer(["name"], keys)
    made = anonymize(given, ["age", "sex"], LEVELS, 3, drop=["name"])
    numbers = itertools.count()

    def rows(found: Any) -> list[int]:
        return [int(v) for v in (found["row"].to_pylist() if isinstance(found, pa.Table) else list(found["row"]))]

    def written(write: Any) -> list[int]:
        out = tmp_path / f"out{next(numbers)}.parquet"
        write(out)
        return rows(pyarrow.parquet.read_table(out))

    for order in (
        lambda **o: rows(made.copy(**o)),
        lambda **o: rows(people.table(given, "lab", **o)),
        lambda **o: written(lambda out: made.write(out, **o)),
        lambda **o: written(lambda out: people.write(given, out, "lab", **o)),
    ):
        kept = order(order="kept")
        assert kept == list(range(400))
        first, second = order(), order()
        assert sorted(first) == sorted(second) == kept
        assert first != second
        assert kept not in (first, second)
        assert order(seed=5) == order(seed=5) != order(seed=6)
    assert rows(made.table) != rows(made.copy())
    for bad in ({"order": "random"}, {"seed": 1.5}, {"seed": True}):
        with pytest.raises(InvalidRequest, match=r"order must be|seed must be"):
            made.copy(**bad)


def test_two_partners_do_not_join_by_position(keys: FileKeys) -> None:
    people = Pseudonymizer(["name"], keys)
    data = table(200)
    one, two = people.table(data, "lab"), people.table(data, "clinic")
    same = sum(
        people.translate([a], "lab", "clinic") == [b]
        for a, b in zip(one["token"].to_pylist(), two["token"].to_pylist(), strict=True)
    )
    assert same < 12  # about 1 is expected; 12 or more has probability below 1e-8 (Poisson)


def test_every_order_is_equally_likely() -> None:
    """24 orders of 4 rows, 24,000 draws under seeds 0, 1, ...: chi-square with 23 degrees of freedom stays below 77.8 with
    probability 1 - 1e-7."""
    seen = Counter(tuple(Shuffle(seed=seed).places(4).tolist()) for seed in range(24_000))
    assert len(seen) == 24
    assert sum((count - 1000) ** 2 / 1000 for count in seen.values()) < 77.8


def test_what_does_not_fit_in_memory_is_shuffled_on_the_disk_and_sealed(
    keys: FileKeys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same rows and types, dictionaries too; nothing on the disk can be read, and nothing is left."""
    monkeypatch.setattr(shuffle_module, "MEMORY", 20_000)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()
    data = table(3000).append_column("note", pa.array([f"SECRET{i % 50}" for i in range(3000)]).dictionary_encode())
    parts = [data.slice(start, 500) for start in range(0, 3000, 500)]
    found: list[pa.Table] = []
    for piece in Shuffle(seed=3).stream(iter(parts)):
        spilled = [p for p in (tmp_path / "tmp").rglob("*") if p.is_file()]
        assert all(b"SECRET" not in p.read_bytes() and b"person" not in p.read_bytes() for p in spilled)
        assert sum(p.stat().st_size for p in spilled) > 0 or len(found) > 50
        found.append(piece)
    whole = pa.concat_tables(found).unify_dictionaries()
    assert whole.schema == data.schema
    assert whole["row"].to_pylist() != data["row"].to_pylist()
    assert whole.sort_by("row").to_pylist() == data.to_pylist()
    monkeypatch.setattr(shuffle_module, "MEMORY", 1 << 28)
    [small] = Shuffle(seed=3).stream(iter(parts))
    assert small["row"].to_pylist() == whole["row"].to_pylist()
    assert not list((tmp_path / "tmp").iterdir())
    assert os.listdir(tmp_path / "tmp") == []


def brute(data: pa.Table, copies: list[Any]) -> Counter[tuple[Any, ...]]:
    """Joint classes by hand: what each row looks like in every copy, where it is in one at all."""
    shown = []
    known = {name for copy in copies for name in copy.levels}  # what can be found elsewhere, whatever a copy makes of it
    for copy in copies:
        rows = copy.copy(order="kept").to_pylist()
        shown.append({row["row"]: tuple(row[name] for name in known if name in row) for row in rows})
    looks = [tuple(part.get(row) for part in shown) for row in data["row"].to_pylist()]
    return Counter(look for look in looks if any(part is not None for part in look))


@pytest.mark.parametrize("dropped", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_joint_classes_against_brute_force(seed: int, dropped: bool) -> None:
    from discreet.protect.copies import described
    from discreet.protect.stored_table import open_table

    rng = np.random.default_rng(seed)
    data = table(150, seed)
    wishes: list[tuple[list[str], dict[str, Any]]] = [
        (["age", "sex"], {"k": 3}),
        (["age", "zip"], {"k": 2, "suppression": 0.3}),
        (["zip", "sex"], {"k": 4, "sensitive": "sex2", "l": 2, "suppression": 0.2}),
    ]
    data = data.append_column("sex2", pa.array(rng.choice(["x", "y", "z"], 150)))
    others = [[name for name in ("age", "sex", "zip") if dropped and name not in names] for names, _ in wishes]
    copies = [anonymize(data, names, LEVELS, drop=gone, **wish) for (names, wish), gone in zip(wishes, others, strict=True)]
    said = [described(copy) for copy in copies]
    for chosen in ([0], [0, 1], [1, 2], [0, 1, 2]):
        found = joint(open_table(data), copies[chosen[-1]], [said[i] for i in chosen[:-1]])
        expected = brute(data, [copies[i] for i in chosen])
        sizes = sorted(expected.values())
        assert (found.classes, found.smallest) == (len(sizes), sizes[0])
        assert found.single == sizes.count(1)
        assert found.k == max(wishes[i][1]["k"] for i in chosen)
        assert found.below == sum(size < found.k for size in sizes)


def test_a_second_copy_leaves_only_if_both_together_keep_k(keys: FileKeys, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(table(), path)
    with Vault(f"sqlite:///{tmp_path}/vault.db", Pseudonymizer(["name"], keys)) as vault:
        vault.register("t", path, **FACTS)
        out = tmp_path / "one.csv"
        first = vault.anonymize("t", out, ["age", "sex"], LEVELS, 5, recipient="lab", drop=["name"])
        assert len(pd.read_csv(out)) == 400
        assert pd.read_csv(out)["row"].tolist() != list(range(400))
        vault.anonymize("t", tmp_path / "same.csv", ["age", "sex"], LEVELS, 5, recipient="clinic", drop=["name"])
        again: dict[str, Any] = {"quasi_identifiers": ["zip"], "hierarchies": LEVELS, "k": 5, "recipient": "firm"}
        again |= {"drop": ["name"], "suppression": 0.2}
        with pytest.raises(InvalidRequest, match=r"with 2 of them \d+ of \d+ joint classes are smaller"):
            vault.anonymize("t", tmp_path / "two.csv", **again)
        assert not (tmp_path / "two.csv").exists()
        vault.anonymize("t", tmp_path / "two.csv", **again, override=True)
        copies = [row for row in vault.log() if row["kind"] == "copy"]
        assert [row["override"] for row in copies] == [False, False, True]
        assert copies[0]["joint"]["smallest"] >= 5
        assert copies[2]["joint"]["single"] > 0
        assert "person" not in str(copies)
        assert copies[0]["levels"] == first.levels
        assert vault.access("person 3").uses[0]["recipient"] == "lab"
        assert vault.erase("person 3").recipients == ["clinic", "firm", "lab"]
        with pytest.raises(InvalidRequest, match="must not exist"):
            vault.anonymize("t", out, ["age"], LEVELS, 5, recipient="lab")
        with pytest.raises(UnknownName, match="no table is registered"):
            vault.anonymize("u", tmp_path / "u.csv", ["age"], LEVELS, 5, recipient="lab")
        vault.verify()


@pytest.mark.parametrize("turn", [1, -1])
@pytest.mark.parametrize("how", ["copied", "sensitive", "dropped"])
def test_what_one_copy_makes_coarser_no_other_shows_as_it_is(how: str, turn: int, keys: FileKeys, tmp_path: Path) -> None:
    """Each copy has classes of five, and so have both together; but one shows the ages that the other makes coarser."""
    path = tmp_path / "t.csv"
    path.write_text("name,age,sex\n" + "".join(f"p{i},{20 + i},{'mf'[i % 2]}\n" for i in range(40)))
    shown = {"sensitive": "age"} if how == "sensitive" else {}
    coarse: tuple[list[str], dict[str, Any]] = (["age"], {"drop": ["name", "sex"]})
    clear: tuple[list[str], dict[str, Any]] = (["sex"], {"drop": ["name", *(["age"] if how == "dropped" else [])], **shown})
    with Vault(f"sqlite:///{tmp_path}/vault.db", Pseudonymizer(["name"], keys)) as vault:
        vault.register("t", path, **FACTS)
        (first, options), (second, more) = (coarse, clear)[::turn]
        vault.anonymize("t", tmp_path / "1.csv", first, LEVELS, 5, recipient="lab", **options)
        if how == "dropped":
            vault.anonymize("t", tmp_path / "2.csv", second, LEVELS, 5, recipient="firm", **more)
        else:
            with pytest.raises(InvalidRequest, match=r"40 of 40 joint classes are smaller \(40 of a single row\)"):
                vault.anonymize("t", tmp_path / "2.csv", second, LEVELS, 5, recipient="firm", **more)
            assert not (tmp_path / "2.csv").exists()


@pytest.mark.parametrize("turn", [1, -1])
@pytest.mark.parametrize("method", ["full_domain", "mondrian", "microaggregation"])
def test_two_copies_do_not_tell_what_each_hides(method: str, turn: int, keys: FileKeys, tmp_path: Path) -> None:
    """Every age has two illnesses and so has every sex; both together show one, in joint classes of five rows: k is kept."""
    path = tmp_path / "t.csv"
    rows = [
        (age, sex, "flu" if (age == 20) == (sex == "m") else "cold") for age in (20, 90) for sex in "mf" for _ in range(5)
    ]
    path.write_text("name,age,sex,ill,paid\n" + "".join(f"p{i},{a},{s},{d},{i % 2}\n" for i, (a, s, d) in enumerate(rows)))
    held: dict[str, Any] = {"sensitive": ["ill", "paid"], "l": 2, "drop": ["name", "sex"], "method": method}
    free: dict[str, Any] = {"drop": ["name", "age"], "method": method}
    with Vault(f"sqlite:///{tmp_path}/vault.db", Pseudonymizer(["name"], keys)) as vault:
        vault.register("t", path, **FACTS)
        (first, options), (second, more) = ((["age"], held), (["sex"], free))[::turn]
        vault.anonymize("t", tmp_path / "1.csv", first, LEVELS, 5, recipient="lab", **options)
        vault.anonymize("t", tmp_path / "2.csv", first, LEVELS, 5, recipient="firm", **options)  # it adds nothing
        with pytest.raises(InvalidRequest, match="with 2 of them 4 of 4 joint classes break one"):
            vault.anonymize("t", tmp_path / "3.csv", second, LEVELS, 5, recipient="firm", **more)
        assert not (tmp_path / "3.csv").exists()
        vault.anonymize("t", tmp_path / "3.csv", second, LEVELS, 5, recipient="firm", **more, override=True)
        assert vault.log()[-1]["joint"]["broken"] == 4


def test_presence_is_kept_beside_coarser_copies_only(keys: FileKeys, tmp_path: Path) -> None:
    """Of the people of each age a half is in the table; of those in each age and sex, all or nobody."""
    path = tmp_path / "t.csv"
    path.write_text("name,age,sex\n" + "".join(f"p{i},{20 + i % 60},{'mf'[i % 60 < 30]}\n" for i in range(240)))
    everyone = {"age": [str(20 + i % 60) for i in range(480)], "sex": ["mf"[i < 240] for i in range(480)]}
    for row in range(240, 480):
        everyone["sex"][row - 240], everyone["sex"][row] = "mf"[row % 60 < 30], "fm"[row % 60 < 30]
    bounded: dict[str, Any] = {"presence": (0, 0.5), "population": everyone, "drop": ["name", "sex"]}
    with Vault(f"sqlite:///{tmp_path}/vault.db", Pseudonymizer(["name"], keys)) as vault:
        vault.register("t", path, **FACTS)
        vault.anonymize("t", tmp_path / "1.csv", ["age"], LEVELS, 2, recipient="lab", **bounded)
        vault.anonymize("t", tmp_path / "2.csv", ["age"], LEVELS, 2, recipient="firm", drop=["name", "sex"])
        for method, names in (("full_domain", ["sex"]), ("mondrian", ["age"])):
            gone = [name for name in ("name", "age", "sex") if name not in names]
            with pytest.raises(InvalidRequest, match="a copy that bounds presence stands beside coarser ones only"):
                vault.anonymize(
                    "t", tmp_path / f"{method}.csv", names, LEVELS, 2, recipient="firm", drop=gone, method=method
                )


KINDS = ["arrow", "pandas", "polars", "parquet", "many parts", "pandas file", "polars file"]


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_no_dictionary_tells_the_old_order(
    kind: str, ordered: bool, keys: FileKeys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dictionary lists values as they first came, which is the order of the rows where they do not repeat: in a copy it is
    that of the copy. Where the order of the values is declared to mean something, it is kept."""
    import polars as pl

    import discreet.protect.shuffle as shuffle_module

    people = Pseudonymizer(["name"], keys)
    texts = [f"v{7919 * i % 97:02}" for i in range(97)]
    values = pa.DictionaryArray.from_arrays(pa.array(range(97), pa.int32()), texts, ordered=ordered)
    given: Any = pa.table({"name": [f"p{i}" for i in range(97)], "value": values})
    if kind.startswith("pandas"):
        given = pd.DataFrame({"name": given["name"].to_pylist(), "value": pd.Categorical(texts, texts, ordered)})
    elif kind.startswith("polars"):
        cells = pl.Series(texts, dtype=pl.Enum(texts) if ordered else pl.Categorical)
        given = pl.DataFrame({"name": given["name"].to_pylist(), "value": cells})
    elif kind in ("parquet", "many parts"):
        pyarrow.parquet.write_table(given, tmp_path / "in.parquet")
        given = tmp_path / "in.parquet"
    if kind == "many parts":
        monkeypatch.setattr(shuffle_module, "MEMORY", 1)
    if kind in ("arrow", "pandas", "polars"):
        made: Any = people.table(given, "lab")
        column = pa.array(made["value"]) if kind == "pandas" else made["value"]
        column = column.to_arrow() if kind == "polars" else column
    else:
        people.write(given, tmp_path / "out.parquet", "lab")
        column = pyarrow.parquet.read_table(tmp_path / "out.parquet")["value"]
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    assert column.to_pylist() != texts
    assert sorted(column.to_pylist()) == sorted(texts)
    if ordered and kind != "many parts":  # a file of several parts lists what each of them has
        assert [text for text in column.dictionary.to_pylist() if text in set(texts)] == texts
    elif not ordered:
        assert column.dictionary.to_pylist() == column.to_pylist()
