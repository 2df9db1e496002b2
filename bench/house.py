"""The shape of the source, measured: lines, repetitions, lazy imports, names, types, and files that a piece of work enters.

    python -m bench.house

Nothing here depends on the machine. A *repeated place* is a run of six or more lines that stands twice, blank lines,
comments, docstrings and imports left out, names and numbers as they are; of them those are told apart that lie within the
parameter lists of functions, where each says its own. A *file entered* is one of ours in which some function ran while the
work was done, from its call to its result; files that are only loaded, and what runs while they are, do not count.

A *name that occurs twice* is the name of two files, or of two public classes, that are two things. It is one thing in two
layers, and left aside, where one of the two files imports the other: it goes on from there, as ``statistics/top`` from
``mechanisms/top``. Files of ``cli`` are left aside: a command is called what it does. And a class is left aside where it is
one word of the field that users meet in two rooms of the package: ``LinearRegression`` of ``models`` and of ``inference``.
"""

from __future__ import annotations

import ast
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

SOURCE = Path(__file__).parent.parent / "src" / "discreet"
LINES = 6
COMMON = {"__init__", "__main__", "base", "app"}  # files whose name is a place and no idea


def trees() -> dict[Path, ast.Module]:
    """Every file of the package, parsed."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}


def lines() -> int:
    """All lines of all files."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCE.rglob("*.py"))


def lazy_imports(found: dict[Path, ast.Module]) -> int:
    """Imports of our own modules inside functions."""
    inside = [
        node
        for tree in found.values()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("discreet")
    ]
    return len({id(node) for node in inside})


def names_twice(found: dict[Path, ast.Module]) -> list[list[str]]:
    """Names of files, and names of public classes, that stand for two things."""
    files: dict[str, list[Path]] = defaultdict(list)
    classes: dict[str, list[Path]] = defaultdict(list)
    for path, tree in found.items():
        if path.stem not in COMMON and path.parent != SOURCE / "cli":
            files[path.stem].append(path)
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].append(path)
    imported = {path: imports(tree) for path, tree in found.items()}
    offered = {
        room: _names_imported(tree)
        for room, tree in found.items()
        if room.stem == "__init__" and room.parent.parent in (SOURCE, SOURCE.parent)
    }

    def rooms(name: str, path: Path) -> bool:
        return any(name in names and path.is_relative_to(room.parent) for room, names in offered.items())

    many = [
        [name for name, paths in files.items() if not _one_thing(paths, imported)],
        [
            name
            for name, paths in classes.items()
            if not _one_thing(paths, imported) and not all(rooms(name, path) for path in paths)
        ],
    ]
    return [sorted(names) for names in many]


def _one_thing(paths: list[Path], imported: dict[Path, set[Path]]) -> bool:
    """Whether files are all reached from the first by imports among them."""
    reached, left = {paths[0]}, set(paths[1:])
    while joined := {a for a in left if any(a in imported[b] or b in imported[a] for b in reached)}:
        reached, left = reached | joined, left - joined
    return not left


def imports(tree: ast.Module) -> set[Path]:
    """The files of ours that a file imports, anywhere in it."""
    places = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("discreet"):
            home = SOURCE.joinpath(*(node.module or "").split(".")[1:])
            places |= {home.with_suffix(".py"), *(home / f"{name.name}.py" for name in node.names)}
    return places


def _names_imported(tree: ast.Module) -> set[str]:
    return {name.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names}


def share_of_any(found: dict[Path, ast.Module]) -> float:
    """The share of signatures in which some argument or the result is, or holds, ``Any``."""
    functions = [node for tree in found.values() for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return sum(_says_any(function) for function in functions) / len(functions)


def _says_any(function: ast.FunctionDef) -> bool:
    given = function.args
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, [given.vararg, given.kwarg])]
    types = [argument.annotation for argument in arguments] + [function.returns]
    return any(isinstance(node, ast.Name) and node.id == "Any" for t in types if t is not None for node in ast.walk(t))


def repeated(found: dict[Path, ast.Module]) -> list[tuple[str, str, int]]:
    """Pairs of places that share six or more lines, each pair once, with how many lines they share."""
    seen: dict[tuple[str, ...], list[tuple[Path, int]]] = defaultdict(list)
    kept = {path: _statements(path, tree) for path, tree in found.items()}
    for path, said in kept.items():
        for start in range(len(said) - LINES + 1):
            seen[tuple(text for _, text in said[start : start + LINES])].append((path, start))
    pairs: dict[tuple[Path, Path, int], list[int]] = defaultdict(list)
    for places in seen.values():
        for first, (path, start) in enumerate(places):
            for other, later in places[first + 1 :]:
                pairs[path, other, later - start].append(start)
    rows = []
    for (path, other, offset), starts in pairs.items():
        for start, count in _runs(sorted(starts)):
            a, b = kept[path][start][0], kept[other][start + offset][0]
            rows.append((f"{path.relative_to(SOURCE)}:{a}", f"{other.relative_to(SOURCE)}:{b}", count + LINES - 1))
    return sorted(rows, key=lambda row: -row[2])


