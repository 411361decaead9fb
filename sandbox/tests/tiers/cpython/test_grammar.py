# From Lib/test/test_grammar.py of CPython 3.13.0, cut to what the compiled tier takes: what its assertions compare is returned.
# Copyright (c) 2001-2024 Python Software Foundation; All Rights Reserved. Licensed under the PSF License Agreement,
# https://docs.python.org/3/license.html; its text is in LICENSE beside this file.

#: []
def f():  # test_backslash
    x = 1 + 1
    return [x]
#: []
def f():  # test_backslash
    x = 1 + 1
    x = 0
    return [x]
#: []
def f():  # test_string_literals
    x = ''
    y = ''
    return [len(x) == 0 and x == y]
#: []
def f():  # test_string_literals
    x = ''
    y = ''
    x = "'"
    y = "'"
    x = '"'
    y = '"'
    x = 'doesn\'t "shrink" does it'
    y = 'doesn\'t "shrink" does it'
    return [len(x) == 24 and x == y]
#: []
def f():  # test_string_literals
    x = ''
    y = ''
    x = "'"
    y = "'"
    x = '"'
    y = '"'
    x = 'doesn\'t "shrink" does it'
    y = 'doesn\'t "shrink" does it'
    x = 'does "shrink" doesn\'t it'
    y = 'does "shrink" doesn\'t it'
    return [len(x) == 24 and x == y]
#: []
def f():  # test_string_literals
    x = ''
    y = ''
    x = "'"
    y = "'"
    x = '"'
    y = '"'
    x = 'doesn\'t "shrink" does it'
    y = 'doesn\'t "shrink" does it'
    x = 'does "shrink" doesn\'t it'
    y = 'does "shrink" doesn\'t it'
    x = '\nThe "quick"\nbrown fox\njumps over\nthe \'lazy\' dog.\n'
    y = '\nThe "quick"\nbrown fox\njumps over\nthe \'lazy\' dog.\n'
    return [x, y]
#: []
def f():  # test_string_literals
    x = ''
    y = ''
    x = "'"
    y = "'"
    x = '"'
    y = '"'
    x = 'doesn\'t "shrink" does it'
    y = 'doesn\'t "shrink" does it'
    x = 'does "shrink" doesn\'t it'
    y = 'does "shrink" doesn\'t it'
    x = '\nThe "quick"\nbrown fox\njumps over\nthe \'lazy\' dog.\n'
    y = '\nThe "quick"\nbrown fox\njumps over\nthe \'lazy\' dog.\n'
    y = '\nThe "quick"\nbrown fox\njumps over\nthe \'lazy\' dog.\n'
    return [x, y]
#: []
def f():  # test_string_literals
    x = ''
    y = ''
    x = "'"
    y = "'"
    x = '"'
    y = '"'
    x = 'doesn\'t "shrink" does it'
    y = 'doesn\'t "shrink" does it'
    x = 'does "shrink" doesn\'t it'
    y = 'does "shrink" doesn\'t it'
    x = '\nThe "quick"\nbrown fox\njumps over\nthe \'lazy\' dog.\n'
    y = '\nThe "quick"\nbrown fox\njumps over\nthe \'lazy\' dog.\n'
    y = '\nThe "quick"\nbrown fox\njumps over\nthe \'lazy\' dog.\n'
    y = '\nThe "quick"\nbrown fox\njumps over\nthe \'lazy\' dog.\n'
    return [x, y]
#: []
def f():  # test_string_literals
    x = ''
    y = ''
    x = "'"
    y = "'"
    x = '"'
    y = '"'
    x = 'doesn\'t "shrink" does it'
    y = 'doesn\'t "shrink" does it'
    x = 'does "shrink" doesn\'t it'
    y = 'does "shrink" doesn\'t it'
    x = '\nThe "quick"\nbrown fox\njumps over\nthe \'lazy\' dog.\n'
    y = '\nThe "quick"\nbrown fox\njumps over\nthe \'lazy\' dog.\n'
    y = '\nThe "quick"\nbrown fox\njumps over\nthe \'lazy\' dog.\n'
    y = '\nThe "quick"\nbrown fox\njumps over\nthe \'lazy\' dog.\n'
    y = '\nThe "quick"\nbrown fox\njumps over\nthe \'lazy\' dog.\n'
    return [x, y]
