# From Lib/test/test_range.py of CPython 3.13.0, cut to what the compiled tier takes: what its assertions compare is returned.
# Copyright (c) 2001-2024 Python Software Foundation; All Rights Reserved. Licensed under the PSF License Agreement,
# https://docs.python.org/3/license.html; its text is in LICENSE beside this file.

#: []
def f():  # test_range
    return [
        list(range(3)), list(range(1, 5)), list(range(0)), list(range(-3)), list(range(1, 10, 3)),
        list(range(5, -5, -3)),
    ]
#: []
def f():  # test_range
    a = 10
    return [
        list(range(a, a + 2)), [a, a + 1], list(range(a + 2, a, -1)), [a + 2, a + 1], list(range(a + 4, a, -2)),
        [a + 4, a + 2],
    ]
#: []
def f():  # test_range
    a = 10
    b = 100
    c = 50
    seq = list(range(a, b, c))
    return [(a) in (seq), (b) not in (seq), len(seq)]
#: []
def f():  # test_range
    a = 10
    b = 100
    c = 50
    seq = list(range(a, b, c))
    seq = list(range(b, a, -c))
    return [(b) in (seq), (a) not in (seq), len(seq)]
#: []
def f():  # test_range
    a = 10
    b = 100
    c = 50
    seq = list(range(a, b, c))
    seq = list(range(b, a, -c))
    seq = list(range(-a, -b, -c))
    return [(-a) in (seq), (-b) not in (seq), len(seq)]
#: []
def f():  # test_types
    return [(True) in (range(3))]
#: []
def f():  # test_strided_limits
    r = range(0, 101, 2)
    return [(0) in (r), (1) not in (r), (2) in (r), (99) not in (r), (100) in (r), (101) not in (r)]
#: []
def f():  # test_strided_limits
    r = range(0, 101, 2)
    r = range(0, -20, -1)
    return [(0) in (r), (-1) in (r), (-19) in (r), (-20) not in (r)]
#: []
def f():  # test_strided_limits
    r = range(0, 101, 2)
    r = range(0, -20, -1)
    r = range(0, -20, -2)
    return [(-18) in (r), (-19) not in (r), (-20) not in (r)]
#: []
def f():  # test_empty
    r = range(0)
    return [(0) not in (r), (1) not in (r)]
#: []
def f():  # test_empty
    r = range(0)
    r = range(0, -10)
    return [(0) not in (r), (-1) not in (r), (1) not in (r)]
#: []
def f():  # test_contains
    r = range(10)
    return [(0) in (r), (1) in (r), (-1) not in (r), (10) not in (r)]
#: []
def f():  # test_contains
    r = range(10)
    r = range(9, -1, -1)
    return [(0) in (r), (1) in (r), (-1) not in (r), (10) not in (r)]
#: []
def f():  # test_contains
    r = range(10)
    r = range(9, -1, -1)
    r = range(0, 10, 2)
    return [(0) in (r), (1) not in (r), (-1) not in (r), (10) not in (r)]
#: []
def f():  # test_contains
    r = range(10)
    r = range(9, -1, -1)
    r = range(0, 10, 2)
    r = range(9, -1, -2)
    return [(0) not in (r), (1) in (r), (-1) not in (r), (10) not in (r)]
#: []
def f():  # test_comparison
    return [(range(0) == ()) is (False), (() == range(0)) is (False), (range(2) == [0, 1]) is (False)]
