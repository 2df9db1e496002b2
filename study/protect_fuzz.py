"""Receipts, key files and job files that were bent, cut, nested, retyped and mixed up: refused in our own words, never a
traceback, and no refusal quotes a key."""

from __future__ import annotations

import base64
import copy
import json
import random
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from study.harness import Row

SETTINGS: list[dict[str, Any]] = [
    {"what": "receipts"},
    {"what": "receipts", "half": 2},
    {"what": "keys"},
    {"what": "keys", "half": 2},
    {"what": "jobs"},
]
RUNS = 20_000
PART = 1_000

_ODD: list[Any] = [
    None, True, False, 0, 1, -1, 2**63, 10**400, 1e308, float("inf"), float("nan"), "", "x", "*", "\0", "é\ud800", "../x",
    "/", "a" * 5000, [], {}, [[]], [None], {"": 0}, {"k": {"k": []}}, "people.csv", "environment", "sqlite://", "postgresql://x",
]  # fmt: skip


def run(setting: dict[str, Any], seed: int, runs: int, folder: Path | None = None) -> dict[str, float]:
    """``tracebacks`` counts what was not one of our errors, ``told`` the refusals that quote a key."""
    from discreet.errors import DiscreetError

    out = {"refused": 0.0, "taken": 0.0, "tracebacks": 0.0, "told": 0.0}
    with ExitStack() as stack:
        home = folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        ground = _Ground(home)
        attempt = {"receipts": ground.receipt, "keys": ground.keys, "jobs": ground.job}[setting["what"]]
        for number in range(seed, seed + runs):
            try:
                attempt(random.Random(number))
                out["taken"] += 1
            except DiscreetError as problem:
                out["refused"] += 1
                out["told"] += any(secret in str(problem) for secret in ground.secrets)
            except Exception as problem:
                out["tracebacks"] += 1
                print(f"seed {number}: {type(problem).__name__}: {str(problem)[:200]}")
    return out


def rows(results: list[tuple[dict[str, Any], int, dict[str, float]]]) -> list[Row]:
    made = []
    for setting, runs, found in results:
        what = " ".join(map(str, setting.values()))
        made.append(Row(f"{what}: cases", float(runs), ">=", RUNS))
        made.append(Row(f"{what}: tracebacks", found["tracebacks"], "<=", 0))
        made.append(Row(f"{what}: refusals that quote a key", found["told"], "<=", 0))
    return made


