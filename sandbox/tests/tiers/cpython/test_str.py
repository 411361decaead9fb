# From Lib/test/test_str.py of CPython 3.13.0, cut to what the compiled tier takes: what its assertions compare is returned.
# Copyright (c) 2001-2024 Python Software Foundation; All Rights Reserved. Licensed under the PSF License Agreement,
# https://docs.python.org/3/license.html; its text is in LICENSE beside this file.

#: []
def f():  # test_literals
    return [('\\u0020') != (' ')]
#: []
def f():  # test_comparison
    return ['abcd' > 'abc', 'abc' < 'abcd']
#: []
def f():  # test_contains
    return [
        ('a') in ('abdb'), ('a') in ('bdab'), ('a') in ('bdaba'), ('a') in ('bdba'), ('a') not in ('bdb'),
        ('a') in (('a', 1, None)), ('a') in ((1, None, 'a')), ('a') not in (('x', 1, 'y')),
        ('a') not in (('x', 1, None)), ('abcd') not in ('abcxxxx'), ('ab') in ('abcd'), ('ab') in ('abc'),
        ('ab') in ((1, None, 'ab')), ('') in ('abc'), ('') in (''), ('\x00') not in ('abc'), ('\x00') in ('\x00abc'),
        ('\x00') in ('abc\x00'), ('a') in ('\x00abc'), ('asdf') in ('asdf'), ('asdf') not in ('asd'),
        ('asdf') not in (''),
    ]
#: []
def f():  # test_constructor
    return [str('unicode remains unicode'), str('strings are converted to unicode')]
#: []
def f():  # test_compare
    N = 10
    ascii = 'a' * N
    ascii2 = 'z' * N
    return [ascii < ascii2, ascii >= ascii2]
