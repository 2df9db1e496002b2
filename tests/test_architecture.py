"""The layers, the weight of an import, and that every claim has its proof written beside it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import discreet
from discreet.core.query import queries

PACKAGE = Path(discreet.__file__).parent
BELOW = {
    "errors": set(),
    "manifest": set(),
    "expressions": {"errors"},
    "core": {"errors", "expressions"},
    "mechanisms": {"core", "errors"},
    "accounting": {"core", "errors", "mechanisms"},
    "sources": {"core", "errors", "expressions"},
    "sql": {"core", "errors", "expressions"},
    "ledger": {"core", "errors", "mechanisms", "accounting"},
    "statistics": {"core", "errors", "mechanisms", "accounting", "sources"},
    "hypotheses": {"core", "errors", "mechanisms", "accounting", "sources", "statistics"},
    "local": {"core", "errors", "mechanisms", "accounting", "sources"},
    "models": {"core", "errors", "mechanisms", "accounting", "sources", "statistics"},
    "inference": {"core", "errors", "local", "mechanisms", "accounting", "statistics"},
    "synthetic": {"core", "errors", "mechanisms", "accounting", "sources", "statistics", "inference"},
    "protect": {"core", "errors", "sources", "ledger"},
    "audit": {
        "core",
        "errors",
        "mechanisms",
        "accounting",
        "sources",
        "ledger",
        "statistics",
        "hypotheses",
        "local",
        "models",
        "synthetic",
    },
}
ALL = {*BELOW} - {"audit"}
BELOW["report"] = ALL
BELOW["jobs"] = ALL | {"report", "session", "__version__"}
# A client has the methods of a session, and they are the same ones.
BELOW["service"] = BELOW["jobs"] | {"jobs", "request", "questions", "fitting", "synthesis"}


def imports(path: Path) -> set[str]:
    """The top-level parts of the package that a file imports, at any depth of the code."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{a.name}" for a in node.names] if node.module == "discreet" else [node.module]
            assert node.level == 0, f"{path}: import from the package root, not relatively"
        found |= {n.split(".")[1] for n in names if n.startswith("discreet.") and not n.startswith("discreet.__")}
    return found


@pytest.mark.parametrize("layer", sorted(BELOW))
def test_layers_import_only_what_lies_below(layer: str) -> None:
    files = [PACKAGE / f"{layer}.py"] if (PACKAGE / f"{layer}.py").exists() else sorted((PACKAGE / layer).rglob("*.py"))
    assert files
    for path in files:
        assert imports(path) <= BELOW[layer] | {layer, "lazy", "manifest"}, path


def test_every_registered_query_has_a_proof() -> None:
    assert len(list(queries)) > 20
    for name in queries:
        if not name.startswith("test_"):
            assert "Proof:" in (queries[name].__doc__ or ""), name


def test_names_that_docstrings_point_to_are_there() -> None:
    looked = 0
    for path in PACKAGE.rglob("*.py"):
        for named in set(re.findall(r"``discreet\.([\w.]+)``", path.read_text())):
            at, rest = PACKAGE, named.split(".")
            while rest and (at / rest[0]).is_dir():
                at /= rest.pop(0)
            file = at / f"{rest.pop(0)}.py" if rest and (at / f"{rest[0]}.py").exists() else at / "__init__.py"
            assert not rest or re.search(rf"\b{rest[0]}\b", file.read_text()), f"{path}: there is no discreet.{named}"
            looked += 1
    assert looked > 10


def test_public_names_are_there() -> None:
    for name in discreet.__all__:
        assert getattr(discreet, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        discreet.nonsense  # noqa: B018


def test_import_is_light() -> None:
    """The package itself pulls in nothing heavy; a law pulls in NumPy and the cipher only."""
    code = (
        "import sys, discreet; light = set(sys.modules); discreet.Laplace(1).release(0.0); "
        "heavy = {'scipy', 'sqlalchemy', 'pandas', 'polars', 'duckdb', 'sklearn', 'matplotlib', 'dp_accounting', 'jax'}; "
        "print(sorted(heavy & set(sys.modules)), 'numpy' in light)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[] False"


def test_private_code_draws_from_the_right_place() -> None:
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        if path == PACKAGE / "inference" / "samplers" / "numpy_draws.py":
            # Samplers of a posterior draw with it, and a user's own NumPy functions; nothing private is drawn there.
            text = text.replace("np.random.Generator", "").replace("np.random.default_rng", "")
        if (
            path == PACKAGE / "hypotheses" / "shared_generators.py"
        ):  # put away while a user's own test runs; nothing is drawn
            for use in ("np.random.get_state()", "np.random.seed(number)", "np.random.set_state(", "import random\n"):
                text = text.replace(use, "")
        for banned in ("np.random", "numpy.random", "import random\n", "pickle.load", "eval("):
            assert banned not in text, f"{path} uses {banned}"
