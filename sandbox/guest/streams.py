"""Standard input and output of a program, built as CPython builds them: text over a buffer over a descriptor.

There are no other files but the null device. What each layer reads ahead or has not handed on yet is lost to the others, as it is
elsewhere: after `input()`, `open(0)` has the rest of no more than what `input` has not read ahead.
"""

import builtins
import errno
import gc
import io
import operator
import os
import posix
import sys
import weakref

# Most that a program may print, in bytes: as much as may cross to the host.
OUTPUT_MAX = 1 << 20
# The null device is a stream beside the three, and its own descriptor until it is opened.
_NULL = os.devnull
# Descriptors by other names.
_PATHS = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2, _NULL: _NULL}
_PATHS |= {f"{folder}/{number}": number for folder in ("/dev/fd", "/proc/self/fd") for number in range(3)}
# What a program says that prints past `print`, or ends without what is kept.
_BESIDE = (
    "_exit", "os.write", "os.close", "os.dup", "from os import", "os as ", "posix", "fileno", "FileIO", "open(1", "/dev/", "out.buffer",
    "def flush",
)  # fmt: skip


class Output:
    """Keeps what is printed, past its own closing; more than may be printed is an error, and stays one."""

    def __init__(self):
        self.parts, self.size = [], 0
        # The status that `os._exit` was given: nothing counts that comes after it.
        self.left = None

    def write(self, data):
        data = memoryview(data).tobytes()
        if self.left is None:
            self.size += len(data)
            if self.size > OUTPUT_MAX:
                raise OSError(errno.EFBIG, f"more than {OUTPUT_MAX} bytes of output")
            self.parts.append(data)
        return len(data)


class _Nowhere(Output):
    """Takes every byte and keeps none."""

    def write(self, data):
        return memoryview(data).nbytes


class _System:
    """The descriptors of a program, and what it calls that knows of them.

    Methods of an object, because these do not become methods of a class that keeps one, as functions of Python would.
    """

    def __init__(self):
        self.nowhere = _Nowhere()
        # By descriptor, which stream it is.
        self.streams = {0: 0, 1: 1, 2: 2, _NULL: _NULL}
        # Files for writing beside the standard ones.
        self.files = weakref.WeakSet()
        self.connect(b"", self.nowhere)
        self.suit("")

    def suit(self, source):
        """What costs much is done for a program that may see a difference, found by its text."""
        self.makes_streams = "TextIOWrapper" in source or "BufferedWriter" in source
        self.hands_on = "input" in source and any([word in source for word in _BESIDE])

    def connect(self, stdin, output):
        """Gives the program these bytes to read, and prints to `output`."""
        self.stdin, self.place, self.output = stdin, 0, output

    def stream(self, descriptor):
        if descriptor not in self.streams:
            raise _bad_descriptor()
        return self.streams[descriptor]

    def isatty(self, descriptor, /):
        return False

    def read(self, descriptor, count, /):
        stream = self.stream(descriptor)
        if stream == _NULL:
            return b""
        if stream != 0:
            raise _bad_descriptor()
        if count < 0:
            raise OSError(errno.EINVAL, "Invalid argument")
        begin, self.place = self.place, min(self.place + count, len(self.stdin))
        return self.stdin[begin : self.place]

    def readinto(self, descriptor, buffer, /):
        with memoryview(buffer).cast("B") as view:
            data = self.read(descriptor, len(view))
            view[: len(data)] = data
        return len(data)

    def write(self, descriptor, data, /):
        # Not by `stream`, which every call of `os.write` would pay for.
        stream = self.streams.get(descriptor)
        if stream == 1:
            return self.output.write(data)
        if not stream:
            raise _bad_descriptor()
        return self.nowhere.write(data)

    def dup(self, descriptor, /):
        # The lowest that is free.
        number = 0
        while number in self.streams:
            number += 1
        self.streams[number] = self.stream(descriptor)
        return number

    def dup2(self, descriptor, other, inheritable=True):
        self.streams[other] = self.stream(descriptor)
        return other

    def close(self, descriptor, /):
        self.stream(descriptor)
        del self.streams[descriptor]

    def status(self, path, *_, **__):
        stream = self.stream(path) if isinstance(path, int) else _PATHS.get(path)
        if stream is None:
            raise _no_file(path)
        # A pipe, or a device.
        mode = 0o020666 if stream == _NULL else 0o010600
        return os.stat_result((mode, 0, 0, 1, 0, 0, len(self.stdin) if stream == 0 else 0, 0, 0, 0))

    def _exit(self, status=0):
        self.output.left = operator.index(status)
        raise SystemExit(status)

    def hand_on(self):
        """Flushes standard output as the interpreter does by itself: past every error. Only `os._exit` ends the program here."""
        try:
            sys.stdout.flush()
        except BaseException:
            if self.output.left is not None:
                raise

    def input(self, prompt="", /):
        try:
            if sys.stdout is None:
                # As where it was deleted.
                raise AttributeError
            if prompt != "":
                sys.stdout.write(str(prompt))
            if self.hands_on:
                self.hand_on()
            line = sys.stdin.readline()
        except AttributeError:
            for name in ("stdin", "stdout"):
                if getattr(sys, name, None) is None:
                    raise RuntimeError(f"input(): lost sys.{name}") from None
            raise
        if not line:
            raise EOFError("EOF when reading a line")
        # Of bytes as well, where those are read.
        return line[:-1] if line[-1] in ("\n", 10) else line

    def open(self, file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None):
        if isinstance(file, os.PathLike):
            file = os.fspath(file)
        try:
            raw = FileIO(file, mode.replace("b", "").replace("t", "") or "r", closefd)
        except FileNotFoundError:
            if set(mode) & set("wax+"):
                raise PermissionError(errno.EACCES, "a program has no files", file) from None
            raise
        if "b" in mode and buffering == 0:
            return raw
        buffer = _buffered(raw)
        return buffer if "b" in mode else _text(buffer, mode, encoding, errors, newline, buffering == 1)


