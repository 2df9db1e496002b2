"""Sixty statements in the style of other libraries' documentation, and what becomes of each.

An answered one is written as (statistic, columns, groups, condition, options); a refused one as a word of the rule and the
nearest question, '' where there is none.
"""

from __future__ import annotations

from typing import Any

from study.sql import SCHEMA

__all__ = ["BIGQUERY", "SCHEMA", "SMARTNOISE", "STATEMENTS", "TUMULT"]

_BINS = "BINS(age, 0, 22, 44, 66, 88, 110)"

# In the manner of SmartNoise: tables with a schema, aggregates, groups, HAVING and ORDER BY.
SMARTNOISE: dict[str, tuple[Any, ...]] = {
    "SELECT COUNT(*) FROM PUMS.PUMS": ("count", (), (), "", {}),
    "SELECT COUNT(*) AS n FROM PUMS.PUMS WHERE age > 40": ("count", (), (), "age > 40", {}),
    "SELECT AVG(age) FROM PUMS.PUMS": ("mean", ("age",), (), "", {}),
    "SELECT sex, AVG(age) AS age FROM PUMS.PUMS GROUP BY sex": ("mean", ("age",), ("sex",), "", {}),
    "SELECT married, AVG(income) AS income FROM PUMS.PUMS GROUP BY married": ("mean", ("income",), ("married",), "", {}),
    "SELECT sex, educ, COUNT(*) FROM PUMS.PUMS GROUP BY sex, educ": ("count", (), ("sex", "educ"), "", {}),
    "SELECT SUM(income) FROM PUMS.PUMS WHERE educ IN ('college', 'phd')":
        ("sum", ("income",), (), "educ in ['college', 'phd']", {}),
    "SELECT VAR(age) FROM PUMS.PUMS": ("variance", ("age",), (), "", {}),
    "SELECT VARIANCE(age), 1 FROM PUMS.PUMS": ("neither a group", "SELECT COUNT(*) FROM PUMS"),
    "SELECT STDDEV(age) FROM PUMS.PUMS": ("std", ("age",), (), "", {}),
    "SELECT COUNT(DISTINCT id) FROM PUMS.PUMS": ("count_people", (), (), "", {}),
    "SELECT COUNT(DISTINCT educ) FROM PUMS.PUMS": ("DISTINCT", "SELECT educ, COUNT(*) FROM PUMS GROUP BY educ"),
    "SELECT age, COUNT(*) AS n FROM PUMS.PUMS GROUP BY age":
        ("holds numbers", f"SELECT {_BINS}, COUNT(*) FROM PUMS GROUP BY {_BINS}"),
    "SELECT sex, COUNT(*) FROM PUMS.PUMS GROUP BY sex ORDER BY COUNT(*) DESC":
        ("ORDER BY", "SELECT sex, COUNT(*) FROM PUMS GROUP BY sex"),
    "SELECT educ, COUNT(*) AS n FROM PUMS.PUMS GROUP BY educ HAVING COUNT(*) > 100":
        ("HAVING", "SELECT educ, COUNT(*) FROM PUMS GROUP BY educ"),
    "SELECT TOP 3 educ, COUNT(*) FROM PUMS.PUMS GROUP BY educ": ("cannot be read at line 1, column 12", ""),
    "SELECT MIN(age), MAX(age) FROM PUMS.PUMS": ("MIN", "SELECT QUANTILE(age, 0.01) FROM PUMS"),
    "SELECT income FROM PUMS.PUMS": ("grouped by or be in an aggregate", "SELECT COUNT(*) FROM PUMS"),
    "SELECT * FROM PUMS.PUMS LIMIT 10": ("LIMIT", "SELECT COUNT(*) FROM PUMS"),
    "SELECT COUNT(*) FROM (SELECT DISTINCT sex FROM PUMS.PUMS)": ("FROM", "SELECT COUNT(*) FROM t"),
}  # fmt: skip
# In the manner of BigQuery: backticks, COUNTIF, approximate aggregates, clauses of its own for privacy.
BIGQUERY: dict[str, tuple[Any, ...]] = {
    "SELECT sex, AVG(bmi) AS average FROM `hospital.visits` GROUP BY sex": ("mean", ("bmi",), ("sex",), "", {}),
    "SELECT COUNTIF(age >= 65) FROM `hospital.visits`": ("count", (), (), "age >= 65", {}),
    "SELECT COUNT(bmi) FROM visits": ("count", (), (), "not missing(bmi)", {}),
    "SELECT APPROX_QUANTILES(age, 4) FROM visits": ("cannot be asked", "SELECT QUANTILE(age, 0.5) FROM visits"),
    "SELECT PERCENTILE_CONT(age, 0.5) OVER () FROM visits": ("OVER", "SELECT PERCENTILE_CONT(age, 0.5) FROM visits"),
    "SELECT PERCENTILE_CONT(bmi, 0.9) FROM visits": ("quantile", ("bmi",), (), "", {"q": 0.9}),
    "SELECT EXTRACT(YEAR FROM seen) = 2020 AS covid, COUNT(*) FROM visits GROUP BY covid":
        ("count", (), ("year(seen) == 2020",), "", {}),
    "SELECT AVG(bmi) FROM visits WHERE seen BETWEEN DATE '2020-01-01' AND DATE '2020-12-31'":
        ("mean", ("bmi",), (), "(seen <= date('2020-12-31')) and (seen >= date('2020-01-01'))", {}),
    "SELECT IF(age < 18, 'child', 'adult') AS g, COUNT(*) FROM visits GROUP BY g":
        ("count", (), ("'child' if coalesce(age < 18, False) else 'adult'",), "", {}),
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=10, delta=.01, privacy_unit_column=id) educ, AVG(age) FROM visits "
    "GROUP BY educ": ("no part of a statement", ""),
    "SELECT WITH ANONYMIZATION OPTIONS(epsilon=10) ANON_AVG(age) FROM visits": ("no part of a statement", ""),
    "SELECT ANON_COUNT(*) FROM visits": ("no ANON_COUNT", ""),
    "SELECT AVG(age, contribution_bounds_per_group => (0, 100)) FROM visits": ("bounds are those of the schema", ""),
    "SELECT STDDEV_POP(age) FROM visits": ("cannot be asked", "SELECT STDDEV(age) FROM visits"),
    "SELECT VAR_SAMP(age), CORR(age, bmi) FROM visits WHERE married": None,  # two questions: see the test
    "SELECT COVAR_SAMP(age, bmi) FROM visits": ("covariance", ("age", "bmi"), (), "", {}),
    "SELECT APPROX_COUNT_DISTINCT(id) FROM visits": ("cannot be asked", "SELECT COUNT(DISTINCT id) FROM visits"),
    "SELECT ANY_VALUE(age) FROM visits": ("cannot be asked", "SELECT MEDIAN(age) FROM visits"),
    "WITH a AS (SELECT * FROM visits) SELECT COUNT(*) FROM a": ("only SELECT", ""),
    "SELECT COUNT(*) FROM visits AS v JOIN people AS p USING (id)": ("JOIN", "SELECT COUNT(*) FROM visits"),
}  # fmt: skip
# In the manner of Tumult's questions, said in SQL: filters, groups of a key set, bins, quantiles, flat maps.
TUMULT: dict[str, tuple[Any, ...]] = {
    "SELECT COUNT(*) FROM members WHERE age < 18 OR age > 65": ("count", (), (), "(age < 18) or (age > 65)", {}),
    "SELECT educ, AVG(age) FROM members WHERE educ <> 'phd' GROUP BY educ":
        ("mean", ("age",), ("educ",), "educ != 'phd'", {}),
    "SELECT BINS(age, 0, 18, 65, 110), COUNT(*) FROM members GROUP BY 1":
        ("count", (), ("bins(age, [0, 18, 65, 110])",), "", {}),
    "SELECT WIDTH_BUCKET(age, 0, 100, 4) AS b, SUM(income) FROM members GROUP BY b":
        ("sum", ("income",), ("bins(age, [0, 25, 50, 75, 100])",), "", {}),
    "SELECT FLOOR(age / 10) * 10, COUNT(*) FROM members GROUP BY FLOOR(age / 10) * 10":
        ("holds numbers", f"SELECT {_BINS}, COUNT(*) FROM members GROUP BY {_BINS}"),
    "SELECT QUANTILE(age, 0.25) FROM members": ("quantile", ("age",), (), "", {"q": 0.25}),
    "SELECT MEDIAN(income) FROM members WHERE sex = 'f'": ("median", ("income",), (), "sex == 'f'", {}),
    "SELECT PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY income) FROM members GROUP BY sex":
        ("quantile", ("income",), ("sex",), "", {"q": 0.75}),
    "SELECT SUM(CASE WHEN married THEN 1 ELSE 0 END) FROM members": ("count", (), (), "married", {}),
    "SELECT AVG(CASE WHEN age >= 65 THEN bmi END) FROM members": ("mean", ("bmi",), (), "age >= 65", {}),
    "SELECT COUNT(*) FILTER (WHERE note LIKE '%flu%') FROM members": ("count", (), (), "contains(note, 'flu')", {}),
    "SELECT COUNT(*) FROM members WHERE note LIKE 'I2_.%'": ("count", (), (), "matches(note, 'I2?.*')", {}),
    "SELECT COUNT(*) FROM members WHERE bmi IS NULL AND NOT married":
        ("count", (), (), "missing(bmi) and (not married)", {}),
    "SELECT AVG(income * 2) FROM members": ("declared bounds", "SELECT AVG(income) FROM members"),
    "SELECT SUM(income) / COUNT(*) FROM members": ("arithmetic", "SELECT AVG(income) FROM members"),
    "SELECT ROUND(AVG(age), 1) FROM members": ("arithmetic", "SELECT AVG(age) FROM members"),
    "SELECT id, COUNT(*) FROM members GROUP BY id": ("person column", "SELECT COUNT(DISTINCT id) FROM members"),
    "SELECT AVG(educ) FROM members": ("no numbers", "SELECT educ, COUNT(*) FROM members GROUP BY educ"),
    "SELECT AVG(hight) FROM members": ("no column is declared as 'hight'", ""),
    "SELECT COUNT(*) FROM a UNION ALL SELECT COUNT(*) FROM b": ("UNION", ""),
}  # fmt: skip
STATEMENTS = {**SMARTNOISE, **BIGQUERY, **TUMULT}
