"""SQL is translated into our questions, or refused with the nearest one; nothing that is written raises anything else."""

from __future__ import annotations

import json
import logging
import re
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from study import sql as study

import discreet as ds
from discreet.cli import main
from discreet.errors import InvalidRequest, UnknownName
from discreet.sql import Asked, translate
from discreet.sql.statements import parse
from discreet.sql.translating import _Statement
from tests.sql.statements import BIGQUERY, SCHEMA, SMARTNOISE, STATEMENTS, TUMULT

NEAREST = "the nearest question is: "


def test_sixty_statements_of_three_manners() -> None:
    assert (len(SMARTNOISE), len(BIGQUERY), len(TUMULT), len(STATEMENTS)) == (20, 20, 20, 60)


@pytest.mark.parametrize("statement", [s for s, told in STATEMENTS.items() if told is not None])
def test_a_statement_is_answered_or_refused_with_the_nearest_question(statement: str) -> None:
    wanted = STATEMENTS[statement]
    if len(wanted) == 5:
        assert translate(statement, SCHEMA) == (Asked(*wanted),)
        return
    rule, nearest = wanted
    with pytest.raises((InvalidRequest, UnknownName), match=r"^SQL: ") as caught:
        translate(statement, SCHEMA)
    assert rule in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).partition(NEAREST)[2] == nearest


# A condition that cannot be asked, and the one of the nearest question; '' where only the question without it can.
NEAR = {
    "sex IN ('f', NULL)": "sex IN ('f')", "sex NOT IN ('f', NULL)": "NOT sex IN ('f')", "age IN (NULL)": "",
    "sex = NULL": "sex IS NULL", "NULL = sex": "sex IS NULL", "sex <> NULL": "NOT sex IS NULL",
    "COALESCE(age, NULL) > 1": "age > 1", "age BETWEEN NULL AND 3": "", "sex ILIKE 'F%'": "sex LIKE 'F%'",
    "sex NOT ILIKE 'f'": "NOT sex LIKE 'f'", "sex SIMILAR TO 'f%'": "sex LIKE 'f%'", "sex RLIKE '^f'": "sex LIKE '%f%'",
    "LOWER(sex) = 'f'": "sex = 'f'", "UPPER(sex) = 'F'": "sex = 'f'", "TRIM(sex) = 'f'": "sex = 'f'",
    "sex = 'F'": "sex = 'f'",
    "sex IN ('F', 'm')": "sex IN ('f', 'm')", "sex IS DISTINCT FROM 'f'": "sex <> 'f'",
    "sex IS NOT DISTINCT FROM 'f'": "sex = 'f'", "CAST(age AS INT) > 3": "age > 3", "id = 7": "", "seen > CURRENT_DATE": "",
    "CASE WHEN age > 50 THEN 1 END = 1": "CASE WHEN age > 50 THEN 1 ELSE 0 END = 1", "age IN (SELECT 3)": "",
    "RAND() < 0.5 AND age > 3": "age > 3", "age > 3 AND sex ILIKE 'f' AND LENGTH(note) = 2": "age > 3 AND sex LIKE 'f'",
    "EXISTS(SELECT 1)": "", "(age, bmi) = (1, 2)": "", "age & 1 = 1": "", "TRUE": "", "sex": "",
}  # fmt: skip


@pytest.mark.parametrize("condition", NEAR)
def test_a_condition_that_is_not_understood_has_a_nearest_question(condition: str) -> None:
    for columns, end in (("AVG(bmi)", ""), ("educ, COUNT(*)", " GROUP BY educ")):
        with pytest.raises((InvalidRequest, UnknownName)) as caught:
            translate(f"SELECT {columns} FROM t WHERE {condition}{end}", SCHEMA)
        where = f" WHERE {NEAR[condition]}" if NEAR[condition] else ""
        # Releases of sqlglot write the same NOT in two places.
        told = re.sub(r"(\w+) NOT (IN|LIKE)", r"NOT \1 \2", str(caught.value).partition(NEAREST)[2])
        assert told == f"SELECT {columns} FROM t{where}{end}"
    with pytest.raises((InvalidRequest, UnknownName), match="the nearest question is: SELECT COUNT"):
        translate("SELECT LENGTH(sex), COUNT(*) FROM t GROUP BY LENGTH(sex)", SCHEMA)


def test_several_aggregates_are_several_questions() -> None:
    asked = translate("SELECT VAR_SAMP(age), CORR(age, bmi) FROM visits WHERE married", SCHEMA)
    assert asked == (
        Asked("variance", ("age",), (), "married"),
        Asked("correlation", ("age", "bmi"), (), "married"),
    )


def test_two_spellings_are_one_question() -> None:
    one = "SELECT AVG(age) FROM t WHERE 60 <= AGE AND sex = 'f' GROUP BY educ"
    other = "select educ, avg(\"age\") a from x y where (y.sex in ('f')) and (NOT y.age < 60) group by 1"
    assert translate(one, SCHEMA) == translate(other, SCHEMA)


