"""Makes one module of the component's core modules.

    python3 merge.py COMPONENT

componentize-py leaves the linking of the interpreter's libraries to the start of an instance: each is a module, with
hundreds of imports from the others, and fills its part of a table. That was more than a third of a start. Here every import
becomes what it stands for, and what is left is a single module without imports, whose table and globals are known when it is
compiled. Its functions have the instructions that they had, so fuel is the same.
"""

import sys

import stack
from stack import COMPONENT_HEADER, CORE_MODULE, MODULE_HEADER, instructions, number, section

TYPE, IMPORT, FUNCTION, TABLE, MEMORY, GLOBAL, EXPORT, START, ELEMENT, CODE, DATA = range(1, 12)
CUSTOM, CORE_INSTANCE, ALIAS, CANON = 0, 2, 6, 8
FUNCTION_KIND, TABLE_KIND, MEMORY_KIND, GLOBAL_KIND = range(4)
OF_CORE_INSTANCE = 1
LIFT, MEMORY_OPTION, REALLOC_OPTION, POST_RETURN_OPTION = 0, 3, 4, 5
NUMBER_TYPE, FUNCTION_TYPE, FOR_A_TABLE = 0x7F, 0x60, (0, 2)
NONE = b"\0"

GLOBAL_GET, CONST, ADD, END = 0x23, 0x41, 0x6A, 0x0B
# Instructions that name a function, a type with a table, a global, a type; and those that would change a table.
CALLS, BY_POINTER, GLOBALS, BLOCKS, TABLES = (0x10, 0xD2), (0x11,), (0x23, 0x24), (0x02, 0x03, 0x04), (0x25, 0x26)
# Those of prefix 0xFC that name nothing but the one memory: conversions, memory.copy and memory.fill.
HARMLESS = (*range(8), 10, 11)


class Reader(stack.Reader):
    def signed(self):
        at = self.at
        value = self.number()
        bits = 7 * (self.at - at)
        return value - (1 << bits) if value >> bits - 1 else value


def signed(value):
    """The shortest encoding of a signed number."""
    out = bytearray()
    while not -64 <= value < 64:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value & 0x7F])


def wrapped(value):
    """A sum as a number of 32 bits."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def named(text):
    return number(len(text)) + text.encode()


def vector(items):
    items = list(items)
    return number(len(items)) + b"".join(items)


class Module:
    """One of the component's."""

    def __init__(self, content):
        self.parts = dict.fromkeys(range(TYPE, DATA + 1), NONE)
        for kind, part in Reader(content, len(MODULE_HEADER)).sections():
            if kind != CUSTOM:
                self.parts[kind] = part
        assert self.parts[START] == NONE, "a module that runs something at its start"
        self.types = self.each(TYPE, self.type)
        self.imports = self.each(IMPORT, self.imported)
        self.functions = self.each(FUNCTION, Reader.number)
        self.tables = self.each(TABLE, lambda reader: reader.bytes(1) + self.limits(reader))
        self.memories = self.each(MEMORY, self.limits)
        self.globals = self.each(GLOBAL, self.global_)
        self.exports = dict(self.each(EXPORT, lambda reader: (reader.name(), (reader.byte(), reader.number()))))
        self.elements = self.each(ELEMENT, self.element)
        self.bodies = self.each(CODE, lambda reader: reader.bytes(reader.number()))

    def each(self, kind, read):
        reader = Reader(self.parts[kind])
        return [read(reader) for _ in range(reader.number())]

    @staticmethod
    def type(reader):
        at = reader.at
        assert reader.byte() == FUNCTION_TYPE, "a type that is no function's"
        reader.bytes(reader.number())
        reader.bytes(reader.number())
        return reader.data[at : reader.at]

    @staticmethod
    def limits(reader):
        at = reader.at
        for _ in range(1 + (reader.byte() & 1)):
            reader.number()
        return reader.data[at : reader.at]

    def imported(self, reader):
        where, name, kind = reader.name(), reader.name(), reader.byte()
        if kind == FUNCTION_KIND:
            reader.number()
        elif kind == GLOBAL_KIND:
            reader.bytes(2)
        else:
            reader.bytes(1 if kind == TABLE_KIND else 0)
            self.limits(reader)
        return where, name, kind

    def global_(self, reader):
        kind = reader.bytes(2)
        assert kind[0] == NUMBER_TYPE, "a global that is no number of 32 bits"
        return kind, self.constant(reader)

    @staticmethod
    def constant(reader):
        """The instructions of an expression, each with its number or the index of its global."""
        found = []
        while (opcode := reader.byte()) != END:
            assert opcode in (CONST, GLOBAL_GET, ADD), f"instruction {opcode:#x} in a constant"
            found.append((opcode, reader.signed() if opcode == CONST else opcode == GLOBAL_GET and reader.number()))
        return found

    def element(self, reader):
        """Table, offset and functions of a segment."""
        flags = reader.number()
        assert flags in FOR_A_TABLE, "a segment that fills no table when it starts"
        table = reader.number() if flags else 0
        offset = self.constant(reader)
        assert not flags or reader.byte() == 0
        return table, offset, [reader.number() for _ in range(reader.number())]


