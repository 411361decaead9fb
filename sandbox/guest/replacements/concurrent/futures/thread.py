"""An executor for a program that is one thread: a call is made when it is submitted, to its end."""

from concurrent.futures import _base


class BrokenThreadPool(_base.BrokenExecutor):
    """The initializer failed."""


class ThreadPoolExecutor(_base.Executor):
    BROKEN = BrokenThreadPool

    def __init__(self, max_workers=None, thread_name_prefix="", initializer=None, initargs=()):
        if max_workers is None:
            max_workers = 5
        if max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        self._max_workers, self._thread_name_prefix = max_workers, thread_name_prefix
        self._initializer, self._initargs = initializer, initargs
        self._broken = self._shutdown = False

    def submit(self, fn, /, *args, **kwargs):
        if self._broken:
            raise self.BROKEN(self._broken)
        if self._shutdown:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future = _base.Future()
        future.set_running_or_notify_cancel()
        if self._initialize(future):
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:
                future.set_exception(error)
        return future

    def _initialize(self, future):
        """Once, before the first call, as the only worker would."""
        initializer, self._initializer = self._initializer, None
        try:
            if initializer is not None:
                initializer(*self._initargs)
            return True
        except BaseException:
            _base.LOGGER.critical("Exception in initializer:", exc_info=True)
            self._broken = "A thread initializer failed, the thread pool is not usable anymore"
            future.set_exception(self.BROKEN(self._broken))
            return False

    def shutdown(self, wait=True, *, cancel_futures=False):
        self._shutdown = True