#: []
def f():  # test_lambdef
    l1 = lambda: 0
    return [l1()]
#: []
def f():  # test_lambdef
    l3 = lambda: [2 < x for x in [-1, 3, 0]]
    return [l3()]
#: []
def f():  # test_lambdef
    l3 = lambda: [2 < x for x in [-1, 3, 0]]
    l4 = lambda x=lambda y=lambda z=1: z: y(): x()
    return [l4()]
#: []
def f():  # test_lambdef
    l3 = lambda: [2 < x for x in [-1, 3, 0]]
    l5 = lambda x, y, z=2: x + y + z
    return [l5(1, 2), l5(1, 2, 3)]
#: []
def f():  # test_while
    x = 0
    while 0:
        x = 1
    else:
        x = 2
    return [x]
#: []
def f():  # test_for
    result = []
    return [result]
#: []
def f():  # test_for
    result = []
    result = []
    a = b = c = [1, 2, 3]
    return [result, 3 * a]
#: []
def f():  # test_dictcomps
    nums = [1, 2, 3]
    return [{i: i + 1 for i in nums}]
#: []
def f():  # test_listcomps
    nums = [1, 2, 3, 4, 5]
    return [[3 * x for x in nums], [x for x in nums if x > 2]]
#: []
def f():  # test_listcomps
    nums = [1, 2, 3, 4, 5]
    strs = ['Apple', 'Banana', 'Coconut']
    return [[(i, s) for i in nums for s in strs], [(i, s) for i in nums for s in [f for f in strs if 'n' in f]]]
#: []
def f():  # test_listcomps
    return [[(lambda a: [a ** i for i in range(a + 1)])(j) for j in range(5)]]
#: []
def f():  # test_listcomps
    nums = [1, 2, 3, 4, 5]
    def test_in_func(l):
        return [0 < x < 3 for x in l if x > 2]
    return [test_in_func(nums)]
#: []
def f():  # test_listcomps
    def test_in_func(l):
        return [0 < x < 3 for x in l if x > 2]
    suppliers = [(1, 'Boeing'), (2, 'Ford'), (3, 'Macdonalds')]
    parts = [(10, 'Airliner'), (20, 'Engine'), (30, 'Cheeseburger')]
    suppart = [(1, 10), (1, 20), (2, 20), (3, 30)]
    x = [(sname, pname) for sno, sname in suppliers for pno, pname in parts for sp_sno, sp_pno in suppart if sno == sp_sno and pno == sp_pno]
    return [x]
#: []
def f():  # test_comprehension_specials
    x = 10
    x = 5
    x = 10
    x = 5
    return [
        [x for x in range(10) if x % 2 if x % 3], list((x for x in range(10) if x % 2 if x % 3)),
        [x for x, in [(4,), (5,), (6,)]], list((x for x, in [(7,), (8,), (9,)])),
    ]
#: []
def f():  # test_if_else_expr
    return [
        [x() for x in (lambda: True, lambda: False) if x()],
        [x(False) for x in (lambda x: False if x else True, lambda x: True if x else False) if x(False)],
        5 and 6 if 0 else 1, 5 and (6 if 1 else 1), not 5 if 1 else 1, not 5 if 0 else 1, 6 + 1 if 1 else 2,
        6 - 1 if 1 else 2, 6 * 2 if 1 else 4, 6 / 2 if 1 else 3, 6 < 4 if 0 else 2,
    ]
#: []
def f():  # test_if_else_expr
    def _checkeval(msg, ret):
        """helper to check that evaluation of expressions is done correctly"""
        print(msg)
        return ret
    return [
        5 if 1 else _checkeval('check 1', 0), _checkeval('check 2', 0) if 0 else 5,
        0 or _checkeval('check 3', 2) if 0 else 3, 1 or _checkeval('check 4', 2) if 1 else _checkeval('check 5', 3),
        0 or 5 if 1 else _checkeval('check 6', 3),
    ]
#: []
def f():  # test_paren_evaluation
    return [16 // (4 // 2), 16 // 4 // 2]
#: []
def f():  # test_paren_evaluation
    x = 2
    y = 3
    return [(False is x) is y, False is x is y]
