"""Damaged documents, each read by the reader of its kind: it is read, or refused in one line of our own; never a traceback.

A case takes a document that was written by this package, damages one to three places of it (a value of another type, a key
that is gone, renamed or copied from elsewhere, a number out of range, text cut or flipped), reads it, and does with what
was read what a user would do first. Anything raised that is not an error of ``discreet``, a warning, an error of more than
one line and a reader that takes longer than ten seconds of processor time are failures; each is written to standard error.
"""

from __future__ import annotations

import copy
import functools
import json
import math
import random
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import discreet as ds
from discreet.errors import DiscreetError
from study.harness import Row

SETTINGS = [
    {"document": name}
    for name in ("release", "result", "releases.json", "checkpoint", "model", "posterior", "reports", "schema",
                 "release file", "fit file", "receipt")
]  # fmt: skip
RUNS, PART = 100_000, 2_000
_LIMIT = 10.0  # seconds of the processor for one document, so that a busy machine fails nothing
_POOL: list[Any] = [
    None, True, False, 0, 1, -1, 2, 2**31, 2**63, -(2**64), 10**400, 0.5, -0.0, 1e308, 5e-324, math.nan, math.inf, -math.inf,
    "", "x", "1/0", "1/2", "-3", "1e9999", "1e99999999", "nan", "\0", "ä\u2028", "\ud800", "9" * 6000, "result", "laplace",
    [], [None], [[]], [1, "a", None], [[1, 2], [3]], {}, {"": 0}, {"name": "laplace"}, {"name": None}, {"kind": "release"},
]  # fmt: skip


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    """How many damaged documents were read, refused, or neither."""
    found = {"read": 0.0, "refused": 0.0, "failed": 0.0}
    chance = random.Random(seed)
    memory = Path("/dev/shm")  # a file that is written over and over keeps a disk busy
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        for _ in range(runs):
            outcome, said = case(setting["document"], chance, Path(folder))
            found[outcome] += 1
            if outcome == "failed":
                print(f"{setting['document']}, seed {seed}: {said}", file=sys.stderr, flush=True)
    return found


def rows(results: list[tuple[dict[str, Any], int, dict[str, float]]]) -> list[Row]:
    what = "{document}: damaged ones neither read nor refused"
    return [Row(f"{what.format(**setting)}, of {runs}", found["failed"], "<=", 0) for setting, runs, found in results]


def case(kind: str, chance: random.Random, folder: Path) -> tuple[str, str]:
    """One damaged document: whether it was read, refused or neither, and what was said."""
    use = KINDS[kind][1]
    text = damaged(json.loads(chance.choice(_texts(kind))), chance, toml=kind.endswith("file") or kind == "schema")
    path = folder / "document"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    try:
        with warnings.catch_warnings(), _Soon():
            warnings.simplefilter("error")
            use(path, text)
    except DiscreetError as refusal:
        line = str(refusal)
        return ("refused" if line and "\n" not in line else "failed"), line
    except (Exception, _TooLong) as problem:
        return "failed", f"{type(problem).__name__}: {problem} <- {text[:3000]}"
    return "read", ""


class _TooLong(BaseException):  # no reader takes it for a fault of its document
    pass


class _Soon:
    def __enter__(self) -> None:
        self.before = signal.signal(signal.SIGPROF, self.stop)
        signal.setitimer(signal.ITIMER_PROF, _LIMIT)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, self.before)

    @staticmethod
    def stop(_: int, __: FrameType | None) -> None:
        raise _TooLong


@functools.cache
def _texts(kind: str) -> list[str]:
    """The documents of a kind as text: reading one again is much faster than copying it."""
    return [json.dumps(document) for document in KINDS[kind][0]()]


def damaged(doc: Any, chance: random.Random, *, toml: bool) -> str:
    """A document with one to three damages, as text; the document given is damaged itself."""
    for _ in range(chance.randint(1, 3)):
        doc = _damage(doc, chance)
    text = _toml(doc) if toml else json.dumps(doc)
    if chance.random() < 0.08:
        place = chance.randrange(len(text) + 1)
        text = chance.choice([text[:place], text[:place] + chance.choice('{}[]",:\\x\0=') + text[place:],
                              text[:place] + text[place + chance.randint(1, 9) :], text + text, "[" * 100_000])  # fmt: skip
    return text