class Linked:
    """What a component's modules become."""

    def __init__(self):
        # Of each instance its exports, and of each that is of a module: the module, and what an index in it stands for.
        self.exports, self.instances, self.spaces = [], [], []
        # What is there in all, by kind, each with the number of its instance.
        self.own = {kind: [] for kind in range(4)}
        self.types = {}

    def instantiate(self, module, arguments):
        space = {kind: [] for kind in range(4)}
        for where, name, kind in module.imports:
            found, index = self.exports[arguments[where]][name]
            assert found == kind, f"{where}.{name} is of kind {found} in place of {kind}"
            space[kind].append(index)
        for kind, items in enumerate((module.functions, module.tables, module.memories, module.globals)):
            for item in items:
                space[kind].append(len(self.own[kind]))
                self.own[kind].append((len(self.instances), item))
        self.instances.append(module)
        self.spaces.append(space)
        self.exports.append({name: (kind, space[kind][index]) for name, (kind, index) in module.exports.items()})

    def type(self, module, index):
        return self.types.setdefault(module.types[index], len(self.types))

    def constant(self, instance, expression):
        """The same, of numbers alone."""
        values = []
        for opcode, operand in expression:
            if opcode == CONST:
                values.append(operand)
            elif opcode == GLOBAL_GET:
                owner, (_, value) = self.own[GLOBAL_KIND][self.spaces[instance][GLOBAL_KIND][operand]]
                values.append(Reader(self.constant(owner, value), 1).signed())
            else:
                values.append(values.pop() + values.pop())
        (value,) = values
        return bytes([CONST]) + signed(wrapped(value)) + bytes([END])

    def body(self, instance, body):
        """A function that names what it names by the indices of the one module."""
        module, space = self.instances[instance], self.spaces[instance]
        reader = Reader(body)
        for _ in range(reader.number()):
            reader.number(), reader.byte()
        out, copied = bytearray(), 0
        for at, opcode, first in instructions(reader):
            if opcode in CALLS:
                new = number(space[FUNCTION_KIND][first])
            elif opcode in GLOBALS:
                new = number(space[GLOBAL_KIND][first])
            elif opcode in BY_POINTER:
                table = Reader(body, at + 1)
                table.number()
                new = number(self.type(module, first)) + number(space[TABLE_KIND][table.number()])
            elif opcode in BLOCKS and (first < 0x40 or reader.at > at + 2):
                new = signed(self.type(module, first))
            else:
                assert opcode not in TABLES, "an instruction that changes a table"
                assert opcode != 0xFC or Reader(body, at + 1).number() in HARMLESS, "an instruction of prefix 0xFC"
                continue
            out += body[copied : at + 1] + new
            copied = reader.at
        return bytes(out + body[copied:])

    def segments(self):
        """What fills the tables, in the order of the instances."""
        for instance, (module, space) in enumerate(zip(self.instances, self.spaces, strict=True)):
            for table, offset, functions in module.elements:
                where = number(2) + number(space[TABLE_KIND][table]) + self.constant(instance, offset) + bytes([0])
                yield where + vector(number(space[FUNCTION_KIND][index]) for index in functions)

    def module(self, exports):
        """The one module with these exports: a kind and an index each."""
        functions = [number(self.type(self.instances[owner], item)) for owner, item in self.own[FUNCTION_KIND]]
        bodies = [self.body(at, body) for at, module in enumerate(self.instances) for body in module.bodies]
        data = [module.parts[DATA] for module in self.instances if module.parts[DATA] != NONE]
        assert len(data) == 1 == len(self.own[MEMORY_KIND]), "several memories, or several modules that fill one"
        exported = [named(str(at)) + bytes([kind]) + number(index) for at, (kind, index) in enumerate(exports)]
        parts = [
            (TYPE, vector(self.types)),
            (FUNCTION, vector(functions)),
            (TABLE, vector(item for _, item in self.own[TABLE_KIND])),
            (MEMORY, vector(item for _, item in self.own[MEMORY_KIND])),
            (GLOBAL, vector(kind + self.constant(owner, value) for owner, (kind, value) in self.own[GLOBAL_KIND])),
            (EXPORT, vector(exported)),
            (ELEMENT, vector(self.segments())),
            (CODE, vector(number(len(body)) + body for body in bodies)),
            (DATA, data[0]),
        ]
        return MODULE_HEADER + b"".join(section(kind, content) for kind, content in parts)


