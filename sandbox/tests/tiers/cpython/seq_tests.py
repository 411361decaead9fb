# From Lib/test/seq_tests.py of CPython 3.13.0, cut to what the compiled tier takes: what its assertions compare is returned.
# Copyright (c) 2001-2024 Python Software Foundation; All Rights Reserved. Licensed under the PSF License Agreement,
# https://docs.python.org/3/license.html; its text is in LICENSE beside this file.

#: []
def f():  # test_truth
    return [list(), list([42])]
#: []
def f():  # test_getitem
    out = []
    u = list([0, 1, 2, 3, 4])
    for i in range(len(u)):
        out.append(u[i])
        out.append(i)
        out.append(u[int(i)])
        out.append(i)
    for i in range(-len(u), -1):
        out.append(u[i])
        out.append(len(u) + i)
        out.append(u[int(i)])
        out.append(len(u) + i)
    return out
#: []
def f():  # test_getitem
    a = list([10, 11])
    return [a[0], a[1], a[-2], a[-1]]
#: []
def f():  # test_getslice
    l = [0, 1, 2, 3, 4]
    u = list(l)
    return [
        u[0:0], list(), u[1:2], list([1]), u[-2:-1], list([3]), u[-1000:1000], u, u[1000:-1000], list([]), u[:],
        u[1:None], list([1, 2, 3, 4]), u[None:3], list([0, 1, 2]), u[::2], list([0, 2, 4]), u[1::2], list([1, 3]),
        u[::-1], list([4, 3, 2, 1, 0]), u[::-2], list([4, 2, 0]), u[3::-2],
    ]
#: []
def f():  # test_getslice
    l = [0, 1, 2, 3, 4]
    u = list(l)
    return [
        list([3, 1]), u[3:3:-2], u[3:2:-2], u[3:1:-2], u[3:0:-2], u[::-100], list([4]), u[100:-100], u[-100:100],
        u[100:-100:-1], u[-100:100:-1], u[-100:100:2],
    ]
#: []
def f():  # test_contains
    out = []
    u = list([0, 1, 2])
    for i in u:
        out.append((i) in (u))
    for i in (min(u) - 1, max(u) + 1):
        out.append((i) not in (u))
    return out
#: []
def f():  # test_len
    return [len(list()), len(list([])), len(list([0])), len(list([0, 1, 2]))]
#: []
def f():  # test_minmax
    u = list([0, 1, 2])
    return [min(u), max(u)]
#: []
def f():  # test_addmul
    u1 = list([0])
    return [u1, u1 + list(), list() + u1, list([-1]) + u1, list([-1, 0])]
#: []
def f():  # test_addmul
    u1 = list([0])
    u2 = list([0, 1])
    return [u1 + list([1]), u2]
#: []
def f():  # test_addmul
    u2 = list([0, 1])
    return [list(), u2 * 0, 0 * u2, u2, u2 * 1, 1 * u2, u2 + u2, u2 * 2, 2 * u2, u2 + u2 + u2, u2 * 3, 3 * u2]
#: []
def f():  # test_iadd
    u = list([0, 1])
    u += list()
    return [u, list([0, 1])]
#: []
def f():  # test_iadd
    u = list([0, 1])
    u += list()
    u += list([2, 3])
    return [u, list([0, 1, 2, 3])]
#: []
def f():  # test_iadd
    u = list([0, 1])
    u += list()
    u += list([2, 3])
    u += list([4, 5])
    return [u, list([0, 1, 2, 3, 4, 5])]
#: []
def f():  # test_iadd
    u = list([0, 1])
    u += list()
    u += list([2, 3])
    u += list([4, 5])
    u = list('spam')
    u += list('eggs')
    return [u, list('spameggs')]
#: []
def f():  # test_imul
    u = list([0, 1])
    u *= 3
    return [u, list([0, 1, 0, 1, 0, 1])]
#: []
def f():  # test_imul
    u = list([0, 1])
    u *= 3
    u *= 0
    return [u, list([])]
#: []
def f():  # test_count
    a = list([0, 1, 2]) * 3
    return [a.count(0), a.count(1), a.count(3)]
#: []
def f():  # test_index
    u = list([0, 1])
    return [u.index(0), u.index(1)]
#: []
def f():  # test_index
    u = list([0, 1])
    u = list([-2, -1, 0, 0, 1, 2])
    return [u.count(0), u.index(0)]
#: []
def f():  # test_index
    a = list([0, 1, 2, 3])
    a = list([-2, -1, 0, 0, 1, 2])
    return [a.index(0)]