@pytest.mark.parametrize("statement", [s for s, told in STATEMENTS.items() if told is not None and len(told) == 5])
def test_whatever_a_statement_says_is_read(statement: str) -> None:
    """A mark on any part of it that nobody reads, as sqlglot 30 marks NOT LIKE, is refused and not left out."""
    for place in range(len(list(parse(statement).walk()))):
        tree = parse(statement)
        list(tree.walk())[place].args["differently"] = True
        with pytest.raises(InvalidRequest, match=r"differently|says nothing more|takes a list|DIFFERENTLY"):
            _Statement(tree, SCHEMA).asked()


def test_an_alias_does_not_hide_what_is_selected() -> None:
    with pytest.raises(InvalidRequest, match="'educ' must be grouped by"):
        translate("SELECT educ AS sex, COUNT(*) FROM t GROUP BY sex", SCHEMA)
    assert translate("SELECT educ AS e, COUNT(*) FROM t GROUP BY e", SCHEMA)[0].by == ("educ",)
    for statement, word in {
        "SELECT AVG(bmi) FROM t AS u (age, bmi)": "columns",
        "SELECT COUNT(*) FROM t WHERE LOG(age) > 1": r"write LN\(age\) or LOG10\(age\)",
        "SELECT COUNT(*) FROM t WHERE age < 1e400": "a number must be written down",
    }.items():
        with pytest.raises(InvalidRequest, match=word):
            translate(statement, SCHEMA)


ROWS = 300
_CONDITIONS = (
    "age >= 60", "sex = 'f'", "NOT (age < 30 OR bmi > 40)", "age BETWEEN 20 AND 50", "sex IS NULL", "bmi IS NOT NULL",
    "sex IN ('f') OR age IS NULL", "married IS NOT TRUE", "married IS FALSE", "COALESCE(age, 0) > 10", "-age < -50",
    "ABS(age - 50) <= 10", "CASE WHEN age > 50 THEN 1 ELSE 0 END = 1", "sex <> 'f' AND NOT bmi >= 20", "married",
    "sex NOT LIKE 'f'", "sex NOT LIKE '%m%' AND age > 30", "NOT sex LIKE '_'", "sex NOT IN ('f')",
    "age NOT BETWEEN 20 AND 50", "NOT sex IS NULL", "NOT married", "sex LIKE 'f'", "bmi / 2 > age / 3",
    "age * 2 + 1 > bmi - 3", "married = TRUE OR sex = 'm'", "(married = TRUE) IS NULL",
    "CASE WHEN age > 50 THEN sex = 'f' ELSE bmi > 20 END", "CASE sex WHEN 'f' THEN 1 WHEN 'm' THEN 2 ELSE 3 END = 3",
    "CASE WHEN married THEN 1 WHEN age > 50 THEN 2 ELSE 3 END > 1", "IIF(age > 50, 1, 0) = 0",
)  # fmt: skip


def _records() -> dict[str, list[Any]]:
    rng = np.random.default_rng(5)
    gone = rng.random((4, ROWS)) < 0.15
    columns = {
        "age": rng.integers(0, 111, ROWS).tolist(),
        "bmi": rng.integers(10, 61, ROWS).astype(float).tolist(),
        "sex": rng.choice(["f", "m"], ROWS).tolist(),
        "married": (rng.random(ROWS) < 0.5).tolist(),
    }
    return {k: [None if g else v for v, g in zip(vs, row, strict=True)]
            for (k, vs), row in zip(columns.items(), gone, strict=True)}  # fmt: skip


def test_conditions_keep_the_rows_that_a_database_keeps() -> None:
    """SQLite is the oracle: three-valued logic and all."""
    records = _records()
    schema = ds.Schema({k: v for k, v in SCHEMA.columns.items() if k in records})
    session = ds.Session(records, schema, ledger="test")
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE t (age REAL, bmi REAL, sex TEXT, married BOOLEAN)")
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", list(zip(*records.values(), strict=True)))
        for condition in _CONDITIONS:
            statement = f"SELECT COUNT(*) FROM t WHERE {condition}"
            (exact,) = database.execute(statement).fetchone()
            found = session.sql(statement, epsilon=float("inf"))
            assert isinstance(found, ds.Result)
            assert float(found) == exact, condition
        for aggregate in ("COUNT(age)", "SUM(bmi)", "AVG(bmi)", "SUM(CASE WHEN age > 50 THEN 1 ELSE 0 END)",
                          "COUNT(CASE WHEN age > 50 THEN 1 END)", "COUNT(*) FILTER (WHERE age > 50)",
                          "SUM(CASE WHEN married THEN bmi ELSE 0 END)",
                          "AVG(CASE WHEN sex = 'f' THEN bmi END)"):  # fmt: skip
            statement = f"SELECT {aggregate} FROM t WHERE age <> 7"
            (exact,) = database.execute(statement).fetchone()
            found = session.sql(statement, epsilon=float("inf"))
            assert isinstance(found, ds.Result)
            assert float(found) == pytest.approx(exact, rel=1e-6), aggregate
    database.close()


