"""How many threads a BLAS uses, and one of them for products of a few rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock

from threadpoolctl import ThreadpoolController

_within = Lock()


def blas_threads() -> tuple[int, ...]:
    """How many threads each BLAS of this process, and each OpenMP that one may be built on, would use now in this thread.

    Whoever shares the process may change that at any time.
    """
    return tuple(library.get_num_threads() for library in _controller().lib_controllers)


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for every BLAS of this process; then as many as before.

    Products of a few rows take microseconds: threads wait for one another for longer than they work, and on a machine that
    is busy with other things many times longer. Where another of our threads is within, it does all of that: two who
    put back what they found could leave one thread for good.
    """
    if not _within.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _within.release()


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
