"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from discreet.errors import InvalidRequest

Writer = Callable[[str, str], Path]


@contextlib.contextmanager
def folder_for(folder: Path, names: Sequence[str]) -> Iterator[Writer]:
    """A folder proved writable before anything is done in it; yields ``write(name, text)``, which replaces a file whole.

    Nothing is charged for a report that cannot be written: so this is entered first. A folder made here and left empty
    is taken away again.
    """
    made = _make(folder)
    try:
        for name in names:
            if (folder / name).is_dir():
                raise _refuse(folder / name, "it is a folder")
        with _temporary(folder):
            pass

        def write(name: str, text: str) -> Path:
            target = folder / name
            with _temporary(folder) as path:
                try:
                    with path.open("w", encoding="utf-8") as stream:
                        stream.write(text)
                        stream.flush()
                        os.fsync(stream.fileno())
                    path.chmod(0o666 & ~_umask())
                    path.replace(target)
                except OSError as problem:
                    raise _refuse(target, problem.strerror or str(problem)) from None
            return target

        yield write
    finally:
        for path in reversed(made):
            with contextlib.suppress(OSError):
                path.rmdir()  # succeeds only where it is empty


def _make(folder: Path) -> list[Path]:
    """Make the folder; the list of what was not there before, from the outside in."""
    missing = [p for p in (*reversed(folder.absolute().parents), folder.absolute()) if not p.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise _refuse(folder, problem.strerror or str(problem)) from None
    return missing


@contextlib.contextmanager
def _temporary(folder: Path) -> Iterator[Path]:
    try:
        handle, name = tempfile.mkstemp(dir=folder, prefix=".discreet-")
    except OSError as problem:
        raise _refuse(folder, problem.strerror or str(problem)) from None
    os.close(handle)
    path = Path(name)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _refuse(path: Path, reason: str) -> InvalidRequest:
    return InvalidRequest(
        f"the output must be a place that can be written, got {str(path)!r} ({reason}); choose another --out"
    )
