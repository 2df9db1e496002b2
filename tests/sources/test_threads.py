"""Several threads give what one gives: the same bits, the same errors, in the context of whoever asked."""

import threading
from collections.abc import Iterator

import numpy as np
import pytest

import discreet as ds
from discreet.sources import open_source, threads


@pytest.mark.parametrize("count", [1, 2, 5])
def test_results_are_combined_in_the_order_of_the_batches(count: int) -> None:
    # Text is joined in one order only, and each thread stops others from going first.
    barrier = threading.Event()

    def step(place: int) -> str:
        if place == 0 and count > 1:
            barrier.wait(10)
        if place == 1:
            barrier.set()
        return f"{place} "

    number, joined = threads.combined(iter(range(100)), step, str.__add__, count)
    assert number == 100
    assert joined == "".join(f"{place} " for place in range(100))


def test_no_batches() -> None:
    assert threads.combined(iter(()), str, str.__add__, 4) == (0, None)


@pytest.mark.parametrize("count", [1, 4])
def test_the_error_of_the_first_batch_that_fails_is_told(count: int) -> None:
    late = threading.Event()

    def step(place: int) -> int:
        if place == 3 and count > 1:
            late.wait(10)
        if place == 4:
            late.set()
        if place >= 3:
            raise ValueError(place)
        return place

    with pytest.raises(ValueError, match=r"^3$"):
        threads.combined(iter(range(1000)), step, int.__add__, count)


def test_an_interrupt_ends_all_threads() -> None:
    begun = threading.active_count()
    main = threading.get_ident()

    def step(place: int) -> int:
        if threading.get_ident() == main:
            raise KeyboardInterrupt
        return place

    with pytest.raises(KeyboardInterrupt):
        threads.combined(iter(range(10**9)), step, int.__add__, 3)
    assert threading.active_count() == begun


@pytest.mark.parametrize("count", [1, 3])
def test_what_makes_batches_is_closed_and_its_error_told(count: int) -> None:
    closed = []

    def batches(last: int) -> Iterator[int]:
        try:
            yield from range(last)
            raise OSError("gone")
        finally:
            closed.append(last)

    def step(place: int) -> int:
        if place == 7:
            raise ValueError("seven")
        return place

    with pytest.raises(OSError, match="gone"):
        threads.combined(batches(7), step, int.__add__, count)
    with pytest.raises(ValueError, match="seven"):  # the earlier of two
        threads.combined(batches(8), step, int.__add__, count)
    with pytest.raises(ValueError, match="seven"):
        threads.combined(batches(10**9), step, int.__add__, count)
    assert closed == [7, 8, 10**9]


def test_what_waits_for_an_earlier_batch_is_bounded() -> None:
    behind, held, most = threading.Event(), 0, 0
    lock = threading.Lock()

    def step(place: int) -> int:
        nonlocal held, most
        if place == 0:
            behind.wait(0.05)
        with lock:
            held += 1
            most = max(most, held)
        return 1

    def combine(left: int, right: int) -> int:
        nonlocal held
        with lock:
            held -= 1
        return left + right

    assert threads.combined(iter(range(500)), step, combine, 2) == (500, 500)
    assert most <= 10


def test_helpers_keep_the_context() -> None:
    # Every thread divides by zero, and a warning is an error in tests.
    seen = set()
    both = threading.Barrier(2, timeout=10)

    def step(place: int) -> float:
        if place < 2:
            both.wait()
        seen.add(threading.get_ident())
        return float((np.full(1000, float(place)) / np.zeros(1000))[0])

    with np.errstate(all="ignore"):
        threads.combined(iter(range(8)), step, float.__add__, 2)
    assert len(seen) == 2


@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
def test_a_table_gives_the_same_bits_for_any_number_of_threads(neighbors: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    size = 5000
    table = {
        "x": np.where(rng.random(size) < 0.1, np.nan, rng.normal(0, 2, size)),
        "y": rng.exponential(1, size),
        "g": rng.choice(["a", "b", "c", ""], size),
        "t": rng.choice(["north", "south"], size),
        "who": rng.integers(0, 900, size),
    }
    columns = {
        "x": ds.Real(-3, 3),
        "y": ds.Real(0, 5),
        "g": ds.Categories(["a", "b", "c"]),
        "t": ds.Text(),
        "z": ds.Real(-9, 9, formula="x / y + x ** 3"),
    }
    schema = ds.Schema(columns, person="who", max_rows=4, neighbors=neighbors)  # type: ignore[arg-type]
    found = []
    for count, rows in ((1, size), (1, 301), (3, 301), (8, 77)):
        monkeypatch.setattr(threads, "available", lambda count=count: count)
        session = ds.Session(table, schema, ledger="test", seed=3)
        session._source = open_source(table, schema, batch_rows=rows)
        where = "not startswith(t, 'n') or y > 1"
        asked = [
            session.mean("z", by="g", where=where, epsilon=1),
            session.histogram("x", bins=[-3, -1, 0.5, 3], epsilon=1),
            session.covariance("x", "y", epsilon=1),
            session.count_people(where=where, epsilon=1),
            session.quantile("z", 0.3, epsilon=1),
        ]
        found.append([np.asarray(each.value).tolist() for each in asked])
    assert found[1:] == [found[0]] * 3


def test_a_wide_row_takes_fewer_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "available", lambda: 8)
    schema = ds.Schema({"x": ds.Real(0, 1), "g": ds.Categories(list(range(200)))})
    source = open_source({"x": np.zeros(3 << 19, np.int8), "g": np.zeros(3 << 19, np.int8)}, schema)
    assert [source._threads(names) for names in (["x"], ["x", "g"], [])] == [3, 1, 3]  # type: ignore[attr-defined]
    assert source._room(["x", "g"])[1] == 1 << 16  # type: ignore[attr-defined]
