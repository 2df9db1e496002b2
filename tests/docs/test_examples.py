"""Every example in the README and the documentation is run, page by page, in a folder of its own.

What it prints and draws is compared, in shape, with what the site shows below it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from .hooks import ROOT, examples, measured

EVERY = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ON_SPARK = [p for p in EVERY if "pyspark" in p.read_text(encoding="utf-8")]  # run beside the other tests that need it
PAGES = [str(p.relative_to(ROOT)) for p in EVERY if p not in ON_SPARK]


def run_page(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All of a page, from the top; an output that the site shows must still have its shape."""
    name = page.relative_to(ROOT).as_posix().removeprefix("docs/")
    shown = examples.kept(name)
    for example in examples.run_page(page):
        told = capsys.readouterr()
        assert "Traceback" not in told.err
        if example.key in shown:
            now, then = (len(_lines(text)) for text in (told.out, shown[example.key]["text"]))
            assert (now > 0) == (then > 0), f"{example.text}prints something else than {name} shows; run make docs"
            few = then <= examples.LONGEST
            assert not few or abs(now - then) <= 2 + then // 2, f"{example.text}prints {now} lines, {name} shows {then}"


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_examples_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    if page == "README.md":
        examples.own_table()
    monkeypatch.setenv("COLUMNS", "96")
    run_page(ROOT / page, capsys)


def test_what_is_shown_is_plain() -> None:
    """No number is shown as NumPy writes its own types: who reads the page wants the number."""
    for path in sorted(examples.OUTPUTS.glob("*.json")):
        assert not re.search(r"\bnp\.\w+\(", path.read_text(encoding="utf-8")), path.name


def test_the_table_is_what_was_measured() -> None:
    page = (ROOT / "docs" / "measured.md").read_text(encoding="utf-8")
    results = json.loads((ROOT / "bench" / "results.json").read_text())
    assert page == measured.on_page(page, results), "run python docs/hooks/measured.py"
    everything = results | {
        "descriptive": {
            "milliseconds": {"discreet mean": 20.0, "numpy mean": 19.0},
            "files": {"50000000": {"seconds": 2.5}},
        },
        "ledger": {"charge_late_us": 900.0},
    }
    assert "| mean of ten million numbers, milliseconds | 20 |" in measured.table(everything)
    assert measured.table({}).startswith("| measured |")


def test_readme_is_short() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    python = next(e.text for e in examples.examples(text) if e.kind == "python")
    assert len([line for line in python.splitlines() if line.strip()]) <= 12
    assert len(text.splitlines()) <= 70  # one screen, and what it links to
    for image in re.findall(r"!\[(.+?)\]\((.+?)\)", text):
        assert image[0]
        assert (ROOT / image[1]).stat().st_size < 100_000
