"""Time zones come from the library's store; there is no path to look for them on."""

import io
import os.path

import library

from . import _common

TZPATH = ()


class InvalidTZPathWarning(RuntimeWarning):
    """For paths that do not exist."""


def reset_tzpath(to=None):
    pass


def find_tzfile(key):
    """Where the file is: nowhere. A key that would lead out of a directory is refused as in CPython."""
    if os.path.isabs(key):
        raise ValueError(f"ZoneInfo keys may not be absolute paths, got: {key}")
    if len(os.path.normpath(key)) != len(key):
        raise ValueError(f"ZoneInfo keys must be normalized relative paths, got: {key}")
    if key.startswith(".."):
        raise ValueError(f"ZoneInfo keys must refer to subdirectories of TZPATH, got: {key}")
    return None


def available_timezones():
    return {name.removeprefix("zone:") for name in library.names("zone:")}


def _load(key):
    content = library.entry("zone:" + key)
    if content is None:
        raise _common.ZoneInfoNotFoundError(f"No time zone found with key {key}")
    return io.BytesIO(content)


_common.load_tzdata = _load
