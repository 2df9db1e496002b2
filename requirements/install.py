"""Make an environment and fill it.

    python requirements/install.py .venv demo       what `pip install .` gives, at the locked versions
    python requirements/install.py .venv test       that, and all that tests, checks and measurements need
    python requirements/install.py DIR newest       the same without a lock: the newest releases
    python requirements/install.py DIR oldest       the oldest releases that `pyproject.toml` admits

Needs nothing but Python. `pip` fetches `uv` (a wheel, its version and hashes locked), and `uv` fetches the rest.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
INSTALLER = HERE / "installer.txt"
# What pip calls it, and what uv does: uv reads neither the files nor the variables of pip.
SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
}


def environment(python: str) -> dict[str, str]:
    """The variables for uv: what it was told itself, else what pip was told here; and to trust whom the system trusts."""
    listed = subprocess.run([python, "-m", "pip", "config", "list"], check=True, capture_output=True, text=True).stdout
    told: dict[str, str] = {}
    for line in sorted(listed.splitlines(), reverse=True):  # ":env:" overrules "global" and sorts before it
        key, _, value = line.partition("=")
        name = SETTINGS.get(key.rpartition(".")[2])
        if name:
            told[name] = " ".join(value.strip("'").replace("\\n", " ").split())
    # All indexes are equal, as they are for pip; a hash says which file is meant.
    return {"UV_SYSTEM_CERTS": "1", "UV_INDEX_STRATEGY": "unsafe-best-match", **told, **os.environ}


def main(home: Path, what: str) -> None:
    """Make the environment at ``home`` if it is not there, and install."""
    python = str(home / "bin" / "python")
    if not Path(python).exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
    subprocess.run([*pip, "-r", str(INSTALLER)], check=True)
    # What has to be built is built with the tools just installed, not with whatever is newest today.
    install = [str(home / "bin" / "uv"), "pip", "install", "--quiet", "--no-build-isolation", "--python", python]
    lock = HERE / f"{what}.txt"
    if lock.exists():
        steps = [["--require-hashes", "-r", str(lock)], ["--no-deps", "--editable", str(ROOT)]]
    else:
        resolution = "lowest-direct" if what == "oldest" else "highest"
        steps = [["--upgrade", "--resolution", resolution, "--editable", f"{ROOT}[dev]"]]
    for step in steps:
        subprocess.run([*install, *step], check=True, env=environment(python))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
