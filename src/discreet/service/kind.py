"""What every kind of question has in common, and the limits that all of them keep to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

from discreet.core import numbers
from discreet.core.result import Result
from discreet.core.runner import Procedure
from discreet.core.schema import Schema
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.expressions.parsing import MATCHES
from discreet.jobs.release_file import SPENDING
from discreet.service.limits import Limits
from discreet.sources.base import BaseSource

PRICE = {"epsilon": (int, float, str), "delta": (int, float, str), "rho": (int, float, str)}
SPEND = {**PRICE, "mechanism": (str,), "calibration": (str,)}
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

    def words(self) -> Iterator[str]:
        """Other texts that may name a column, as the strata of a test do, or a label."""
        yield from ()

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


def check_names(kind: Kind, schema: Schema) -> None:
    """Refuse columns that are yet to be found, wherever they are named, and patterns: those are the custodian's to declare.

    A pattern is refused where the schema reads it, whatever the place in a question: so no place can be forgotten.
    """
    schema.derivation.refuse(*MATCHES)
    for name in kind.names():
        if name not in schema.columns:
            schema.derivation.of_text(name)
    for name in (*kind.names(), *kind.words()):
        if name in schema.columns and schema[name].private:
            raise InvalidRequest(
                f"the bounds or labels of column {name!r} are private", key=name,
                remedy="ask for its bounds or categories; the custodian may then declare what was found",
            )  # fmt: skip


def texts(value: Any) -> Iterator[str]:
    """Every text in the value of an option."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)


def nowhere(*path: Any) -> str:
    """The place of a key in a document that has no lines."""
    return ""


def named_in(where: Mapping[str, Any] | str) -> Iterator[str]:
    """The columns and conditions of a filter."""
    yield from [where] if isinstance(where, str) else where


def spent(doc: Mapping[str, Any]) -> dict[str, Any]:
    """The price that a document names."""
    return {key: doc[key] for key in SPENDING if key in doc}


def check_price(spend: Mapping[str, Any], limits: Limits) -> None:
    """Refuse a price below the least one: a question nearly for nothing still takes its time."""
    if "epsilon" in spend and numbers.rational(spend["epsilon"], "epsilon") < limits.epsilon:
        raise InvalidRequest(f"epsilon must be at least {float(limits.epsilon):g}, got {spend['epsilon']}", key="epsilon")
    if "rho" in spend and numbers.rational(spend["rho"], "rho") < limits.epsilon**2 / 8:
        raise InvalidRequest(f"rho must be at least {float(limits.epsilon**2 / 8):g}, got {spend['rho']}", key="rho")
    if "delta" in spend and numbers.rational(spend["delta"], "delta") < _LEAST_DELTA:
        raise InvalidRequest(f"delta must be at least {float(_LEAST_DELTA):g}, got {spend['delta']}", key="delta")


def check_options(options: Mapping[str, Any], limits: Limits, place: str) -> None:
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
