"""A folder for what a command writes: proved writable before anything is charged."""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from discreet.core import whole_files
from discreet.errors import InvalidRequest

Writer = Callable[[str, str], Path]


@contextlib.contextmanager
def folder_for(folder: Path, names: Sequence[str], read: Iterable[Any] = ()) -> Iterator[Writer]:
    """A folder proved writable before anything is done in it; yields ``write(name, text)``, which replaces a file whole.

    Nothing is charged for a report that cannot be written: so this is entered first. A folder made here and left empty
    is taken away again. What is ``read`` is never written over.
    """
    made = _make(folder)
    try:
        for name in names:
            if (folder / name).is_dir():
                raise _refuse(folder / name, "it is a folder")
            if any(_same(folder / name, given) for given in read):
                raise _refuse(folder / name, "it is read here, and would be lost")
        try:
            whole_files.check_writable(folder)
        except OSError as problem:
            raise _refuse(folder, problem.strerror or str(problem)) from None

        def write(name: str, text: str) -> Path:
            target = folder / name
            try:
                whole_files.write_text(target, text)
            except OSError as problem:
                raise _refuse(target, problem.strerror or str(problem)) from None
            return target

        yield write
    finally:
        for path in reversed(made):
            with contextlib.suppress(OSError):
                path.rmdir()  # succeeds only where it is empty


def as_csv(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(rows)
    return text.getvalue()


def _same(target: Path, given: Any) -> bool:
    """Whether what is read is a file, and the one that would be written."""
    if isinstance(given, list | tuple):
        return any(_same(target, one) for one in given)
    return isinstance(given, str | Path) and target.is_file() and Path(given).is_file() and target.samefile(given)


def _make(folder: Path) -> list[Path]:
    """Make the folder; the list of what was not there before, from the outside in."""
    missing = [p for p in (*reversed(folder.absolute().parents), folder.absolute()) if not p.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise _refuse(folder, problem.strerror or str(problem)) from None
    return missing


def _refuse(path: Path, reason: str) -> InvalidRequest:
    return InvalidRequest(
        f"the output must be a place that can be written, got {str(path)!r} ({reason}); choose another --out"
    )
