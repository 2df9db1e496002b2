"""The version is one, and the files that a stranger looks for first are there and say what they should."""

from __future__ import annotations

import json
import re
import tomllib

import yaml

import discreet as ds

from .hooks import ROOT, notebooks, studies


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert project["version"] == ds.__version__ == citation["version"]
    newest = next(line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## "))
    assert newest == f"## {ds.__version__} ({citation['date-released']})"
    assert {"cff-version", "message", "title", "authors", "license"} <= set(citation)
    assert citation["license"] == project["license"]
    cited = re.findall(r"version (\d+\.\d+\.\d+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert set(cited) == {ds.__version__}


def test_policies_say_how_to_report_and_what_happens() -> None:
    for name, words in (("SECURITY.md", "broken claim"), ("CODE_OF_CONDUCT.md", "in private")):
        assert words in (ROOT / name).read_text()
    assert "## Release checklist" in (ROOT / "CONTRIBUTING.md").read_text()


def test_every_package_has_files_that_a_wheel_carries() -> None:
    """What is read by ``importlib.resources`` lies inside the package, which the wheel takes whole."""
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel == {"packages": ["src/discreet"]}
    inside = ROOT / "src" / "discreet"
    for path in ("report/people.html.j2", "report/style.css", "jobs/evidence_guide.md", "py.typed"):
        assert (inside / path).exists()


def test_notebooks_hold_the_code_of_their_scripts() -> None:
    for path in sorted((ROOT / "examples").glob("*.py")):
        document = json.loads((ROOT / "examples" / "notebooks" / f"{path.stem}.ipynb").read_text())
        code = [(cell["cell_type"], cell["source"]) for cell in document["cells"]]
        assert code == notebooks.cells(path.stem), f"run python docs/hooks/notebooks.py {path.stem}"
        assert document["cells"][-1]["outputs"][0]["text"].strip()
    assert sum(p.stat().st_size for p in (ROOT / "examples" / "notebooks").iterdir()) < 1_000_000


def test_tables_of_studies_come_from_their_results() -> None:
    """Every mark of a page has a table, and every table of a study that has run has a line."""
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md")]
    marks = {found for text in pages for found in studies.MARK.findall(text)}
    assert marks == set(studies.TABLES)
    for name in marks:
        shown = studies.on_page_markdown(f"<!-- study: {name} -->", None, None, None)
        assert shown.startswith("| ")
        assert len(shown.splitlines()) > 2 or not studies.entries(name)
