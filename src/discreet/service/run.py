"""Starting the service: the front and the desk as two processes, each as a user of its own."""

from __future__ import annotations

import grp
import os
import pwd
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

from discreet.errors import InvalidRequest
from discreet.service.config import Config
from discreet.service.desk import Office
from discreet.service.mailbox import prepare_folders

_GRACE = 10.0  # seconds that a part has to end


def front(config: Config) -> None:
    """Listen, as the front's user, until ended."""
    _become(config, "front")
    import_module("discreet.service.front").serve(config)


def desk(config: Config) -> None:
    """Answer, as the desk's user, until ended."""
    _become(config, "desk")
    with Office.open(config) as office:
        office.run()


def both(config: Config) -> int:
    """Start both on this machine, on cores apart where there are two; when one ends, so does the other."""
    check_users(config)
    prepare(config)
    cores = sorted(os.sched_getaffinity(0))
    half = len(cores) // 2
    parts = {"front": cores[:half] or cores, "desk": cores[half:] or cores}
    started = [_start(config.path, name, on) for name, on in parts.items()]
    try:
        while all(process.poll() is None for process in started):
            time.sleep(0.2)
    finally:
        for process in started:
            process.send_signal(signal.SIGTERM)
        for process in started:
            try:
                process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    return int(any(process.returncode for process in started))


def prepare(config: Config) -> None:
    """Make the folders of the mailboxes; as root with their owners and the common group."""
    if config.on_postgres:
        config.private.mkdir(parents=True, exist_ok=True, mode=0o700)
        return
    if os.geteuid() != 0 or config.one_user:
        prepare_folders(Path(config.desk_boxes), config.private)
        return
    ids = {part: _user(config, part).pw_uid for part in ("front", "desk")}
    prepare_folders(Path(config.desk_boxes), config.private, **ids, group=_group(config))


def check_users(config: Config) -> None:
    """Refuse to run both as one user, unless the file says that this is meant."""
    if config.one_user:
        return
    if not {"front", "desk"} <= config.users.keys():
        raise InvalidRequest(
            "front and desk run as users of their own; write users = {front = ..., desk = ...} and start as root, or "
            "one_user = true: then whoever breaks into the front can read the tables"
        )
    if config.users["front"] == config.users["desk"]:
        raise InvalidRequest(f"front and desk must be two users, got {config.users['front']!r} for both")
    if os.geteuid() != 0:
        raise InvalidRequest(
            "starting both needs root, which is given up at once; or start discreet serve front and discreet serve desk "
            "each as its own user (the systemd units do), or write one_user = true"
        )


def _become(config: Config, part: str) -> None:
    """Give root up for the user of a part."""
    if os.geteuid() != 0 or config.one_user:
        return
    if part not in config.users:
        raise InvalidRequest(f"the {part} does not run as root; write users = {{{part} = ...}}, or one_user = true")
    user = _user(config, part)
    os.setgroups([])
    os.setgid(_group(config))
    os.setuid(user.pw_uid)
    os.umask(0o027)


def _user(config: Config, part: str) -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(config.users[part])
    except KeyError:
        raise InvalidRequest(
            f"the machine has no user {config.users.get(part)!r}; make one: useradd --system {config.users.get(part)}"
        ) from None


def _group(config: Config) -> int:
    name = config.users.get("group", "discreet")
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        raise InvalidRequest(f"the machine has no group {name!r}; make one: groupadd --system {name}") from None


def _start(path: Path, part: str, cores: list[int]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "discreet", "serve", part, str(path)]
    # A terminal interrupts every process at once; the parts are ended by the one that started them, so they ignore that.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = subprocess.Popen(command)  # noqa: S603  ourselves
    finally:
        signal.signal(signal.SIGINT, before)
    os.sched_setaffinity(process.pid, cores)
    return process
