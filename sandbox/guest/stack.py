"""Makes every recursion inside the interpreter use the interpreter's own stack.

    python3 stack.py COMPONENT

WebAssembly has two stacks. What C takes the address of lies in linear memory below `__stack_pointer`, from 1 MiB down to
0; there CPython measures how deep it is. All else lies on the stack of the machine, in frames whose size is the
compiler's choice and differs between processors. A recursion that uses the second alone, such as letting go of a list
in a list in a list, would end at a depth that depends on the machine, and so would a verdict.

So each function that a recursion must pass through is made to take CHARGE bytes of the first stack, if it took fewer,
and to touch them: below 0 that is a trap, at the same depth everywhere. A recursion must pass through a function that
calls by a pointer, or go round a ring of direct calls.
"""

import re
import sys

# The stack of the machine has been measured with this, see `WASM_STACK` in `src/engine.rs`.
CHARGE = 64
# They call by a pointer and need no charge, being the most often called: the allocator, which calls nothing of ours, and
# the destructors, which are called through `_Py_Dealloc`.
EXEMPT = re.compile(r"_?Py(Mem|Object)_(Raw)?(Malloc|Calloc|Realloc|Free)|\w+_dealloc")
# Rings are cut where errors are raised: nearly every function can do that, none does it often.
SELDOM = re.compile(r"_?PyErr_\w+")

CODE_SECTION, IMPORT_SECTION, FUNCTION_SECTION, TYPE_SECTION, CUSTOM_SECTION = 10, 2, 3, 1, 0
COMPONENT_HEADER, MODULE_HEADER = b"\0asm\r\0\1\0", b"\0asm\1\0\0\0"
CORE_MODULE = 1

BLOCK, LOOP, IF, END, BR, RETURN, CALL, CALL_INDIRECT = 0x02, 0x03, 0x04, 0x0B, 0x0C, 0x0F, 0x10, 0x11
DROP, GLOBAL_GET, GLOBAL_SET, LOAD_BYTE, CONST, ADD, SUB = 0x1A, 0x23, 0x24, 0x2D, 0x41, 0x6A, 0x6B
# How many numbers follow an instruction; those that are not here are followed by none, or are treated one by one.
NUMBERS = {0x0C: 1, 0x0D: 1, 0x10: 1, 0x11: 2, 0x3F: 1, 0x40: 1, 0x41: 1, 0x42: 1, 0xD0: 1, 0xD2: 1}
NUMBERS |= dict.fromkeys((*range(0x20, 0x27), 0x02, 0x03, 0x04), 1) | dict.fromkeys(range(0x28, 0x3F), 2)
PREFIXED = {8: 2, 9: 1, 10: 2, 11: 1, 12: 2, 13: 1, 14: 2, 15: 1, 16: 1, 17: 1}
PLAIN = {0x00, 0x01, 0x05, 0x0B, 0x0F, 0x1A, 0x1B, 0xD1, *range(0x45, 0xC5)}


class Reader:
    def __init__(self, data, at=0, end=None):
        self.data, self.at, self.end = data, at, len(data) if end is None else end

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def bytes(self, count):
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def name(self):
        return self.bytes(self.number()).decode()

    def sections(self):
        """Kind and content of each."""
        while self.at < self.end:
            kind = self.byte()
            yield kind, self.bytes(self.number())


