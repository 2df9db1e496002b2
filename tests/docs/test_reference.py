"""Every public name has its parameters explained, its errors listed and an example that runs."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import pytest

from .hooks import complete, uses

PUBLIC = {name: thing for thing, name in complete.public().items() if thing.__module__.startswith("discreet.")}


def callables() -> Iterator[tuple[str, Any, list[str]]]:
    """What users call, by the name that ``parameters.toml`` knows, with the docstrings that may speak of parameters."""
    for name, thing in PUBLIC.items():
        classes = thing.__mro__ if inspect.isclass(thing) else [thing]
        yield name.rpartition(".")[2], thing, [each.__doc__ or "" for each in classes]
    for owner in complete.words()["raises"]:
        cls = next(thing for name, thing in PUBLIC.items() if name.rpartition(".")[2] == owner)
        for name, method in inspect.getmembers(cls, callable):
            if not name.startswith("_"):
                yield f"{owner}.{name}", method, [method.__doc__ or "", cls.__doc__ or ""]


def parameters(thing: Any) -> set[str]:
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return set()
    found: set[str] = set()
    for name, parameter in inspect.signature(thing).parameters.items():
        packed = parameter.kind is parameter.VAR_KEYWORD and str(parameter.annotation).startswith("Unpack[")
        found |= set(get_type_hints(get_args(get_type_hints(thing)[name])[0])) if packed else {name}
    return {name for name in found if name not in ("self", "args", "kwargs") and name[0] != "_"}


def test_every_parameter_is_explained() -> None:
    silent = [
        f"{name}({parameter})"
        for name, thing, docstrings in callables()
        for parameter in parameters(thing)
        if not complete.meaning(name, parameter, *docstrings)
    ]
    assert not silent, "add them to docs/hooks/parameters.toml, or to the docstring"


def test_no_explanation_is_of_a_parameter_that_is_gone() -> None:
    known: dict[str, set[str]] = {}
    for name, thing, _ in callables():
        known.setdefault(name, set()).update(parameters(thing))
    words = complete.words()
    assert not {(name, each) for name, of in words["of"].items() for each in of if each not in known.get(name, ())}
    every = set().union(*known.values()) | {*complete.PRICE, "price", "args"}
    assert not set(words["everywhere"]) - every


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_an_example(name: str) -> None:
    if not issubclass(PUBLIC[name] if inspect.isclass(PUBLIC[name]) else int, Exception):
        assert uses.example(name) is not None, "use it on a page, or in docs/hooks/uses.md"


def test_methods_of_a_session_have_examples() -> None:
    for name, thing, _ in callables():
        owner, _, method = name.rpartition(".")
        if owner == "Session":
            assert complete.example(owner, thing, method) is not None, name


def test_errors_are_those_that_the_code_raises() -> None:
    def refuses() -> None:
        raise complete.errors.GridOverflow("too large")

    assert [kind.__name__ for kind in complete.raised(refuses)] == ["GridOverflow"]
    assert "BudgetExceeded" in [kind.__name__ for kind in complete.raised(PUBLIC["ds.Session"].mean, "Session")]
    assert complete.raised(PUBLIC["ds.Session"].spent, "Session") == []
