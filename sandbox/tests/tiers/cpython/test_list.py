# From Lib/test/test_list.py of CPython 3.13.0, cut to what the compiled tier takes: what its assertions compare is returned.
# Copyright (c) 2001-2024 Python Software Foundation; All Rights Reserved. Licensed under the PSF License Agreement,
# https://docs.python.org/3/license.html; its text is in LICENSE beside this file.

#: []
def f():  # test_basic
    return [list([])]
#: []
def f():  # test_basic
    l0_3 = [0, 1, 2, 3]
    l0_3_bis = list(l0_3)
    return [l0_3, l0_3_bis, l0_3 is not l0_3_bis]
#: []
def f():  # test_basic
    return [list(()), list((0, 1, 2, 3)), list(''), list('spam'), list((x for x in range(10) if x % 2))]
#: []
def f():  # test_basic
    x = []
    return [x]
#: []
def f():  # test_truth
    return [not [], [42]]
#: []
def f():  # test_identity
    return [[] is not []]
#: []
def f():  # test_len
    return [len([]), len([0]), len([0, 1, 2])]
