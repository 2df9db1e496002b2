"""Whose warnings count, and what a machine sees that has never seen us."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from datetime import date, timedelta
from pathlib import Path

import pytest

from discreet.errors import DiscreetWarning

REQUIREMENTS = Path(__file__).parents[1] / "requirements"
OF_OURS = ["discreet", "discreet.models.solve.newton", "tests.conftest", "bench.noise", "study.harness", "__main__"]
OF_OTHERS = ["arviz", "pyspark.sql.pandas.utils", "discreetly", "scipy.discreet"]


def _warn(module: str, category: type[Warning]) -> None:
    warnings.warn_explicit("said", category, f"{module}.py", 1, module=module, registry={})


@pytest.mark.parametrize("category", [UserWarning, FutureWarning, DeprecationWarning, RuntimeWarning])
def test_what_is_attributed_to_us_fails(category: type[Warning]) -> None:
    for module in OF_OURS:
        with pytest.raises(category, match="said"):
            _warn(module, category)


@pytest.mark.parametrize("category", [UserWarning, FutureWarning, DeprecationWarning, RuntimeWarning])
def test_what_others_say_to_themselves_does_not(category: type[Warning]) -> None:
    said = [_warn(module, category) for module in OF_OTHERS]  # a warning that is an error would end it here
    assert len(said) == len(OF_OTHERS) > 0


@pytest.mark.parametrize("module", OF_OTHERS)
def test_what_we_say_fails_wherever_it_is_attributed_to(module: str) -> None:
    for category in (DiscreetWarning, *DiscreetWarning.__subclasses__()):
        with pytest.raises(category):
            _warn(module, category)


def test_what_is_not_closed_fails_wherever_it_is_collected() -> None:
    for what in ("unclosed database in <sqlite3.Connection>", "unclosed file <_io.TextIOWrapper>"):
        with pytest.raises(ResourceWarning):
            warnings.warn_explicit(what, ResourceWarning, "sys.py", 1, module="sys", registry={})


def _python(home: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run in an empty home, where every warning is an error."""
    bare = {"HOME": str(home), "PATH": os.environ["PATH"]}
    return subprocess.run([sys.executable, "-W", "error", "-c", code], env=bare, capture_output=True, text=True, check=False)


def test_everything_loads_in_an_empty_home_with_warnings_as_errors(tmp_path: Path) -> None:
    names = "ds.Session, ds.models, ds.inference, ds.protect, ds.local, ds.audit"
    done = _python(tmp_path, f"import discreet as ds; {names}; ds.inference.infer, ds.models.LogisticRegression")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("stamp", [None, date.today() - timedelta(days=1)])
def test_nobody_hears_arviz(tmp_path: Path, stamp: date | None) -> None:
    """ArviZ 0.2x warns on import where a file in the cache does not say that it did so today."""
    if stamp is not None:
        (tmp_path / ".cache" / "arviz").mkdir(parents=True)
        (tmp_path / ".cache" / "arviz" / "daily_warning").write_text(stamp.isoformat())
    done = _python(
        tmp_path,
        "import numpy as np; from discreet.inference.outputs.posterior import Posterior;"
        "Posterior({'theta': np.zeros((2, 9))}, {}, 'none', False, {}, (), 0.0, 0.0).to_arviz()",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("lock", sorted(REQUIREMENTS.rglob("*.txt")), ids=lambda path: path.stem)
def test_a_lock_admits_every_file_of_a_release(lock: Path) -> None:
    """One hash means one file, whatever the Python: right for what is one source or one wheel for all."""
    releases = re.split(r"\n(?=[a-z])", lock.read_text())
    assert {each.split("==")[0] for each in releases if each.count("--hash") < 2} <= {
        "pyspark",
        "multi-freq-ldpy",
        "autograd-gamma",
        "antlr4-python3-runtime",
        "mbi",
    }


def test_no_test_changes_for_other_threads_what_the_whole_process_shares() -> None:
    """Modules of Python's own are patched by ``only_here`` only: other tests' servers run on in threads of their own."""
    tests = Path(__file__).parent
    shared = re.compile(r"setattr\((\w+)[\w.]*, (?!\"tempdir\")")
    found = [
        f"{path.relative_to(tests)}: {name}"
        for path in sorted(tests.rglob("*.py"))
        if path.name != "patches.py"
        for name in shared.findall(path.read_text(encoding="utf-8"))
        if name in sys.stdlib_module_names
    ]
    assert found == []
