"""What every entry of the reference says besides its docstring: parameters, what is returned and raised, and an example.

A parameter has the words of ``parameters.toml`` for this name, else the sentence of the docstring that speaks of it. Errors
are found in the code: what a function and the functions it calls raise. Examples come from the pages (``uses``). Griffe
loads this file by its path, as an extension; a test finds what lacks words.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import griffe
import numpy as np
import pandas as pd
import polars as pl
from matplotlib.figure import Figure

import discreet as ds
from discreet import errors

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import uses  # noqa: E402  beside this file, which is no package

PACKAGES = ("models", "hypotheses", "inference", "synthetic", "local", "protect")
PRICE = ("epsilon", "delta", "rho", "mechanism", "calibration", "neighbors", "ledger", "seed")
OWNERS = {"Questions": "Session", "Fitting": "Session", "Synthesis": "Session"}  # what a session is put together from
NAMED = (ast.Name, ast.Attribute)
DEEPEST = 5  # calls that are followed
OTHERS = (str, dict, list, Path, Figure, np.ndarray, pd.DataFrame, pl.DataFrame)  # what else the pages call methods of
SENTENCE = re.compile(r"(?<=[.;:])\s+(?=[A-Z`])")


@cache
def words() -> dict[str, Any]:
    """What parameters and types mean: under a full name, or the same everywhere."""
    return tomllib.loads((HERE / "parameters.toml").read_text(encoding="utf-8"))


def meaning(owner: str, parameter: str, *docstrings: str) -> str:
    """What a parameter of ``owner`` (such as ``Session.fit``) means; empty where nobody says."""
    known = words()
    own = known["of"].get(owner, {}).get(parameter) or known["everywhere"].get(parameter)
    return own or next(filter(None, (_sentence(parameter, text) for text in docstrings)), "")


def _sentence(parameter: str, docstring: str) -> str:
    """The first sentence of a docstring that names a parameter."""
    for paragraph in inspect.cleandoc(docstring or "").split("\n\n"):
        for sentence in SENTENCE.split(" ".join(paragraph.split())):
            if re.search(rf"``{parameter}\b", sentence):
                return sentence.rstrip(";:")
    return ""


def raised(thing: Any, owner: str = "") -> list[type[errors.DiscreetError]]:
    """The errors of ours that a function, or the making of a class, raises by itself or by what it calls."""
    if thing is None:
        return []
    asks = len(inspect.signature(thing).parameters) > 1  # more than self: what may be refused
    names = {*_raised(thing, DEEPEST, set()), *(words()["raises"].get(owner, ()) if asks else ())}
    return [kind for name, kind in vars(errors).items() if name in names and isinstance(kind, type)]


def _raised(thing: Any, deep: int, seen: set[Any]) -> Iterator[str]:
    for function in _functions(thing):
        if function in seen or not deep:
            continue
        seen.add(function)
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        except (OSError, SyntaxError):
            continue
        home = function.__globals__
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and node.exc is not None:
                made = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                yield from (ast.unparse(each).rpartition(".")[2] for each in ast.walk(made) if isinstance(each, NAMED))
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                called = home.get(node.func.id)
                if getattr(called, "__module__", "").startswith("discreet"):
                    yield from _raised(called, deep - 1, seen)


def _functions(thing: Any) -> list[Any]:
    """The functions that run when a thing is called."""
    if inspect.isclass(thing):
        made = [getattr(thing, name, None) for name in ("__init__", "__post_init__", "fit")]
        return [each for each in made if inspect.isfunction(each)]
    function = inspect.unwrap(thing.__func__ if inspect.ismethod(thing) else thing)
    return [function] if inspect.isfunction(function) else []


def folded(docstring: str) -> str:
    """A docstring with its proof closed, to be opened by whoever wants to see it."""
    paragraphs = inspect.cleandoc(docstring).split("\n\n")
    proof = next((i for i, text in enumerate(paragraphs) if text.startswith("Proof")), len(paragraphs))
    shown = ['??? abstract "Why this holds"', *(textwrap.indent(text, "    ") for text in paragraphs[proof:])]
    return "\n\n".join(paragraphs[:proof] + (shown if proof < len(paragraphs) else []))


@cache
def public() -> dict[Any, str]:
    """Every class and function that a package lists, and the name that users write."""
    packages = [(f"ds.{name}", getattr(ds, name)) for name in (*PACKAGES, "errors")]
    listed = [(f"ds.{name}", getattr(ds, name)) for name in ds.__all__]
    listed += [
        (f"{prefix}.{n}", getattr(package, n)) for prefix, package in packages for n in getattr(package, "__all__", ())
    ]
    return {thing: name for name, thing in listed if inspect.isclass(thing) or inspect.isfunction(thing)}


@cache
def documented() -> set[type]:
    """The classes whose methods the reference shows: public ones, and what they inherit from."""
    return {base for thing in public() if inspect.isclass(thing) for base in thing.__mro__}


def live(path: str) -> Any:
    """The object that a dotted path names; None where the code makes it otherwise."""
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        found = sys.modules.get(".".join(parts[:end]))
        if found is not None:
            for part in parts[end:]:
                found = getattr(found, part, None)
            return found
    return None


def example(owner: str, thing: Any, name: str) -> uses.Statement | None:
    """A statement that uses a public name, or a method of one of the classes that users hold most."""
    if owner in words()["raises"] or (owner and _only_ours(name)):
        return (uses.example(f"session.{name}") if owner == "Session" else None) or uses.example(f".{name}")
    return uses.example(public()[thing]) if thing in public() else None


@cache
def _only_ours(name: str) -> bool:
    """Whether a method of that name on a page can be of one family of our classes only."""
    definers = [[base for base in thing.__mro__ if name in vars(base)] for thing in documented()]
    return len({bases[-1] for bases in definers if bases}) == 1 and not any(hasattr(other, name) for other in OTHERS)


class Complete(griffe.Extension):
    """Adds the sections to what the docstrings say, entry by entry, after the keywords of a price are written out."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Griffe calls this for every function and method."""
        holder = live(func.parent.path) if func.parent is not None and func.parent.is_class else None
        if func.docstring is not None and (holder in documented() or live(func.path) in public()):
            self._complete(func, func, OWNERS.get(holder.__name__, holder.__name__) if holder else "")

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Griffe calls this for every class."""
        thing, made = live(cls.path), cls.all_members.get("__init__")
        if cls.docstring is not None and thing in public() and not issubclass(thing, Exception):
            self._complete(cls, made if isinstance(made, griffe.Function) else _maker(thing), "")

    def _complete(self, thing: Any, called: griffe.Function, owner: str) -> None:
        full = f"{owner}.{thing.name}" if owner else thing.name
        made = live(thing.path)
        texts = [thing.docstring.value]
        texts += [inspect.getdoc(c) or "" for c in getattr(made, "__mro__", ())] if thing.is_class else [_doc(thing.parent)]
        sections: list[Any] = [griffe.DocstringSectionText(folded(thing.docstring.value))]
        parameters = [p for p in called.parameters if p.name not in ("self", "cls") and not p.name.startswith("_")]
        price = [p.name for p in parameters if p.name in PRICE] if not thing.is_class else []
        rows = [self._parameter(full, p, texts) for p in parameters if len(price) < 3 or p.name not in price]
        if len(price) >= 3:
            rows.append(griffe.DocstringParameter(name=", ".join(price), description=words()["everywhere"]["price"]))
        if rows:
            sections.append(griffe.DocstringSectionParameters(rows))
        returns = None if thing.is_class else called.returns
        if returns is not None and str(returns) != "None":
            told = words()["returns"].get(re.sub(r"\[.*| \| None", "", str(returns)), "")
            sections.append(griffe.DocstringSectionText(f"**Returns:** {_linked(str(returns))}{told and f' – {told}'}"))
        kinds = [f"[`{kind.__name__}`][discreet.errors.{kind.__name__}]" for kind in raised(made, owner)]
        if kinds:
            sections.append(griffe.DocstringSectionText(f"**Raises:** {', '.join(kinds)}."))
        found = example(owner, made, thing.name)
        if found:
            sections.append(griffe.DocstringSectionText(f"**Example:**\n\n```python\n{found.code}\n```"))
        thing.docstring.parsed[:] = sections

    def _parameter(self, full: str, parameter: griffe.Parameter, texts: list[str]) -> griffe.DocstringParameter:
        told = meaning(full, parameter.name, *texts)
        default = None if parameter.default is None else str(parameter.default)
        return griffe.DocstringParameter(
            name=parameter.name, annotation=parameter.annotation, value=default, description=told
        )


def _maker(thing: type) -> griffe.Function:
    """How a class is called whose ``__init__`` is inherited, which Griffe does not see."""
    given = [p for p in inspect.signature(thing).parameters.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    plain = [
        griffe.Parameter(
            p.name,
            annotation=None if p.annotation is p.empty else inspect.formatannotation(p.annotation).strip("'"),
            default=None if p.default is p.empty else repr(p.default),
        )
        for p in given
    ]
    return griffe.Function("__init__", parameters=griffe.Parameters(*plain))


def _linked(annotation: str) -> str:
    """A type as code, with a link where it is one public name."""
    name = annotation.removesuffix(" | None")
    paths = [f"{thing.__module__}.{name}" for thing in public() if thing.__name__ == name and inspect.isclass(thing)]
    return f"[`{annotation}`][{paths[0]}]" if len(paths) == 1 else f"`{annotation}`"


def _doc(holder: Any) -> str:
    return holder.docstring.value if holder is not None and holder.docstring else ""
