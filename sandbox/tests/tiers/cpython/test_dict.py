# From Lib/test/test_dict.py of CPython 3.13.0, cut to what the compiled tier takes: what its assertions compare is returned.
# Copyright (c) 2001-2024 Python Software Foundation; All Rights Reserved. Licensed under the PSF License Agreement,
# https://docs.python.org/3/license.html; its text is in LICENSE beside this file.

#: []
def f():  # test_constructor
    return [dict(), (dict()) is not ({})]
#: []
def f():  # test_bool
    return [(not {}) is (True), {1: 2}, (bool({})) is (False), (bool({1: 2})) is (True)]
#: []
def f():  # test_keys
    d = {}
    d = {'a': 1, 'b': 2}
    return [('a') in (d), ('b') in (d)]
#: []
def f():  # test_contains
    d = {}
    return [('a') not in (d), 'a' in d, 'a' not in d]
#: []
def f():  # test_contains
    d = {}
    d = {'a': 1, 'b': 2}
    return [('c') not in (d)]
#: []
def f():  # test_len
    d = {}
    return [len(d)]
#: []
def f():  # test_len
    d = {}
    d = {'a': 1, 'b': 2}
    return [len(d)]
#: []
def f():  # test_getitem
    d = {'a': 1, 'b': 2}
    return [d['a'], d['b']]
#: []
def f():  # test_getitem
    d = {'a': 1, 'b': 2}
    d['c'] = 3
    d['a'] = 4
    return [d['c'], d['a']]
#: []
def f():  # test_getitem
    d = {'a': 1, 'b': 2}
    d['c'] = 3
    d['a'] = 4
    del d['b']
    return [d]
#: []
def f():  # test_clear
    d = {1: 1, 2: 2, 3: 3}
    d.clear()
    return [d]
#: []
def f():  # test_update
    d = {}
    d.update({1: 100})
    d.update({2: 20})
    d.update({1: 1, 2: 2, 3: 3})
    return [d]
#: []
def f():  # test_copy
    d = {1: 1, 2: 2, 3: 3}
    return [(d.copy()) is not (d), d.copy(), d]
#: []
def f():  # test_copy
    d = {1: 1, 2: 2, 3: 3}
    copy = d.copy()
    d[4] = 4
    return [(copy) != (d)]
#: []
def f():  # test_copy
    return [{}.copy()]
#: []
def f():  # test_copy_noncompact
    d = {k: k for k in range(1000)}
    d2 = d.copy()
    return [d2, d]
#: []
def f():  # test_get
    d = {}
    return [(d.get('c')) is (None), d.get('c', 3)]
#: []
def f():  # test_get
    d = {}
    d = {'a': 1, 'b': 2}
    return [(d.get('c')) is (None), d.get('c', 3), d.get('a'), d.get('a', 3)]
#: []
def f():  # test_setdefault
    d = {}
    d.setdefault('key0', [])
    d.setdefault('key', []).append(3)
    return [d['key'][0]]
#: []
def f():  # test_setdefault
    d = {}
    d.setdefault('key0', [])
    d.setdefault('key', []).append(3)
    d.setdefault('key', []).append(4)
    return [len(d['key'])]
#: []
def f():  # test_pop
    d = {}
    k, v = ('abc', 'def')
    d[k] = v
    return [d.pop(k), v, len(d), d.pop(k, v)]
#: []
def f():  # test_pop
    d = {}
    k, v = ('abc', 'def')
    d[k] = v
    d[k] = v
    return [d.pop(k, 1), v]
#: []
def f():  # test_dictview_mixed_set_operations
    return [{1: 1}.keys() == {1}, {1} == {1: 1}.keys(), {1: 1}.items() == {(1, 1)}, {(1, 1)} == {1: 1}.items()]
