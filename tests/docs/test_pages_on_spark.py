"""Pages that use Spark are run on the session that all tests share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .test_examples import ON_SPARK, run_page


@pytest.mark.parametrize("page", ON_SPARK, ids=lambda p: p.name)
def test_examples_run_on_spark(
    page: Path, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    hadoop = spark._jvm.org.apache.hadoop.fs
    hadoop.FileSystem.get(spark._jsc.hadoopConfiguration()).setWorkingDirectory(hadoop.Path(str(tmp_path)))  # Java's own
    monkeypatch.setattr(type(spark), "stop", lambda session: None)  # a page stops its session, which others use here
    monkeypatch.setenv("COLUMNS", "96")
    run_page(page, capsys)
