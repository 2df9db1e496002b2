"""What tests of several parts share."""

from __future__ import annotations

import gc
import os
import re
import signal
import socket
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.servers import NONE, postgres

ROOT = Path(__file__).parent.parent

# Workers share the cores: threads of a matrix product that wait for one another would take the time of other tests. NumPy is
# loaded after this, and so is whatever a test starts.
for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

# Nothing that a test asks of Spark runs long enough to earn back what Java spends on compiling it with all care.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# A machine that is busy with other things makes drawing an example slow, which says nothing of the code.
settings.register_profile("busy machines", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy machines")

# A shell that starts the tests in the background leaves Ctrl-C ignored, here and in whatever a test starts.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One local Spark session for all tests of a process: a second would be the same, and stopping it would stop both."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    facts = {
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        # Four partitions that are not joined again, small as they are: the empty id and the null id would be apart.
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        # The same Java machine serves sessions by Connect: a second would take as long to begin.
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(_free_port()),
    }
    builder = SparkSession.builder.master("local[2]")
    for key, value in facts.items():
        builder = builder.config(key, value)
    session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def connect(spark: Any) -> str:
    """Where another process has a session by Connect: it and a classic one do not live together in one."""
    pytest.importorskip("grpc")
    return f"sc://127.0.0.1:{spark.conf.get('spark.connect.grpc.binding.port')}"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """One PostgreSQL server for all tests of a process."""
    with postgres() as address:
        if address is None:
            pytest.skip(NONE)
        yield address


# Where most of the time goes. What takes long begins first, so that both workers end together.
LONGEST = ("spark", "tests/inference", "tests/models", "tests/docs", "tests/descriptive", "tests/audit")


@cache
def _scope(file: Path) -> str:
    """What is run by one worker: a file, or all files that use Spark: one Java machine, not one for each worker."""
    return "spark" if re.search(r"\bspark\b", file.read_text(encoding="utf-8")) else file.relative_to(ROOT).as_posix()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def rank(item: pytest.Item) -> int:
        scope = _scope(item.path)
        return next((place for place, start in enumerate(LONGEST) if scope.startswith(start)), len(LONGEST))

    items.sort(key=rank)


def pytest_collection_finish() -> None:
    """The modules and the thousands of tests stay until the end: the collector need not walk them again and again."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    gc.unfreeze()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Scopes are handed out whole, in the order above."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _scope(ROOT / nodeid.partition("::")[0])

    config.option.loadscopereorder = False
    return Together(config, log)
