# From Lib/test/test_exceptions.py of CPython 3.13.0, cut to what the compiled tier takes: what its assertions compare is returned.
# Copyright (c) 2001-2024 Python Software Foundation; All Rights Reserved. Licensed under the PSF License Agreement,
# https://docs.python.org/3/license.html; its text is in LICENSE beside this file.

#: []
def f():  # test_3114
    e = ()
    return [e is None]