class _Ground:
    """What is bent: a receipt, a key file, and jobs of every kind with what they name."""

    def __init__(self, folder: Path) -> None:
        from discreet.protect import FileKeys, Receipt

        self.folder = folder
        keys = FileKeys.create(folder / "keys.json")
        self.stored = json.loads(keys.path.read_text())
        self.secrets = [*self.stored["keys"].values(), *(base64.b64decode(v).hex() for v in self.stored["keys"].values())]
        document = {
            "vault": "default", "subject": "1.abc", "erased": "2026-01-01", "tables": {"a": 1}, "recipients": ["lab"],
            "releases": [], "missed": {}, "not_reached": {},
        }  # fmt: skip
        made = Receipt.sign(document, keys.key("receipts"))
        self.public_key = made.public_key
        self.made = json.loads(made.to_json())
        people = "name,age,zip,ill\n" + "".join(f"p{i},{i % 40},{i % 7:03},{'ab'[i % 2]}\n" for i in range(60))
        (folder / "people.csv").write_text(people)
        identity = {"keys": "keys.json", "fields": [{"name": "name"}], "domain": "people"}
        hierarchies = {
            "age": {"kind": "intervals", "lo": 0, "hi": 100, "widths": [10, 50]},
            "zip": {"kind": "prefixes", "length": 3, "keep": [2, 1], "alphabet": 10},
            "ill": {"kind": "tree", "paths": {"a": ["*"], "b": ["*"]}, "names": ["ill", "any"]},
            "day": {"kind": "dates", "first": "2020-01-01", "last": "2021-01-01", "steps": ["month", "year"]},
        }
        anonymize = {
            "table": "people.csv", "quasi_identifiers": ["age", "zip"], "k": 2, "sensitive": "ill", "l": 2,
            "suppression": 0.2, "metric": "ncp", "weights": {"age": 2.0}, "at_most": {"age": 2}, "drop": ["name"],
            "hierarchies": hierarchies,
            "row_order": "shuffled", "diversity": "distinct", "t": 0.9, "order": ["a", "b"],
        }  # fmt: skip
        check = {"table": "people.csv", "quasi_identifiers": ["age"], "sensitive": "ill", "l": 1, "order": ["a", "b"]}
        self.jobs: dict[str, dict[str, Any]] = {
            "anonymize": anonymize,
            "check": check | {"population": "people.csv"},
            "pseudonymize": {
                "table": "people.csv", "output": "out.csv", "partner": "lab", "data_set": "d", "column": "t",
                "columns": {"name": "name"}, "keep": False, "row_order": "kept", "identity": identity,
            },
            "keys": {"vault": "sqlite://", "identity": identity},
            "verify": {"vault": "sqlite://", "identity": identity},
        }  # fmt: skip

    def receipt(self, rng: random.Random) -> None:
        from discreet.protect import Receipt

        found = Receipt.from_json(_text(rng, self.made))
        for name in ("subject", "tables", "recipients", "releases", "missed", "complete"):
            getattr(found, name)
        found.to_json()
        found.verify(self.public_key if rng.random() < 0.5 else rng.choice([found.public_key, "", "zz", "00" * 32, "é"]))

    def keys(self, rng: random.Random) -> None:
        from discreet.protect import FileKeys

        path = self.folder / "bent.json"
        path.write_bytes(_text(rng, self.stored).encode("utf-8", "surrogatepass"))
        path.chmod(rng.choice([0o600, 0o600, 0o600, 0o400, 0o644]))
        keys = FileKeys(path)
        keys.key(rng.choice(["identity", "receipts", "master/1", "master/x", ""]))
        keys.version()
        if rng.random() < 0.2:
            rng.choice([keys.add_version, lambda: keys.retire(rng.choice([1, 2, 0]))])()

    def job(self, rng: random.Random) -> None:
        from discreet.jobs import protect as jobs

        kind = rng.choice(list(self.jobs))
        (self.folder / "out.csv").unlink(missing_ok=True)
        path = self.folder / "job.toml"
        facts = _bent(rng, self.jobs[kind])
        text = _toml(facts) if isinstance(facts, dict) else repr(facts)
        if rng.random() < 0.2:
            text = _cut(rng, text)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        getattr(jobs, kind)(path)


def _text(rng: random.Random, document: Any) -> str:
    """A document as JSON, after one to four changes to what it says or to how it is written."""
    if rng.random() < 0.02:
        return "[" * 5000 + "]" * 5000
    text = json.dumps(_bent(rng, document))
    return _cut(rng, text) if rng.random() < 0.3 else text


def _bent(rng: random.Random, document: Any) -> Any:
    made = copy.deepcopy(document)
    for _ in range(rng.randint(0, 3)):
        made = _bend(rng, made)
    return made


def _bend(rng: random.Random, made: Any) -> Any:
    if isinstance(made, dict) and made and rng.random() < 0.9:
        key = rng.choice(list(made))
        chance = rng.random()
        if chance < 0.15:
            del made[key]
        elif chance < 0.25:
            made[rng.choice(["", "x", "kind", "name", key + "x"])] = made.pop(key)
        elif chance < 0.6:
            made[key] = copy.deepcopy(rng.choice(_ODD))
        else:
            made[key] = _bend(rng, made[key])
        return made
    if isinstance(made, list) and made and rng.random() < 0.8:
        place = rng.randrange(len(made))
        made[place] = _bend(rng, made[place]) if rng.random() < 0.5 else copy.deepcopy(rng.choice(_ODD))
        return made * rng.choice([1, 1, 2])
    return copy.deepcopy(rng.choice(_ODD))


def _cut(rng: random.Random, text: str) -> str:
    place = rng.randrange(len(text) + 1)
    return rng.choice(
        [text[:place], text[place:], text[:place] + rng.choice(['"', "\0", "}", "[", "=", "\n"]) + text[place:]]
    )


def _toml(facts: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(key)} = {_value(value)}\n" for key, value in facts.items() if value is not None)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_value(v)}" for key, v in value.items() if v is not None) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_value(v) for v in value if v is not None) + "]"
    if isinstance(value, float):
        return {"inf": "inf", "nan": "nan"}.get(str(value), repr(value))
    return json.dumps(value, ensure_ascii=False) if not isinstance(value, int) or isinstance(value, bool) else str(value)