def test_groups_of_a_case_have_the_rows_that_a_database_puts_there() -> None:
    """A row whose condition is missing goes to ELSE."""
    ages = [70, None, 30, 80, None]
    session = ds.Session({"age": ages}, ds.Schema({"age": ds.Integer(0, 110)}), ledger="test")
    for group in ("CASE WHEN age >= 65 THEN 'old' ELSE 'young' END", "IF(age >= 65, 'old', 'young')"):
        found = session.sql(f"SELECT {group} AS g, COUNT(*) FROM t GROUP BY g", epsilon=float("inf"))
        assert isinstance(found, ds.Result)
        assert np.array_equal(found.value, [2, 3])


@pytest.mark.parametrize("condition", ["married = TRUE IS NULL", "age > 50 IS NOT TRUE", "married = FALSE IS TRUE"])
def test_a_comparison_before_is_stands_in_brackets(condition: str) -> None:
    """The reader takes IS for what binds closer, and databases do not."""
    with pytest.raises(InvalidRequest, match="put the comparison before IS in brackets"):
        translate(f"SELECT COUNT(*) FROM t WHERE {condition}", SCHEMA)


def test_several_aggregates_are_paid_together_and_the_ledger_has_the_canonical_question() -> None:
    records = _records()
    schema = ds.Schema({k: v for k, v in SCHEMA.columns.items() if k in records})
    session = ds.Session(records, schema, ds.Budget(epsilon=1), version="one")
    statement = "SELECT sex, AVG(bmi), COUNT(*) FILTER (WHERE married) FROM t WHERE age >= 60 GROUP BY sex"
    told = session.sql(statement, epsilon=0.5)
    assert isinstance(told, list)
    assert [np.shape(each.value) for each in told] == [(2,), (2,)]
    assert session.spent().epsilon == 0.5
    again = session.mean("bmi", by="sex", where="age >= 60", epsilon=0.25)  # the same question, said otherwise
    assert np.array_equal(again.value, told[0].value)
    assert session.spent().epsilon == 0.5
    assert "SELECT" not in "".join(event.question for event in session.ledger.events())
    with pytest.raises(ds.errors.BudgetExceeded):
        session.sql(statement.replace("60", "61"), epsilon=0.6)
    with pytest.raises(InvalidRequest, match="says where itself"):
        session.sql("SELECT COUNT(*)", epsilon=0.1, where="age > 3")
    assert session.spent().epsilon == 0.5


@pytest.mark.parametrize("setting", study.SETTINGS, ids=lambda setting: setting["text"])
def test_whatever_is_written_is_translated_or_refused_in_one_line(
    setting: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Some statements of the study ``sql``, which makes 10**5: exact, no false alarms."""
    with caplog.at_level(logging.WARNING):
        found = study.run(setting, 1, 500)
    assert (found["statements"], found["traceback"], found["no nearest"]) == (500, 0, 0)
    assert found["translated"] > 10 or setting["text"] == "exchanged"
    assert not caplog.records


@pytest.mark.parametrize(
    "deep",
    [
        "SELECT COUNT(*) WHERE " + "NOT " * 900 + "married",
        "SELECT COUNT(*) WHERE " + "(" * 1900,
        "(" * 3000,
        "SELECT AVG(age) " + "x" * 5000,
        "",
        "\n;;\n",
    ],
)
def test_what_is_too_long_or_too_deep_is_refused(deep: str) -> None:
    with pytest.raises((InvalidRequest, UnknownName)) as caught:
        translate(deep, SCHEMA)
    assert "\n" not in str(caught.value)


def test_many_conditions_are_one() -> None:
    (asked,) = translate("SELECT COUNT(*) WHERE " + " AND ".join(["age > 1"] * 250), SCHEMA)
    assert asked.where == "age > 1"


def test_the_command_asks_a_statement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text("x,sex\n1,f\n2,m\n")
    file = tmp_path / "r.toml"
    file.write_text(
        'table = "t.csv"\nledger = "sqlite:///own.db"\n[budget]\nepsilon = 5\n[schema]\n'
        'columns.x = { type = "real", bounds = [0, 5] }\ncolumns.sex = { type = "category", values = ["f", "m"] }\n'
    )
    asked = ["ask", str(file), "SELECT sex, AVG(x), COUNT(*) FROM t WHERE x > 0 GROUP BY sex", "--epsilon", "0.5"]
    assert main([*asked, "--dry"]) == 0
    assert "It fits: ε=4.5" in capsys.readouterr().out
    assert main(asked) == 0
    told = capsys.readouterr().out
    assert "Mean of x by sex where x > 0" in told
    assert "Paid now: ε=0.5. Left: ε=4.5." in told
    assert main([*asked, "--json"]) == 0
    doc = json.loads(capsys.readouterr().out)
    assert [each["known"] for each in doc["asks"]] == [True, True]
    assert main(["ask", str(file), "SELECT MAX(x) FROM t", "--epsilon", "1"]) != 0
    assert "nearest question is: SELECT QUANTILE(x, 0.99) FROM t" in capsys.readouterr().err
    assert main(["ask", str(file), "SELECT COUNT(*) FROM t"]) != 0
    assert "a statement needs a price" in capsys.readouterr().err
