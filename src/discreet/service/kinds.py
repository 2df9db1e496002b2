"""The kinds of question that can be asked from afar; each becomes a procedure of the library.

A kind reads its part of a document (closed: the keys of release files and fit files, and names of registries), and makes
the procedure that asks it of a table. The table may be one without records: what is refused and what is charged then come
from the declarations alone, which is how the front prices.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from discreet.core import numbers
from discreet.core.codec import read_as
from discreet.core.price import Price
from discreet.core.result import Result
from discreet.core.runner import Procedure
from discreet.core.schema import Categories, Schema
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.expressions.reading import MATCHES
from discreet.jobs import asking, release_file
from discreet.jobs.fit_file import model_of
from discreet.jobs.release_file import SPENDING, Item, check_keys
from discreet.service.limits import Limits
from discreet.sources.base import BaseSource
from discreet.statistics import discovery
from discreet.statistics.joint import ask_together, taken_apart
from discreet.statistics.question import Table, build

_PRICE = {"epsilon": (int, float, str), "delta": (int, float, str), "rho": (int, float, str)}
_SPEND = {**_PRICE, "mechanism": (str,), "calibration": (str,)}
_COLUMNS = {
    "features": (list,),
    "target": (str,),
    "weight": (str,),
    "propensity": (str, int, float),
    "where": (dict, str),
}
# Parameters of models that name a file or are about a run beside the table.
_BESIDE = ("checkpoint", "checkpoint_every", "data_version")
_WIDEST = 1000  # neurons of a layer, and random features
_LAYERS = 8
_LEAST_DELTA = numbers.rational("1e-30")


class Kind(ABC):
    """A question of one kind."""

    word: ClassVar[str]
    replays: ClassVar[bool] = True  # whether its releases, sent to the same procedure again, give the same result
    where: Mapping[str, Any] | str  # which rows the whole of it is about

    @classmethod
    @abstractmethod
    def read(cls, doc: Any, limits: Limits) -> Self:
        """From the part of a question that has its word for a key; refuses unknown keys and what is too large."""

    @abstractmethod
    def names(self) -> Iterator[str]:
        """The columns, and expressions that stand for columns, that it is about."""

    @abstractmethod
    def procedure(self, source: BaseSource, rows: int | None, limits: Limits) -> Procedure[Any]:
        """What is asked of a table that ``where`` was applied to; ``rows`` is its number of rows, where it is public."""

    def results(self, returned: Any) -> list[Result]:
        """The results of what the procedure returned, where it returns any."""
        return [returned] if isinstance(returned, Result) else list(returned)

    def titles(self) -> list[str]:
        """What each result is of, in a few words."""
        return [self.word]

    def model(self, returned: Any) -> Any:
        """The fitted model of what the procedure returned; None where nothing is fitted."""
        return None


@dataclass(frozen=True)
class Asked(Kind):
    """Statistics, tests and curves, each with its own price and rows: one payment, one pass for each filter."""

    word = "ask"
    items: tuple[Item, ...]
    where: Mapping[str, Any] | str = field(default_factory=dict)  # each item has its own

    @classmethod
    def read(cls, doc: Any, limits: Limits) -> Self:
        if not isinstance(doc, list) or not 1 <= len(doc) <= limits.asks:
            raise UnsupportedFormat(f"ask is a list of 1 to {limits.asks} questions", key="ask")
        items = []
        for number, each in enumerate(doc):
            place = f"question {number + 1}: "
            item = release_file.item_of(number, each, lambda *_, said=place: said)
            _check_options(item.options, limits, place)
            items.append(item)
        return cls(tuple(items))

    def names(self) -> Iterator[str]:
        for item in self.items:
            if item.statistic not in discovery.FINDERS:
                yield from item.columns
            yield from [item.by] if isinstance(item.by, str) else item.by or ()
            yield from _named_in(item.where)

    def procedure(self, source: BaseSource, rows: int | None, limits: Limits) -> Procedure[list[Result]]:
        made = []
        for item in self.items:
            question, _, asks, _ = asking.posed(item, source, rows)
            made.append((question, asks))
        releases = iter((yield tuple(ask for _, asks in made for ask in asks)))
        own = [tuple(next(releases) for _ in asks) for _, asks in made]
        return [
            Result(q.reading, rs, sum((r.cost for r in rs[1:]), rs[0].cost), source.schema.expected_rows)
            for (q, _), rs in zip(made, own, strict=True)
        ]

    def titles(self) -> list[str]:
        return [item.title for item in self.items]


@dataclass(frozen=True)
class Together(Kind):
    """Several statistics for one price, calibrated jointly."""

    word = "together"
    questions: tuple[tuple[str, list[Any], dict[str, Any]], ...]  # the statistic, its columns, its options
    shares: tuple[Any, ...] | None
    where: Mapping[str, Any] | str
    spend: Mapping[str, Any]

    @classmethod
    def read(cls, doc: Any, limits: Limits) -> Self:
        check_keys(doc, {"questions": (list,), "shares": (list,), "where": (dict, str), **_SPEND}, _at, "together")
        questions = doc.get("questions")
        if not isinstance(questions, list) or not 1 <= len(questions) <= limits.asks:
            raise UnsupportedFormat(f"together has a list of 1 to {limits.asks} questions", key="questions")
        made = []
        for number, each in enumerate(questions):
            named = each[:-1] if isinstance(each, list) and len(each) > 1 and isinstance(each[-1], dict) else each
            if not isinstance(named, list) or not named or not all(isinstance(name, str) for name in named):
                raise UnsupportedFormat(f'a question of together is a list such as ["mean", "age"], got {each!r:.100}')
            statistic, columns, options = taken_apart(each)
            by = options.get("by", [])
            if not isinstance(by, str | list) or not all(isinstance(name, str) for name in by):
                raise UnsupportedFormat(f"by must be a column or a list of columns, got {by!r:.100}")
            _check_options(options, limits, f"question {number + 1}: ")
            made.append((statistic, columns, options))
        shares = doc.get("shares")
        if shares is not None and not all(isinstance(s, int | float | str) and not isinstance(s, bool) for s in shares):
            raise UnsupportedFormat(f"shares are numbers, got {shares!r:.100}")
        return cls(tuple(made), None if shares is None else tuple(shares), doc.get("where", {}), _spent(doc))

    def names(self) -> Iterator[str]:
        for _, columns, options in self.questions:
            by = options.get("by") or ()
            yield from [*columns, *([by] if isinstance(by, str) else by)]
        yield from _named_in(self.where)

    def procedure(self, source: BaseSource, rows: int | None, limits: Limits) -> Procedure[list[Result]]:
        table = Table(source.schema, None if self.where else rows)
        asked = [build(name, table, *columns, **options) for name, columns, options in self.questions]
        expected = source.schema.expected_rows
        return ask_together(asked, Price(**self.spend), source.schema.neighbors, self.shares, expected)

    def titles(self) -> list[str]:
        return [" of ".join([name, " and ".join(columns)] if columns else [name]) for name, columns, _ in self.questions]


@dataclass(frozen=True)
class _OfColumns(Kind):
    """What fits and tunings share: the columns."""

    features: tuple[str, ...]
    target: str
    weight: str | None
    propensity: str | None
    where: Mapping[str, Any] | str

    def names(self) -> Iterator[str]:
        yield from (*self.features, self.target)
        yield from (name for name in (self.weight, self.propensity) if name is not None)
        yield from _named_in(self.where)

    def columns(self, schema: Schema, rows: int | None) -> Any:
        from discreet.models.protocol import Columns

        goal = schema[self.target]
        if isinstance(goal, Categories) and goal.private:
            raise InvalidRequest(f"the classes of a target must be known, got {self.target!r}, whose labels are private")
        public = None if self.where else rows
        return Columns(schema, self.features, self.target, self.weight, public, self.propensity)


def _columns(doc: Mapping[str, Any], limits: Limits) -> tuple[tuple[str, ...], str, str | None, str | None, Any]:
    for key in ("features", "target"):
        if not doc.get(key):
            raise UnsupportedFormat(f"a model needs {key!r}, got none; add it", key=key)
    features = doc["features"]
    if len(features) > limits.features or not all(isinstance(name, str) and name for name in features):
        raise UnsupportedFormat(f"features are the names of at most {limits.features} columns", key="features")
    propensity = doc.get("propensity")
    column = propensity if isinstance(propensity, str) else None
    return tuple(features), doc["target"], doc.get("weight"), column, doc.get("where", {})


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
        return self.made_of[0] not in ("sgd", "network")

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
        return [f"{self.made_of[0]} model of {self.target}"]

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
        known = {"kind": (str,), "candidates": (list,), "selection_epsilon": (int, float, str), **_COLUMNS, **_PRICE}
        check_keys(doc, known, _at, "tune")
        candidates = doc.get("candidates")
        if not isinstance(candidates, list) or not 1 <= len(candidates) <= limits.asks:
            raise UnsupportedFormat(
                f"tune has 1 to {limits.asks} candidates, each an object of parameters", key="candidates"
            )
        kind = doc.get("kind", "")
        if kind in ("sgd", "network"):
            raise InvalidRequest(f"models that are fitted step by step are not tuned, got {kind!r}", key="kind")
        for each in candidates:
            if not isinstance(each, dict):
                raise UnsupportedFormat(f"a candidate is an object of parameters, got {each!r:.100}", key="candidates")
            _check_parameters(each, limits)
            model_of(kind, each)
        selection, spend = doc.get("selection_epsilon"), _spent(doc)
        return cls(*_columns(doc, limits), kind, tuple(candidates), selection, spend)

    def procedure(self, source: BaseSource, rows: int | None, limits: Limits) -> Procedure[Any]:
        from discreet.models.estimators.tuning import read_candidates, tuning

        made = read_candidates([model_of(self.kind, each) for each in self.candidates], None, self.spend or None)
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
        from discreet.models.design import Design

        check_keys(doc, {"design": (dict,), "theta": (list,), "where": (dict, str), **_PRICE}, _at, "score")
        theta = doc.get("theta")
        if not isinstance(theta, list) or not all(isinstance(t, int | float) and not isinstance(t, bool) for t in theta):
            raise UnsupportedFormat("theta is a list of numbers: the coefficients of the model", key="theta")
        design = read_as(Design, doc.get("design"))
        if len(design.features) > limits.features or (design.fourier is not None and design.fourier.size > _WIDEST):
            raise UnsupportedFormat(f"a model that is scored has at most {limits.features} features", key="design")
        if design.width != len(theta):
            raise UnsupportedFormat(f"theta has {design.width} numbers for this design, got {len(theta)}", key="theta")
        return cls(design, tuple(float(t) for t in theta), doc.get("where", {}), _spent(doc))

    def names(self) -> Iterator[str]:
        yield from self.design.columns
        yield from _named_in(self.where)

    def procedure(self, source: BaseSource, rows: int | None, limits: Limits) -> Procedure[Result]:
        from discreet.models.evaluate.accuracy import score_of
        from discreet.models.evaluate.coded_table import check_declared

        schema = source.schema
        check_declared(self.design, schema)
        design = replace(self.design, rows=schema.max_rows or 1)
        return score_of(design, self.theta, Price(**self.spend), schema.neighbors)

    def titles(self) -> list[str]:
        return [f"score of a model of {self.design.target.column}"]


@dataclass(frozen=True)
class Synthesized(Kind):
    """What synthetic tables are made of: the options of ``Session.synthesize``."""

    word = "synthesize"
    options: Mapping[str, Any]
    where: Mapping[str, Any] | str
    spend: Mapping[str, Any]

    @classmethod
    def read(cls, doc: Any, limits: Limits) -> Self:
        known: dict[str, tuple[type, ...]] = {
            "columns": (list,), "bins": (dict,), "rows": (int,), "tables": (int,), "impossible": (list,),
            "workload": (list,), "where": (dict, str), **_PRICE,
        }  # fmt: skip
        check_keys(doc, known, _at, "synthesize")
        for name in ("columns", "impossible"):
            if not all(isinstance(each, str) for each in doc.get(name, ())):
                raise UnsupportedFormat(f"{name} is a list of texts", key=name)
        for bins in doc.get("bins", {}).values():
            _check_options({"bins": bins}, limits, "")
        options = {key: value for key, value in doc.items() if key in known and key not in (*_PRICE, "where")}
        return cls(options, doc.get("where", {}), _spent(doc))

    def names(self) -> Iterator[str]:
        yield from self.options.get("columns", ())
        yield from self.options.get("impossible", ())
        yield from _named_in(self.where)

    def procedure(self, source: BaseSource, rows: int | None, limits: Limits) -> Procedure[Any]:
        from discreet.synthetic.synthesizing import asked

        public = None if self.where else rows
        return asked(schema=source.schema, public_rows=public, **self.options).procedure(Price(**self.spend))

    def results(self, returned: Any) -> list[Result]:
        return []

    def titles(self) -> list[str]:
        return [f"synthetic tables of {len(self.options.get('columns', ())) or 'all'} columns"]


KINDS: dict[str, type[Kind]] = {kind.word: kind for kind in (Asked, Together, Fitted, Tuned, Scored, Synthesized)}


def check_names(kind: Kind, schema: Schema) -> None:
    """Refuse columns that are yet to be found, and expressions that match patterns: those are the custodian's to declare."""
    for name in kind.names():
        if name in schema.columns:
            if schema[name].private:
                raise InvalidRequest(
                    f"the bounds or labels of column {name!r} are private", key=name,
                    remedy="ask for its bounds or categories; the custodian may then declare what was found",
                )  # fmt: skip
            continue
        node = schema.derivation.of_text(name)
        if node is not None and any(each.op in MATCHES for each in node):
            raise InvalidRequest(
                f"a question matches no patterns, got {name!r:.100}", remedy="name labels, or declare a column"
            )


