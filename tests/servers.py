"""A PostgreSQL server for the tests: the one that comes as a wheel where there is one, else the one of the machine."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

NONE = "no PostgreSQL server: neither the package pgserver nor a program `postgres` was found"
_WAIT = 60  # seconds for a server to answer


@contextmanager
def postgres() -> Iterator[str | None]:
    """The address of a server of our own, gone when the tests are; None where there is no program to run."""
    programs = _programs()
    # As root the wheel makes a user of its own, with a program that not every root has on its path.
    if importlib.util.find_spec("pgserver") and (os.geteuid() != 0 or shutil.which("useradd")):
        serving = _from_the_wheel
    elif programs:
        serving = partial(_of_the_machine, programs)
    else:
        yield None
        return
    home = Path(tempfile.mkdtemp(prefix="postgres"))
    try:
        with serving(home) as address:
            yield address
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _programs() -> Path | None:
    """Where `postgres` and `initdb` lie; Debian keeps them off the path."""
    found = shutil.which("postgres")
    near = [Path(found).resolve()] if found else []
    places = [*near, *sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), reverse=True)]
    return next((place.parent for place in places if (place.parent / "initdb").exists()), None)


@contextmanager
def _from_the_wheel(home: Path) -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where no folder is set for lock files the wheel says so and takes another
        import pgserver

    running = pgserver.get_server(home / "data")
    try:
        with psycopg.connect(running.get_uri(), autocommit=True) as connection:
            # Nobody pulls the plug of a test server: a killed client loses nothing by this, and the tests are quicker.
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")
        yield running.get_uri()
    finally:
        running.cleanup()


@contextmanager
def _of_the_machine(programs: Path, home: Path) -> Iterator[str]:
    user = _somebody()
    if user is not None:
        os.chown(home, pwd.getpwnam(user).pw_uid, -1)
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "user": user, "cwd": home}
    made = [programs / "initdb", "-D", home / "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]
    subprocess.run(made, check=True, **quiet)
    # Heard on a socket in its own folder only, and nothing is forced to disk (see above).
    server = subprocess.Popen([programs / "postgres", "-D", home / "data", "-k", home, "-h", "", "-F"], **quiet)
    try:
        address = f"postgresql://postgres:@/postgres?host={home}"
        _wait_for(address)
        yield address
    finally:
        server.terminate()
        server.wait(_WAIT)


def _somebody() -> str | None:
    """Another user, where we are the one as whom a server refuses to run."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in known)


def _wait_for(address: str) -> None:
    deadline = time.monotonic() + _WAIT
    while True:
        try:
            psycopg.connect(address).close()
            return
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
