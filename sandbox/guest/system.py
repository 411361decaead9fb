"""What a program asks of a system that is not there: a refusal that Python names, where the call itself would end the program.

Imported before the audit hook is set; like that hook, it only gives honest programs ordinary errors.
"""

import faulthandler
import os
import posix
import signal
import sys


def _refused(name, why=""):
    def refuse(*_, **__):
        raise PermissionError(f"a program cannot use {name}{why}")

    return staticmethod(refuse)


def _always(value):
    return staticmethod(lambda *_, **__: value)


def _chdir(path, /):
    """Programs enter the folder that they lie in, the only one that there is."""
    if os.path.abspath(path) != "/":
        raise PermissionError("a program cannot use os.chdir")


# What CPython leaves out on this system, and programs that were written for another one call. What they look for before they call it,
# as `os.fork`, stays away.
_PROCESSES = ("execv", "execve", "kill", "killpg", "system", "wait", "waitpid")
_TIMERS = ("ITIMER_REAL", "ITIMER_VIRTUAL", "ITIMER_PROF")


for _module in (os, posix):
    for _name in ("abort", "get_terminal_size", "getloadavg", "getlogin", "readlink"):
        setattr(_module, _name, _refused(f"os.{_name}"))
    # There is nothing to be read, written or run.
    _module.access = staticmethod(lambda path, mode, **_: False)
    # What is set in `os.environ` stays there: no process inherits it.
    _module.putenv = staticmethod(lambda _name, _value, /: None)
    _module.unsetenv = staticmethod(lambda _name, /: None)
    _module.chdir = staticmethod(_chdir)
    # What it would close is not open, and that is no error.
    _module.closerange = _always(None)
    for _name in _PROCESSES:
        setattr(_module, _name, _refused(f"os.{_name}", ": it is one process"))
    # The same everywhere.
    for _name in ("getuid", "geteuid", "getgid", "getegid"):
        setattr(_module, _name, _always(1000))
    for _name in ("getppid", "getpgrp", "getpgid", "getsid"):
        setattr(_module, _name, _always(1))
    _module.nice, _module.getgroups, _module.umask = _always(0), _always([1000]), _always(0o022)
    _module.sched_setaffinity = _always(None)
    _module.getrandom = staticmethod(lambda size, flags=0: os.urandom(size))
    _module.uname = _always(os.uname_result(("Linux", "sandbox", "6.0", "", "x86_64")))
    _module.sched_getaffinity = staticmethod(lambda _process, /: {0})
    # None is a terminal.
    _module.device_encoding = staticmethod(lambda _descriptor, /: None)
signal.raise_signal = _refused("signal.raise_signal")
signal.pause = _refused("signal.pause", ": no signal reaches it")
# Set, and never due.
signal.alarm = _always(0)
signal.setitimer = signal.getitimer = _always((0.0, 0.0))
signal.siginterrupt = _always(None)
signal.ItimerError = OSError
for _number, _name in enumerate(_TIMERS):
    setattr(signal, _name, _number)
# They would be written where a program's error output goes, which nobody reads.
faulthandler.dump_traceback = staticmethod(lambda *_, **__: None)
sys._debugmallocstats = staticmethod(lambda: None)