def _damage(doc: Any, chance: random.Random) -> Any:
    places = _places(doc)
    if not places:
        return chance.choice(_POOL)
    place = chance.choice(places)
    holder = doc
    for key in place[:-1]:
        holder = holder[key]
    key, value = place[-1], holder[place[-1]]
    match chance.randrange(9):
        case 0 | 1 | 2:
            holder[key] = copy.deepcopy(chance.choice(_POOL))
        case 3:
            del holder[key]
        case 4:
            other = doc
            for step in chance.choice(places):
                other = other[step]
            holder[key] = copy.deepcopy(other)
        case 5 if isinstance(holder, dict):
            holder[chance.choice([f"{key}x", "name", "kind", "", "value", str(key).upper()])] = holder.pop(key)
        case 5:
            holder.insert(key, copy.deepcopy(value))
        case 6:
            holder[key] = chance.choice([[value], {"name": value}, str(value), [value, value], {str(key): value}])
        case 7 if isinstance(value, int | float) and not isinstance(value, bool):
            holder[key] = chance.choice([-value, value + 1, value * 10**6, str(value), f"{value}.5", bool(value)])
        case 7 if isinstance(value, str) and value:
            at = chance.randrange(len(value))
            holder[key] = value[:at] + chance.choice("x0/-.e\"' ") + value[at + 1 :]
        case _ if isinstance(value, list) and value:
            holder[key] = value[: len(value) // 2] if chance.random() < 0.5 else value + value
        case _:
            holder[key] = copy.deepcopy(chance.choice(_POOL))
    return doc


def _places(doc: Any) -> list[tuple[Any, ...]]:
    """Where values stand: the keys that lead to each."""
    found: list[tuple[Any, ...]] = []
    left: list[tuple[tuple[Any, ...], Any]] = [((), doc)]
    while left:
        at, value = left.pop()
        inside = value.items() if isinstance(value, dict) else enumerate(value[:40]) if isinstance(value, list) else ()
        for key, each in inside:
            place = (*at, key)
            found.append(place)
            if isinstance(each, dict | list):
                left.append((place, each))
    return found


def _toml(value: Any, top: bool = True) -> str:
    """TOML, of whatever it can say; what it cannot say becomes text."""
    if isinstance(value, dict):
        inside = [f"{json.dumps(str(k))} = {_toml(v, False)}" for k, v in value.items()]
        return "\n".join(inside) + "\n" if top else "{ " + ", ".join(inside) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(v, False) for v in value) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return json.dumps("none" if value is None else value)


_SCHEMA = ds.Schema(
    {"age": ds.Integer(0, 100), "weight": ds.Real(30, 200), "sex": ds.Categories(["f", "m"])}, neighbors="add_remove",
    person="id", max_rows=2, expected_rows=60,
)  # fmt: skip
_TABLE = {"id": np.arange(60) % 40, "age": np.arange(60) * 7 % 101, "weight": 40.0 + np.arange(60), "sex": ["f", "m"] * 30}
_ASKED: tuple[tuple[Any, ...], ...] = (
    ("count",), ("sum", "age"), ("mean", "age"), ("variance", "weight"), ("std", "age"), ("covariance", "age", "weight"),
    ("correlation", "age", "weight"), ("histogram", "age"), ("crosstab", "sex"), ("median", "age"),
)  # fmt: skip


@functools.cache
def _results() -> list[Any]:
    session = ds.Session(_TABLE, _SCHEMA, ledger="test", seed=1)
    made = [session.ask(*asked, epsilon=1) for asked in _ASKED]
    made += [session.mean("age", by="sex", where={"sex": ["f", "m"]}, rho=1), session.sum("age", epsilon=1, delta=1e-6)]
    made += session.together([("mean", "age"), ("count",)], epsilon=1)
    return [json.loads(result.to_json()) for result in made]


@functools.cache
def _releases() -> list[Any]:
    return [result["releases"][0] for result in _results()]


