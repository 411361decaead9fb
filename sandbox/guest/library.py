"""The rest of the standard library: compiled code in memory, which is run when a program imports it.

The finder comes after those of the interpreter, so what is in the snapshot is found without it, and a program pays for
what it imports alone.
"""

import marshal
import os.path
import sys
from importlib.machinery import ModuleSpec

from refused import REFUSED

# The modules of the snapshot, which have no code left to run again.
_kept = {}


def keep():
    """What is imported by now is found again after it was dropped from `sys.modules`, and reloads to what it is."""
    _kept.clear()
    _kept.update(sys.modules)
    for module in _kept.values():
        # Of what is found in `sys.modules`, the finders are not asked.
        if getattr(module, "__spec__", None) is not None:
            module.__spec__.loader = Kept
    # Before the finders of the interpreter, which would begin modules of C anew, without what was replaced in them.
    if Kept not in sys.meta_path:
        sys.meta_path.insert(0, Kept)


# Not in the snapshot, but while it is made. The exact size is read, because a plain read would keep a second copy.
with open(os.path.dirname(__file__) + "/library.bin", "rb") as _file:
    _index_size, _store_size = (int.from_bytes(_file.read(8), "little") for _ in range(2))
    # Name of a module: whether it is a package, and where its code lies in the store. Time zones are "zone:NAME".
    _index = marshal.loads(_file.read(_index_size))
    _store = _file.read(_store_size)


def entry(name):
    """What the store has by this name, or None."""
    found = _index.get(name)
    return None if found is None else memoryview(_store)[found[1] : found[2]]


def names(prefix=""):
    return [name for name in _index if name.startswith(prefix)]


class LibraryFinder:
    """Finds and loads."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        found = _index.get(name)
        if found is None:
            if name in REFUSED:
                raise ModuleNotFoundError(f"No module named {name!r} in the sandbox: {REFUSED[name]}", name=name)
            return None
        return ModuleSpec(name, LibraryFinder, origin="library", is_package=found[0])

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        exec(LibraryFinder.get_code(module.__spec__.name), module.__dict__)

    @staticmethod
    def get_code(name):
        return marshal.loads(entry(name))

    @staticmethod
    def get_source(name):
        return None

    @staticmethod
    def is_package(name):
        return _index[name][0]


class Kept:
    """Finds a module of the snapshot and loads it as it is."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        return ModuleSpec(name, Kept) if name in _kept else None

    @staticmethod
    def create_module(spec):
        return _kept[spec.name]

    @staticmethod
    def exec_module(module):
        pass
