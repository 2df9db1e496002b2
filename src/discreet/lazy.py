"""Names of a package that are loaded when they are first used, so that importing the package stays quick."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def lazy(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package, of what its file imports where only a type checker looks.

    So each name and the module that it comes from are written once, for readers of types and for this.
    """
    homes = _imported(sys.modules[package].__spec__.loader.get_source(package))  # type: ignore[union-attr]

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        value = import_module(f"{package}.{name}") if home == package else getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted(homes), list(homes)


def _imported(source: str) -> dict[str, str]:
    """The names that a file imports under its first condition, with the modules they are imported from."""
    condition = next(node for node in ast.parse(source).body if isinstance(node, ast.If))
    lines = [line for line in condition.body if isinstance(line, ast.ImportFrom)]
    return {name.name: line.module for line in lines for name in line.names if line.module is not None}