class Component:
    """A component that is linked as it is read."""

    def __init__(self, content):
        self.modules, self.linked = [], Linked()
        # What the component's own indices of the core stand for, by kind; the exports that it needs of the one module.
        self.core, self.exports = {kind: [] for kind in range(4)}, []
        # The sections outside the core.
        self.rest = []
        for kind, part in Reader(content, len(COMPONENT_HEADER)).sections():
            if kind == CORE_MODULE:
                self.modules.append(Module(part))
            elif kind == CORE_INSTANCE:
                self.each(part, self.core_instance)
            elif kind == ALIAS:
                kept = [alias for alias in self.each(part, self.alias) if alias]
                self.rest += [(kind, vector(kept))] if kept else []
            elif kind == CANON:
                self.rest.append((kind, vector(self.each(part, self.lifted))))
            elif kind != CUSTOM:
                self.rest.append((kind, part))

    @staticmethod
    def each(part, read):
        reader = Reader(part)
        return [read(reader) for _ in range(reader.number())]

    def core_instance(self, reader):
        if reader.byte() == 0:
            module, arguments = self.modules[reader.number()], {}
            for _ in range(reader.number()):
                name, _ = reader.name(), reader.byte()
                arguments[name] = reader.number()
            self.linked.instantiate(module, arguments)
        else:
            exports = {}
            for _ in range(reader.number()):
                name, kind = reader.name(), reader.byte()
                exports[name] = kind, self.core[kind][reader.number()]
            self.linked.exports.append(exports)

    def alias(self, reader):
        """What stays of an alias: itself, or nothing if it is of the core."""
        at, sort = reader.at, reader.byte()
        kind = reader.byte() if sort == 0 else None
        target = reader.byte()
        instance = reader.number()
        if target == OF_CORE_INSTANCE:
            found, index = self.linked.exports[instance][reader.name()]
            assert found == kind
            self.core[kind].append(index)
            return b""
        # Of an instance outside the core, a name; of an outer component, two numbers, of which one is read already.
        reader.bytes(reader.number()) if target == 0 else reader.number()
        return reader.data[at : reader.at]

    def lifted(self, reader):
        """A function of the core that becomes the component's, by the new indices."""
        assert reader.bytes(2) == bytes([LIFT, 0]), "a function that the component wants of its host"
        out = bytes([LIFT, 0]) + self.used(FUNCTION_KIND, reader.number())
        options = []
        for _ in range(reader.number()):
            option = reader.byte()
            of_core = {MEMORY_OPTION: MEMORY_KIND, REALLOC_OPTION: FUNCTION_KIND, POST_RETURN_OPTION: FUNCTION_KIND}
            used = self.used(of_core[option], reader.number()) if option in of_core else b""
            options.append(bytes([option]) + used)
        return out + vector(options) + number(reader.number())

    def used(self, kind, index):
        """The new index of something of the core, which the one module exports for it."""
        wanted = kind, self.core[kind][index]
        if wanted not in self.exports:
            self.exports.append(wanted)
        of_kind = [what for what in self.exports if what[0] == kind]
        return number(of_kind.index(wanted))

    def merged(self):
        aliases = (bytes([0, kind, OF_CORE_INSTANCE, 0]) + named(str(at)) for at, (kind, _) in enumerate(self.exports))
        core = [
            (CORE_MODULE, self.linked.module(self.exports)),
            (CORE_INSTANCE, vector([bytes([0, 0, 0])])),
            (ALIAS, vector(aliases)),
        ]
        return COMPONENT_HEADER + b"".join(section(kind, part) for kind, part in core + self.rest)


def main(path):
    with open(path, "rb") as file:
        component = Component(file.read())
    merged = component.merged()
    with open(path, "wb") as file:
        file.write(merged)
    print(f"{len(component.linked.instances)} instances of core modules are one")


if __name__ == "__main__":
    main(sys.argv[1])
