"""Write the locks anew: the newest releases that `pyproject.toml` admits, for every Python it admits, with hashes.

A lock holds names, versions and hashes, and no address: wherever a file comes from, it is the same file or is refused.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from bench.environments import NOT_LOCKED, REQUIREMENTS

from requirements.install import HERE, INSTALLER, ROOT, environment

OLDEST = "3.11"
# The installer, and what builds the packages that come as sources: this one, and PySpark.
TOOLS = "uv\nhatchling\neditables\nsetuptools\n"
COMPILE = ("pip", "compile", "--quiet", "--upgrade", "--universal", "--generate-hashes", "--no-header", "--no-annotate")


def compiled(target: Path, *arguments: str, text: str = "") -> None:
    """Resolve and write one lock."""
    command = [str(Path(sys.prefix) / "bin" / "uv"), *COMPILE, "--python-version", OLDEST, "-o", str(target), *arguments]
    # From the registry alone: a folder of this machine has some files of a release, and the lock would know no others.
    variables = {
        key: value for key, value in environment(sys.executable).items() if key not in ("UV_FIND_LINKS", "UV_INDEX")
    }
    subprocess.run(command, check=True, env=variables, cwd=ROOT, input=text, text=True, stdout=subprocess.DEVNULL)


def main() -> None:
    """All locks; that of the demo is a part of that of the tests."""
    compiled(INSTALLER, "-", text=TOOLS)
    compiled(HERE / "test.txt", "pyproject.toml", "--extra", "dev")
    compiled(HERE / "demo.txt", "pyproject.toml", "-c", str(HERE / "test.txt"))
    with tempfile.NamedTemporaryFile("w") as left_out:
        left_out.write("\n".join(NOT_LOCKED))
        left_out.flush()
        for peer, wanted in REQUIREMENTS.items():
            compiled(HERE / "peers" / f"{peer}.txt", "-", "--excludes", left_out.name, text="\n".join(wanted))


if __name__ == "__main__":
    main()
