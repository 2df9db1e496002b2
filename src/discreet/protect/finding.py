"""Which files a registered table is in: found anew at every request, and what stands in the way is written down."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from discreet.protect.reach import Reached


def as_given(given: Sequence[str | Path]) -> list[dict[str, str]]:
    """What was given to register, as it is kept: a ``path`` where a file of that name exists, else a ``pattern``.

    A path is kept as it was written, made absolute: a link that is turned to another file later means that file then.
    """
    kept = []
    for one in given:
        text = str(Path(one).absolute())
        kept.append({"path" if Path(one).exists() else "pattern": text})
    return kept


def find_now(given: Sequence[dict[str, str]], seen: Reached) -> list[Path]:
    """The files there are at this moment, each once; whatever may hold rows and is no file that can be reached is missed.

    Proof that nothing is passed over: a name either leads to a file, and is returned, or is written down. That goes for a
    folder in a file's place, as programs that write a table in parts make one, for a link that leads nowhere, and for
    folders that a pattern goes through and that may not be listed: ``glob`` says nothing of those.
    """
    found: dict[Path, None] = {}
    for one in given:
        matches = list(_matches(one["pattern"], seen)) if "pattern" in one else [one["path"]]
        for match in matches:
            with seen.at(match):
                if os.path.isdir(match):
                    if not one.get("pattern", "").endswith("**"):  # what is in a folder fits such a pattern by itself
                        seen.miss(match, "it is a folder, and files are gone through; register a pattern of those in it")
                elif "pattern" in one or _there(match):
                    found[Path(os.path.realpath(match))] = None
                else:
                    seen.miss(match, "the file is not there")
    return list(found)


def _there(path: str) -> bool:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _matches(pattern: str, seen: Reached) -> Iterator[str]:
    found = sorted(glob.glob(pattern, recursive=True))
    yield from found
    closed = list(_closed(pattern))
    for folder in closed:
        seen.miss(folder, "the folder cannot be listed; what is in it was not seen")
    if not found and not closed:
        seen.miss(pattern, "no file fits this pattern")


def _closed(pattern: str) -> Iterator[str]:
    """The folders that a pattern goes through, from its first wildcard on, and that may not be listed or entered."""
    parts = Path(pattern).parts
    for depth in range(1, len(parts)):
        if glob.has_magic(os.path.join(*parts[: depth + 1])):
            for folder in glob.glob(os.path.join(*parts[:depth]), recursive=True):
                if os.path.isdir(folder) and not os.access(folder, os.R_OK | os.X_OK, effective_ids=_EFFECTIVE):
                    yield folder


_EFFECTIVE = os.access in os.supports_effective_ids
