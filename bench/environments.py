"""Each peer in an environment of its own, because their requirements contradict one another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
REQUIREMENTS = {
    "opendp": ["opendp>=0.12", "numpy"],
    "diffprivlib": ["diffprivlib==0.6.6", "scikit-learn<1.8", "numpy"],
    "pydp": ["python-dp", "numpy"],
    "opacus": ["torch", "opacus>=1.5", "numpy"],
    "multifreq": ["multi-freq-ldpy==0.2.5", "xxhash<4", "numpy"],
}
# One thread each: a ratio of single-threaded work means the same on every machine.
PINNED = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1")


def python_of(peer: str) -> Path:
    """The interpreter of a peer's environment, made on first use."""
    home = ROOT / ".venvs" / peer
    python = home / "bin" / "python"
    ready = home / ".ready"
    wanted = "\n".join(REQUIREMENTS[peer])
    if not (ready.exists() and ready.read_text() == wanted):
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *REQUIREMENTS[peer]], check=True)
        ready.write_text(wanted)
    return python


def ask_peer(peer: str, study: str, *arguments: str) -> Any:
    """What ``bench/peers/<peer>_<study>.py`` prints last, as JSON, run in the peer's own environment."""
    command = [str(python_of(peer)), str(HERE / "peers" / f"{peer}_{study}.py"), *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | PINNED)
    return json.loads(done.stdout.splitlines()[-1])
