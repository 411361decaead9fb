"""The guest with numpy: `app.py`, with numpy imported before the snapshot is taken, its chance seeded and its values written."""

# isort: off
# Time is replaced before the rest of the library keeps references to it.
import clock
import snapshot

import importlib
import pkgutil

import numpy

# All of it: what numpy itself imports only when it is used could not be found then.
for _module in pkgutil.walk_packages(numpy.__path__, "numpy."):
    importlib.import_module(_module.name)

import app
# isort: on
import gc
import platform
import random
import sys
import tempfile

import chance
import library
import refused
import sizes
import values
from app import WitWorld

_NO_COMPILER = "nothing is compiled or linked in here"
refused.REFUSED.update(
    dict.fromkeys(("numpy.distutils", "numpy.f2py", "numpy.ctypeslib"), _NO_COMPILER)
    | {"numpy.tests": "nothing is installed, built or documented in here"}
)

# Both were there before what they keep was replaced.
tempfile._Random = random.Random
numpy._core.arrayprint.sys = numpy._core.strings.sys = sizes.NARROW

_seed_python = chance.seed


def _seed(number):
    """Seeds numpy's old functions as Python's; its new generators draw their entropy from `secrets`, seeded there."""
    _seed_python(number)
    numpy.random.seed(number & 0xFFFF_FFFF)


chance.seed = _seed


def _array(value, depth):
    """As nested lists, of the items that Python has for its own."""
    if value.size > values._ITEMS_MAX:
        raise values.too_long(f"array of {value.size} items")
    return values._write(numpy.ndarray.tolist(value), depth)


def _scalar(value, depth):
    """As the number that it holds. Only longdouble has none of Python's: it is rounded to a float."""
    plain = numpy.generic.item(value)
    if isinstance(plain, numpy.generic):
        plain = complex(plain) if isinstance(plain, numpy.complexfloating) else float(plain)
    return values._write(plain, depth)


def _masked(value, _depth):
    raise values.BadValue(type(value).__name__)


values._WRITE |= {numpy.ma.MaskedArray: _masked, numpy.ndarray: _array, numpy.generic: _scalar}
# Masked arrays before arrays: what is masked has no value.
values._BASES = tuple((kind, lambda value: value) for kind in (numpy.ma.MaskedArray, numpy.ndarray, numpy.generic)) + values._BASES

# numpy's own tests compile modules by it. A program has no processes, and finds nothing to start one by.
del numpy.testing.extbuild, numpy.testing._private.extbuild
del sys.modules["numpy.testing._private.extbuild"], sys.modules["subprocess"]
library.keep()
# It remembers the system that numpy was imported under.
platform._uname_cache = None
platform._platform_cache.clear()

gc.collect()
gc.freeze()