#: []
def f():  # test_truth
    return [tuple([42])]
#: []
def f():  # test_getitem
    out = []
    u = tuple([0, 1, 2, 3, 4])
    for i in range(len(u)):
        out.append(u[i])
        out.append(i)
        out.append(u[int(i)])
        out.append(i)
    for i in range(-len(u), -1):
        out.append(u[i])
        out.append(len(u) + i)
        out.append(u[int(i)])
        out.append(len(u) + i)
    return out
#: []
def f():  # test_getitem
    a = tuple([10, 11])
    return [a[0], a[1], a[-2], a[-1]]
#: []
def f():  # test_getslice
    l = [0, 1, 2, 3, 4]
    u = tuple(l)
    return [
        u[0:0], tuple(), u[1:2], tuple([1]), u[-2:-1], tuple([3]), u[-1000:1000], u, u[1000:-1000], tuple([]), u[:],
        u[1:None], tuple([1, 2, 3, 4]), u[None:3], tuple([0, 1, 2]), u[::2], tuple([0, 2, 4]), u[1::2], tuple([1, 3]),
        u[::-1], tuple([4, 3, 2, 1, 0]), u[::-2], tuple([4, 2, 0]), u[3::-2],
    ]
#: []
def f():  # test_getslice
    l = [0, 1, 2, 3, 4]
    u = tuple(l)
    return [
        tuple([3, 1]), u[3:3:-2], u[3:2:-2], u[3:1:-2], u[3:0:-2], u[::-100], tuple([4]), u[100:-100], u[-100:100],
        u[100:-100:-1], u[-100:100:-1], u[-100:100:2],
    ]
#: []
def f():  # test_contains
    out = []
    u = tuple([0, 1, 2])
    for i in u:
        out.append((i) in (u))
    for i in (min(u) - 1, max(u) + 1):
        out.append((i) not in (u))
    return out
#: []
def f():  # test_len
    return [len(tuple()), len(tuple([])), len(tuple([0])), len(tuple([0, 1, 2]))]
#: []
def f():  # test_minmax
    u = tuple([0, 1, 2])
    return [min(u), max(u)]
#: []
def f():  # test_addmul
    u1 = tuple([0])
    return [u1, u1 + tuple(), tuple() + u1, tuple([-1]) + u1, tuple([-1, 0])]
#: []
def f():  # test_addmul
    u1 = tuple([0])
    u2 = tuple([0, 1])
    return [u1 + tuple([1]), u2]
#: []
def f():  # test_addmul
    u2 = tuple([0, 1])
    return [tuple(), u2 * 0, 0 * u2, u2, u2 * 1, 1 * u2, u2 + u2, u2 * 2, 2 * u2, u2 + u2 + u2, u2 * 3, 3 * u2]
#: []
def f():  # test_iadd
    u = tuple([0, 1])
    u += tuple()
    return [u, tuple([0, 1])]
#: []
def f():  # test_iadd
    u = tuple([0, 1])
    u += tuple()
    u += tuple([2, 3])
    return [u, tuple([0, 1, 2, 3])]
#: []
def f():  # test_iadd
    u = tuple([0, 1])
    u += tuple()
    u += tuple([2, 3])
    u += tuple([4, 5])
    return [u, tuple([0, 1, 2, 3, 4, 5])]
#: []
def f():  # test_iadd
    u = tuple([0, 1])
    u += tuple()
    u += tuple([2, 3])
    u += tuple([4, 5])
    u = tuple('spam')
    u += tuple('eggs')
    return [u, tuple('spameggs')]
#: []
def f():  # test_imul
    u = tuple([0, 1])
    u *= 3
    return [u, tuple([0, 1, 0, 1, 0, 1])]
#: []
def f():  # test_imul
    u = tuple([0, 1])
    u *= 3
    u *= 0
    return [u, tuple([])]
#: []
def f():  # test_count
    a = tuple([0, 1, 2]) * 3
    return [a.count(0), a.count(1), a.count(3)]
#: []
def f():  # test_index
    u = tuple([0, 1])
    return [u.index(0), u.index(1)]
#: []
def f():  # test_index
    u = tuple([0, 1])
    u = tuple([-2, -1, 0, 0, 1, 2])
    return [u.count(0), u.index(0)]
#: []
def f():  # test_index
    a = tuple([0, 1, 2, 3])
    a = tuple([-2, -1, 0, 0, 1, 2])
    return [a.index(0)]
