"""The recipes of CONTRIBUTING.md, carried out to the letter in a copy of the sources: what is added as written works."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import discreet

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPE = re.compile(
    r"^## A new ([\w ]+)\n\n\*(\d+) new file, (\d+) changed files?, (\d+) test file\.\*(.*?)(?=^## )", re.M | re.S
)
STEP = re.compile(r"^\*\*`([^`]+)`\*\*(?:, after `([^`]+)`)?:\n\n```python\n(.*?)```$", re.M | re.S)
RECIPES = {name: (tuple(map(int, counts)), STEP.findall(text)) for name, *counts, text in RECIPE.findall(TEXT)}
# What a reader of the recipes is told comes by itself: intervals, plans, posteriors and pages from a law's formulas.
LAW = """
import numpy as np
from discreet.core.release import Release
from discreet.inference.evidence.laws import density
from discreet.mechanisms.my_law import MyLaw
from discreet.report.meaning import law_glossary
from discreet.statistics.equation import upper_tail
from discreet.statistics.reading import Scaled

law = MyLaw(2, grid=1)
low, high = Scaled().interval([Release.of(law, 10.0)], 0.95)
assert low < 10 < high and law.expected_error > 2
assert 0.4 < upper_tail(np.zeros(1), np.ones(1), np.ones((1, 1)), law)[0] < 0.6
assert density(law, 3) is not None
assert law_glossary({"my_law"}) == [MyLaw.words]
"""
CHOSEN = [
    "tests/mechanisms/test_conformance.py::test_every_law_has_an_example",
    "tests/mechanisms/test_conformance.py::test_samples_follow_the_density",
    "tests/mechanisms/test_conformance.py::test_renyi_curve_bounds_the_divergence",
    "tests/descriptive/test_statistics.py::test_declared_distance_covers_neighbours",
    "tests/audit/test_registries.py::test_everything_registered_is_audited",
    "tests/core/test_manifest.py::test_every_registration_in_the_source_is_in_the_table",
    "tests/test_architecture.py",
    "tests/models/test_my_model.py",
    "tests/sources/test_arrow_file.py",
    "tests/cli/test_columns.py",
]


def test_the_map_covers_every_package() -> None:
    table = TEXT[TEXT.index("## Where things are") : TEXT.index("## A new noise law")]
    source = ROOT / "src/discreet"
    rooms = [p.parent.name for p in source.glob("*/__init__.py")]
    files = [p.name for p in source.glob("*.py") if p.name != "__init__.py"]
    assert [name for name in rooms if f"`src/discreet/{name}`" not in table] == []
    assert [name for name in files if not re.search(rf"`(src/discreet/)?{re.escape(name)}`", table)] == []


def test_the_map_names_every_room_of_a_package_and_nothing_that_is_not_there() -> None:
    lines = TEXT[TEXT.index("## Where things are") : TEXT.index("## A new noise law")].splitlines()
    source = ROOT / "src/discreet"
    rooms = [p.parent for p in source.glob("*/*/__init__.py") if p.parent.parent.name != "service"]
    rows = {room: [line for line in lines if f"`src/discreet/{room.parent.name}`" in line] for room in rooms}
    assert [room for room, (row, *_) in rows.items() if not re.search(rf"`(\w+/)?{room.name}`", row)] == []
    named = {path for line in lines if line.startswith("|") for path in re.findall(r"`(src/[\w/.]+)`", line)}
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_first_page_of_the_service_says_what_every_file_does() -> None:
    source = ROOT / "src/discreet/service"
    there = {p.stem for p in source.glob("*.py")} - {"__init__"} | {"pages"}
    page = (source / "__init__.py").read_text(encoding="utf-8")
    assert set(re.findall(r"``(\w+)``", page[page.index("=====") :])) - {"serve"} == there


def test_every_recipe_is_there() -> None:
    assert list(RECIPES) == ["noise law", "statistic", "model", "source", "command"]


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_takes_the_files_it_says(name: str) -> None:
    (new, changed, tests), steps = RECIPES[name]
    own = {path for path, _, _ in steps if not path.startswith("tests/")}
    made = {path for path, after, _ in steps if not after}
    assert (len(own & made), len(own - made)) == (new, changed)
    assert len({path for path, _, _ in steps} - own) == tests


@pytest.fixture(scope="module")
def carried_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources and tests with all recipes carried out."""
    root = tmp_path_factory.mktemp("recipes")
    shutil.copytree(Path(discreet.__file__).parent, root / "src/discreet", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tests", root / "tests", ignore=shutil.ignore_patterns("__pycache__", "fixtures"))
    shutil.copy(ROOT / "pyproject.toml", root)
    for path, after, text in (step for _, steps in RECIPES.values() for step in steps):
        target = root / path
        if not after:
            assert not target.exists(), f"{path} is to be a new file"
            target.write_text(text, encoding="utf-8")
            continue
        lines = target.read_text(encoding="utf-8").splitlines(keepends=True)
        places = [number for number, line in enumerate(lines) if after in line]
        assert places, f"{path} has no line with {after!r}"
        lines.insert(places[0] + 1, text)
        target.write_text("".join(lines), encoding="utf-8")
    return root


def run(root: Path, *command: str) -> None:
    own = os.environ | {"PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
    done = subprocess.run([sys.executable, *command], cwd=root, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]


def test_what_is_added_as_written_passes_the_suites(carried_out: Path) -> None:
    """The suites over registries, for what is new; and the tests that the recipes write themselves."""
    new = "my_law or my_statistic or every or layers or separates or same_count or lists or audited or registration"
    run(carried_out, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", *CHOSEN, "-k", new)


def test_a_law_comes_with_intervals_posteriors_and_words(carried_out: Path) -> None:
    run(carried_out, "-c", LAW)
