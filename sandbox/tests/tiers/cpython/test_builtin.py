# From Lib/test/test_builtin.py of CPython 3.13.0, cut to what the compiled tier takes: what its assertions compare is returned.
# Copyright (c) 2001-2024 Python Software Foundation; All Rights Reserved. Licensed under the PSF License Agreement,
# https://docs.python.org/3/license.html; its text is in LICENSE beside this file.

#: []
def f():  # test_abs
    return [abs(0), abs(1234), abs(-1234), abs(0.0), abs(3.14), abs(-3.14), abs(True), abs(False)]
#: []
def f():  # test_all
    return [all([2, 4, 6]), all([2, None, 6]), all([])]
#: []
def f():  # test_all
    S = [50, 60]
    return [all((x > 42 for x in S))]
#: []
def f():  # test_all
    S = [50, 60]
    S = [50, 40, 60]
    return [all((x > 42 for x in S))]
#: []
def f():  # test_any
    return [any([None, None, None]), any([None, 4, None]), any([])]
#: []
def f():  # test_any
    S = [40, 60, 30]
    return [any((x > 42 for x in S))]
#: []
def f():  # test_any
    S = [40, 60, 30]
    S = [10, 20, 30]
    return [any((x > 42 for x in S))]
#: []
def f():  # test_divmod
    return [divmod(12, 7), divmod(-12, 7), divmod(12, -7), divmod(-12, -7)]
#: []
def f():  # test_divmod
    out = []
    for num, denom, exp_result in [(3.25, 1.0, (3.0, 0.25)), (-3.25, 1.0, (-4.0, 0.75)), (3.25, -1.0, (-4.0, -0.75)), (-3.25, -1.0, (3.0, -0.25))]:
        result = divmod(num, denom)
        out.append(result[0])
        out.append(exp_result[0])
        out.append(result[1])
        out.append(exp_result[1])
    return out
#: []
def f():  # test_exec_closure
    result = 0
    def make_closure_functions():
        a = 2
        b = 3
        c = 5
    
        def three_freevars():
            nonlocal result
            nonlocal a
            nonlocal b
            result = a * b
    
        def four_freevars():
            nonlocal result
            nonlocal a
            nonlocal b
            nonlocal c
            result = a * b * c
        return (three_freevars, four_freevars)
    result = 0
    return [result]
#: []
def f():  # test_exec_closure
    result = 0
    def make_closure_functions():
        a = 2
        b = 3
        c = 5
    
        def three_freevars():
            nonlocal result
            nonlocal a
            nonlocal b
            result = a * b
    
        def four_freevars():
            nonlocal result
            nonlocal a
            nonlocal b
            nonlocal c
            result = a * b * c
        return (three_freevars, four_freevars)
    result = 0
    result = 0
    return [result]
#: []
def f():  # test_len
    return [len('123'), len(()), len((1, 2, 3, 4)), len([1, 2, 3, 4]), len({}), len({'a': 1, 'b': 2})]
#: []
def f():  # test_map
    return [list(map(lambda x: x * x, range(1, 4)))]
#: []
def f():  # test_map
    return [list(map(lambda x, y: x + y, [1, 3, 2], [9, 1, 4]))]
#: []
def f():  # test_max
    return [
        max('123123'), max(1, 2, 3), max((1, 2, 3, 1, 2, 3)), max([1, 2, 3, 1, 2, 3]), max(1, 2, 3.0), max(1, 2.0, 3),
        max(1.0, 2, 3),
    ]
#: []
def f():  # test_max
    return [max((), default=None), max((1,), default=None), max((1, 2), default=None), max((1, 2), key=None)]
#: []
def f():  # test_min
    return [
        min('123123'), min(1, 2, 3), min((1, 2, 3, 1, 2, 3)), min([1, 2, 3, 1, 2, 3]), min(1, 2, 3.0), min(1, 2.0, 3),
        min(1.0, 2, 3),
    ]
#: []
def f():  # test_min
    return [min((), default=None), min((1,), default=None), min((1, 2), default=None), min((1, 2), key=None)]
#: []
def f():  # test_pow
    return [
        pow(0, 0), pow(0, 1), pow(1, 0), pow(1, 1), pow(2, 0), pow(2, 10), pow(2, 20), 1024 * 1024, pow(2, 30),
        1024 * 1024 * 1024, pow(-2, 0), pow(-2, 1), pow(-2, 2), pow(-2, 3), pow(0.0, 1), pow(1.0, 0), pow(1.0, 1),
        pow(2.0, 0), pow(2.0, 10), pow(2.0, 20), 1024.0 * 1024.0, pow(2.0, 30), 1024.0 * 1024.0 * 1024.0, pow(-2.0, 0),
    ]
#: []
def f():  # test_pow
    return [pow(-2.0, 1), pow(-2.0, 2), pow(-2.0, 3)]
#: []
def f():  # test_sum
    return [
        sum([]), sum(list(range(2, 8))), sum([[1], [2], [3]], []), sum(range(10), 1000), sum(range(10), 2 ** 31 - 5),
        2 ** 31 + 40, sum((i % 2 != 0 for i in range(10))), sum((i % 2 != 0 for i in range(10)), 2 ** 31 - 3),
        2 ** 31 + 2, sum((i / 2 for i in range(10))), sum((i / 2 for i in range(10)), 1000),
        sum((i / 2 for i in range(10)), 1000.25), sum([0.5, 1]), sum([1, 0.5]),
    ]
#: []
def f():  # test_sum
    empty = []
    return [empty]
#: []
def f():  # test_sum_accuracy
    return [sum([0.1] * 10), sum([1.0, 1e+101, 1.0, -1e+101])]
#: []
def f():  # test_zip
    a = (1, 2, 3)
    b = (4, 5, 6)
    t = [(1, 4), (2, 5), (3, 6)]
    return [list(zip(a, b)), t]
#: []
def f():  # test_zip
    a = (1, 2, 3)
    b = (4, 5, 6)
    t = [(1, 4), (2, 5), (3, 6)]
    b = [4, 5, 6]
    return [list(zip(a, b)), t]
#: []
def f():  # test_zip
    a = (1, 2, 3)
    b = (4, 5, 6)
    t = [(1, 4), (2, 5), (3, 6)]
    b = [4, 5, 6]
    b = (4, 5, 6, 7)
    return [list(zip(a, b)), t]
#: []
def f():  # test_zip
    return [list(zip()), list(zip(*[]))]
