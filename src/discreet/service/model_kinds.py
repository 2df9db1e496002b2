"""Models asked for from afar: fitted, tuned and scored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from discreet.core.codec import read_as
from discreet.core.price import Price
from discreet.core.result import Result
from discreet.core.runner import Procedure
from discreet.core.schema import Categories, Schema
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.jobs.fit_file import STEPWISE, UNSUPERVISED, model_of
from discreet.jobs.release_file import check_keys
from discreet.models.design import Design
from discreet.models.evaluate.accuracy import score_of
from discreet.models.evaluate.coded_table import check_declared
from discreet.models.protocol import Columns
from discreet.service.kind import PRICE, Kind, named_in, nowhere, spent
from discreet.service.limits import Limits
from discreet.sources.base import BaseSource

_COLUMNS = {
    "features": (list,),
    "target": (str,),
    "weight": (str,),
    "propensity": (str, int, float),
    "where": (dict, str),
}
# Parameters of models that name a file or are about a run beside the table.
_BESIDE = ("checkpoint", "checkpoint_every", "data_version")
WIDEST = 1000  # neurons of a layer, and random features
# Numbers that size nothing; every other one, of models yet to come too, is at most ``limits.steps``.
_FREE = ("expected_rows", "lot_size", "epsilon", "delta", "rho", "ridge", "weight_bound", "radius", "clip", "key", "start")
_LAYERS = 8


@dataclass(frozen=True)
class _OfColumns(Kind):
    """What fits and tunings share: the columns."""

    features: tuple[str, ...]
    target: str
    weight: str | None
    propensity: str | None
    where: Mapping[str, Any] | str

    def names(self) -> Iterator[str]:
        yield from self.features
        yield from (name for name in (self.target, self.weight, self.propensity) if name)
        yield from named_in(self.where)

    def columns(self, schema: Schema, rows: int | None) -> Any:
        goal = schema[self.target] if self.target else None
        if isinstance(goal, Categories) and goal.private:
            raise InvalidRequest(f"the classes of a target must be known, got {self.target!r}, whose labels are private")
        public = None if self.where else rows
        return Columns(schema, self.features, self.target, self.weight, public, self.propensity)


def _columns(doc: Mapping[str, Any], limits: Limits) -> tuple[tuple[str, ...], str, str | None, str | None, Any]:
    """The columns that a model is about; the target is empty for a model that predicts none."""
    predicts = doc.get("kind") not in UNSUPERVISED
    for key in ("features", "target") if predicts else ("features",):
        if not doc.get(key):
            raise UnsupportedFormat(f"a model needs {key!r}, got none; add it", key=key)
    if not predicts and doc.get("target"):
        raise InvalidRequest(f"{doc['kind']} predicts no target, got {doc['target']!r}; leave it out", key="target")
    features = doc["features"]
    if len(features) > limits.features or not all(isinstance(name, str) and name for name in features):
        raise UnsupportedFormat(f"features are the names of at most {limits.features} columns", key="features")
    propensity = doc.get("propensity")
    column = propensity if isinstance(propensity, str) else None
    return tuple(features), doc.get("target", ""), doc.get("weight"), column, doc.get("where", {})


@dataclass(frozen=True)
class Fitted(_OfColumns):
    """A model of the fit file's kinds, fitted to columns."""

    word = "fit"
    made_of: tuple[str, Mapping[str, Any]]

    @classmethod
    def read(cls, doc: Any, limits: Limits) -> Self:
        named, parameters = _model_keys(doc, "fit", limits)
        model_of(named["kind"], parameters)
        return cls(*_columns(named, limits), (named["kind"], parameters))

    @property
    def replays(self) -> bool:  # type: ignore[override]
        """A descent's steps are not kept: what was fitted is handed out as it would be published."""
        return self.made_of[0] not in STEPWISE

    def procedure(self, source: BaseSource, rows: int | None, limits: Limits) -> Procedure[Any]:
        from discreet.models.estimators.private_model import PrivateModel

        model: PrivateModel = model_of(*self.made_of)
        columns = self.columns(source.schema, rows)
        if not self.replays:  # before the noise of all its steps is calibrated
            _, _, steps = model.settings(columns)
            if steps > limits.steps:
                raise InvalidRequest(f"a fit takes at most {limits.steps} steps, got {steps}", key="steps")
        fitted = yield from model.procedure(columns, source.schema.neighbors)
        model.accept(fitted, columns)
        return model

    def results(self, returned: Any) -> list[Result]:
        return []

    def titles(self) -> list[str]:
        return [f"{self.made_of[0]} model of {self.target or ', '.join(self.features)}"]

    def model(self, returned: Any) -> Any:
        return returned


