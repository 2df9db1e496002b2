"""What is to be fitted, to which table and at whose cost: from a file in TOML or from the options of the command."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.core.budget import Budget
from discreet.core.labels import closest
from discreet.core.schema import Schema
from discreet.errors import DiscreetError, InvalidRequest, UnknownName, UnsupportedFormat
from discreet.jobs import release_file
from discreet.jobs.release_file import ReleaseFile
from discreet.ledger.address import folder_of

KINDS = {
    "logistic": "LogisticRegression",
    "additive": "AdditiveClassifier",
    "svm": "LinearSVC",
    "kernel": "KernelSVC",
    "treatment": "OutcomeWeightedLearner",
    "kernel_treatment": "KernelOutcomeWeightedLearner",
    "linear": "LinearRegression",
    "sgd": "SGDClassifier",
    "sgd_number": "SGDRegressor",
    "network": "MLPClassifier",
    "network_number": "MLPRegressor",
    "grpua": "GRPUA",
    "grpua_network": "GRPUANetwork",
    "softmax": "SoftmaxRegression",
    "poisson": "PoissonRegressor",
    "gamma": "GammaRegressor",
    "naive_bayes": "GaussianNB",
    "forest": "RandomForestClassifier",
    "kmeans": "KMeans",
    "pca": "PCA",
    "scaler": "StandardScaler",
}
STEPWISE = ("sgd", "sgd_number", "network", "network_number", "grpua", "grpua_network")  # which descend, step by step
UNSUPERVISED = ("kmeans", "pca", "scaler")  # which have no target
# Parameters of models that are said elsewhere: by the schema, by the ledger, or not at all outside tests.
_ELSEWHERE = ("bounds", "target_bounds", "classes", "neighbors", "ledger", "random_state", "verbose")
_TOP = {"table", "version", "schema", "ledger", "name", "who", "budget", "same_people"}
_MODEL = {
    "kind": (str,),
    "target": (str,),
    "features": (list, str),
    "weight": (str,),
    "propensity": (str, int, float),
    "where": (dict,),
}


@dataclass(frozen=True)
class FitJob:
    """A fit as it was asked for: ``base`` says which table, schema and ledger; ``place`` the file and line of the model."""

    base: ReleaseFile
    kind: str
    target: str | None
    features: tuple[str, ...]
    weight: str | None
    propensity: str | None
    where: Mapping[str, Any]
    parameters: Mapping[str, Any]
    out: Path
    place: str = ""

    def model(self) -> Any:
        """The model, made and not fitted; a parameter it does not have is refused."""
        try:
            return model_of(self.kind, self.parameters)
        except DiscreetError as problem:
            raise problem.at(self.place) from None


def model_of(kind: str, parameters: Mapping[str, Any]) -> Any:
    """The model that a word of ``KINDS`` stands for, with these parameters."""
    import discreet

    if kind not in KINDS:
        raise UnknownName(f"no model is called {kind!r}{closest(kind, KINDS)}")
    made = getattr(discreet.models, KINDS[kind])
    known = [name for name in inspect.signature(made).parameters if name not in _ELSEWHERE]
    for name in parameters:
        if name in _ELSEWHERE:
            raise InvalidRequest(f"{name!r} is public and comes from the schema or the ledger; leave it out")
        if name not in known:
            raise UnknownName(f"{kind} takes no {name!r}{closest(name, known)}")
    return made(**parameters)


def from_file(path: Path, out: Path | None) -> FitJob:
    """The fit that a file in TOML describes. Paths in it are taken from where it lies."""
    base, doc, place = release_file.read_with(path, {"out": (str,), "model": (dict,)}, "fit file")
    model = doc.get("model")
    if not model:
        raise UnsupportedFormat(f"{place()}a fit file needs a table [model], got none; write kind, target and features")
    named = {key: value for key, value in model.items() if key in _MODEL}
    release_file.check_keys(named, _MODEL, place, "model")
    rest = {key: value for key, value in model.items() if key not in _MODEL}
    for key in ("kind", "target", "features"):
        if not named.get(key) and not (key == "target" and named["kind"] in UNSUPERVISED):
            raise UnsupportedFormat(f"{place('model')}a model needs {key!r}, got none; add it")
    written = path.resolve().parent / doc["out"] if "out" in doc else path.with_suffix(".json")
    return _fit(base, named, rest, out or written, place("model"))


def base_of(table: str, schema: Path, ledger: str, name: str | None, budget: str | None, version: str | None) -> ReleaseFile:
    """The table, its schema and who pays, as options say. Paths are taken from the folder the command is run in."""
    if not schema.is_file():
        raise UnsupportedFormat(f"the schema must be a file that exists, got {str(schema)!r}; see `discreet schema new`")
    return ReleaseFile(
        path=Path(table),
        table=table,
        version=version,
        schema=Schema.from_toml(schema),
        ledger=release_file.ledger_at(ledger, Path.cwd(), "", folder_of(table)),
        name=name,
        title=Path(table).stem,
        who=None,
        budget=None if budget is None else _budget(budget),
        same_people=False,
        items=(),
        places=dict.fromkeys(_TOP, ""),
    )


def from_options(base: ReleaseFile, asked: Mapping[str, Any], parameters: Mapping[str, Any], out: Path) -> FitJob:
    """The fit that options describe."""
    return _fit(base, asked, parameters, out, "")


def _fit(base: ReleaseFile, asked: Mapping[str, Any], parameters: Mapping[str, Any], out: Path, place: str) -> FitJob:
    features = asked["features"]
    names = [n.strip() for n in features.split(",")] if isinstance(features, str) else features
    if not all(isinstance(n, str) and n for n in names):
        raise UnsupportedFormat(f"{place}features must be names of columns, got {features!r}")
    given, more = asked.get("propensity"), dict(parameters)
    if isinstance(given, int | float):
        more["propensity"] = given  # one public number for all, which is a parameter of the model
    return FitJob(
        base=base,
        kind=asked["kind"],
        target=asked.get("target"),
        features=tuple(names),
        weight=asked.get("weight"),
        propensity=given if isinstance(given, str) else None,
        where=asked.get("where") or {},
        parameters=more,
        out=out,
        place=place,
    )


def _budget(text: str) -> Budget:
    """``1``, or ``epsilon=1,delta=1e-6``, or ``rho=0.5``."""
    parts: dict[str, Any] = {}
    for part in text.split(","):
        key, equals, value = (word.strip() for word in part.partition("="))
        parts[key if equals else "epsilon"] = value if equals else key
    if not parts.keys() <= {"epsilon", "delta", "rho", "composition"}:
        raise InvalidRequest(f"a budget is epsilon=1, or epsilon=1,delta=1e-6, or rho=0.5, got {text!r}")
    return Budget(**parts)


def number_or_name(text: str | None) -> str | float | None:
    """A public number, or the name of a column."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def settings(given: Sequence[str]) -> dict[str, Any]:
    """``name=value`` each, the value read as TOML where it is some, as text otherwise."""
    made: dict[str, Any] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise InvalidRequest(f"a setting is name=value, as in components=50, got {each!r}")
        try:
            made[name.strip()] = tomllib.loads(f"x = {value}")["x"]
        except tomllib.TOMLDecodeError:
            if "," in value and "=" in value:
                raise InvalidRequest(f"--set takes one name=value, got {each!r}; repeat it: --set a=1 --set b=2") from None
            made[name.strip()] = value.strip()
    return made
