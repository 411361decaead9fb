# From Lib/test/string_tests.py of CPython 3.13.0, cut to what the compiled tier takes: what its assertions compare is returned.
# Copyright (c) 2001-2024 Python Software Foundation; All Rights Reserved. Licensed under the PSF License Agreement,
# https://docs.python.org/3/license.html; its text is in LICENSE beside this file.

#: []
def f():  # test_count
    return [('aaa').count('a'), ('aaa').count('b')]
#: []
def f():  # test_find
    return [('abcdefghiabc').find('abc'), ('rrarrrrrrrrra').find('a'), ('').find(''), ('').find('xx')]
#: []
def f():  # test_index
    return [
        ('abcdefghiabc').index(''), ('abcdefghiabc').index('def'), ('abcdefghiabc').index('abc'),
        ('rrarrrrrrrrra').index('a'),
    ]
#: []
def f():  # test_find_shift_table_overflow
    N = 2 ** 8 + 100
    pattern1 = 'a' * N + 'b' + 'a' * N
    text1 = 'babbaa' * N + pattern1
    return [(text1).find(pattern1)]
#: []
def f():  # test_find_shift_table_overflow
    N = 2 ** 8 + 100
    pattern2 = 'ddd' + 'abc' * N + 'eee'
    text2 = pattern2[:-1] + 'ddeede' * 2 * N + pattern2 + 'de' * N
    return [(text2).find(pattern2)]
#: []
def f():  # test_lower
    return [('HeLLo').lower(), ('hello').lower()]
#: []
def f():  # test_upper
    return [('HeLLo').upper(), ('HELLO').upper()]
#: []
def f():  # test_join
    return [
        (' ').join(['a', 'b', 'c', 'd']), ('').join(('a', 'b', 'c', 'd')), ('').join(('', 'b', '', 'd')),
        ('').join(('a', '', 'c', '')), ('a').join(('abc',)), ('.').join(['a', 'b', 'c']),
    ]
#: []
def f():  # test_join
    out = []
    for i in [5, 25, 125]:
        out.append(('-').join(['a' * i] * i))
        out.append(('-').join(('a' * i,) * i))
    return out
#: []
def f():  # test_inplace_rewrites
    return [('A').lower(), ('a').upper()]
