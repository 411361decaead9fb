"""What a program asks of a system that is not there: a refusal that Python names, where the call itself would end the program.

Imported before the audit hook is set; like that hook, it only gives honest programs ordinary errors.
"""

import faulthandler
import os
import posix
import signal
import sys


def _refused(name):
    def refuse(*_, **__):
        raise PermissionError(f"a program cannot use {name}")

    return staticmethod(refuse)


def _close(descriptor, /):
    """Only the standard streams are open, and they are no files of a system."""
    if descriptor not in (0, 1, 2):
        raise OSError(9, "Bad file descriptor")


for _module in (os, posix):
    for _name in ("abort", "readlink"):
        setattr(_module, _name, _refused(f"os.{_name}"))
    _module.close = staticmethod(_close)
    # There is nothing to be read, written or run.
    _module.access = staticmethod(lambda path, mode, **_: False)
    # What is set in `os.environ` stays there: no process inherits it.
    _module.putenv = staticmethod(lambda _name, _value, /: None)
    _module.unsetenv = staticmethod(lambda _name, /: None)
    # None is a terminal.
    _module.device_encoding = staticmethod(lambda _descriptor, /: None)
signal.raise_signal = _refused("signal.raise_signal")
# They would be written where a program's error output goes, which nobody reads.
faulthandler.dump_traceback = staticmethod(lambda *_, **__: None)
sys._debugmallocstats = staticmethod(lambda: None)
