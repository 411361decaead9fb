# From Lib/test/test_tuple.py of CPython 3.13.0, cut to what the compiled tier takes: what its assertions compare is returned.
# Copyright (c) 2001-2024 Python Software Foundation; All Rights Reserved. Licensed under the PSF License Agreement,
# https://docs.python.org/3/license.html; its text is in LICENSE beside this file.

#: []
def f():  # test_constructors
    return [tuple()]
#: []
def f():  # test_constructors
    return [tuple([]), tuple([0, 1, 2, 3]), tuple(''), tuple('spam'), tuple((x for x in range(10) if x % 2))]
#: []
def f():  # test_truth
    return [not (), (42,)]
#: []
def f():  # test_len
    return [len((0,)), len((0, 1, 2))]
#: []
def f():  # test_lexicographic_ordering
    a = list([1, 2])
    b = list([1, 2, 0])
    return [(a) < (b)]
#: []
def f():  # test_lexicographic_ordering
    b = list([1, 2, 0])
    c = list([1, 3])
    return [(b) < (c)]
