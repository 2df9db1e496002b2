"""Writing a file whole: whatever fails on the way, a reader finds the old one or the new one, and nothing else is left."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from discreet.core import whole_files
from tests.patches import only_here

OLD, NEW = "old " * 1000, "new " * 5000


def _left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("broken", ["open", "write", "fsync", "replace"])
@pytest.mark.parametrize("there", [True, False])
def test_a_failure_anywhere_leaves_what_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str, there: bool
) -> None:
    target = tmp_path / "doc.json"
    if there:
        target.write_text(OLD)

    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(28, "No space left on device")

    only_here(monkeypatch, Path if broken == "write" else os, {"write": "write_text"}.get(broken, broken), fail)
    with pytest.raises(OSError, match="No space left"):
        whole_files.write_text(target, NEW)
    monkeypatch.undo()
    assert _left(tmp_path) == (["doc.json"] if there else [])
    assert not there or target.read_text() == OLD


def test_content_is_on_the_disk_before_the_name_and_the_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def synced(handle: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else f"file of {os.fstat(handle).st_size}")
        return fsync(handle)

    def renamed(*paths: Any) -> None:
        done.append("rename")
        replace(*paths)

    only_here(monkeypatch, os, "fsync", synced)
    only_here(monkeypatch, os, "replace", renamed)
    whole_files.write_text(tmp_path / "doc.json", NEW)
    assert done == [f"file of {len(NEW)}", "rename", "folder"]


def test_permissions(tmp_path: Path) -> None:
    """New files follow the umask or are the owner's own; a file that was there keeps what it had."""
    mask = os.umask(0o027)
    try:
        for name, mode, expected in (("a", whole_files.PUBLIC, 0o640), ("b", whole_files.OWN, 0o600)):
            whole_files.write_text(tmp_path / name, OLD, mode)
            assert (tmp_path / name).stat().st_mode & 0o777 == expected
        (tmp_path / "a").chmod(0o604)
        whole_files.write_text(tmp_path / "a", NEW)
        assert (tmp_path / "a").stat().st_mode & 0o777 == 0o604
    finally:
        os.umask(mask)


WRITER = """
import sys
from discreet.core import whole_files
print("ready", flush=True)
while True:
    for text in ("old " * 1000, "new " * 5000):
        whole_files.write_text(sys.argv[1], text)
"""


def test_a_killed_writer_leaves_a_whole_file(tmp_path: Path) -> None:
    """Three writers killed after 5, 25 and 45 ms of writing; true at any moment."""
    target = tmp_path / "doc.json"
    for wait in (0.005, 0.025, 0.045):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(target)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        writer.stdout.readline()
        while not target.exists():
            time.sleep(0.001)
        time.sleep(wait)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        assert target.read_text() in (OLD, NEW)


def test_a_folder_that_cannot_be_written_is_found_first(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        whole_files.check_writable(tmp_path / "nowhere")
    whole_files.check_writable(tmp_path)
    assert _left(tmp_path) == []
