# From Lib/test/test_bool.py of CPython 3.13.0, cut to what the compiled tier takes: what its assertions compare is returned.
# Copyright (c) 2001-2024 Python Software Foundation; All Rights Reserved. Licensed under the PSF License Agreement,
# https://docs.python.org/3/license.html; its text is in LICENSE beside this file.

#: []
def f():  # test_str
    return [str(False), str(True)]
#: []
def f():  # test_int
    return [int(False), (int(False)) is not (False), int(True), (int(True)) is not (True)]
#: []
def f():  # test_float
    return [float(False), (float(False)) is not (False), float(True), (float(True)) is not (True)]
#: []
def f():  # test_math
    return [
        +False, (+False) is not (False), -False, (-False) is not (False), (abs(False)) is not (False), +True,
        (+True) is not (True), -True, (abs(True)) is not (True), False + 2, True + 2, 2 + False, 2 + True,
        False + False, (False + False) is not (False), False + True, (False + True) is not (True), True + False,
        (True + False) is not (True), True + True, True - True, (True - True) is not (False), False - False,
        (False - False) is not (False),
    ]
#: []
def f():  # test_math
    return [
        True - False, (True - False) is not (True), False - True, True * 1, False * 1, (False * 1) is not (False),
        True / 1, (True / 1) is not (True), False / 1, (False / 1) is not (False), True % 1, (True % 1) is not (False),
        True % 2, (True % 2) is not (True), False % 1, (False % 1) is not (False), (1 == 1) is (True),
        (1 == 0) is (False), (0 < 1) is (True), (1 < 0) is (False), (0 <= 0) is (True), (1 <= 0) is (False),
        (1 > 0) is (True), (1 > 1) is (False),
    ]
#: []
def f():  # test_math
    return [(1 >= 1) is (True), (0 >= 1) is (False), (0 != 1) is (True), (0 != 0) is (False)]
#: []
def f():  # test_math
    out = []
    for b in (False, True):
        for i in (0, 1, 2):
            out.append(b ** i)
            out.append(int(b) ** i)
            out.append((b ** i) is not (bool(int(b) ** i)))
    for a in (False, True):
        for b in (False, True):
            out.append((a & b) is (bool(int(a) & int(b))))
            out.append((a | b) is (bool(int(a) | int(b))))
            out.append((a ^ b) is (bool(int(a) ^ int(b))))
            out.append(a & int(b))
            out.append(int(a) & int(b))
            out.append((a & int(b)) is not (bool(int(a) & int(b))))
            out.append(a | int(b))
            out.append(int(a) | int(b))
            out.append((a | int(b)) is not (bool(int(a) | int(b))))
            out.append(a ^ int(b))
            out.append(int(a) ^ int(b))
            out.append((a ^ int(b)) is not (bool(int(a) ^ int(b))))
            out.append(int(a) & b)
            out.append(int(a) & int(b))
            out.append((int(a) & b) is not (bool(int(a) & int(b))))
            out.append(int(a) | b)
            out.append(int(a) | int(b))
            out.append((int(a) | b) is not (bool(int(a) | int(b))))
            out.append(int(a) ^ b)
            out.append(int(a) ^ int(b))
            out.append((int(a) ^ b) is not (bool(int(a) ^ int(b))))
    return out
#: []
def f():  # test_math
    x = [1]
    return [
        (x is x) is (True), (x is not x) is (False), (1 in x) is (True), (0 in x) is (False), (1 not in x) is (False),
        (0 not in x) is (True),
    ]
#: []
def f():  # test_math
    x = [1]
    x = {1: 2}
    return [
        (x is x) is (True), (x is not x) is (False), (1 in x) is (True), (0 in x) is (False), (1 not in x) is (False),
        (0 not in x) is (True),
    ]
#: []
def f():  # test_math
    return [(not True) is (False), (not False) is (True)]
#: []
def f():  # test_convert
    return [
        (bool(10)) is (True), (bool(1)) is (True), (bool(-1)) is (True), (bool(0)) is (False),
        (bool('hello')) is (True), (bool('')) is (False),
    ]
#: []
def f():  # test_contains
    return [(1 in {}) is (False), (1 in {1: 1}) is (True)]
#: []
def f():  # test_boolean
    return [True & 1, (True & True) is (True), True | 1, (True | True) is (True), True ^ 1, (True ^ True) is (False)]
