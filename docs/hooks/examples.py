"""The examples of the pages: how they are run, what they printed and drew, and where that is shown.

``make docs`` runs every page whose examples changed and keeps what came out in ``docs/outputs``; the tests run the same
examples by the same functions, and compare. An output is shown only beside the very code that made it: its key is a digest
of all examples on the page up to it.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
OUTPUTS = ROOT / "docs" / "outputs"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_HERE = ("make", "pip", "git", "cp", "cat")  # commands about the repository or the shell itself
LONGEST = 40  # lines of an output that are shown
LARGEST = 150_000  # bytes of a picture or a page that is kept


class Example(NamedTuple):
    """One fenced block of a page, and the key under which its output is kept."""

    kind: str
    text: str
    key: str


def examples(page: str) -> list[Example]:
    """The fenced blocks of a page, given as Markdown."""
    found, digest = [], hashlib.sha256()
    for kind, text in FENCE.findall(page):
        digest.update(f"{kind}\n{text}\0".encode())
        found.append(Example(kind, text, digest.hexdigest()[:16]))
    return found


def run_page(page: Path) -> Iterator[Example]:
    """Run a page from the top, in the folder one is in; each example is handed out when it has run."""
    module = type(sys)("example")  # dataclasses look their module up
    before = sys.modules.get("example")
    sys.modules["example"] = module
    try:
        for example in examples(page.read_text(encoding="utf-8")):
            if example.kind == "python":
                exec(compile(example.text, str(page), "exec"), module.__dict__)  # noqa: S102  what the page says
            elif example.kind == "console":
                run_console(example.text)
            elif example.kind == "toml":
                write_toml(example.text)
            yield example
    finally:
        if before is None:
            del sys.modules["example"]
        else:
            sys.modules["example"] = before


def run_console(text: str) -> None:
    """Every line that begins with a prompt, as a command."""
    from discreet.cli import main

    lines = [line for line in text.splitlines() if line.startswith("$ ")]
    commands = [(line, shlex.split(line.removeprefix("$ "), comments=True)) for line in lines]
    ours = [(line, command) for line, command in commands if command and command[0] not in NOT_HERE]
    for line, command in ours:
        assert command[0] == "discreet", line
        if len(ours) > 1:
            print(line.split("  #")[0].rstrip())  # noqa: T201  which command the lines below are of
        assert main(command[1:]) == 0, line


def write_toml(text: str) -> None:
    """A block that begins with a file's name is that file; any other must at least be TOML."""
    tomllib.loads(text)
    named = re.match(r"# (\S+\.toml)\n", text)
    if named:
        Path(named[1]).write_text(text, encoding="utf-8")


def own_table() -> None:
    """What a reader of the README brings along: a table, and the release file they wrote."""
    from discreet.cli import main

    Path("table.csv").write_text("x\n1\n2\n", encoding="utf-8")
    Path("release.toml").write_text(
        'table = "table.csv"\nledger = "sqlite:///own.db"\n[budget]\nepsilon = 1\n[schema]\n'
        'columns.x = { type = "real", bounds = [0, 5] }\n[[ask]]\nstatistic = "mean"\ncolumns = "x"\nepsilon = 0.1\n',
        encoding="utf-8",
    )
    assert main(["release", "release.toml"]) == 0


def kept(page: str) -> dict[str, Any]:
    """What is kept of a page, ``how-to/results.md``: key to printed text and names of pictures."""
    path = OUTPUTS / (_stem(page) + ".json")
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def _stem(page: str) -> str:
    return page.removesuffix(".md").replace("/", "-")


def stale(page: str) -> bool:
    """Whether a page has examples that were not run since they changed."""
    found = examples((ROOT / "docs" / page).read_text(encoding="utf-8"))
    keys = {e.key for e in found if e.kind in ("python", "console")}
    return keys != set(kept(page))