@functools.cache
def _released() -> list[Any]:
    asks = [{"title": "t", "statistic": "mean", "columns": ["age"], "by": "sex", "known": False, "cost": "", "result": r}
            for r in _results()[:4]]  # fmt: skip
    ledger = {"name": "n", "budget": "", "price": "", "head": "", "costs": {}}
    whole = {"kind": "releases", "schema": 1, "title": "t", "declared": _SCHEMA.to_dict(), "ledger": ledger, "asks": asks}
    return [whole, _results()[0], _releases()[0]]


@functools.cache
def _checkpoints() -> list[Any]:
    with tempfile.TemporaryDirectory() as folder, ds.Ledger("test") as ledger:
        path = Path(folder) / "run.json"
        session = ds.Session(_TABLE, _SCHEMA, ledger=ledger, version="1")
        model = ds.models.SGDClassifier(epsilon=4, delta=1e-5, steps=3, lot_size=20, checkpoint=path)
        session.fit(model, ["age", "weight"], "sex")
        return [json.loads(path.read_text())]


@functools.cache
def _receipts() -> list[Any]:
    from discreet.protect.receipts import Receipt

    facts = {
        "subject": "t",
        "erased": "2026-11-16",
        "tables": {"visits": 2},
        "recipients": ["lab"],
        "releases": [{"ledger": "l", "head": "0"}],
    }
    return [json.loads(Receipt.sign(facts, bytes(32)).to_json())]


@functools.cache
def _models() -> list[Any]:
    from discreet.models.publish.document import document

    one_each = ds.Schema(dict(_SCHEMA.columns), expected_rows=60)
    table = {name: _TABLE[name] for name in one_each.columns}
    session = ds.Session(table, one_each, ledger="test", seed=1)
    models: list[tuple[Any, list[str], str]] = [
        (ds.models.LogisticRegression(epsilon=1), ["age", "weight"], "sex"),
        (ds.models.KernelSVC(epsilon=1, components=4), ["age", "weight"], "sex"),
        (ds.models.LinearRegression(epsilon=1), ["weight", "sex"], "age"),
        (
            ds.models.MLPClassifier(hidden_layer_sizes=(3,), epsilon=4, delta=1e-5, steps=2, lot_size=20),
            ["age", "weight"],
            "sex",
        ),
    ]
    return [json.loads(json.dumps(document(session.fit(model, names, target)))) for model, names, target in models]


@functools.cache
def _posteriors() -> list[Any]:
    from discreet.core.release import Release
    from discreet.inference.outputs.posterior import Posterior

    draws = {"theta": np.linspace(0, 1, 40).reshape(2, 10, 2), "n": np.arange(20).reshape(2, 10)}
    stats, seen = {"acceptance": np.ones((2, 10))}, (Release.from_dict(_releases()[0]),)
    return [json.loads(Posterior(draws, stats, "gibbs", False, {"name": "m"}, seen, 1.0, 0.5).to_json())]


@functools.cache
def _reports() -> list[Any]:
    labels = ("a", "b", "c")
    laws = [ds.local.RandomizedResponse(1, labels), ds.local.OptimizedUnary(1, labels)]
    return [json.loads(law.reports(["a", "b", "c", "a"]).to_json()) for law in laws]


@functools.cache
def _schemas() -> list[Any]:
    return [_SCHEMA.to_dict(), {"columns": {"x": {"type": "category", "values": [1, 2], "other": 3, "missing": 2}}}]


@functools.cache
def _release_files() -> list[Any]:
    asks = [{"statistic": name, "columns": list(columns), "epsilon": 0.1} for name, *columns in _ASKED]
    asks += [{"statistic": "quantile", "columns": "age", "options": {"q": 0.9}, "rho": 0.1, "title": "t"},
             {"statistic": "mean", "columns": "age", "by": "sex", "where": {"sex": ["f"]}, "epsilon": 0.5, "delta": "1e-6",
              "mechanism": "gaussian", "calibration": "classical"}]  # fmt: skip
    head = {"table": "t.csv", "version": "1", "schema": _SCHEMA.to_dict(), "ledger": "l.db", "name": "n", "who": "w",
            "title": "t", "same_people": False, "budget": {"epsilon": 3, "delta": 1e-3, "composition": "basic"}}  # fmt: skip
    return [head | {"ask": [ask, asks[0]]} for ask in asks]


