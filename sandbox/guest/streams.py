"""Standard input and output of a program: a text that it reads, and a buffer that takes what it prints.

There are no other files but the null device. Descriptors 0, 1 and 2 are what a program expects of them where it asks for them by number.
"""

import builtins
import errno
import io
import os
import sys

# Most that a program may print, in bytes: as much as may cross to the host.
OUTPUT_MAX = 1 << 20


class _Input(io.BytesIO):
    def fileno(self):
        return 0


class _Nowhere(io.BufferedIOBase):
    """Takes every byte."""

    def __init__(self, descriptor):
        self.descriptor = descriptor

    def writable(self):
        return True

    def fileno(self):
        return self.descriptor

    def write(self, data):
        return len(data)


class _Null(_Nowhere):
    """The null device, which is empty as well."""

    def __init__(self):
        super().__init__(3)

    def readable(self):
        return True

    def read(self, size=-1, /):
        return b""

    read1 = read


class Output(_Nowhere):
    """Keeps what is printed, past its own closing; more than may be printed is an error, and stays one."""

    def __init__(self):
        super().__init__(1)
        self.parts, self.size = [], 0

    def write(self, data):
        data = bytes(data)
        self.size += len(data)
        if self.size > OUTPUT_MAX:
            raise OSError(errno.EFBIG, f"more than {OUTPUT_MAX} bytes of output")
        self.parts.append(data)
        return len(data)


def _text(buffer, mode, errors="strict"):
    stream = io.TextIOWrapper(buffer, encoding="utf-8", errors=errors, newline=None if mode == "r" else "\n")
    stream.mode = mode
    return stream


def connect(stdin, output):
    """Gives the program these bytes to read, and prints to `output`."""
    global _input, _output
    _input, _output = _Input(stdin), output
    sys.stdin = sys.__stdin__ = _text(_input, "r")
    sys.stdout = sys.__stdout__ = _text(output, "w")


def flush(stream):
    """What the interpreter does when a program ends."""
    if stream is not None and not getattr(stream, "closed", False):
        stream.flush()


def _read_line(prompt="", /):
    if prompt != "":
        sys.stdout.write(str(prompt))
    line = sys.stdin.readline()
    if not line:
        raise EOFError("EOF when reading a line")
    return line[:-1] if line[-1] == "\n" else line


def _open(file, mode="r", *_, **__):
    if isinstance(file, os.PathLike):
        file = os.fspath(file)
    stream = {0: sys.__stdin__, 1: sys.__stdout__, 2: sys.__stderr__, "/dev/stdin": sys.__stdin__}.get(file)
    if file == os.devnull:
        # A text stream that is dropped closes its buffer, so bytes have one of their own.
        return _Null() if "b" in mode else _text(_Null(), mode)
    if stream is not None:
        return stream.buffer if "b" in mode else stream
    if set(mode) & set("wax+"):
        raise PermissionError(errno.EACCES, "a program has no files", file)
    raise _no_file(file)


def _no_file(path, *_, **__):
    return FileNotFoundError(errno.ENOENT, "a program has no files", path)


def _status(path, *_, **__):
    if path in (0, 1, 2):
        return os.stat_result((0o010600, 0, 0, 1, 0, 0, len(_input.getbuffer()) if path == 0 else 0, 0, 0, 0))
    raise _no_file(path)


def _input_of(descriptor):
    if descriptor != 0:
        raise OSError(errno.EBADF, "a program reads from descriptor 0 alone")
    return _input


def _read(descriptor, count, /):
    return _input_of(descriptor).read(count)


def _readinto(descriptor, buffer, /):
    return _input_of(descriptor).readinto(buffer)


def _write(descriptor, data, /):
    if descriptor not in (1, 2):
        raise OSError(errno.EBADF, "a program writes to descriptors 1 and 2 alone")
    return _output.write(data) if descriptor == 1 else len(data)


def _leave(status=0, /):
    raise SystemExit(status)


builtins.input = _read_line
builtins.open = io.open = _open
builtins.exit = builtins.quit = sys.exit
os.read, os.readinto, os.write, os.isatty, os._exit = _read, _readinto, _write, lambda _: False, _leave
os.stat = os.lstat = os.fstat = _status
sys.stderr = sys.__stderr__ = _text(_Nowhere(2), "w", "backslashreplace")
connect(b"", _Nowhere(1))