def record(page: str) -> None:
    """Run a page in a folder of its own, and keep what each example printed and drew."""
    OUTPUTS.mkdir(exist_ok=True)
    for old in OUTPUTS.glob(_stem(page) + ".*"):
        old.unlink()
    found: dict[str, Any] = {}
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed), _figures() as figures:
                seen: set[Path] = set()
                for example in run_page(ROOT / "docs" / page):
                    if example.kind in ("python", "console"):
                        text = _tidy(printed.getvalue(), folder)
                        pictures = _pictures(Path(folder), seen, figures, f"{_stem(page)}.{len(found)}")
                        found[example.key] = {"text": text} | ({"pictures": pictures} if pictures else {})
                    printed.seek(0)
                    printed.truncate()
        finally:
            os.chdir(here)
    (OUTPUTS / f"{_stem(page)}.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _tidy(text: str, folder: str) -> str:
    """Without the folder it was run in and without blanks at the ends of lines; a long text is cut."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text).replace(os.path.realpath(folder), ".").replace(folder, ".")
    lines = [line.rstrip() for line in plain.strip("\n").splitlines()]
    return "\n".join([*lines[:LONGEST], "…"] if len(lines) > LONGEST + 2 else lines)


@contextlib.contextmanager
def _figures() -> Iterator[list[Any]]:
    """Every figure of Matplotlib that is made meanwhile, by whichever interface."""
    from matplotlib.figure import Figure

    made: list[Any] = []
    plain = Figure.__init__

    def noticed(figure: Any, *args: Any, **keywords: Any) -> None:
        plain(figure, *args, **keywords)
        made.append(figure)

    Figure.__init__ = noticed  # type: ignore[method-assign]
    try:
        yield made
    finally:
        Figure.__init__ = plain  # type: ignore[method-assign]


def _pictures(folder: Path, seen: set[Path], figures: list[Any], stem: str) -> list[str]:
    """Pages that were written, or else figures that were made, kept under names of their own; no large file is."""
    names = []
    written = set(folder.rglob("*.html")) - seen
    seen |= written
    for path in sorted(p for p in written if p.stat().st_size <= LARGEST):
        names.append(f"{stem}.{path.name}")
        shutil.copy(path, OUTPUTS / names[-1])
    for i, figure in enumerate([f for f in figures if f.axes and not names]):
        drawn = io.BytesIO()
        figure.savefig(drawn, format="png", dpi=100, bbox_inches="tight")
        if len(drawn.getvalue()) <= LARGEST:
            names.append(f"{stem}.{i}.png")
            (OUTPUTS / names[-1]).write_bytes(drawn.getvalue())
    figures.clear()
    return names


def with_outputs(markdown: str, page: str) -> str:
    """The page with what each example printed and drew below it."""
    known = kept(page)
    keys = iter(examples(markdown))

    def shown(match: re.Match[str]) -> str:
        output = known.get(next(keys).key, {})
        parts = [match[0]]
        if output.get("text"):
            parts.append(
                f"```{{ .text .output{'' if _is_table(output['text']) else ' .wrapped'} }}\n"
                + output["text"].replace("```", "'''")
                + "\n```"
            )
        parts += [_picture(name, page) for name in output.get("pictures", [])]
        return "\n\n".join(parts)

    return FENCE.sub(shown, markdown)


def _picture(name: str, page: str) -> str:
    path = "../" * page.count("/") + f"outputs/{name}"
    if name.endswith(".html"):
        file = name.split(".", 2)[-1]
        return f'<a class="made" href="{path}">The page that this wrote: {file}</a>'
    return f"[![What the example above draws]({path}){{ .picture loading=lazy }}]({path}){{ .picture }}"


def _is_table(text: str) -> bool:
    """Whether columns stand below one another, which a folded line would pull apart."""
    return any(re.search(r"\S {2,}\S|[─═]{4}|={9}", line) for line in text.splitlines())


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """MkDocs calls this for every page."""
    return with_outputs(markdown, page.file.src_uri)


def main(names: list[str]) -> None:
    """Record the pages named, or all that are stale."""
    os.environ |= {"COLUMNS": "96", "MPLBACKEND": "Agg", "NO_COLOR": "1", "LOGNAME": "custodian"}
    pages = [p.relative_to(ROOT / "docs").as_posix() for p in sorted((ROOT / "docs").rglob("*.md"))]
    pages = [page for page in pages if not page.startswith("hooks/")]  # what is run and not shown
    for page in names or [p for p in pages if stale(p)]:
        print(page, flush=True)  # noqa: T201  progress
        record(page)


if __name__ == "__main__":
    main(sys.argv[1:])
