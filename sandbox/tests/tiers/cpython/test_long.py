# From Lib/test/test_long.py of CPython 3.13.0, cut to what the compiled tier takes: what its assertions compare is returned.
# Copyright (c) 2001-2024 Python Software Foundation; All Rights Reserved. Licensed under the PSF License Agreement,
# https://docs.python.org/3/license.html; its text is in LICENSE beside this file.

#: []
def f():  # test_float_overflow
    out = []
    for x in (-2.0, -1.0, 0.0, 1.0, 2.0):
        out.append(float(int(x)))
        out.append(x)
    return out
#: []
def f():  # test_mod_division
    return [13 % 10, -13 % 10, 13 % -10, -13 % -10, 12 % 4, -12 % 4, 12 % -4, -12 % -4]
#: []
def f():  # test_floordiv
    return [
        2 // 3, 2 // -3, -2 // 3, -2 // -3, -11 // -3, -11 // 3, 11 // -3, 11 // 3, -12 // -3, -12 // 3, 12 // -3,
        12 // 3,
    ]
#: []
def f():  # test_lshift_of_zero
    return [0 << 0, 0 << 10]
#: []
def f():  # test_small_rshift
    return [42 >> 1, -42 >> 1, 43 >> 1, -43 >> 1, 1122 >> 1, -1122 >> 1, 1123 >> 1, -1123 >> 1]
#: []
def f():  # test_medium_rshift
    return [42 >> 9, -42 >> 9, 1122 >> 9, -1122 >> 9]
#: []
def f():  # test_big_rshift
    return [42 >> 32, -42 >> 32, 1122 >> 32, -1122 >> 32]
#: []
def f():  # test_small_lshift
    return [42 << 1, -42 << 1, 561 << 1, -561 << 1]
#: []
def f():  # test_medium_lshift
    return [42 << 9, -42 << 9, 1122 << 9, -1122 << 9]
#: []
def f():  # test_big_lshift
    return [42 << 32, 42 * 2 ** 32, -42 << 32, -42 * 2 ** 32, 1122 << 32, 1122 * 2 ** 32, -1122 << 32, -1122 * 2 ** 32]
#: []
def f():  # test_bit_length
    return [0 .bit_length(), 1 .bit_length(), (-1).bit_length(), 2 .bit_length(), (-2).bit_length()]
