# From Lib/test/list_tests.py of CPython 3.13.0, cut to what the compiled tier takes: what its assertions compare is returned.
# Copyright (c) 2001-2024 Python Software Foundation; All Rights Reserved. Licensed under the PSF License Agreement,
# https://docs.python.org/3/license.html; its text is in LICENSE beside this file.

#: []
def f():  # test_init
    return [list([]), list()]
#: []
def f():  # test_reversed
    a = list(range(20))
    r = reversed(a)
    return [list(r), list(range(19, -1, -1))]
#: []
def f():  # test_reversed
    return [list(reversed(list())), list()]
#: []
def f():  # test_setitem
    a = list([0, 1])
    a[0] = 0
    a[1] = 100
    return [a, list([0, 100])]
#: []
def f():  # test_setitem
    a = list([0, 1])
    a[0] = 0
    a[1] = 100
    a[-1] = 200
    return [a, list([0, 200])]
#: []
def f():  # test_setitem
    a = list([0, 1])
    a[0] = 0
    a[1] = 100
    a[-1] = 200
    a[-2] = 100
    return [a, list([100, 200])]
#: []
def f():  # test_setitem
    a = list([0, 1])
    a[0] = 0
    a[1] = 100
    a[-1] = 200
    a[-2] = 100
    a = list([])
    a = list([0, 1, 2, 3, 4])
    a[0] = 1
    a[1] = 2
    a[2] = 3
    return [a, list([1, 2, 3, 3, 4])]
#: []
def f():  # test_setitem
    a = list([0, 1])
    a[0] = 0
    a[1] = 100
    a[-1] = 200
    a[-2] = 100
    a = list([])
    a = list([0, 1, 2, 3, 4])
    a[0] = 1
    a[1] = 2
    a[2] = 3
    a[0] = 5
    a[1] = 6
    a[2] = 7
    return [a, list([5, 6, 7, 3, 4])]
#: []
def f():  # test_setitem
    a = list([0, 1])
    a[0] = 0
    a[1] = 100
    a[-1] = 200
    a[-2] = 100
    a = list([])
    a = list([0, 1, 2, 3, 4])
    a[0] = 1
    a[1] = 2
    a[2] = 3
    a[0] = 5
    a[1] = 6
    a[2] = 7
    a[-2] = 88
    a[-1] = 99
    return [a, list([5, 6, 7, 88, 99])]
#: []
def f():  # test_setitem
    a = list([0, 1])
    a[0] = 0
    a[1] = 100
    a[-1] = 200
    a[-2] = 100
    a = list([])
    a = list([0, 1, 2, 3, 4])
    a[0] = 1
    a[1] = 2
    a[2] = 3
    a[0] = 5
    a[1] = 6
    a[2] = 7
    a[-2] = 88
    a[-1] = 99
    a[-2] = 8
    a[-1] = 9
    return [a, list([5, 6, 7, 8, 9])]
#: []
def f():  # test_delitem
    a = list([0, 1])
    del a[1]
    return [a]
#: []
def f():  # test_delitem
    a = list([0, 1])
    del a[1]
    del a[0]
    return [a]
#: []
def f():  # test_delitem
    a = list([0, 1])
    del a[1]
    del a[0]
    a = list([0, 1])
    del a[-2]
    return [a]
#: []
def f():  # test_delitem
    a = list([0, 1])
    del a[1]
    del a[0]
    a = list([0, 1])
    del a[-2]
    del a[-1]
    return [a]
#: []
def f():  # test_append
    a = list([])
    a.append(0)
    a.append(1)
    a.append(2)
    return [a, list([0, 1, 2])]
#: []
def f():  # test_extend
    a1 = list([0])
    a2 = list((0, 1))
    a = a1[:]
    a.extend(a2)
    return [a, a1 + a2]
#: []
def f():  # test_extend
    a1 = list([0])
    a2 = list((0, 1))
    a = a1[:]
    a.extend(a2)
    a.extend(list([]))
    return [a, a1 + a2]
#: []
def f():  # test_extend
    a1 = list([0])
    a2 = list((0, 1))
    a = a1[:]
    a.extend(a2)
    a.extend(list([]))
    a.extend(a)
    return [a, list([0, 0, 1, 0, 0, 1])]
#: []
def f():  # test_extend
    a1 = list([0])
    a2 = list((0, 1))
    a = a1[:]
    a.extend(a2)
    a.extend(list([]))
    a.extend(a)
    a = list('spam')
    a.extend('eggs')
    return [a, list('spameggs')]
