# From Lib/test/test_sort.py of CPython 3.13.0, cut to what the compiled tier takes: what its assertions compare is returned.
# Copyright (c) 2001-2024 Python Software Foundation; All Rights Reserved. Licensed under the PSF License Agreement,
# https://docs.python.org/3/license.html; its text is in LICENSE beside this file.

#: []
def f():  # test_key_with_exception
    data = list(range(-2, 2))
    dup = data[:]
    return [data, dup]
#: []
def f():  # test_none_in_tuples
    expected = [(None, 1), (None, 2)]
    actual = sorted([(None, 2), (None, 1)])
    return [actual, expected]
