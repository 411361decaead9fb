"""Time as a program finds it: it goes by the program's own doing, the same way in every run.

Imported before the rest of the library, which keeps references to these functions.
"""

import _lsprof
import _thread
import datetime
import gc
import os
import select
import sys
import time
import types


_readings = 0


def _read():
    """Every reading is a millisecond later, so that `while time() < end` ends, always alike."""
    global _readings
    _readings += 1
    return _readings


def seconds():
    """The time, without a reading of it."""
    return _readings / 1000


def wait(seconds):
    global _readings
    _readings += round(1000 * seconds)


def _clock_info(name):
    if name not in ("time", "monotonic", "perf_counter", "process_time", "thread_time"):
        raise ValueError("unknown clock")
    settable = name == "time"
    return types.SimpleNamespace(implementation="logical", monotonic=not settable, adjustable=settable, resolution=1e-3)


def _sleep(seconds, /):
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    wait(seconds)


def _clock_gettime(clock, /):
    return time.time() if clock == time.CLOCK_REALTIME else time.monotonic()


def _clock_gettime_ns(clock, /):
    return time.time_ns() if clock == time.CLOCK_REALTIME else time.monotonic_ns()


def _now_unless(convert):
    """The same conversion, where it is given no time."""
    return lambda seconds=None, /: convert(time.time() if seconds is None else seconds)


def _select(readable, writable, exceptional, timeout=None, /):
    """Nothing that a program could wait for becomes ready."""
    if timeout is None:
        raise OSError("nothing will be ready, and no time ends the wait")
    wait(max(timeout, 0))
    return [], [], []


_localtime, _asctime, _strftime = _now_unless(time.localtime), time.asctime, time.strftime
_replaced = {
    "time": lambda: 1.7e9 + _read() / 1000,
    "time_ns": lambda: 1_700_000_000_000_000_000 + _read() * 1_000_000,
    **dict.fromkeys(("monotonic", "perf_counter", "process_time", "thread_time"), lambda: _read() / 1000),
    **dict.fromkeys(("monotonic_ns", "perf_counter_ns", "process_time_ns"), lambda: _read() * 1_000_000),
    "localtime": _localtime,
    "gmtime": _now_unless(time.gmtime),
    "ctime": _now_unless(time.ctime),
    "asctime": lambda at=None, /: _asctime(_localtime() if at is None else at),
    "strftime": lambda form, at=None, /: _strftime(form, _localtime() if at is None else at),
    "get_clock_info": _clock_info,
    "clock_gettime": _clock_gettime,
    "clock_gettime_ns": _clock_gettime_ns,
    "clock_getres": lambda _clock, /: 1e-3,
    "sleep": _sleep,
}
# A function of C does not become a method of the class that keeps it, as `logging.Formatter.converter` is kept.
for _name, _function in _replaced.items():
    setattr(time, _name, staticmethod(_function))
select.select = staticmethod(_select)
# The other ways of waiting ask the system whether they work; without them `selectors` takes the one above.
for _name in ("poll", "epoll", "kqueue", "devpoll"):
    if hasattr(select, _name):
        delattr(select, _name)


class _Profiler(_lsprof.Profiler):
    def __init__(self, timer=None, *settings, **named):
        super().__init__(timer or time.perf_counter, *settings, **named)


_lsprof.Profiler = _Profiler

# In one process that begins with the program.
os.times = staticmethod(lambda: os.times_result((spent := _read() / 1000, 0.0, 0.0, 0.0, spent)))


def _replace_methods(of, **methods):
    """Replaces methods of a class that is made in C, which takes no assignment."""
    (members,) = gc.get_referents(of.__dict__)
    members.update(methods)


def _now(cls, tz=None):
    """The moment as a datetime, in the local zone or in `tz`."""
    return cls.fromtimestamp(time.time(), tz)


def _utcnow(cls):
    """The moment as a naive datetime in UTC."""
    return cls.utcfromtimestamp(time.time())


_replace_methods(datetime.datetime, now=classmethod(_now), utcnow=classmethod(_utcnow))

# Only now, so that it keeps the functions above.
import queue

_try = _thread.lock.acquire


def _acquire(self, blocking=True, timeout=-1):
    """No other thread will release a lock that is held: what waits for it with a timeout waits that long."""
    if timeout != -1:
        if not blocking:
            raise ValueError("can't specify a timeout for a non-blocking call")
        if timeout < 0:
            raise ValueError("timeout value must be a non-negative number")
        if timeout > _thread.TIMEOUT_MAX:
            raise OverflowError("timeout value is too large")
    if _try(self, False):
        return True
    if not blocking:
        return False
    if timeout == -1:
        raise RuntimeError("a deadlock: no other thread will release this lock")
    wait(timeout)
    return False


_replace_methods(_thread.lock, acquire=_acquire)
# The one of C waits without asking a lock.
queue.SimpleQueue = queue._PySimpleQueue
# Methods that have been looked up are remembered.
sys._clear_type_cache()
