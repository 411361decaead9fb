# From Lib/test/test_scope.py of CPython 3.13.0, cut to what the compiled tier takes: what its assertions compare is returned.
# Copyright (c) 2001-2024 Python Software Foundation; All Rights Reserved. Licensed under the PSF License Agreement,
# https://docs.python.org/3/license.html; its text is in LICENSE beside this file.

#: []
def f():  # testSimpleNesting
    def make_adder(x):
    
        def adder(y):
            return x + y
        return adder
    inc = make_adder(1)
    return [inc(1)]
#: []
def f():  # testSimpleNesting
    def make_adder(x):
    
        def adder(y):
            return x + y
        return adder
    plus10 = make_adder(10)
    return [plus10(-2)]
#: []
def f():  # testExtraNesting
    def make_adder2(x):
    
        def extra():
    
            def adder(y):
                return x + y
            return adder
        return extra()
    inc = make_adder2(1)
    return [inc(1)]
#: []
def f():  # testExtraNesting
    def make_adder2(x):
    
        def extra():
    
            def adder(y):
                return x + y
            return adder
        return extra()
    plus10 = make_adder2(10)
    return [plus10(-2)]
#: []
def f():  # testSimpleAndRebinding
    def make_adder3(x):
    
        def adder(y):
            return x + y
        x = x + 1
        return adder
    inc = make_adder3(0)
    return [inc(1)]
#: []
def f():  # testSimpleAndRebinding
    def make_adder3(x):
    
        def adder(y):
            return x + y
        x = x + 1
        return adder
    plus10 = make_adder3(9)
    return [plus10(-2)]
#: []
def f():  # testNestingPlusFreeRefToGlobal
    def make_adder6(x):
        global global_nest_x
    
        def adder(y):
            return global_nest_x + y
        global_nest_x = x
        return adder
    inc = make_adder6(1)
    return [inc(1)]
#: []
def f():  # testNestingPlusFreeRefToGlobal
    def make_adder6(x):
        global global_nest_x
    
        def adder(y):
            return global_nest_x + y
        global_nest_x = x
        return adder
    plus10 = make_adder6(10)
    return [plus10(-2)]
#: []
def f():  # testNearestEnclosingScope
    def f(x):
    
        def g(y):
            x = 42
    
            def h(z):
                return x + z
            return h
        return g(2)
    test_func = f(10)
    return [test_func(5)]
#: []
def f():  # testMixedFreevarsAndCellvars
    def identity(x):
        return x
    def f(x, y, z):
    
        def g(a, b, c):
            a = a + x
    
            def h():
                return identity(z * (b + y))
            y = c + z
            return h
        return g
    g = f(1, 2, 3)
    h = g(2, 4, 6)
    return [h()]
#: []
def f():  # testRecursion
    def f(x):
    
        def fact(n):
            if n == 0:
                return 1
            else:
                return n * fact(n - 1)
        if x >= 0:
            return fact(x)
        else:
            raise ValueError('x must be >= 0')
    return [f(6)]
#: []
def f():  # testLambdas
    f1 = lambda x: lambda y: x + y
    inc = f1(1)
    return [inc(1)]
#: []
def f():  # testLambdas
    f1 = lambda x: lambda y: x + y
    plus10 = f1(10)
    return [plus10(5)]
#: []
def f():  # testLambdas
    f1 = lambda x: lambda y: x + y
    inc = f1(1)
    f2 = lambda x: (lambda: lambda y: x + y)()
    inc = f2(1)
    return [inc(1)]
#: []
def f():  # testLambdas
    f1 = lambda x: lambda y: x + y
    plus10 = f1(10)
    f2 = lambda x: (lambda: lambda y: x + y)()
    plus10 = f2(10)
    return [plus10(5)]
#: []
def f():  # testLambdas
    f8 = lambda x, y, z: lambda a, b, c: lambda: z * (b + y)
    g = f8(1, 2, 3)
    h = g(2, 4, 6)
    return [h()]
#: []
def f():  # testLocalsClass_WithTrace
    x = 12
    return [x]
#: []
def f():  # testNonLocalFunction
    def f(x):
    
        def inc():
            nonlocal x
            x += 1
            return x
    
        def dec():
            nonlocal x
            x -= 1
            return x
        return (inc, dec)
    inc, dec = f(0)
    return [inc(), dec()]
#: []
def f():  # testNestedNonLocal
    def f(x):
    
        def g():
            nonlocal x
            x -= 2
    
            def h():
                nonlocal x
                x += 4
                return x
            return h
        return g
    g = f(1)
    h = g()
    return [h()]
#: []
def f():  # testClassNamespaceOverridesClosure
    x = 42
    return [x]
