# From Lib/test/test_set.py of CPython 3.13.0, cut to what the compiled tier takes: what its assertions compare is returned.
# Copyright (c) 2001-2024 Python Software Foundation; All Rights Reserved. Licensed under the PSF License Agreement,
# https://docs.python.org/3/license.html; its text is in LICENSE beside this file.

#: []
def f():  # test_set_literal_insertion_order
    s = {1, 1.0, True}
    return [len(s)]
#: []
def f():  # test_set_literal_evaluation_order
    events = []
    return [events]
#: []
def f():  # test_hash
    results = set()
    return [len(results)]
#: []
def f():  # test_hash_effectiveness
    n = 13
    hashvalues = set()
    return [len(hashvalues), 2 ** n]
