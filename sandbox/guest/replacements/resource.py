"""Limits and use of a system that is not there: limits are taken and have no effect, because a program's budget is its host's."""

import time
from types import SimpleNamespace

error = OSError
RLIM_INFINITY = -1
(
    RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_STACK, RLIMIT_CORE, RLIMIT_RSS, RLIMIT_NPROC, RLIMIT_NOFILE, RLIMIT_MEMLOCK,
    RLIMIT_AS,
) = range(10)  # fmt: skip
RUSAGE_SELF, RUSAGE_CHILDREN, RUSAGE_THREAD = 0, -1, 1
_limits = {}


def getrlimit(resource, /):
    return _limits.get(resource, (RLIM_INFINITY, RLIM_INFINITY))


def setrlimit(resource, limits, /):
    soft, hard = limits
    _limits[resource] = (soft, hard)


def prlimit(pid, resource, limits=None, /):
    before = getrlimit(resource)
    if limits is not None:
        setrlimit(resource, limits)
    return before


def getrusage(who, /):
    """The program's time by its logical clock, and a memory that does not change."""
    counts = dict.fromkeys(
        "ru_ixrss ru_idrss ru_isrss ru_minflt ru_majflt ru_nswap ru_inblock ru_oublock ru_msgsnd ru_msgrcv ru_nsignals ru_nvcsw "
        "ru_nivcsw".split(),
        0,
    )
    return SimpleNamespace(ru_utime=time.process_time(), ru_stime=0.0, ru_maxrss=20 * 1024, **counts)


def getpagesize():
    return 4096