def _at(*path: Any) -> str:
    return ""


def _named_in(where: Mapping[str, Any] | str) -> Iterator[str]:
    yield from [where] if isinstance(where, str) else where


def _spent(doc: Mapping[str, Any]) -> dict[str, Any]:
    return {key: doc[key] for key in SPENDING if key in doc}


def check_price(spend: Mapping[str, Any], limits: Limits) -> None:
    """Refuse a price below the least one: a question nearly for nothing still takes its time."""
    if "epsilon" in spend and numbers.rational(spend["epsilon"], "epsilon") < limits.epsilon:
        raise InvalidRequest(f"epsilon must be at least {float(limits.epsilon):g}, got {spend['epsilon']}", key="epsilon")
    if "rho" in spend and numbers.rational(spend["rho"], "rho") < limits.epsilon**2 / 8:
        raise InvalidRequest(f"rho must be at least {float(limits.epsilon**2 / 8):g}, got {spend['rho']}", key="rho")
    if "delta" in spend and numbers.rational(spend["delta"], "delta") < _LEAST_DELTA:
        raise InvalidRequest(f"delta must be at least {float(_LEAST_DELTA):g}, got {spend['delta']}", key="delta")


def _check_options(options: Mapping[str, Any], limits: Limits, place: str) -> None:
    """Refuse options that would make more than the limits allow before anything is built of them."""
    for name, value in options.items():
        if isinstance(value, dict):
            raise UnsupportedFormat(f"{place}the option {name!r} is a number, a text or a list, got an object", key=name)
        many = len(value) - 1 if isinstance(value, list) else value
        if name == "bins" and isinstance(many, int | float) and many > limits.bins:
            raise InvalidRequest(f"{place}bins must be at most {limits.bins}, got {many}", key="bins")
        if name in ("draws", "most") and isinstance(value, int | float) and value > limits.numbers:
            raise InvalidRequest(f"{place}{name} must be at most {limits.numbers}, got {value}", key=name)
        if isinstance(value, list) and len(value) > limits.bins + 1:
            raise InvalidRequest(f"{place}{name} has at most {limits.bins + 1} numbers, got {len(value)}", key=name)


