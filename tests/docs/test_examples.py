"""Every example in the README and the documentation is run, page by page, in a folder of its own."""

from __future__ import annotations

import json
import re
import shlex
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from discreet.cli import main

ROOT = Path(__file__).parents[2]
EVERY = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ON_SPARK = [p for p in EVERY if "pyspark" in p.read_text(encoding="utf-8")]  # run beside the other tests that need it
PAGES = [str(p.relative_to(ROOT)) for p in EVERY if p not in ON_SPARK]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_HERE = ("make", "pip", "git")  # commands about the repository itself


def blocks(page: Path) -> list[tuple[str, str]]:
    return FENCE.findall(page.read_text(encoding="utf-8"))


def run_python(code: str, names: dict[str, Any], page: Path) -> None:
    exec(compile(code, str(page), "exec"), names)


def run_console(text: str) -> None:
    for line in text.splitlines():
        command = shlex.split(line.removeprefix("$ "), comments=True) if line.startswith("$ ") else []
        if not command or command[0] in NOT_HERE:
            continue
        assert command[0] == "discreet", line
        assert main(command[1:]) == 0, line


def write_toml(text: str) -> None:
    """A block that begins with a file's name is that file; any other must at least be TOML."""
    tomllib.loads(text)
    named = re.match(r"# (\S+\.toml)\n", text)
    if named:
        Path(named[1]).write_text(text)


def run_page(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a page, from the top, in the folder one is in."""
    module = type(sys)("example")  # dataclasses look their module up
    monkeypatch.setitem(sys.modules, "example", module)
    names = module.__dict__
    for kind, text in blocks(page):
        if kind == "python":
            run_python(text, names, page)
        elif kind == "console":
            run_console(text)
        elif kind == "toml":
            write_toml(text)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_examples_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    if page == "README.md":
        _own_table()
    run_page(ROOT / page, monkeypatch)
    assert "Traceback" not in capsys.readouterr().err


def _own_table() -> None:
    """What a reader of the README brings along: a table, and the release file they wrote."""
    Path("table.csv").write_text("x\n1\n2\n")
    Path("release.toml").write_text(
        'table = "table.csv"\nledger = "sqlite:///own.db"\n[budget]\nepsilon = 1\n[schema]\n'
        'columns.x = { type = "real", bounds = [0, 5] }\n[[ask]]\nstatistic = "mean"\ncolumns = "x"\nepsilon = 0.1\n'
    )
    assert main(["release", "release.toml"]) == 0
    for beside in ("", ".head", ".key"):
        Path(f"ledger.db{beside}").write_bytes(Path(f"own.db{beside}").read_bytes())


def test_readme_table_is_what_was_measured() -> None:
    sys.path.insert(0, str(ROOT / "docs" / "hooks"))
    try:
        import measured
    finally:
        sys.path.pop(0)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    results = json.loads((ROOT / "bench" / "results.json").read_text())
    assert readme == measured.in_readme(readme, results), "run python docs/hooks/measured.py"
    everything = results | {
        "descriptive": {
            "milliseconds": {"discreet mean": 20.0, "numpy mean": 19.0},
            "files": {"50000000": {"seconds": 2.5}},
        },
        "ledger": {"charge_100001_us": 900.0},
    }
    assert "| mean of ten million numbers, milliseconds | 20 |" in measured.table(everything)
    assert measured.table({}).startswith("| measured |")


def test_readme_is_short() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    python = next(code for kind, code in blocks(ROOT / "README.md") if kind == "python")
    assert len([line for line in python.splitlines() if line.strip()]) <= 12
    for image in re.findall(r"!\[(.+?)\]\((.+?)\)", text):
        assert image[0]
        assert (ROOT / image[1]).stat().st_size < 100_000
