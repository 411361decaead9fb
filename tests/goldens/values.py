"""Writes values.json: what CPython makes of literals, and which of them it calls equal.

    python3 tests/goldens/values.py > tests/goldens/values.json
"""

import itertools
import json
import math
import random
import unicodedata

LITERALS = """
None True False 0 -0 1 -1 +5 ~5 1_000 0x_ff 0o17 0b101 9223372036854775807 9223372036854775808 -9223372036854775808
-9223372036854775809 10**30 -10**30 2**31 10**9+7 1<<70 7//2 -7//2 7%3 -7%3 7%-3 2**-1 10**-3 1/3 -7/2 2**53 2**53+1
9007199254740993 9007199254740992.0 9007199254740993.0 1e16 1e15 123456789012345680.0 1e22 1e23 1e-4 1e-5 0.0001 0.00001234
1.5 -1.5 0.1 0.1+0.2 0.30000000000000004 100.0 1e100 1.7976931348623157e308 5e-324 -0.0 0.0 240.0 240 1e999 -1e999
float('inf') float('-inf') float("nan") inf nan math.inf math.pi math.e float(3) float('1e3') int('42') int(7)
0xffffffffffffffffffffffff 0b1_0 1e0 1E5 .5 5.
1j -1j 1+2j 1-2j -0j 2.5j complex(1,2) complex(0,-0.0) 1+0j 1e16j 0j complex(-0.0,1) complex(1,-0.0)
'' "" 'a' "it's" 'say_"x"' '\\'"' '\\n\\t\\r\\\\' '\\x00\\x1f\\x7f' '\\xe9' 'é' '\\u2028' '\\u200b' '\\xa0' '\\xad' '日本' '😀' '\\U0001f600'
'\\u0301' 'e\\u0301' '\\ue000' '\\U000e0001' '\\N{BULLET}' r'\\d' u'x' 'a''b' '''x''' "\\ufffd" '�'
b'' b'abc' b'\\x00\\xff' b"it's" b'\\'"' b'a'b'b' bytes([1,2]) bytearray(b'x') bytes()
bytearray() bytearray([7])+b'a' b'a'+bytearray(b'b') 2*bytearray(b'ab') bytes(bytearray(b'x')) [bytearray(b'x')] {'bytearray':'78'}
[] [1] [1,2,] [1,[2,[3]]] () (1,) (1,2) ((1,),()) (1) {} {1:2} {'a':1,'b':[]} {1:'a',True:'b',1.0:'c'} {(1,2):3} {'set':1} {'frozenset':[1]}
{'()':[1]} {'{}':[]} {'int':'5'} {'a':1,'set':2} {None:None} {1.5:'x',b'k':'y'}
{1} {1,True,1.0} {3,1,2} set() frozenset() set([1,2,2]) frozenset({1}) {frozenset({1}),frozenset()} {(1,2),(0,5)} {'b','a'} {1,'a'}
{None} set('aab') list('abc') tuple([1,2]) list((1,)) tuple() list() dict() list(range(5)) tuple(range(1,10,3)) set(range(5,0,-1))
list(range(0)) [0]*5 5*[0] [0]*-1 (1,)*2 'ab'*3 b'a'*2 [1]+[2] (1,)+(2,) 'a'+'b' [[0]*2]*2 not_True
[1.0,2] [1,2.0] (1,2.0) [True,2] {1:[1.0]} {1.0:[1]} [nan] {'k':(1,'x')} {'k':(1.0,'x')} [None] [''] {1.5} {1.5,2}
{'a':1} {'b':1} {'a':1.0} {'b':2,'a':1} {'a':1,'b':2}
""".split()


def tagged(value):
    """JSON with tags, as values cross the sandbox's boundary; written a second time, from the description alone."""
    kind = type(value)
    if value is None or kind in (bool, str):
        return value
    if kind is int:
        return value if -(2**63) <= value < 2**63 else {"int": str(value)}
    if kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if kind is complex:
        return {"complex": [tagged(value.real), tagged(value.imag)]}
    if kind in (bytes, bytearray):
        return {kind.__name__: bytes(value).hex()}
    if kind is list:
        return [tagged(item) for item in value]
    if kind is tuple:
        return {"()": [tagged(item) for item in value]}
    if kind in (set, frozenset):
        return {kind.__name__: sorted((tagged(item) for item in value), key=repr)}
    tags = ("()", "set", "frozenset", "bytes", "bytearray", "complex", "int", "float", "{}")
    if all(type(key) is str for key in value) and not (len(value) == 1 and next(iter(value)) in tags):
        return {key: tagged(item) for key, item in value.items()}
    return {"{}": [[tagged(key), tagged(item)] for key, item in value.items()]}


def is_stable(value):
    """Whether `repr` writes it in an order that is the same everywhere, and as an instance of its base."""
    return not isinstance(value, (set, frozenset))


def runs(codes):
    """First and last of what follows each other."""
    found = []
    for code in codes:
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return found


def main():
    names = {"math": math, "inf": math.inf, "nan": math.nan}
    values = []
    for text in LITERALS:
        text = text.replace("not_", "not ")
        value = eval(text, dict(names))
        values.append({"text": text, "json": json.dumps(tagged(value)), "repr": repr(value) if is_stable(value) else None})
    chance = random.Random(2048)
    floats = [chance.uniform(-1, 1) * 10.0 ** chance.randint(-320, 308) for _ in range(200)]
    floats += [float(f"{chance.randint(1, 99)}e{exponent}") for exponent in range(-8, 20)]
    values += [{"text": repr(value), "json": json.dumps(value), "repr": repr(value)} for value in floats]
    unequal_to_themselves, equal = [], []
    for first, second in itertools.product(LITERALS, repeat=2):
        first, second = first.replace("not_", "not "), second.replace("not_", "not ")
        # Evaluated apart: Python takes one object for equal to itself in a container, even nan.
        try:
            same = eval(first, {**names, "nan": float("nan")}) == eval(second, {**names, "nan": float("nan")})
        except TypeError:
            same = False
        if first < second and same:
            equal.append([first, second])
        elif first == second and not same:
            unequal_to_themselves.append(first)
    codes = [code for code in range(0x3000) if not 0xD800 <= code < 0xE000]
    # What another version of Unicode may have named since is left out.
    printable = runs(code for code in codes if chr(code).isprintable())
    hidden = runs(code for code in codes if not chr(code).isprintable() and unicodedata.category(chr(code)) != "Cn")
    print("{")
    print(f'"literals": {len(LITERALS)},')
    print('"values": [\n' + ",\n".join(json.dumps(value) for value in values) + "\n],")
    print('"equal": [\n' + ",\n".join(json.dumps(pair) for pair in equal) + "\n],")
    print('"unequal_to_themselves": ' + json.dumps(sorted(set(unequal_to_themselves))) + ",")
    print('"printable": ' + json.dumps(printable) + ",")
    print('"hidden": ' + json.dumps(hidden))
    print("}")


main()