@dataclass(frozen=True)
class Tuned(_OfColumns):
    """The best of several models of one kind, chosen and fitted privately."""

    word = "tune"
    kind: str
    candidates: tuple[Mapping[str, Any], ...]
    selection_epsilon: Any
    spend: Mapping[str, Any]

    @classmethod
    def read(cls, doc: Any, limits: Limits) -> Self:
        known = {"kind": (str,), "candidates": (list,), "selection_epsilon": (int, float, str), **_COLUMNS, **PRICE}
        check_keys(doc, known, nowhere, "tune")
        candidates = doc.get("candidates")
        if not isinstance(candidates, list) or not 1 <= len(candidates) <= limits.asks:
            raise UnsupportedFormat(
                f"tune has 1 to {limits.asks} candidates, each an object of parameters", key="candidates"
            )
        kind = doc.get("kind", "")
        if kind in (*STEPWISE, *UNSUPERVISED):
            raise InvalidRequest(
                f"models that are fitted step by step, or predict nothing, are not tuned, got {kind!r}", key="kind"
            )
        for each in candidates:
            if not isinstance(each, dict):
                raise UnsupportedFormat(f"a candidate is an object of parameters, got {each!r:.100}", key="candidates")
            _check_parameters(each, limits)
            model_of(kind, each)
        selection, spend = doc.get("selection_epsilon"), spent(doc)
        return cls(*_columns(doc, limits), kind, tuple(candidates), selection, spend)

    def procedure(self, source: BaseSource, rows: int | None, limits: Limits) -> Procedure[Any]:
        from discreet.models.estimators.tuning import read_candidates, tuning

        made = read_candidates([model_of(self.kind, each) for each in self.candidates], None, self.spend)
        columns = self.columns(source.schema, rows)
        winner = yield from tuning(made, columns, source.schema.neighbors, self.selection_epsilon)
        winner.model.accept(winner.fitted, columns)
        return winner.settle()

    def results(self, returned: Any) -> list[Result]:
        return []

    def titles(self) -> list[str]:
        return [f"the best of {len(self.candidates)} {self.kind} models of {self.target}"]

    def model(self, returned: Any) -> Any:
        return returned


@dataclass(frozen=True)
class Scored(Kind):
    """The share of rows on which a fitted classifier is right: its design as a published model's card has it, and theta."""

    word = "score"
    design: Any
    theta: tuple[float, ...]
    where: Mapping[str, Any] | str
    spend: Mapping[str, Any]

    @classmethod
    def read(cls, doc: Any, limits: Limits) -> Self:
        check_keys(doc, {"design": (dict,), "theta": (list,), "where": (dict, str), **PRICE}, nowhere, "score")
        theta = doc.get("theta")
        if not isinstance(theta, list) or not all(isinstance(t, int | float) and not isinstance(t, bool) for t in theta):
            raise UnsupportedFormat("theta is a list of numbers: the coefficients of the model", key="theta")
        design = read_as(Design, doc.get("design"))
        if len(design.features) > limits.features or (design.fourier is not None and design.fourier.size > WIDEST):
            raise UnsupportedFormat(f"a model that is scored has at most {limits.features} features", key="design")
        if design.width != len(theta):
            raise UnsupportedFormat(f"theta has {design.width} numbers for this design, got {len(theta)}", key="theta")
        return cls(design, tuple(float(t) for t in theta), doc.get("where", {}), spent(doc))

    def names(self) -> Iterator[str]:
        yield from self.design.columns
        yield from named_in(self.where)

    def procedure(self, source: BaseSource, rows: int | None, limits: Limits) -> Procedure[Result]:
        schema = source.schema
        check_declared(self.design, schema)
        design = replace(self.design, rows=schema.max_rows or 1)
        return score_of(design, self.theta, Price(**self.spend), schema.neighbors)

    def titles(self) -> list[str]:
        return [f"score of a model of {self.design.target.column}"]


def _model_keys(doc: Any, word: str, limits: Limits) -> tuple[dict[str, Any], dict[str, Any]]:
    """The keys of a fit file's model that are about the table, and the parameters of the model."""
    if not isinstance(doc, dict):
        raise UnsupportedFormat(f"{word} is an object of kind, features, target and parameters, got {doc!r:.100}", key=word)
    known = {"kind": (str,), **_COLUMNS}
    named = {key: value for key, value in doc.items() if key in known}
    check_keys(named, known, nowhere, word)
    if "kind" not in named:
        raise UnsupportedFormat("a model needs 'kind', got none; add it", key="kind")
    parameters = {key: value for key, value in doc.items() if key not in known}
    if isinstance(named.get("propensity"), int | float):
        parameters["propensity"] = named["propensity"]  # one public number for all, which is a parameter of the model
    _check_parameters(parameters, limits)
    return named, parameters


def _check_parameters(parameters: Mapping[str, Any], limits: Limits) -> None:
    for name, value in parameters.items():
        if name in _BESIDE:
            raise InvalidRequest(f"{name!r} is for fits beside the table", key=name, remedy="leave it out")
        if isinstance(value, dict) and name != "reference":  # the reference level of each category
            raise UnsupportedFormat(f"the parameter {name!r} is a number, a text or a list, got an object", key=name)
        most = WIDEST if name == "components" else limits.steps
        if name not in _FREE and isinstance(value, int | float) and not isinstance(value, bool) and value > most:
            raise InvalidRequest(f"{name} must be at most {most}, got {value}", key=name)
        if isinstance(value, list) and len(value) > WIDEST:
            raise InvalidRequest(f"{name} has at most {WIDEST} entries, got {len(value)}", key=name)
        if name == "hidden_layer_sizes":
            _check_layers(value)


def _check_layers(value: Any) -> None:
    sizes: Sequence[Any] = value if isinstance(value, list) else [value]
    if len(sizes) > _LAYERS or not all(isinstance(n, int) and 1 <= n <= WIDEST for n in sizes):
        raise InvalidRequest(
            f"hidden_layer_sizes are at most {_LAYERS} whole numbers from 1 to {WIDEST}, got {value!r:.100}",
            key="hidden_layer_sizes",
        )
