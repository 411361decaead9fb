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
    """The standard streams are ready, and nothing else that a program could wait for becomes so."""
    ready = [one for one in readable if _descriptor(one) == 0], [one for one in writable if _descriptor(one) in (1, 2)]
    if any(ready):
        return *ready, []
    if timeout is None:
        raise OSError("nothing will be ready, and no time ends the wait")
    wait(max(timeout, 0))
    return [], [], []


def _descriptor(one):
    return one if isinstance(one, int) else one.fileno()


def _formatted(form, at=None, /):
    at = _localtime() if at is None else at
    if not _is_plain(form):
        form = _DIRECTIVE.sub(lambda found: _part(*found.group(0, 1, 2, 3), at).replace("%", "%%"), form)
    return _strftime(form, at)


def _part(directive, flags, width, name, at):
    """What glibc makes of a directive. The library in here makes nothing at all of a text with one that it lacks."""
    if not name or name not in _NUMBERS + _TEXTS:
        return directive
    # Empty is the zone alone, of a time that names none.
    text = _strftime("%" + {"k": "H", "l": "I", "P": "p"}.get(name, name), at) or "UTC"
    if name in _NUMBERS:
        spaces = "-" in flags or "_" in flags or name in "ekl" and "0" not in flags
        width = int(width) if width else 0 if "-" in flags else len(text)
        text = (text.strip().lstrip("0") or "0").rjust(width, " " if spaces else "0")
    elif width:
        text = text.rjust(int(width), "0" if "0" in flags else " ")
    if name == "P" or "#" in flags and name in "pZ":
        return text.lower()
    return text.upper() if "^" in flags or "#" in flags and name in "aAbBh" else text


_NUMBERS, _TEXTS = "CdeGgHIjklmMSuUVwWyY", "aAbBcDFhnpPrRstTxXzZ%"
_localtime, _asctime, _strftime = _now_unless(time.localtime), time.asctime, time.strftime
_replaced = {
    "time": lambda: 1.7e9 + _read() / 1000,
    "time_ns": lambda: 1_700_000_000_000_000_000 + _read() * 1_000_000,
    **dict.fromkeys(("monotonic", "perf_counter", "process_time", "thread_time"), lambda: _read() / 1000),
    **dict.fromkeys(
        ("monotonic_ns", "perf_counter_ns", "process_time_ns", "thread_time_ns"), lambda: _read() * 1_000_000
    ),
    "tzset": lambda: None,
    "localtime": _localtime,
    "gmtime": _now_unless(time.gmtime),
    "ctime": _now_unless(time.ctime),
    "asctime": lambda at=None, /: _asctime(_localtime() if at is None else at),
    "strftime": _formatted,
    "get_clock_info": _clock_info,
    "clock_gettime": _clock_gettime,
    "clock_gettime_ns": _clock_gettime_ns,
    "clock_getres": lambda _clock, /: 1e-3,
    "sleep": _sleep,
}
# A function of C does not become a method of the class that keeps it, as `logging.Formatter.converter` is kept.
for _name, _function in _replaced.items():
    setattr(time, _name, staticmethod(_function))
time.CLOCK_PROCESS_CPUTIME_ID, time.CLOCK_THREAD_CPUTIME_ID, time.CLOCK_MONOTONIC_RAW = 2, 3, 4
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

# Only now, so that they keep the functions above.
import queue
import re

_DIRECTIVE = re.compile(r"%([-_0^#]*)(\d*)[EO]?(.?)", re.DOTALL)
# A text that the library in here makes the same of.
_is_plain = re.compile(r"(?:[^%]++|%[-_0]?[EO]?[aAbBcCdDeFgGhHIjmMnprRsStTuUVwWxXyYz%])*+").fullmatch

# A RuntimeError to programs, which threads tell from others.
Deadlock = type("RuntimeError", (RuntimeError,), {"__module__": "builtins"})


def wait_in_vain(timeout=None):
    """Nobody else will end this wait: it lasts as long as it may, and one that may last for ever is an error."""
    if timeout is None:
        raise Deadlock("a deadlock: no other thread will release this lock")
    wait(max(timeout, 0))


_try = _thread.lock.acquire


def _acquire(self, blocking=True, timeout=-1):
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
    wait_in_vain(None if timeout == -1 else timeout)
    return False


_replace_methods(_thread.lock, acquire=_acquire)
# The one of C waits without asking a lock.
queue.SimpleQueue = queue._PySimpleQueue
# Methods that have been looked up are remembered.
sys._clear_type_cache()
