"""Copies against brute force, anjana, pycanon and ARX's recorded times; pseudonyms by the million; kills of erasures.

The table is Adult (30,162 complete rows, from the ``mglearn`` package), or one simulated at its size where that cannot be
fetched. "After loading" starts from the base histogram, as ARX's recorded times start from its loaded data.

Seconds of ours alone are processor seconds: no less than what passes on a machine that does nothing else, whatever else
this one does. Beside anjana both are what passes.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bench import environments
from discreet.protect import FileKeys, Hierarchy, Pseudonymizer, anonymize, check, microaggregate, mondrian, together
from discreet.protect.anonymous import histogram_of
from discreet.protect.diversity import Size
from discreet.protect.incognito import HistogramView, incognito
from discreet.protect.metrics import choose, metric_named
from discreet.protect.stored_table import open_table

HOME = environments.ROOT / ".venvs"
# Seconds of ARX's optimal search, recorded on a two-core machine after loading: not measured here.
ARX = {(4, "0"): 0.039, (6, "0"): 0.044, (8, "0"): 0.048, (4, "0.05"): 0.023, (6, "0.05"): 0.064, (8, "0.05"): 0.507}
NAMES = ["age", "sex", "race", "education", "marital-status", "native-country", "workclass", "occupation"]
ALL = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
]
LARGEST = "8 columns, 6480 nodes, suppression 0.05"
PICTURE = environments.ROOT / "docs" / "images" / "copies.svg"
PATIENCE = 20  # times ours, and two seconds at least, that a run of anjana may take; a longer one counts as that much

EUROPE = [
    "England",
    "France",
    "Germany",
    "Greece",
    "Holand-Netherlands",
    "Hungary",
    "Ireland",
    "Italy",
    "Poland",
    "Portugal",
    "Scotland",
    "Yugoslavia",
]
ASIA = [
    "Cambodia",
    "China",
    "Hong",
    "India",
    "Iran",
    "Japan",
    "Laos",
    "Philippines",
    "South",
    "Taiwan",
    "Thailand",
    "Vietnam",
]
NORTH = ["United-States", "Canada", "Outlying-US(Guam-USVI-etc)", "Puerto-Rico"]
LATIN = [
    "Columbia",
    "Cuba",
    "Dominican-Republic",
    "Ecuador",
    "El-Salvador",
    "Guatemala",
    "Haiti",
    "Honduras",
    "Jamaica",
    "Mexico",
    "Nicaragua",
    "Peru",
    "Trinadad&Tobago",
]
TREES: dict[str, dict[str, list[str]]] = {
    "sex": {"*": ["Male", "Female"]},
    "race": {"*": ["Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"]},
    "education": {
        "primary/low": ["Preschool", "1st-4th", "5th-6th", "7th-8th"],
        "secondary/low": ["9th", "10th", "11th", "12th", "HS-grad"],
        "college/high": ["Some-college", "Assoc-acdm", "Assoc-voc"],
        "university/high": ["Bachelors", "Masters", "Doctorate", "Prof-school"],
    },
    "marital-status": {
        "married": ["Married-AF-spouse", "Married-civ-spouse", "Married-spouse-absent"],
        "single": ["Divorced", "Never-married", "Separated", "Widowed"],
    },
    "native-country": {"Europe": EUROPE, "Asia": ASIA, "North America": NORTH, "Latin America": LATIN},
    "workclass": {
        "government": ["Federal-gov", "Local-gov", "State-gov"],
        "self-employed": ["Self-emp-inc", "Self-emp-not-inc"],
        "other": ["Private", "Without-pay"],
    },
    "occupation": {
        "office": ["Adm-clerical", "Exec-managerial", "Prof-specialty", "Sales", "Tech-support"],
        "manual": ["Craft-repair", "Farming-fishing", "Handlers-cleaners", "Machine-op-inspct", "Transport-moving"],
        "service": ["Other-service", "Priv-house-serv", "Protective-serv", "Armed-Forces"],
    },
}


def hierarchies() -> dict[str, Hierarchy]:
    """Levels 5, 2, 2, 4, then 3, 3, then 3, 3: lattices of 80, 720 and 6,480 nodes."""
    made: dict[str, Hierarchy] = {"age": Hierarchy.intervals(0, 100, [5, 10, 20])}
    for name, groups in TREES.items():
        ways = {v: [*([] if g == "*" else g.split("/")), "*"] for g, values in groups.items() for v in values}
        made[name] = Hierarchy.tree(ways)
    return made


def adult() -> tuple[dict[str, list[str]], bool]:
    """The complete rows of Adult, and whether they are the real ones."""
    folder = HOME / "adult"
    folder.mkdir(parents=True, exist_ok=True)
    if not list(folder.glob("mglearn*")):
        fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "mglearn==0.2.0"]
        subprocess.run([*fetch, "-d", str(folder)], check=False, capture_output=True)
    for package in folder.glob("mglearn*.tar.gz"):
        with tarfile.open(package) as archive:
            member = next(name for name in archive.getnames() if name.endswith("adult.data"))
            stored = archive.extractfile(member)
            assert stored is not None
            rows = [line.split(", ") for line in stored.read().decode().splitlines() if line.strip()]
        whole = [row for row in rows if "?" not in row]
        return {name: [row[place] for row in whole] for place, name in enumerate(ALL)}, True
    rng = np.random.default_rng(0)
    made = {"age": [str(a) for a in np.clip(rng.gamma(9, 4.3, 30_162), 17, 90).astype(int)]}
    for name, groups in TREES.items():
        values = [v for group in groups.values() for v in group]
        shares = 1 / np.arange(1, len(values) + 1) ** 1.5
        made[name] = [str(v) for v in rng.choice(values, 30_162, p=shares / shares.sum())]
    made["income"] = [str(v) for v in rng.choice(["<=50K", ">50K"], 30_162, p=[0.75, 0.25])]
    return made, False


def median(call: Callable[[], Any], times: int = 7, clock: Callable[[], float] = time.process_time) -> float:
    seconds = []
    for _ in range(times):
        start = clock()
        call()
        seconds.append(clock() - start)
    return statistics.median(seconds)


def one_thread(call: Callable[[], Any]) -> float:
    """The processor time of a call whose products of matrices take one thread: another would wait for work and count."""
    with threadpool_limits(1):
        return median(call)


def lattices(table: dict[str, list[str]], folder: Path) -> dict[str, Any]:
    """Times on the three lattices, the optimum against every node, and anjana."""
    import pandas as pd

    levels, frame, out = hierarchies(), pd.DataFrame(table), {}
    frame.to_csv(folder / "adult.csv", index=False)
    ways = {name: {v: levels[name].path(v) for v in set(table[name])} for name in NAMES}
    (folder / "ways.json").write_text(json.dumps(ways))
    for many in (4, 6, 8):
        names = NAMES[:many]
        base = histogram_of(open_table(frame), names, levels, None)
        shape = [levels[name].height + 1 for name in names]
        view = HistogramView(base, [Size(5)])
        for share in ("0", "0.05"):
            limit = int(base.rows * float(share) + 1e-9)

            def search(base: Any = base, shape: Any = shape, limit: int = limit) -> Any:
                fresh = HistogramView(base, [Size(5)])  # a view keeps what it has computed: every run starts without
                safe = incognito(base, shape, fresh.rules, limit)
                return safe, choose(metric_named("precision", base), safe.mask, fresh, limit)

            safe, (node, loss) = search()
            metric = metric_named("precision", base)
            every = [tuple(map(int, x)) for x in np.ndindex(*shape)]
            passing = [x for x in every if view.suppressed(x) <= limit]
            best = min(metric.score(x, view)[0] for x in passing)
            assert safe.nodes() == sorted(passing, key=lambda x: (sum(x), x)), "not the nodes that brute force finds"
            assert abs(best - loss) < 1e-12, "not the optimum"
            made = partial(anonymize, frame, names, levels, 5, suppression=share)
            whole = median(made, 5, time.perf_counter)
            arguments = [str(folder / "adult.csv"), str(folder / "ways.json"), ",".join(names), "5", str(100 * float(share))]
            peer = environments.ask_peer("anjana", "protect", *arguments, str(math.ceil(max(2, PATIENCE * whole))))
            out[f"{many} columns, {len(every)} nodes, suppression {share}"] = {
                "search_ms": 1e3 * one_thread(search),
                "with_loading_ms": 1e3 * whole,
                "arx_recorded_ms": 1e3 * ARX[many, share],
                "anjana_s": peer["seconds"],
                "anjana_finished": peer["finished"],
                "tested": safe.tested,
                "safe": len(passing),
                "levels": list(node),
                "loss": loss,
            }
    return out


def canon(table: dict[str, list[str]], folder: Path, tables: int = 30) -> int:
    """Anonymous copies measured by pycanon: how many agree with what ``check`` says and with what was asked."""
    levels = hierarchies()
    jobs, ours = [], []
    rng = np.random.default_rng(5)
    for number in range(tables):
        rows = rng.choice(len(table["age"]), 800, replace=False)
        part = {name: [table[name][i] for i in rows] for name in (*NAMES[:4], "occupation")}
        k, l, t = int(rng.integers(2, 8)), int(rng.integers(2, 4)), float(rng.choice([0.3, 0.5]))  # noqa: E741
        extra: dict[str, Any] = [{"l": l}, {"l": l, "diversity": "entropy"}, {"t": t}][number % 3]
        made = anonymize(part, NAMES[:4], levels, k, "occupation", suppression=0.0 if number % 2 else 0.1, **extra)
        made.write(folder / f"canon{number}.csv")
        found = check(folder / f"canon{number}.csv", NAMES[:4], "occupation")
        assert found.k >= k
        ours.append(found)
        jobs.append({"table": str(folder / f"canon{number}.csv"), "columns": NAMES[:4], "sensitive": "occupation"})
    (folder / "canon.json").write_text(json.dumps(jobs))
    theirs = environments.ask_peer("pycanon", "protect", str(folder / "canon.json"))
    agree = 0
    for mine, other in zip(ours, theirs, strict=True):
        # pycanon gives entropy-l as a whole number, rounded down, also where doubles make 2.9999999 of an exact 3.
        same = (mine.k, mine.l) == (other["k"], other["l"]) and abs((mine.t or 0) - other["t"]) < 1e-9
        low = mine.entropy_l or 0.0
        agree += same and other["entropy_l"] in (int(low + 1e-9), int(low - 1e-9))
    return agree


def copies(table: dict[str, list[str]]) -> dict[str, Any]:
    """Ten copies of Adult by three methods: loss, mean risk and utility of each, and all of them in one picture."""
    from discreet.protect.analyses import Analyses

    names = [*NAMES[:6], "hours-per-week"]
    levels = hierarchies() | {"hours-per-week": Hierarchy.intervals(0, 100, [5, 10, 50])}
    made: dict[str, Any] = {}
    for k in (2, 5, 25):
        made[f"levels, k = {k}"] = anonymize(table, names, levels, k, suppression=0.05, metric="ncp")
    for k in (2, 5, 25, 100):
        made[f"boxes, k = {k}"] = mondrian(table, names, levels, k)
    for k in (2, 5, 25):
        made[f"clusters, k = {k}"] = microaggregate(table, names, levels, k)
    target = {"target": "income", "positive": ">50K"}
    picture = together(made, **target)
    picture.savefig(PICTURE, metadata={"Date": None})
    analyses = Analyses(next(iter(made.values())), **target)
    return {name: {"ncp": copy.metrics["ncp"], **vars(analyses.of(copy))} for name, copy in made.items()}


def million(rows: int = 1_000_000) -> float:
    """Seconds of Mondrian on a million rows with a number, a postal code, a day and a count."""
    rng = np.random.default_rng(0)
    codes = np.array([f"{code:05}" for code in range(3000)])
    table = {
        "age": rng.integers(0, 100, rows),
        "zip": codes[rng.integers(0, 3000, rows)],
        "seen": np.datetime64("2015-01-01") + rng.integers(0, 3000, rows),
        "visits": rng.poisson(4, rows),
    }
    levels = {
        "age": Hierarchy.intervals(0, 110, [10]),
        "zip": Hierarchy.prefixes(5),
        "seen": Hierarchy.dates("2010-01-01", "2030-01-01"),
        "visits": Hierarchy.intervals(0, 100, [10]),
    }
    return median(lambda: mondrian(table, list(table), levels, 5), 3)


def scanner(notes: int = 5000) -> dict[str, dict[str, float]]:
    """Precision and recall of what is found in made-up notes, plain ones and hard ones."""
    from tests.protect.hard_notes import hard_note
    from tests.protect.test_scan import note

    from discreet.protect import patterns

    measured = {}
    for kind, made in (("plain", note), ("hard", hard_note)):
        rng = np.random.default_rng(7)
        right = told = true = 0
        for _ in range(notes):
            text, expected = made(rng)
            found = [(match.kind, text[match.start : match.stop]) for match in patterns.find(text)]
            right += len(set(found) & set(expected))
            told, true = told + len(found), true + len(expected)
        measured[kind] = {"precision": right / told, "recall": right / true}
    return measured


LARGE = """
import json, resource, sys, time
from bench.protect import NAMES, hierarchies
from discreet.protect import anonymize
start = time.perf_counter()
made = anonymize(sys.argv[1], NAMES, hierarchies(), 5, suppression=0.01)
found = time.perf_counter() - start
made.write(sys.argv[2])
print(json.dumps({"levels": made.levels, "suppressed": made.suppressed, "rows": made.rows, "search_s": found,
    "total_s": time.perf_counter() - start, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""
SPARK = """
import json, sys, time
from pyspark.sql import SparkSession
from bench.protect import NAMES, hierarchies
from discreet.protect import anonymize
session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
start = time.perf_counter()
made = anonymize(sys.argv[1], NAMES, hierarchies(), 5, suppression=0.01, spark=session)
print(json.dumps({"levels": made.levels, "suppressed": made.suppressed, "rows": made.rows,
    "total_s": time.perf_counter() - start}))
"""


def large(folder: Path, rows: int = 10_000_000) -> dict[str, Any]:
    """Rows like Adult's by the ten million: DuckDB's time and memory, and the same result on Spark."""
    import duckdb

    with duckdb.connect(config={"memory_limit": "1GB", "threads": 2}) as connection:
        connection.execute("SELECT setseed(0.5)")
        rest = ", ".join(f'"{name}"' for name in NAMES[1:])
        source = f"read_csv('{folder}/adult.csv', all_varchar=true), range(CAST(ceil({rows} / 30162.0) AS BIGINT))"
        query = f"SELECT CAST(17 + floor(random() * 60) AS INTEGER) AS age, {rest}, income FROM {source} LIMIT {rows}"
        connection.execute(f"COPY ({query}) TO '{folder}/large.parquet' (FORMAT parquet)")
    here = _child(LARGE, str(folder / "large.parquet"), str(folder / "large-anonymous.parquet"))
    there = _child(SPARK, str(folder / "large.parquet"))
    same = all(here[key] == there[key] for key in ("levels", "suppressed", "rows"))
    k = check(folder / "large-anonymous.parquet", NAMES).k
    return {"duckdb": here, "spark": there, "same_on_spark": same, "k_of_the_copy": k}


def _child(code: str, *arguments: str) -> Any:
    done = subprocess.run([sys.executable, "-c", code, *arguments], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def pseudonyms(folder: Path) -> dict[str, Any]:
    """A million tokens; partners that share none; translation; a dictionary without the key."""
    people = Pseudonymizer(["id"], FileKeys.create(folder / "keys.json"))
    ids = [f"person {i}" for i in range(1_000_000)]
    start = time.process_time()
    lab = people.tokens(ids, "lab")
    seconds = time.process_time() - start
    clinic = people.tokens(ids[:100_000], "clinic")
    stranger = Pseudonymizer(["id"], FileKeys.create(folder / "other.json")).tokens(ids[:100_000], "lab")
    return {
        "seconds_per_million": seconds,
        "shared_by_partners": len(set(lab[:100_000]) & set(clinic)),
        "translation_is_exact": people.translate(lab[:100_000], "lab", "clinic") == clinic,
        "found_by_dictionary": len(set(lab) & set(stranger)),
        "collisions": len(lab) - len(set(lab)),
    }


def kills(folder: Path, times: int = 50) -> dict[str, int]:
    """Erasures killed at each of their 73 steps in turn; every one is asserted to be whole afterwards."""
    from tests.protect.kill import Killer
    from tests.protect.test_vault import fill, kill_and_restart

    ends: dict[str, int] = {}
    with Killer() as killer:
        for number in range(times):
            if number % 20 == 0:
                place = folder / f"vault{number}"
                place.mkdir()
                fill(place, [f"p{i}" for i in range(20)])
            end = kill_and_restart(killer, place, f"p{number % 20}", 1 + number * 17 % 73)
            ends[end] = ends.get(end, 0) + 1
    return ends


def run() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table, real = adult()
        return {
            "adult_is_real": real,
            "lattices": lattices(table, folder),
            "copies": copies(table) if real else {},
            "mondrian_on_a_million_rows_s": million(),
            "scanner": scanner(),
            "pycanon_agrees_of_30": canon(table, folder),
            "large": large(folder),
            "pseudonyms": pseudonyms(folder),
            "kills": kills(folder),
        }


def checks(result: dict[str, Any]) -> list[tuple[str, float, str, float]]:
    rows = []
    for name, found in result["lattices"].items():
        ours = found["search_ms"]
        rows.append((f"search over ARX's recorded time, {name}", ours / found["arx_recorded_ms"], "<=", 2))
        rows.append((f"times faster than anjana, {name}", 1e3 * found["anjana_s"] / found["with_loading_ms"], ">=", 10))
    rows += [
        ("6,480 nodes at 5 % suppression, ms", result["lattices"][LARGEST]["search_ms"], "<=", 120),
        ("Mondrian on a million rows, s", result["mondrian_on_a_million_rows_s"], "<=", 5),
        *(
            (f"{what} of the scanner on {kind} notes", share, ">=", 0.95)
            for kind, shares in result["scanner"].items()
            for what, share in shares.items()
        ),
        ("copies of 30 that pycanon measures alike", result["pycanon_agrees_of_30"], ">=", 30),
        ("10 million rows on DuckDB, peak MB", result["large"]["duckdb"]["peak_mb"], "<=", 2000),
        ("the same on Spark", float(result["large"]["same_on_spark"]), ">=", 1),
        ("k of the copy of 10 million rows", result["large"]["k_of_the_copy"], ">=", 5),
        ("seconds for a million pseudonyms", result["pseudonyms"]["seconds_per_million"], "<=", 10),
        ("tokens that two partners share", result["pseudonyms"]["shared_by_partners"], "<=", 0),
        ("translation equals direct tokens", float(result["pseudonyms"]["translation_is_exact"]), ">=", 1),
        ("tokens a dictionary without the key finds", result["pseudonyms"]["found_by_dictionary"], "<=", 0),
        ("erasures killed and whole afterwards", result["kills"].get("there", 0) + result["kills"].get("gone", 0), ">=", 50),
    ]
    return rows
