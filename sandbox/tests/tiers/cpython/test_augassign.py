# From Lib/test/test_augassign.py of CPython 3.13.0, cut to what the compiled tier takes: what its assertions compare is returned.
# Copyright (c) 2001-2024 Python Software Foundation; All Rights Reserved. Licensed under the PSF License Agreement,
# https://docs.python.org/3/license.html; its text is in LICENSE beside this file.

#: []
def f():  # testBasic
    x = 2
    x += 1
    x *= 2
    x **= 2
    x -= 8
    x //= 5
    x %= 3
    x &= 2
    x |= 5
    x ^= 1
    x /= 2
    return [x]
#: []
def f():  # testInList
    x = [2]
    x[0] += 1
    x[0] *= 2
    x[0] **= 2
    x[0] -= 8
    x[0] //= 5
    x[0] %= 3
    x[0] &= 2
    x[0] |= 5
    x[0] ^= 1
    x[0] /= 2
    return [x[0]]
#: []
def f():  # testInDict
    x = {0: 2}
    x[0] += 1
    x[0] *= 2
    x[0] **= 2
    x[0] -= 8
    x[0] //= 5
    x[0] %= 3
    x[0] &= 2
    x[0] |= 5
    x[0] ^= 1
    x[0] /= 2
    return [x[0]]
#: []
def f():  # testSequences
    x = [1, 2]
    x += [3, 4]
    x *= 2
    return [x]
