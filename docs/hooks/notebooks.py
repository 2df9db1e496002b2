"""The scripts in ``examples`` as notebooks with what they print and draw, made by running each with ``--quick``.

``python docs/hooks/notebooks.py [NAME ...]`` writes ``examples/notebooks`` and the pictures of ``docs/outputs``; a test
looks whether the code of each notebook is still its script's.
"""

from __future__ import annotations

import ast
import base64
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SCRIPTS, NOTEBOOKS, PICTURES = ROOT / "examples", ROOT / "examples" / "notebooks", ROOT / "docs" / "outputs"
COLOURS, WIDEST = 24, 720  # of a picture that is kept


def cells(name: str) -> list[tuple[str, str]]:
    """A script as pairs of ``markdown`` or ``code`` and a text: its words, then one cell for each function."""
    source = (SCRIPTS / f"{name}.py").read_text(encoding="utf-8")
    tree = ast.parse(source)
    lines = source.splitlines()
    found = [("markdown", ast.get_docstring(tree) or name)]
    first = 0  # of the statements before the next function
    for node in tree.body[1:]:
        last = node.end_lineno or node.lineno
        if isinstance(node, ast.If) and "__main__" in lines[node.lineno - 1]:
            break
        first = first or _start(node)
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            before, text = lines[first - 1 : _start(node) - 1], lines[_start(node) - 1 : last]
            found += [("code", "\n".join(part).strip("\n")) for part in (before, text) if any(part)]
            first = 0
    return [*found, ("code", 'main(Path("pictures"), quick=True)')]


def _start(node: Any) -> int:
    """The first line of a statement, with what decorates it."""
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])


def notebook(name: str, printed: str, pictures: list[bytes]) -> dict[str, Any]:
    """The document of a notebook; what was printed and drawn stands below its last cell."""
    made: list[dict[str, Any]] = []
    for number, (kind, text) in enumerate(cells(name)):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"{name}-{number}", "metadata": {}, "source": text}
        made.append(cell | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    shown = [
        {"data": {"image/png": base64.b64encode(p).decode()}, "metadata": {}, "output_type": "display_data"}
        for p in pictures
    ]
    made[-1]["outputs"] = [{"name": "stdout", "output_type": "stream", "text": printed}, *shown]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def small(path: Path) -> bytes:
    """A picture with fewer colours and at most so wide."""
    from PIL import Image

    with Image.open(path) as opened:
        picture = opened.convert("RGB")
    picture.thumbnail((WIDEST, WIDEST))
    out = io.BytesIO()
    picture.quantize(COLOURS).save(out, format="PNG", optimize=True)
    return out.getvalue()


def record(name: str) -> None:
    """Run a script quickly, and write its notebook and its pictures."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(SCRIPTS / f"{name}.py"), "--quick", "--out", folder]
        environment = os.environ | {"MPLBACKEND": "Agg", "COLUMNS": "110"}
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=environment)  # noqa: S603
        pictures = [small(path) for path in sorted(Path(folder).rglob("*.png"))]
        printed = done.stdout.replace(folder, "pictures")
    NOTEBOOKS.mkdir(exist_ok=True)
    text = json.dumps(notebook(name, printed, pictures), indent=1, ensure_ascii=False)
    (NOTEBOOKS / f"{name}.ipynb").write_text(text + "\n", encoding="utf-8")
    for old in PICTURES.glob(f"example-{name}.*.png"):
        old.unlink()
    for number, picture in enumerate(pictures):
        (PICTURES / f"example-{name}.{number}.png").write_bytes(picture)


if __name__ == "__main__":
    for each in sys.argv[1:] or sorted(path.stem for path in SCRIPTS.glob("*.py")):
        print(each, flush=True)  # noqa: T201  progress
        record(each)