#: []
def f():  # test_insert
    a = list([0, 1, 2])
    a.insert(0, -2)
    a.insert(1, -1)
    a.insert(2, 0)
    return [a]
#: []
def f():  # test_insert
    a = list([0, 1, 2])
    a.insert(0, -2)
    a.insert(1, -1)
    a.insert(2, 0)
    b = a[:]
    b.insert(-2, 'foo')
    b.insert(-200, 'left')
    b.insert(200, 'right')
    return [b, list(['left', -2, -1, 0, 0, 'foo', 1, 2, 'right'])]
#: []
def f():  # test_pop
    a = list([-1, 0, 1])
    a.pop()
    return [a]
#: []
def f():  # test_pop
    a = list([-1, 0, 1])
    a.pop()
    a.pop(0)
    return [a]
#: []
def f():  # test_pop
    a = list([-1, 0, 1])
    a.pop()
    a.pop(0)
    a.pop(0)
    return [a]
#: []
def f():  # test_remove
    a = list([0, 0, 1])
    a.remove(1)
    return [a]
#: []
def f():  # test_remove
    a = list([0, 0, 1])
    a.remove(1)
    a.remove(0)
    return [a]
#: []
def f():  # test_remove
    a = list([0, 0, 1])
    a.remove(1)
    a.remove(0)
    a.remove(0)
    return [a]
#: []
def f():  # test_remove
    a = list([0, 0, 1])
    a.remove(1)
    a.remove(0)
    a.remove(0)
    a = list([1, 2])
    return [a]
#: []
def f():  # test_remove
    d = list('abcdefghcij')
    d.remove('c')
    return [d, list('abdefghcij')]
#: []
def f():  # test_remove
    d = list('abcdefghcij')
    d.remove('c')
    d.remove('c')
    return [d, list('abdefghij')]
#: []
def f():  # test_index
    a = list([-2, -1, 0, 0, 1, 2])
    a.remove(0)
    return [a, list([-2, -1, 0, 1, 2])]
#: []
def f():  # test_reverse
    u = list([-2, -1, 0, 1, 2])
    u.reverse()
    return [u]
#: []
def f():  # test_reverse
    u = list([-2, -1, 0, 1, 2])
    u2 = u[:]
    u.reverse()
    u.reverse()
    return [u, u2]
#: []
def f():  # test_clear
    u = list([2, 3, 4])
    u.clear()
    return [u]
#: []
def f():  # test_clear
    u = list([2, 3, 4])
    u.clear()
    u = list([])
    u.clear()
    return [u]
#: []
def f():  # test_clear
    u = list([2, 3, 4])
    u.clear()
    u = list([])
    u.clear()
    u = list([])
    u.append(1)
    u.clear()
    u.append(2)
    return [u]
#: []
def f():  # test_copy
    u = list([1, 2, 3])
    v = u.copy()
    return [v]
#: []
def f():  # test_copy
    u = list([1, 2, 3])
    v = u.copy()
    u = list([])
    v = u.copy()
    return [v]
#: []
def f():  # test_copy
    u = list([1, 2, 3])
    u = list([])
    u = list(['a', 'b'])
    return [u]
#: []
def f():  # test_copy
    u = list([1, 2, 3])
    v = u.copy()
    u = list([])
    v = u.copy()
    u = list(['a', 'b'])
    v = u.copy()
    v.append('i')
    return [v, u + ['i']]
#: []
def f():  # test_copy
    u = list([1, 2, 3])
    v = u.copy()
    u = list([])
    v = u.copy()
    u = list(['a', 'b'])
    v = u.copy()
    v.append('i')
    u = list([1, 2, [3, 4], 5])
    v = u.copy()
    return [u, v]
#: []
def f():  # test_sort
    u = list([1, 0])
    u.sort()
    return [u]
#: []
def f():  # test_sort
    u = list([1, 0])
    u.sort()
    u = list([2, 1, 0, -1, -2])
    u.sort()
    return [u, list([-2, -1, 0, 1, 2])]
#: []
def f():  # test_iadd
    u = list([0, 1])
    u2 = u
    u += [2, 3]
    return [(u) is (u2)]
#: []
def f():  # test_iadd
    u = list([0, 1])
    u += [2, 3]
    u = list('spam')
    u += 'eggs'
    return [u, list('spameggs')]
#: []
def f():  # test_exhausted_iterator
    a = list([1, 2, 3])
    a.append(9)
    return [a, list([1, 2, 3, 9])]