def number(value):
    """The shortest encoding of an unsigned number, which is also right for a signed one below 64."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def section(kind, content):
    return bytes([kind]) + number(len(content)) + content


def instructions(reader):
    """Start, opcode and first number of each."""
    while reader.at < reader.end:
        at = reader.at
        opcode = reader.byte()
        first = None
        if opcode in NUMBERS:
            first = reader.number()
            for _ in range(NUMBERS[opcode] - 1):
                reader.number()
        elif opcode == 0x0E:
            for _ in range(reader.number() + 1):
                reader.number()
        elif opcode == 0x1C:
            reader.bytes(reader.number())
        elif opcode in (0x43, 0x44):
            reader.bytes(4 if opcode == 0x43 else 8)
        elif opcode == 0xFC:
            for _ in range(PREFIXED.get(reader.number(), 0)):
                reader.number()
        elif opcode not in PLAIN:
            raise ValueError(f"instruction {opcode:#x}, which this script does not know")
        yield at, opcode, first


class Function:
    """What is looked for in the body of one."""

    def __init__(self, body, stack_pointer):
        reader = Reader(body)
        for _ in range(reader.number()):
            reader.number(), reader.byte()
        self.body, self.code_at = body, reader.at
        self.calls, self.calls_by_pointer, self.frame = set(), False, 0
        taken, size = False, None
        for _, opcode, first in instructions(reader):
            if opcode == CALL:
                self.calls.add(first)
            elif opcode == CALL_INDIRECT:
                self.calls_by_pointer = True
            elif opcode == SUB and size is not None:
                self.frame = max(self.frame, size)
            size = first if opcode == CONST and taken else None
            taken = (opcode, first) == (GLOBAL_GET, stack_pointer)

    def charged(self, result, stack_pointer):
        """The same, in a block of its own between taking CHARGE bytes and giving them back; all touch their stack."""
        touch = bytes([GLOBAL_GET]) + stack_pointer + bytes([LOAD_BYTE, 0, 0, DROP])
        if self.frame >= CHARGE:
            return self.body[: self.code_at] + touch + self.body[self.code_at :]
        move = bytes([GLOBAL_GET]) + stack_pointer + bytes([CONST, CHARGE | 0x80, 0])
        take = move + bytes([SUB, GLOBAL_SET]) + stack_pointer
        give = move + bytes([ADD, GLOBAL_SET]) + stack_pointer
        inner, depth, copied = bytearray(), 0, self.code_at
        for at, opcode, _ in instructions(Reader(self.body, self.code_at)):
            if opcode in (BLOCK, LOOP, IF):
                depth += 1
            elif opcode == END:
                depth -= 1
            elif opcode == RETURN:
                inner += self.body[copied:at] + bytes([BR]) + number(depth)
                copied = at + 1
        inner += self.body[copied:]
        return self.body[: self.code_at] + take + touch + bytes([BLOCK]) + result + bytes(inner) + give + bytes([END])


def rings(calls):
    """The functions that reach themselves by these direct calls: Tarjan's components of several, and loops of one."""
    index, low, stack, found = {}, {}, [], set()
    for root in calls:
        work = [(root, iter(calls[root]))] if root not in index else []
        while work:
            node, callees = work[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                stack.append(node)
            for callee in callees:
                if callee not in index:
                    work.append((callee, iter(calls[callee])))
                    break
                low[node] = min(low[node], low[callee])
            else:
                work.pop()
                if low[node] == index[node]:
                    ring = stack[stack.index(node) :]
                    del stack[-len(ring) :]
                    low |= dict.fromkeys(ring, len(calls))
                    if len(ring) > 1 or node in calls[node]:
                        found.update(ring)
                elif work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
    return found


def charge(module):
    """The module with its charges, and how many functions a recursion must pass through."""
    sections = list(Reader(module, len(MODULE_HEADER)).sections())
    parts = dict(reversed(sections))
    stack_pointer, first = imported(Reader(parts.get(IMPORT_SECTION, b"\0")))
    if stack_pointer is None or CODE_SECTION not in parts:
        return module, 0
    results, signatures = types(Reader(parts[TYPE_SECTION])), Reader(parts[FUNCTION_SECTION])
    signatures = [signatures.number() for _ in range(signatures.number())]
    code = Reader(parts[CODE_SECTION])
    functions = [Function(code.bytes(code.number()), stack_pointer) for _ in range(code.number())]
    names = function_names(sections)
    light = {index for index, function in enumerate(functions, first) if function.frame < CHARGE}
    through = set()
    for index, function in enumerate(functions, first):
        name = names.get(index, "")
        if SELDOM.fullmatch(name) or function.calls_by_pointer and not EXEMPT.fullmatch(name):
            through.add(index)
    rest = set(range(first, first + len(functions))) - through
    through |= rings({index: functions[index - first].calls & rest for index in rest})
    bodies = []
    for index, (function, signature) in enumerate(zip(functions, signatures, strict=True), first):
        body = function.body
        if index in through:
            body = function.charged(results[signature], number(stack_pointer))
        bodies.append(number(len(body)) + body)
    new = number(len(bodies)) + b"".join(bodies)
    # Nobody reads the names of functions after this.
    kept = [(kind, content) for kind, content in sections if kind != CUSTOM_SECTION or Reader(content).name() != "name"]
    content = [section(kind, new if kind == CODE_SECTION else content) for kind, content in kept]
    return MODULE_HEADER + b"".join(content), len(through)


def imported(reader):
    """Index of the stack pointer among the globals, and of the first function that is not imported."""
    stack_pointer, functions, globals_ = None, 0, 0
    for _ in range(reader.number()):
        reader.name()
        name, kind = reader.name(), reader.byte()
        if kind == 0:
            reader.number()
            functions += 1
        elif kind in (1, 2):
            if kind == 1:
                reader.byte()
            for _ in range(1 + (reader.byte() & 1)):
                reader.number()
        elif kind == 3:
            reader.bytes(2)
            if name == "__stack_pointer":
                stack_pointer = globals_
            globals_ += 1
        else:
            raise ValueError(f"import of kind {kind}, which this script does not know")
    return stack_pointer, functions


def types(reader):
    """The type of a block that leaves what a function of each signature returns."""
    found = []
    for _ in range(reader.number()):
        reader.byte()
        reader.bytes(reader.number())
        results = reader.bytes(reader.number())
        found.append(results or b"\x40")
    return found


def function_names(sections):
    found = {}
    for kind, content in sections:
        reader = Reader(content)
        if kind != CUSTOM_SECTION or reader.name() != "name":
            continue
        for kind, content in reader.sections():
            names = Reader(content)
            if kind == 1:
                found |= {names.number(): names.name() for _ in range(names.number())}
    return found


def main(path):
    with open(path, "rb") as file:
        component = file.read()
    assert component.startswith(COMPONENT_HEADER), f"{path} is no component"
    out, total = [], 0
    for kind, content in Reader(component, len(COMPONENT_HEADER)).sections():
        if kind == CORE_MODULE:
            content, count = charge(content)
            total += count
        out.append(section(kind, content))
    with open(path, "wb") as file:
        file.write(COMPONENT_HEADER + b"".join(out))
    print(f"{total} functions on the way of a recursion take at least {CHARGE} bytes of the interpreter's stack")


if __name__ == "__main__":
    main(sys.argv[1])