def _model_keys(doc: Any, word: str, limits: Limits) -> tuple[dict[str, Any], dict[str, Any]]:
    """The keys of a fit file's model that are about the table, and the parameters of the model."""
    if not isinstance(doc, dict):
        raise UnsupportedFormat(f"{word} is an object of kind, features, target and parameters, got {doc!r:.100}", key=word)
    known = {"kind": (str,), **_COLUMNS}
    named = {key: value for key, value in doc.items() if key in known}
    check_keys(named, known, _at, word)
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
        most = {"components": _WIDEST, "steps": limits.steps, "epochs": limits.steps}.get(name)
        if most is not None and isinstance(value, int | float) and value > most:
            raise InvalidRequest(f"{name} must be at most {most}, got {value}", key=name)
        if name == "hidden_layer_sizes":
            _check_layers(value)


def _check_layers(value: Any) -> None:
    sizes: Sequence[Any] = value if isinstance(value, list) else [value]
    if len(sizes) > _LAYERS or not all(isinstance(n, int) and 1 <= n <= _WIDEST for n in sizes):
        raise InvalidRequest(
            f"hidden_layer_sizes are at most {_LAYERS} whole numbers from 1 to {_WIDEST}, got {value!r:.100}",
            key="hidden_layer_sizes",
        )
