"""Fail where something that a plain install needs has no wheel for a Python that has not been tested; installs nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from requirements.install import HERE, environment


def main(version: str) -> None:
    """Look for the wheels of all locked packages of a plain install."""
    install = [str(Path(sys.prefix) / "bin" / "uv"), "pip", "install", "--dry-run", "--quiet", "--only-binary", ":all:"]
    there = ["--python-version", version, "--target", str(Path(sys.prefix) / "wheels")]
    lock = ["--require-hashes", "-r", str(HERE / "demo.txt")]
    subprocess.run([*install, *there, *lock], check=True, env=environment(sys.executable))


if __name__ == "__main__":
    main(sys.argv[1])
