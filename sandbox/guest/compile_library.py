"""Compiles the library for the guest, by the interpreter that will run it. Leaves `library.bin` beside itself.

It is componentized like `app.py`, for what it does while the snapshot would be made; the component is thrown away. So
what the compiler leaves in memory is not in the guest's snapshot.
"""

import marshal
import os
import re
import sys

import snapshot
import wit_world
from refused import REFUSED

HERE = os.path.dirname(__file__)
# Beside the standard library: modules of PyPI, and our own in place of those that need a world.
ROOTS = (os.path.dirname(snapshot.textwrap.__file__), HERE + "/packages", HERE + "/replacements")
TIME_ZONES = HERE + "/packages/tzdata/zoneinfo"

# Never imported by a program's own name, and refused or absent if they are.
LEFT_OUT = frozenset(
    "__hello__ __phello__ _aix_support _android_support _apple_support _ios_support _osx_support _pyrepl "
    "asyncio.proactor_events asyncio.selector_events asyncio.windows_events asyncio.windows_utils "
    "asyncio.tools encodings.bz2_codec encodings.mbcs encodings.oem tzdata".split()
)


def is_left_out(name):
    parents = name.split(".")
    outer = {".".join(parents[: count + 1]) for count in range(len(parents))}
    return parents[-1] == "__main__" or not outer.isdisjoint(LEFT_OUT | REFUSED.keys())


def without_world(source):
    """The same, in which what comes from outside has a stand-in: enough to be defined with, and of no other use."""
    source = re.sub(r"^import (socket|subprocess)$", r"import _no_world as \1", source, flags=re.MULTILINE)
    source = re.sub(r"^(import os, urllib.parse), urllib.request$", r"\1", source, flags=re.MULTILINE)
    # `Timer.autorange` counts loops until they take 0.2 s, and here they take the one reading of the clock.
    source = source.replace("if time_taken >= 0.2:", "if time_taken > 0:")
    # Handed to C, whose sizes have 32 bits (`sizes.py`).
    source = source.replace("self.read(sys.maxsize)", f"self.read({sys.maxsize})")
    return re.sub(r"^from socketserver import ", "from _no_world import ", source, flags=re.MULTILINE)


def modules(root, prefix=""):
    """Name, whether it is a package, and path of each."""
    for entry in sorted(os.listdir(root)):
        path, (name, kind) = f"{root}/{entry}", os.path.splitext(entry)
        if kind == ".py" and name != "__init__":
            yield prefix + name, False, path
        elif os.path.exists(path + "/__init__.py"):
            yield prefix + entry, True, path + "/__init__.py"
            yield from modules(path, f"{prefix}{entry}.")
        elif os.path.isdir(path) and root.startswith(HERE + "/replacements"):
            # Ours stand in for single modules of a package.
            yield from modules(path, f"{prefix}{entry}.")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def compiled():
    """Marshalled code and kind of each module that no program has yet."""
    found = {}
    for root in ROOTS:
        for name, is_package, path in modules(root):
            if name not in sys.modules and not is_left_out(name):
                source = without_world(read(path).decode())
                code = compile(source, f"<library {name}>", "exec", dont_inherit=True)
                # Settings by the name under which `sysconfig` looks for those of this system.
                found[name.replace("__wasi_", "__linux_")] = (is_package, marshal.dumps(code))
    return found


def time_zones():
    with open(TIME_ZONES + "/../zones") as names:
        return {f"zone:{name}": (False, read(f"{TIME_ZONES}/{name}")) for name in names.read().split()}


def write(entries, path):
    """Equal contents, such as the many names of one time zone, are kept once."""
    index, parts, places, size = {}, [], {}, 0
    for name, (is_package, content) in sorted(entries.items()):
        if content not in places:
            places[content] = (size, size + len(content))
            parts.append(content)
            size += len(content)
        index[name] = (is_package, *places[content])
    head = marshal.dumps(index)
    with open(path, "wb") as file:
        file.write(len(head).to_bytes(8, "little") + size.to_bytes(8, "little") + head + b"".join(parts))


write(compiled() | time_zones(), HERE + "/library.bin")


class WitWorld(wit_world.WitWorld):
    def compile(self, source):
        raise NotImplementedError

    def run(self, seed, name, stdin):
        raise NotImplementedError

    def call(self, function, arguments):
        raise NotImplementedError
