"""Where every claim of the package is proved and tested: made from the ``Proof`` paragraphs beside the code."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from importlib.resources import files
from pathlib import Path

from discreet.jobs.output import as_csv

# Claims of a folder are tried by the suite of the same name: on neighbours, against densities, and by the auditor.
_ELSEWHERE = {"statistics": "descriptive", "report": "cli", "jobs": "cli"}
_OPENING = re.compile(r"Proof[.:]?\s*")
_END = re.compile(r"(?<!al)(?<![\s.])\. (?=[A-Z])")  # of a sentence: neither "0 .. n", nor "theta . x", nor "et al. 2017"


@dataclass(frozen=True)
class IndexedProof:
    """A claim, its proof, where both stand, and what tests it."""

    name: str
    claim: str
    proof: str
    file: str
    line: int
    test: str


def entries() -> list[IndexedProof]:
    """Every docstring of the package that holds a proof."""
    package = Path(str(files("discreet")))
    return [entry for path in sorted(package.rglob("*.py")) for entry in _in_file(path, package)]


def _in_file(path: Path, package: Path) -> Iterator[IndexedProof]:
    inside = path.relative_to(package)
    module = ".".join(("discreet", *inside.with_suffix("").parts)).removesuffix(".__init__")
    suite = _ELSEWHERE.get(inside.parts[0], inside.parts[0])
    test = f"tests/{suite}" if len(inside.parts) > 1 else "tests"
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            continue
        paragraphs = inspect.cleandoc(ast.get_docstring(node) or "").split("\n\n")
        for proof in (p for p in paragraphs if p.startswith("Proof")):
            name = module if isinstance(node, ast.Module) else f"{module}.{node.name}"
            claim = _END.split(_plain(paragraphs[0]))[0].removesuffix(".")
            why = _plain(_OPENING.sub("", proof))
            line = 1 if isinstance(node, ast.Module) else node.lineno
            yield IndexedProof(name, claim, why, f"src/discreet/{inside.as_posix()}", line, test)


def _plain(text: str) -> str:
    """The text on one line, without the marks of code."""
    return " ".join(text.split()).replace("``", "")


def to_csv(found: Sequence[IndexedProof]) -> str:
    """The index as a table."""
    return as_csv([field.name for field in fields(IndexedProof)], [astuple(entry) for entry in found])