def of_parameters(found: dict[Path, ast.Module], row: tuple[str, str, int]) -> bool:
    """Whether most of a repeated place lies within the parameter list of a function."""
    name, _, line = row[0].rpartition(":")
    place = set(range(int(line), int(line) + row[2]))
    return any(
        2 * len(place & set(range(node.lineno, node.body[0].lineno))) > row[2]
        for node in ast.walk(found[SOURCE / name])
        if isinstance(node, ast.FunctionDef)
    )


def _runs(starts: list[int]) -> Iterator[tuple[int, int]]:
    begin = 0
    for place in range(1, len(starts) + 1):
        if place == len(starts) or starts[place] != starts[place - 1] + 1:
            yield starts[begin], place - begin
            begin = place


def _statements(path: Path, tree: ast.Module) -> list[tuple[int, str]]:
    left_out: set[int] = set()
    for node in ast.walk(tree):
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        if text or isinstance(node, ast.Import | ast.ImportFrom):
            left_out.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    said = [(number, line.strip()) for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)]
    return [(n, text) for n, text in said if n not in left_out and text and not text.startswith("#")]


def entered(work: Callable[[], Any]) -> int:
    """How many of our files some function of which ran."""
    seen: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename not in seen and not _loading(frame):
            seen.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return sum(name.startswith(str(SOURCE)) for name in seen)


def _loading(frame: FrameType | None) -> bool:
    """Whether a call is part of loading a file."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(str(SOURCE)):
            return True
        frame = frame.f_back
    return False


def works(folder: Path) -> dict[str, Callable[[], Any]]:
    """One release from a file, one fit with intervals, one posterior: each on a table of 200 people."""
    import discreet as ds
    from discreet.jobs.release import released
    from discreet.jobs.release_file import read

    chance = np.random.default_rng(0)
    x = chance.uniform(0, 1, 200)
    (folder / "t.csv").write_text("x,y\n" + "".join(f"{a:.3f},{int(a > 0.5)}\n" for a in x))
    (folder / "t.toml").write_text(
        'title = "t"\ntable = "t.csv"\nledger = "sqlite:///ledger.db"\n[budget]\nepsilon = 10\n'
        '[schema.columns.x]\ntype = "real"\nbounds = [0, 1]\n[[ask]]\nstatistic = "mean"\ncolumns = ["x"]\nepsilon = 1\n'
    )
    schema = ds.Schema({"x": ds.Real(0, 1), "y": ds.Categories(["0", "1"])}, expected_rows=200)
    session = ds.Session({"x": x, "y": np.where(x > 0.5, "1", "0")}, schema, ds.Budget(epsilon=100))
    count = session.count(by="y", epsilon=1)
    model = ds.models.LogisticRegression(epsilon=1, intervals=True)
    return {
        "release": lambda: released(read(folder / "t.toml"), folder / "out"),
        "fit with intervals": lambda: session.fit(model, features=["x"], target="y").confidence_intervals(),
        "infer": lambda: ds.inference.infer(count, ds.inference.BetaBernoulli(1, 1), draws=50, seed=1),
    }


def run() -> dict[str, Any]:
    found = trees()
    files, classes = names_twice(found)
    places = repeated(found)
    with tempfile.TemporaryDirectory() as folder:
        touched = {name: entered(work) for name, work in works(Path(folder)).items()}
    return {
        "lines": lines(),
        "files": len(found),
        "repeated_places": len(places),
        "of_them_parameters": sum(of_parameters(found, row) for row in places),
        "lazy_own_imports": lazy_imports(found),
        "file_names_twice": files,
        "class_names_twice": classes,
        "share_of_any": share_of_any(found),
        "files_entered": touched,
    }


def main() -> None:
    for name, value in run().items():
        print(f"{name:20} {value:.3f}" if isinstance(value, float) else f"{name:20} {value}")
    for first, second, count in repeated(trees()):
        print(f"  {count:3} lines: {first}  {second}")


if __name__ == "__main__":
    main()
