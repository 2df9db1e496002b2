"""How many threads a BLAS uses, and one of them for products of a few rows."""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import lru_cache
from threading import RLock, get_ident

from threadpoolctl import ThreadpoolController


def blas_threads() -> tuple[int, ...]:
    """How many threads each BLAS of this process, and each OpenMP that one may be built on, would use now in this thread.

    Whoever shares the process may change that at any time.
    """
    return tuple(library.get_num_threads() for library in _controller().lib_controllers)


class _OneThread:
    """One thread for every BLAS of this process, as far as nobody else holds their number; then as many as before.

    Products of a few rows take microseconds: threads wait for one another for longer than they work, and on a machine that
    is busy with other things many times longer. One of our threads is within at a time, others wait: a number that changed
    between two of somebody's products would change what they give to rows. A thread that is within may enter again.
    ``threads`` are those that there were when the first of its entries was made.
    """

    threads: tuple[int, ...]

    def __init__(self) -> None:
        self._lock, self._depth = RLock(), 0
        self._owner: int | None = None
        self._limit = ExitStack()

    def __enter__(self) -> None:
        self._lock.acquire()
        if not self._depth:
            try:
                self.threads = blas_threads()
                if max(self.threads, default=1) > 1:
                    self._limit.enter_context(_controller().limit(limits=1, user_api="blas"))
                    self.threads = blas_threads()
            except BaseException:
                self._lock.release()
                raise
            self._owner = get_ident()
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        try:
            if not self._depth:
                self._limit.close()
                self._owner = None
        finally:
            self._lock.release()

    def after_fork(self) -> None:
        """In a child, the thread that was within is not there to leave."""
        if self._owner != get_ident():
            self._limit.close()
            self.__init__()  # type: ignore[misc]


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


one_thread = _OneThread()
if hasattr(os, "register_at_fork"):  # everywhere but on Windows, where nothing forks
    os.register_at_fork(after_in_child=one_thread.after_fork)
