"""Documents both ways by the types that a dataclass declares: the one place where fields are written and read.

A document is what JSON can say: rationals are text, tuples are lists, a dataclass is an object of its fields, and one that
is registered has its name beside them.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from discreet.core import numbers
from discreet.errors import DiscreetError, UnsupportedFormat

T = TypeVar("T")


_AS_IT_IS = frozenset({str, int, float, bool, type(None)})  # most of a document, and every ask writes several


def written(value: Any) -> Any:
    """A value as JSON can hold it, by its own ``to_dict`` where it has one."""
    if type(value) in _AS_IT_IS:
        return value
    if isinstance(value, Fraction):
        return numbers.write(value)
    if isinstance(value, tuple | list):
        return [written(v) for v in value]
    if hasattr(value, "to_dict"):
        return value.to_dict()
    return fields_written(value) if is_dataclass(value) and not isinstance(value, type) else value


def fields_written(value: Any) -> dict[str, Any]:
    """The fields of a dataclass, without those that are left out of comparisons."""
    cls: type = type(value)
    return {name: written(getattr(value, name)) for name in _compared(cls)}


@lru_cache(maxsize=1024)
def _compared(cls: type) -> tuple[str, ...]:
    return tuple(f.name for f in fields(cls) if f.compare)


def read_as(cls: type[T], values: Any) -> T:
    """A dataclass from an object of its fields. The constructor checks all of them, and refuses one that is missing."""
    if not isinstance(values, Mapping):
        raise UnsupportedFormat(f"{cls.__name__} is an object of its fields, got {values!r:.100}")
    return cls(**fields_read(cls, values))


def fields_read(cls: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Fields from a document, each converted to its declared type; unknown fields are passed on as they are."""
    kinds = _kinds(cls)
    return {name: read_field(kinds.get(name, Any), value, name) for name, value in values.items()}


@lru_cache(maxsize=1024)
def _kinds(cls: type) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {f.name: hints[f.name] for f in fields(cls)}


def read_field(kind: Any, value: Any, name: str) -> Any:
    """A value converted to a type; unchanged where JSON has no form for the type, for the constructor to check."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _one_of(inner, value, name)
    if origin is tuple and not isinstance(value, tuple):
        return _sequence(inner, value, name)
    if origin is Literal and value not in inner:
        raise UnsupportedFormat(f"{name} must be one of {', '.join(map(repr, inner))}, got {value!r:.100}")
    if isinstance(kind, type) and kind is not Any:
        return _plain(kind, value, name)
    return value


def _plain(kind: type, value: Any, name: str) -> Any:
    if isinstance(value, kind) and not (isinstance(value, bool) and kind is int):
        return value
    if kind is Fraction and isinstance(value, str | int | float):
        return numbers.rational(value, name)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind in (bool, int, float, str, Fraction, types.NoneType):
        raise UnsupportedFormat(f"{name} must be of the type {kind.__name__}, got {value!r:.100}")
    if hasattr(kind, "registry"):
        named = kind.registry.read(value)
        if not isinstance(named, kind):
            raise UnsupportedFormat(f"{name} must be a {kind.__name__}, got {named.name!r}")
        return named
    return read_as(kind, value) if is_dataclass(kind) else value


def _sequence(inner: tuple[Any, ...], value: Any, name: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise UnsupportedFormat(f"{name} must be a list, got {value!r:.100}")
    if inner[1:] != (...,):
        if len(value) != len(inner):
            raise UnsupportedFormat(f"{name} must have {len(inner)} parts, got {len(value)}")
        return tuple(read_field(kind, v, name) for kind, v in zip(inner, value, strict=True))
    return tuple(read_field(inner[0], v, name) for v in value)


def _one_of(kinds: tuple[Any, ...], value: Any, name: str) -> Any:
    """A value of a union: converted to the first type that it has or can be converted to."""
    for kind in kinds:
        if isinstance(kind, type) and type(value) is kind:
            return value
    problem: DiscreetError | None = None
    for kind in kinds:
        try:
            return read_field(kind, value, name)
        except DiscreetError as said:
            problem = problem or said if kind is not types.NoneType else problem
    raise problem or UnsupportedFormat(f"{name} cannot be {value!r:.100}")
