"""Loss against risk over the safe nodes: the points, their edge, the page, and the command that takes one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from study.anonymous_copies import columns

from discreet.errors import InvalidRequest
from discreet.jobs import protect as jobs
from discreet.protect import anonymize, check
from discreet.protect.report import render
from discreet.protect.trade_off import edge, points
from tests.protect.oracle import Wish, brute_force, random_table


@pytest.mark.parametrize("seed", range(4))
def test_points_are_the_risk_and_loss_of_every_safe_copy(seed: int) -> None:
    rows, names, hierarchies = random_table(np.random.default_rng(seed))
    expected = brute_force(rows, names, hierarchies, "ill", Wish(2), "0.2")
    made = anonymize(columns(rows), names, hierarchies, 2, suppression="0.2")
    found = points(made)
    assert {point.node for point in found} <= set(expected)
    for point in found[:6]:
        copy = made.at(dict(zip(names, point.node, strict=True)))
        measured = check(copy.table, names)
        assert point.risk == pytest.approx(measured.prosecutor_mean)
        assert point.worst == pytest.approx(measured.prosecutor)
        assert point.loss == pytest.approx(expected[point.node]["ncp"])
    for point in edge(found):
        assert not any(other.risk <= point.risk and other.loss < point.loss for other in found)


def test_the_page_lists_nodes_and_the_command_takes_one(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [f"{rng.integers(20, 60)},{rng.integers(0, 50)}" for _ in range(300)]
    (tmp_path / "t.csv").write_text("\n".join(["age,visits", *lines]) + "\n")
    facts = 'lo = 0\nhi = 100\nkind = "intervals"\nwidths = [10, 50]\n'
    text = 'table = "t.csv"\nquasi_identifiers = ["age", "visits"]\nk = 3\n'
    (tmp_path / "job.toml").write_text(text + f"[hierarchies.age]\n{facts}[hierarchies.visits]\n{facts}")
    made = jobs.anonymize(tmp_path / "job.toml")
    assert made.levels == {"age": 1, "visits": 1}
    page = render(made)
    assert 'id="node-1-1"' in page
    assert "--node age=1,visits=1" in page
    assert jobs.anonymize(tmp_path / "job.toml", node="age=2,visits=1").levels == {"age": 2, "visits": 1}
    for wrong in ("age=0,visits=0", "age", "age=2"):
        with pytest.raises(InvalidRequest):
            jobs.anonymize(tmp_path / "job.toml", node=wrong)