class FileIO(io.RawIOBase):
    """A stream by its descriptor, or by a name that it has. The file closes the descriptor, unless told not to."""

    # Of one that was not opened. Each layer above asks whether it is closed, at every call: a plain attribute costs them least.
    closefd, closed, _reads, _writes = False, False, False, False

    def __init__(self, file, mode="r", closefd=True, opener=None):
        self.name = file
        if isinstance(file, int):
            _system.stream(file)
        elif file in _PATHS:
            # A name opens the stream anew.
            file, closefd = _system.dup(_PATHS[file]), True
        else:
            raise _no_file(file)
        self.mode, self.closefd, self._descriptor = f"{mode[0]}b{mode[1:]}", closefd, file
        self._reads, self._writes = bool(set(mode) & set("r+")), bool(set(mode) & set("wax+"))
        if self._writes:
            _system.files.add(self)

    def fileno(self):
        self._checkClosed()
        return self._descriptor

    def readable(self):
        return self._reads

    def writable(self):
        return self._writes

    def readinto(self, buffer, /):
        if self.closed:
            raise _closed()
        return _system.readinto(self._descriptor, buffer)

    def readall(self):
        return _system.read(self.fileno(), len(_system.stdin))

    def write(self, data, /):
        if self.closed:
            raise _closed()
        return _system.write(self._descriptor, data)

    def close(self):
        if not self.closed:
            super().close()
            self.closed = True
            if self.closefd:
                _system.streams.pop(self._descriptor, None)


def _buffered(raw):
    if not raw.writable():
        return io.BufferedReader(raw)
    # Both ways goes the null device alone.
    return io.BufferedRWPair(raw, raw) if raw.readable() else io.BufferedWriter(raw)


def _text(buffer, mode, encoding=None, errors=None, newline=None, is_by_line=False):
    encoding = "utf-8" if encoding in (None, "locale") else encoding
    stream = io.TextIOWrapper(buffer, encoding, errors, newline, is_by_line)
    stream.mode = mode
    return stream


def _standard(descriptor, name, mode, errors="strict"):
    raw = FileIO(descriptor, mode, False)
    raw.name = name
    return _text(_buffered(raw), mode, errors=errors, newline=None if mode == "r" else "\n")


def _bad_descriptor():
    return OSError(9, "Bad file descriptor")


def _closed():
    return ValueError("I/O operation on closed file")


def _no_file(path, *_, **__):
    return FileNotFoundError(errno.ENOENT, "a program has no files", path)


def finish(stdout):
    """Hands on what is still kept when a program ends: of standard output, whose errors are the program's, then of all other streams."""
    now = getattr(sys, "stdout", None)
    if now is not None and not getattr(now, "closed", False):
        try:
            now.flush()
        except OSError:
            # Of more than may be printed the host is told, whatever the program made of it.
            if _system.output.size <= OUTPUT_MAX:
                raise
    others = []
    files = list(_system.files)
    if _system.makes_streams or files:
        buffers = _over(io.BufferedWriter, _raw, *files)
        others = _over(io.TextIOWrapper, _printed, *buffers) + buffers
    # Last, what the others have written to.
    for stream in (*others, now, stdout, _printed):
        try:
            if stream is not None:
                stream.flush()
        except Exception:
            # Closed, detached, or without a descriptor by now: CPython says so and ends as it would have.
            pass


def _over(kind, *streams):
    """The streams of this kind that lie over one of these."""
    return [one for one in gc.get_referrers(*streams) if issubclass(type(one), kind)]


_system = _System()
connect, suit, hand_on = _system.connect, _system.suit, _system.hand_on
builtins.input = _system.input
builtins.open = io.open = _system.open
builtins.exit = builtins.quit = sys.exit
io.FileIO = FileIO
for _module in (os, posix):
    for _name in ("read", "readinto", "write", "isatty", "_exit", "dup", "dup2", "close"):
        setattr(_module, _name, getattr(_system, _name))
os.stat = os.lstat = os.fstat = _system.status
sys.stdin = sys.__stdin__ = _standard(0, "<stdin>", "r")
sys.stdout = sys.__stdout__ = _standard(1, "<stdout>", "w")
sys.stderr = sys.__stderr__ = _standard(2, "<stderr>", "w", "backslashreplace")
_printed, _raw = sys.stdout.buffer, sys.stdout.buffer.raw
_system.files.clear()
