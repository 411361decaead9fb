"""The pool of processes of a program that is one process: its calls are made where they are submitted."""

from concurrent.futures import _base
from concurrent.futures.thread import ThreadPoolExecutor


class BrokenProcessPool(_base.BrokenExecutor):
    """The initializer failed."""


class ProcessPoolExecutor(ThreadPoolExecutor):
    BROKEN = BrokenProcessPool

    def __init__(
        self, max_workers=None, mp_context=None, initializer=None, initargs=(), *, max_tasks_per_child=None
    ):
        super().__init__(max_workers, "", initializer, initargs)
