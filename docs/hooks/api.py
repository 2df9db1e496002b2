"""The reference of every public name, made from signatures and docstrings when the documentation is built.

A name that a package lists in ``__all__`` has an entry; below its signature stand the pages whose examples use it.
MkDocs calls ``on_files``.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

import discreet as ds

sys.path.insert(0, str(Path(__file__).parent))
import uses

ROOT_NAMES = {
    "session": ("Session", "A table, a ledger, and questions.", "Session"),
    "results": ("Results and releases", "What comes back, and what may be kept.", "Result Release Releases read_releases"),
    "schema": (
        "Schema, budget and ledger",
        "What is public, what may be spent, and who keeps the books.",
        "Schema Real Integer Categories Boolean Date Datetime Duration Text Dialect Budget Cost Distance Ledger "
        "join People Lookup",
    ),
    "connect": ("A service from afar", "The questions of a session, put to somebody who may see the table.", "connect"),
}
PACKAGES = {
    "models": ("Models", "Estimators in the habit of scikit-learn: the constructor stores, `fit` spends."),
    "hypotheses": ("Hypothesis tests", "Functions in the habit of SciPy; `session.test` asks the same of a table."),
    "inference": ("Inference", "Posteriors from released numbers; they need `pip install 'discreet[bayes]'`."),
    "synthetic": ("Synthetic tables", "Tables made from released counts, and conclusions from several of them."),
    "local": ("Local reports", "Reports that are private before they leave their person."),
    "protect": ("Protection of tables", "Pseudonyms, anonymous copies, access and erasure. These claim no epsilon."),
}


def pages() -> dict[str, str]:
    """Path to text of every page of the reference."""
    made = {}
    for path, (title, words, names) in ROOT_NAMES.items():
        made[f"reference/{path}.md"] = _page(title, words, "ds", names.split())
    listed = {name for _, _, names in ROOT_NAMES.values() for name in names.split()}
    functions = [n for n in ds.__all__ if inspect.isfunction(getattr(ds, n)) and n not in listed]
    words = (
        "For somebody who holds the data as arrays. All take the keywords `epsilon`, `delta`, `rho`, `mechanism`, "
        "`calibration`, `neighbors`, `ledger` and `seed`."
    )
    made["reference/functions.md"] = _page("Functions on arrays", words, "ds", functions)
    for name, (title, words) in PACKAGES.items():
        package = importlib.import_module(f"discreet.{name}")
        public = [n for n in package.__all__ if _is_ours(getattr(package, n))]
        public.sort(key=lambda n: (not hasattr(getattr(package, n), "fit"), n.lower()))  # what is fitted comes first
        made[f"reference/{name}.md"] = _page(title, words, f"ds.{name}", public)
    rule = "Every error gives its rule, the value that broke it, and what to do instead."
    made["reference/errors.md"] = f"# Errors\n\n{rule}\n\n" + _entry(
        "discreet.errors", "show_root_heading: false", "inherited_members: false"
    )
    made["reference/commands.md"] = commands()
    return made


def _is_ours(thing: Any) -> bool:
    return (inspect.isclass(thing) or inspect.isfunction(thing)) and thing.__module__.startswith("discreet.")


def _page(title: str, words: str, prefix: str, names: list[str]) -> str:
    package = importlib.import_module("discreet" + prefix.removeprefix("ds"))
    parts = [f"# {title}", words]
    for name in names:
        thing = getattr(package, name)
        parts.append(_entry(f"{thing.__module__}.{thing.__qualname__}"))
        shown = uses.pages(f"{prefix}.{name}")
        if shown:
            parts.append(f'<p class="shown-in" markdown>`{prefix}.{name}` in use: {", ".join(shown)}.</p>')
    return "\n\n".join(parts) + "\n"


def _entry(path: str, *options: str) -> str:
    lines = [f"::: {path}", *(["    options:"] if options else []), *(f"      {o}" for o in options)]
    return "\n".join(lines)


def commands() -> str:
    """Every command with its arguments and options, from the command line itself."""
    from discreet.cli.app import command

    parts = ["# Commands", "`discreet COMMAND --help` shows the same in a terminal."]
    parts += _commands("discreet", command)
    return "\n\n".join(parts) + "\n"


def _commands(name: str, command: Any) -> list[str]:
    if hasattr(command, "commands"):
        return [part for each, sub in command.commands.items() for part in _commands(f"{name} {each}", sub)]
    words = inspect.cleandoc(command.help or "").replace("``", "`")
    options = [p for p in command.params if p.param_type_name == "option" and p.name != "help"]
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    usage = " ".join([name, *(a.name.upper() for a in arguments), *(["[options]"] if options else [])])
    parts = [f"## {name}", f"```text\n{usage}\n```", words]
    if arguments or options:
        rows = [f"| `{p.name.upper()}` | {_words(p)} |" for p in arguments]
        rows += [f"| `{', '.join([*p.opts, *p.secondary_opts])}` | {_words(p)} |" for p in options]
        parts.append("| argument or option | what it says |\n|---|---|\n" + "\n".join(rows))
    return parts


def _words(parameter: Any) -> str:
    text = " ".join((getattr(parameter, "help", None) or "").replace("|", "\\|").split())
    default = parameter.default
    plain = default is not None and not callable(default) and default not in (False, (), [], "")
    return f"{text} Default: `{default}`." if plain and parameter.param_type_name == "option" else text


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages to the site."""
    from mkdocs.structure.files import File

    for path, text in pages().items():
        files.append(File.generated(config, path, content=uses.LATER + text))
    return files
