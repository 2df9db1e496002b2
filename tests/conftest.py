"""What tests of several parts share."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from tests.servers import NONE, postgres


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One local Spark session for all tests of a process: a second would be the same, and stopping it would stop both."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        # Four partitions that are not joined again, small as they are: the empty id and the null id would be apart.
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
    }
    builder = SparkSession.builder.master("local[2]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """One PostgreSQL server for all tests of a process."""
    with postgres() as address:
        if address is None:
            pytest.skip(NONE)
        yield address


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file's tests stay together, and so do all files that use Spark: one Java machine, not one for each worker."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    @cache
    def uses_spark(file: str) -> bool:
        return re.search(r"\bspark\b", (config.rootpath / file).read_text(encoding="utf-8")) is not None

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return "spark" if uses_spark(file) else file

    return Together(config, log)
