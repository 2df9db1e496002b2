"""Each peer in an environment of its own, because their requirements contradict one another.

Their versions are locked in ``requirements/peers``, but for PyTorch: which of its builds is right depends on the machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from requirements.install import environment

HERE = Path(__file__).parent
ROOT = HERE.parent
REQUIREMENTS = {
    "opendp": ["opendp>=0.12", "numpy"],
    "diffprivlib": ["diffprivlib==0.6.6", "scikit-learn<1.8", "numpy"],
    "pydp": ["python-dp", "numpy"],
    "opacus": ["torch", "opacus>=1.5", "numpy"],
    "multifreq": ["multi-freq-ldpy==0.2.5", "xxhash<4", "numpy"],
    "anjana": ["anjana"],
    "pycanon": ["pycanon"],
    "lifelines": ["lifelines", "numpy"],
    "schemathesis": ["schemathesis>=4"],
    "mbi": ["mbi==2.0.0"],
    "smartnoise": ["torch", "smartnoise-synth==1.0.8"],
    "dpmm": ["dpmm==0.1.9"],
}
NOT_LOCKED = ("torch",)
# One thread each: a ratio of single-threaded work means the same on every machine.
PINNED = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1")


def python_of(peer: str) -> Path:
    """The interpreter of a peer's environment, made on first use."""
    home = ROOT / ".venvs" / peer
    python = home / "bin" / "python"
    ready = home / ".ready"
    lock = ROOT / "requirements" / "peers" / f"{peer}.txt"
    wanted = lock.read_text()
    if not (ready.exists() and ready.read_text() == wanted):
        uv = [str(Path(sys.prefix) / "bin" / "uv")]
        subprocess.run([*uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(home)], check=True)
        install = [*uv, "pip", "install", "--quiet", "--python", str(python)]
        subprocess.run(
            [*install, "--no-deps", "--require-hashes", "-r", str(lock)], check=True, env=environment(sys.executable)
        )
        if free := [name for name in NOT_LOCKED if name in REQUIREMENTS[peer]]:
            subprocess.run([*install, *free], check=True, env=environment(sys.executable))
        ready.write_text(wanted)
    return python


def ask_peer(peer: str, study: str, *arguments: str) -> Any:
    """What ``bench/peers/<peer>_<study>.py`` prints last, as JSON, run in the peer's own environment."""
    command = [str(python_of(peer)), str(HERE / "peers" / f"{peer}_{study}.py"), *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | PINNED)
    return json.loads(done.stdout.splitlines()[-1])
