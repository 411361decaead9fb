"""Limits and use of a system that is not there: limits are taken and have no effect, because a program's budget is its host's."""

import collections
import time

error = OSError
RLIM_INFINITY = -1
(
    RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_STACK, RLIMIT_CORE, RLIMIT_RSS, RLIMIT_NPROC, RLIMIT_NOFILE, RLIMIT_MEMLOCK,
    RLIMIT_AS,
) = range(10)  # fmt: skip
RUSAGE_SELF, RUSAGE_CHILDREN, RUSAGE_THREAD = 0, -1, 1
_limits = dict.fromkeys(range(10), (RLIM_INFINITY, RLIM_INFINITY))
struct_rusage = collections.namedtuple(
    "struct_rusage",
    "ru_utime ru_stime ru_maxrss ru_ixrss ru_idrss ru_isrss ru_minflt ru_majflt ru_nswap ru_inblock ru_oublock ru_msgsnd ru_msgrcv "
    "ru_nsignals ru_nvcsw ru_nivcsw",
)


def getrlimit(resource, /):
    if resource not in _limits:
        raise ValueError("invalid resource specified")
    return _limits[resource]


def setrlimit(resource, limits, /):
    getrlimit(resource)
    soft, hard = limits
    if hard != RLIM_INFINITY and (soft == RLIM_INFINITY or soft > hard):
        raise ValueError("current limit exceeds maximum limit")
    _limits[resource] = (soft, hard)


def prlimit(pid, resource, limits=None, /):
    before = getrlimit(resource)
    if limits is not None:
        setrlimit(resource, limits)
    return before


def getrusage(who, /):
    """The program's time by its logical clock, and a memory that does not change."""
    return struct_rusage(time.process_time(), 0.0, 20 * 1024, *[0] * 13)


def getpagesize():
    return 4096
