"""The Python that a cluster's workers run: found where that can be, else said what to set, before anything is paid."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from discreet import __version__
from discreet.errors import InvalidRequest

_REMEDY = "install discreet for the workers' Python and set PYSPARK_PYTHON to it before the session, or its server, starts"


class Workers:
    """The workers of one Spark session."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._good = False
        if not type(session).__module__.startswith("pyspark.sql.connect"):
            context = session.sparkContext
            local = context.master.startswith("local")  # on this machine, also as executors of their own
            if local and "PYSPARK_PYTHON" not in os.environ and context.pythonExec in ("python", "python3"):
                context.pythonExec = sys.executable

    def check(self) -> None:
        """Refuse workers that cannot load this package, by a job without a record; once a session."""
        if self._good:
            return

        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
                told = self._session.range(1, numPartitions=1).mapInArrow(_tell, "version string, python string").collect()
        except Exception as problem:
            said = str(problem)
            if "discreet" in said and "ModuleNotFoundError" in said:
                raise InvalidRequest("the workers' Python has no discreet", key="spark", remedy=_REMEDY) from None
            if "PYTHON_VERSION_MISMATCH" in said:
                mine = f"{sys.version_info[0]}.{sys.version_info[1]}"
                raise InvalidRequest(
                    f"the workers' Python is of another version than {mine}", key="spark", remedy=_REMEDY
                ) from None
            raise InvalidRequest(
                f"the workers of Spark do not run Python ({type(problem).__name__})", key="spark", remedy=_REMEDY
            ) from None
        if told[0][0] != __version__:
            raise InvalidRequest(
                f"the workers have discreet {told[0][0]} and this is {__version__}",
                key="spark",
                remedy="install one version",
            )
        self._good = True


def _tell(arrived: Iterable[Any]) -> Iterator[Any]:
    import pyarrow as pa

    import discreet

    for _ in arrived:
        pass
    yield pa.RecordBatch.from_pydict({"version": [discreet.__version__], "python": [sys.executable]})