@functools.cache
def _fit_files() -> list[Any]:
    head = {key: value for key, value in _release_files()[0].items() if key != "ask"}
    model = {"kind": "logistic", "target": "sex", "features": ["age", "weight"], "epsilon": 1.0, "where": {"sex": "f"}}
    more = {"kind": "sgd", "target": "sex", "features": "age", "epsilon": 1, "delta": 1e-6, "steps": 3, "clip": 1.0}
    return [head | {"out": "m.json", "model": each} for each in (model, more)]


def _use_result(_: Path, text: str) -> None:
    result = ds.Result.from_json(text)
    repr(result), result.interval(), result.expected_error, result.to_json(), result.rows()


def _use_release(_: Path, text: str) -> None:
    release = ds.Release.from_json(text)
    repr(release), release.to_json()


def _use_released(path: Path, _: str) -> None:
    ds.read_releases(path)


def _use_checkpoint(path: Path, _: str) -> None:
    from discreet.models.gradient.checkpoint import check_same, load

    run, state, _bought = load(path)
    check_same(path, run, run)
    repr((run.law, state.account))


def _use_receipt(_: Path, text: str) -> None:
    from discreet.protect.receipts import Receipt

    receipt = Receipt.from_json(text)
    receipt.subject, receipt.tables, receipt.recipients, receipt.releases, receipt.to_json()
    receipt.verify(receipt.public_key)


def _use_model(path: Path, _: str) -> None:
    model = ds.models.load(path)
    model.predict({"age": [30, 40], "weight": [50.0, 60.0], "sex": ["f", "m"]})
    repr(model), model.guarantee


def _use_posterior(_: Path, text: str) -> None:
    from discreet.inference.outputs.diagnostics import PoorSampling
    from discreet.inference.outputs.posterior import Posterior

    posterior = Posterior.from_json(text)
    warnings.simplefilter("ignore", PoorSampling)
    repr(posterior), str(posterior.cost), posterior.summary(), posterior.to_json()


def _use_reports(_: Path, text: str) -> None:
    reports = ds.local.Reports.from_json(text)
    repr(reports), reports.to_json()


def _use_schema(path: Path, text: str) -> None:
    schema = ds.Schema.from_toml(path)
    schema.to_toml()


def _use_release_file(path: Path, _: str) -> None:
    from discreet.jobs import asking, release_file
    from discreet.sources import open_source

    file = release_file.read(path)
    source = open_source(_blank(file.schema), file.schema, version=file.version)
    with ds.Ledger("test", file.budget, neighbors=file.schema.neighbors, who=file.who) as ledger:
        prepared = asking.prepare(file, source, ledger, 60 if asking.public_rows(file) else None)
        asking.check_budget(file, prepared, ledger)


def _use_fit_file(path: Path, _: str) -> None:
    from discreet.jobs import fit_file

    wanted = fit_file.from_file(path, None)
    model = wanted.model()
    if hasattr(model, "steps"):
        return  # the price of many steps takes its time, and is no matter of reading
    with ds.Ledger("test") as ledger:
        session = ds.Session(_blank(wanted.base.schema), wanted.base.schema, ledger=ledger, version=wanted.base.version)
        names: Any = {"weight": wanted.weight, "propensity": wanted.propensity, "where": dict(wanted.where)}
        session.preview_fit(model, list(wanted.features), wanted.target, **names)


def _blank(schema: ds.Schema) -> dict[str, Any]:
    names = [*schema.columns, *([] if schema.person is None else [schema.person])]
    return {name: np.zeros(3) for name in names}


KINDS: dict[str, tuple[Callable[[], list[Any]], Callable[[Path, str], None]]] = {
    "release": (_releases, _use_release),
    "result": (_results, _use_result),
    "releases.json": (_released, _use_released),
    "checkpoint": (_checkpoints, _use_checkpoint),
    "receipt": (_receipts, _use_receipt),
    "model": (_models, _use_model),
    "posterior": (_posteriors, _use_posterior),
    "reports": (_reports, _use_reports),
    "schema": (_schemas, _use_schema),
    "release file": (_release_files, _use_release_file),
    "fit file": (_fit_files, _use_fit_file),
}
