"""Compiles numpy for the guest, by the interpreter that will run it: a `.pyc` in place of each `.py` beside itself.

Componentized for what it does while the snapshot would be made, as `compile_library.py` is; the component is thrown
away. So what the compiler leaves in memory is not in the guest's snapshot.
"""

import importlib.util
import marshal
import os

import wit_world

ROOT = os.path.dirname(__file__) + "/numpy"


def compile_all(folder):
    for entry in sorted(os.listdir(folder)):
        path = f"{folder}/{entry}"
        if os.path.isdir(path):
            compile_all(path)
        elif entry.endswith(".py"):
            with open(path, "rb") as file:
                source = file.read()
            name = os.path.relpath(path, ROOT)
            code = compile(source, f"<library numpy/{name}>", "exec", dont_inherit=True)
            with open(path + "c", "wb") as file:
                file.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
            os.remove(path)


compile_all(ROOT)


class WitWorld(wit_world.WitWorld):
    def compile(self, source):
        raise NotImplementedError

    def run(self, seed, name, stdin):
        raise NotImplementedError

    def call(self, function, arguments):
        raise NotImplementedError
