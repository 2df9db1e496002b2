"""The files behind a Spark table: what a vault looks after, because rows are taken out of files."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from discreet.errors import InvalidRequest
from discreet.sources.files import PARQUET


def files_behind(frame: Any) -> list[str]:
    """A pattern of Parquet files for each folder that the rows of a Spark DataFrame are read from.

    It fits what is added to those folders later, folders of partitions (``year=2020``) included. A column that only the name
    of a folder holds is no part of a file.
    """
    partitions = set(frame.columns)
    roots: dict[Path, None] = {}
    for address in frame.inputFiles():
        parts = urlsplit(address)
        path = Path(unquote(parts.path))
        if parts.scheme not in ("", "file") or path.suffix not in PARQUET:
            raise InvalidRequest(
                f"a vault takes rows out of Parquet files that it can reach, got a Spark table in {parts.scheme or 'file'} "
                f"files of the kind {path.suffix or 'without an ending'}; register files of this machine"
            )
        root = path.parent
        while "=" in root.name and unquote(root.name.partition("=")[0]) in partitions:
            root = root.parent
        if any(map(_keeps_a_log, (root, *root.parents))):
            raise InvalidRequest(
                "a table with a log of its files cannot be rewritten beside it, got one of Delta, Iceberg or Hudi; delete "
                "the person's rows there and remove old versions, then record it in the vault"
            )
        roots[root] = None
    if not roots:
        raise InvalidRequest(
            "a vault takes rows out of files, got a Spark table that is read from none; write it as Parquet first"
        )
    return [f"{glob.escape(str(root))}/**/*{path}" for root in roots for path in PARQUET if list(root.rglob(f"*{path}"))]


def _keeps_a_log(folder: Path) -> bool:
    """Whether a folder is that of a table of Delta, Hudi or Iceberg, which know each file by its size."""
    logs = (folder / "_delta_log", folder / ".hoodie")
    return any(log.is_dir() for log in logs) or any((folder / "metadata").glob("*.metadata.json"))
