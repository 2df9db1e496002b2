"""Jobs from TOML, and the page they write."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.parquet
import pytest

from discreet.errors import InvalidRequest, UnknownName, UnsupportedFormat
from discreet.jobs import protect as jobs
from discreet.protect import FileKeys, Hierarchy, anonymize, report

from .test_vault import FACTS

ANONYMIZE = """
table = "people.csv"
output = "anonymous.parquet"
report = "report.html"
quasi_identifiers = ["age", "zip"]
sensitive = "ill"
k = 2
l = 2
suppression = 0.1
[hierarchies.age]
kind = "intervals"
lo = 0
hi = 100
widths = [10, 50]
[hierarchies.zip]
kind = "prefixes"
length = 3
"""
PEOPLE = """
[identity]
keys = "keys.json"
fields = [{ name = "name" }]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [(f"Person <{i % 15}>", i % 40, f"{i % 7:03}", ["flu", "<b>"][i // 2 % 2]) for i in range(60)]
    (tmp_path / "people.csv").write_text("name,age,zip,ill\n" + "".join(f"{n},{a},{z},{s}\n" for n, a, z, s in rows))
    FileKeys.create(tmp_path / "keys.json")
    return tmp_path


def job(folder: Path, text: str) -> Path:
    (folder / "job.toml").write_text(text)
    return folder / "job.toml"


def test_anonymize_and_check(folder: Path) -> None:
    seen: list[int] = []
    result = jobs.anonymize(job(folder, ANONYMIZE), seen.append)
    assert seen == [60]
    assert pyarrow.parquet.read_table(folder / "anonymous.parquet").num_rows == 60 - result.suppressed
    text = 'table = "anonymous.parquet"\nquasi_identifiers = ["age", "zip"]\nsensitive = "ill"\n'
    found = jobs.check(job(folder, text))
    assert found.k >= 2
    assert found.l == 2
    page = (folder / "report.html").read_text()
    assert "anonymous.parquet" not in page
    assert page.count("<svg") == 4
    assert not re.search(r'(src|href)="(?!#)', page)
    with pytest.raises(InvalidRequest, match="must not exist yet"):
        jobs.anonymize(job(folder, ANONYMIZE))


def test_other_columns_are_kept_or_dropped(folder: Path) -> None:
    """What is neither a quasi-identifier nor sensitive is copied and named, unless the job says otherwise."""

    def columns(extra: str) -> tuple[list[str], tuple[str, ...]]:
        (folder / "anonymous.parquet").unlink(missing_ok=True)
        result = jobs.anonymize(job(folder, ANONYMIZE.replace('report = "report.html"', extra)))
        return pyarrow.parquet.read_table(folder / "anonymous.parquet").column_names, result.copied

    assert columns("") == (["name", "age", "zip", "ill"], ("name",))
    assert columns('keep = ["name"]') == (["name", "age", "zip", "ill"], ("name",))
    assert columns('drop = ["name"]') == (["age", "zip", "ill"], ())
    assert columns("keep = []") == (["age", "zip", "ill"], ())
    for extra, says in (
        ('drop = ["age"]', "must not name a quasi-identifier"),
        ('drop = ["ill"]', "must not name a quasi-identifier"),
        ('drop = ["nmae"]', "did you mean 'name'"),
        ('keep = ["nmae"]', "did you mean 'name'"),
        ('keep = "name"', "keep must be given as list"),
        ('keep = []\ndrop = ["name"]', "give one of them"),
    ):
        with pytest.raises((InvalidRequest, UnknownName, UnsupportedFormat), match=says):
            columns(extra)


def test_report_escapes_and_shows_what_was_chosen() -> None:
    table = {"<i>x": ["<script>", "<script>", "b", "b", "c"]}
    tree = Hierarchy.tree({"<script>": ["*"], "b": ["*"], "c": ["*"]})
    result = anonymize(table, ["<i>x"], {"<i>x": tree}, 2, suppression=0.2)
    page = report.render(result, "A & B")
    assert "<script>" not in page
    assert "<i>" not in page
    assert "A &amp; B" in page
    assert "&lt;script&gt;" in page
    assert "1</b><span>suppressed (20.00 %)" in page
    big = {name: list(range(40)) for name in "abcd"}
    wide = anonymize(big, list("abcd"), dict.fromkeys("abcd", Hierarchy.intervals(0, 50, [5, 10, 20])), 2)
    assert "625 choices of levels" in report.render(wide)


def test_pseudonymize_access_and_erase(folder: Path) -> None:
    rows = jobs.pseudonymize(job(folder, 'table = "people.csv"\noutput = "out.csv"\npartner = "lab"\n' + PEOPLE))
    assert rows == 60
    assert "Person" not in (folder / "out.csv").read_text()
    path = job(folder, 'vault = "sqlite:///vault.db"\n' + PEOPLE)
    with jobs.Job.read(path).vault() as vault:
        vault.register("people", folder / "people.csv", **FACTS)
        vault.register("tokens", folder / "out.csv", token=("token", "lab", "default"), **FACTS)
    assert (folder / "vault.db").exists()
    person = {"name": "person <3>"}
    assert {k: v.num_rows for k, v in jobs.access(path, person).rows.items()} == {"people": 4, "tokens": 4}
    assert jobs.refuse(path, person, "legal claims")["ground"] == "legal claims"
    with pytest.raises(InvalidRequest, match="override"):
        jobs.erase(path, person)
    assert jobs.erase(path, person, override=True).tables == {"people": 4, "tokens": 4}
    assert "<3>" not in (folder / "people.csv").read_text()
    with pytest.raises(UnknownName, match="no registered table"):
        jobs.erase(path, {"name": "nobody"})
    with pytest.raises(InvalidRequest, match="must have the fields"):
        jobs.erase(path, {"nam": "x"})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("k = ", "not valid TOML"),
        ("tabel = 'x'", "unknown key 'tabel'; did you mean 'table'"),
        (ANONYMIZE.replace("k = 2\n", ""), "k must be given as int"),
        (ANONYMIZE.replace('table = "people.csv"', "table = 3"), "table must be given as str"),
        (ANONYMIZE.replace("intervals", "ring"), "hierarchy of 'age'"),
    ],
)
def test_refusals_write_nothing(folder: Path, text: str, says: str) -> None:
    path = job(folder, text)
    before = sorted(folder.iterdir())
    with pytest.raises(UnsupportedFormat, match=says):
        jobs.anonymize(path)
    assert sorted(folder.iterdir()) == before
    with pytest.raises(UnsupportedFormat, match="cannot be read"):
        jobs.check(folder / "none.toml")


TARGETS = {
    'target = "ill"\npositive = "fluu"\n': "is never 'fluu'",
    'target = "ill"\n': "comes with its positive value",
    'target = "illl"\npositive = "flu"\n': "did you mean 'ill'",
    'target = "age"\npositive = "1"\n': "a target is no quasi-identifier",
    'positive = "flu"\n': "target must be given as str",
}


@pytest.mark.parametrize("registered", [False, True])
@pytest.mark.parametrize(("target", "says"), TARGETS.items())
def test_no_copy_leaves_before_all_that_was_asked_is_known_to_be_possible(
    folder: Path, target: str, says: str, registered: bool
) -> None:
    text = target + ANONYMIZE
    if registered:
        with jobs.Job.read(job(folder, 'vault = "sqlite:///vault.db"\n' + PEOPLE)).vault() as vault:
            vault.register("people", folder / "people.csv", **FACTS)
        text = 'vault = "sqlite:///vault.db"\nrecipient = "lab"\n' + text.replace("people.csv", "people") + PEOPLE
    path = job(folder, text)
    before = sorted(folder.iterdir())
    with pytest.raises((InvalidRequest, UnknownName, UnsupportedFormat), match=says):
        jobs.anonymize(path)
    assert sorted(folder.iterdir()) == before
    if registered:
        with jobs.Job.read(job(folder, 'vault = "sqlite:///vault.db"\n' + PEOPLE)).vault() as vault:
            assert [row["kind"] for row in vault.log()] == ["register"]


def test_a_job_holds_several_sensitive_columns_to_the_rules(folder: Path) -> None:
    several = ANONYMIZE.replace('sensitive = "ill"', 'sensitive = ["ill", "name"]').replace("suppression = 0.1\n", "")
    result = jobs.anonymize(job(folder, several))
    assert result.sensitive == ("ill", "name")
    assert result.copied == ()
    with pytest.raises(UnsupportedFormat, match="sensitive must be a list of names"):
        jobs.anonymize(
            job(folder, several.replace('"name"', "3").replace("anonymous.", "another.").replace("report.html", "page.html"))
        )


def test_import_is_light() -> None:
    import subprocess
    import sys

    code = (
        "import sys, discreet.protect as p; light = set(sys.modules); p.Hierarchy.intervals(0, 9, [3]).path('4'); "
        "heavy = {'duckdb', 'pyspark', 'matplotlib', 'jinja2', 'sqlalchemy', 'pandas', 'polars'}; "
        "print(sorted(heavy & set(sys.modules)), 'numpy' in light)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[] False"


@pytest.mark.parametrize(
    "text",
    [
        'vault = "sqlite://}"\n' + PEOPLE,
        'vault = "sqlite:///v.db"\n[identity]\nkeys = "keys.json"\nfields = [{}]\n',
        'vault = "sqlite:///v.db"\n[identity]\nkeys = "."\nfields = ["name"]\n',
        'vault = "sqlite:///v.db"\n[identity]\nkeys = "' + "a" * 300 + '"\nfields = ["name"]\n',
    ],
)
def test_what_fuzzing_found_is_refused_in_our_own_words(folder: Path, text: str) -> None:
    with pytest.raises((InvalidRequest, UnsupportedFormat)):
        jobs.keys(job(folder, text))


def test_an_order_is_a_list(folder: Path) -> None:
    text = 'table = "people.csv"\nquasi_identifiers = ["age"]\nsensitive = "ill"\norder = 3\n'
    with pytest.raises(InvalidRequest, match="order must be"):
        jobs.check(job(folder, text))
