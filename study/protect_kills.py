"""Erasures that are killed at every step, and erasures on a disk that is full: whole or absent, and nothing to be found.

``kill``: a process that erases a person dies by SIGKILL at a step (a flush, a link, a rename, a transaction, a row of log).
``disk``: while table files are written, no file can grow beyond so many bytes. After each, every file that
is there is read by someone who looks for the person and for keys; then the vault is opened again, and everything is counted.
"""

from __future__ import annotations

import base64
import hashlib
import json
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from study.harness import Row

SETTINGS: list[dict[str, Any]] = [{"what": "kill"}, {"what": "disk"}]
RUNS = 220
PART = 20
STEPS = 73  # of an erasure from three tables, each of them a call that could leave something half-done
ROOM = 900  # bytes; the tables have from 500 to 4,000
# Sixteen letters each: no 100,000 bytes of tokens, keys or compressed pages hold ten of them by chance (below 1e-12), and
# no two share four letters in a row, which a compression might write once for both.
NAMES = [
    hashlib.blake2b(bytes([i]), digest_size=8).hexdigest().translate(str.maketrans("0123456789", "ghijklmnop"))
    for i in range(20)
]


def run(setting: dict[str, Any], seed: int, runs: int, folder: Path | None = None) -> dict[str, float]:
    """Stopped erasures: ``broken`` counts those that were neither whole nor absent, ``found`` names and keys in
    files, ``blind`` names that the search missed before."""
    from tests.protect.kill import Killer, open_vault
    from tests.protect.test_vault import counts, fill

    out = {"stopped": 0.0, "gone": 0.0, "broken": 0.0, "found": 0.0, "blind": 0.0}
    with ExitStack() as stack:
        home = folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        killer = stack.enter_context(Killer())
        start = seed & ((1 << 40) - 1)
        place = home
        for number in range(start, start + runs):
            if number == start or number % len(NAMES) == 0:
                place = Path(tempfile.mkdtemp(dir=home))
                fill(place, NAMES)
            person = NAMES[number % len(NAMES)]
            out["blind"] += named(place, person) < 3  # each of the three tables holds the name
            # 17 and 73 have no common divisor: every step comes up.
            at = 1 + number * 17 % STEPS if setting["what"] == "kill" else -1 - number * 137 % ROOM
            stopped = killer.erase(place, person, at) == "killed"
            out["stopped"] += stopped
            out["found"] += keys_in_clear(place)
            with open_vault(place) as vault:
                receipts = [r for r in vault.receipts() if r.subject == vault._subject(vault._pseudonyms.digest(person))]
                vault.verify()
                whole = vault.unfinished == [] and len(receipts) <= 1
                whole &= all(r.tables == {"visits": 3, "labs": 3, "study": 3} and r.complete for r in receipts)
            whole &= counts(place, person) == ([0, 0, 0] if receipts else [3, 3, 3])
            whole &= not list(place.glob(".*"))
            out["gone"] += bool(receipts)
            out["broken"] += not whole
            if receipts:
                out["found"] += named(place, person)
            out["found"] += keys_in_clear(place)
    return out


def rows(results: list[tuple[dict[str, Any], int, dict[str, float]]]) -> list[Row]:
    made = []
    for setting, _, found in results:
        what = setting["what"]
        made.append(Row(f"{what}: erasures that were stopped", found["stopped"], ">=", {"kill": 200, "disk": 50}[what]))
        made.append(Row(f"{what}: neither whole nor absent afterwards", found["broken"], "<=", 0))
        made.append(Row(f"{what}: names and keys found in files", found["found"], "<=", 0))
        made.append(Row(f"{what}: names that the search missed before", found["blind"], "<=", 0))
    return made


def named(folder: Path, person: str) -> int:
    """Files that hold a person's name, but for its ends: a compressed page may write these once for many people."""
    return sum(person[3:-3].encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def keys_in_clear(folder: Path) -> int:
    """Files other than the key file itself that hold one of its keys, in any of the usual forms."""
    stored = json.loads((folder / "keys.json").read_text())["keys"]
    raw = [base64.b64decode(text) for text in stored.values()]
    forms = [*raw, *(key.hex().encode() for key in raw), *(text.encode() for text in stored.values())]
    others = [path for path in folder.rglob("*") if path.is_file() and path.name != "keys.json"]
    return sum(any(form in path.read_bytes() for form in forms) for path in others)
