"""Go on with the studies, print what was found, and fail where a promise does not hold.

``python -m study`` goes on with all of them, ``python -m study NAME ...`` with some; ``--runs N`` makes at most N runs a
setting and ``--seconds N`` stops after that time: what was made is kept, and the next call goes on from there.
``--jobs N`` makes N parts at once.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path

from study.harness import Stored, parts

# A study says what it tries; the other modules of this folder help them.
STUDIES = tuple(sorted(p.stem for p in Path(__file__).parent.glob("*.py") if "\nSETTINGS" in p.read_text()))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m study", description="what takes hours, and can be stopped")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(STUDIES)}")
    parser.add_argument("--runs", type=int, default=None)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args(arguments)
    unknown = sorted(set(asked.names) - set(STUDIES))
    if unknown:
        parser.error(f"no study is called {unknown[0]!r}; there are {', '.join(STUDIES)}")
    end = time.monotonic() + asked.seconds
    failed = 0
    for name in asked.names or STUDIES:
        study = importlib.import_module(f"study.{name}")
        stored = Stored(name)
        for line in parts(study, stored, asked.runs, asked.jobs):
            print(f"{name} {line}", flush=True)
            if time.monotonic() > end:
                break
        for row in study.rows(stored.results(study)):
            failed += not row.holds
            print(f"  {'holds ' if row.holds else 'FAILS '} {row.what}: {row.value:.4g} (promised {row.sign} {row.bound:g})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
