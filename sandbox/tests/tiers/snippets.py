# Hard cases by hand. A line `#: [..] | [..]` begins a case and gives the arguments of the calls of its `f`.

#: [-4611686018427387903] | [-4611686018427387897] | [4611686018427387903] | [-8]
def f(x): return x // 7
#: [3] | [1000000000000]
def f(n): return len(list(range(n)))
#: [3] | [1000000000000]
def f(n): return sorted(range(n))[0]
#: [3] | [1000000000000]
def f(n): return len(sorted(range(n), key=lambda x: -x))
#: [3] | [1000000000000]
def f(n): return len(tuple(range(n)))
#: [3] | [1000000000000]
def f(n): return len([*range(n)])
#: [3] | [1000000000000]
def f(n): return len((0, *range(n)))
#: [3] | [1000000000000]
def f(n):
    xs = [1]
    xs.extend(range(n))
    return len(xs)
#: [3] | [1000000000000]
def f(n):
    xs = [1]
    xs += range(n)
    return len(xs)
#: [3] | [1000000000000]
def f(n):
    a, *b = range(n)
    return len(b)
#: [3] | [1000000000000]
def f(n): return max(*range(n))
#: [3] | [1000000000000]
def f(n): return len(list(reversed(range(n))))
#: [3] | [1000000000000]
def f(n): return len(list(iter(range(n))))
#: [3] | [1000000000000]
def f(n):
    xs = [1, 2]
    xs[:] = range(n)
    return len(xs)
#: [[1]] | [[]] | ["a"] | [3]
def twice(x):
    a = 2 * x
    b = a
    a += a
    return [a, b]
def f(x): return twice(x)
#: [[[1], [2]]]
def f(rows):
    for x in rows:
        a = x * 2
        b = a
        a += [5]
        x.append(b)
    return rows
#: [58] | [59] | [60] | [61] | [62] | [63] | [64] | [65] | [0] | [-1]
def f(k): return 2 ** k
#: [-1] | [0] | [1]
def f(k):
    total = 1
    for n in range(k, k + 2):
        total = 2 ** n + 1
    return [total, 2 ** n]
#: []
def f():
    found = []
    for n in range(-3, 3):
        x = 2 ** n
        found.append([int(2 ** n), bool(10 ** (n * 200)), isinstance(2 ** n, int), int(x), round(x), abs(x), str(x), -x, x == 1])
        found.append([1 if 10 ** (n * 200) else 0, x // 1, x * 3, max(x, 1), x < 1, {x: 1}, sum([x, 1]), [x, 1].index(x), f"{x}"])
        found.append([not 10 ** (n * 200), 10 ** (n * 200) and 1, 10 ** (n * 200) or 2, float(x), x / 2, divmod(x, 1), x ** 2])
    return found
#: []
def f():
    found = []
    for n in range(-3, 3):
        try:
            found.append((2 ** n) & 1)
        except TypeError:
            found.append("no")
        try:
            found.append([5, 6, 7, 8, 9][2 ** n])
        except TypeError:
            found.append("none")
        try:
            found.append([5] * 2 ** n)
        except TypeError:
            found.append("nothing")
        try:
            for m in range(2 ** n):
                found.append(m)
        except TypeError:
            found.append("no range")
    return found
#: [0] | [1]
def f(k):
    def look():
        return [str(e)]
    seen = []
    for turn in range(2):
        try:
            if k:
                [][0]
            {}[turn]
        except IndexError as e:
            seen.append(look())
        except KeyError as e:
            seen.append(look())
        try:
            seen.append(look())
        except NameError:
            seen.append("gone")
    return seen
#: [0]
e = 5
def f(k):
    global e
    try:
        [][k]
    except IndexError as e:
        found = look()
    try:
        return [found, e]
    except NameError:
        return [found, "gone"]
def look(): return str(e)
#: [true] | [false] | [null] | [""] | [[]] | [0.5] | ["ab"] | [3]
def f(k):
    x = list(range(400000))
    try:
        x[k] = x[k] + 1
    except TypeError:
        return "no index"
    return [x[k], x[:3]]
#: []
def f():
    found = []
    for n in range(-2, 2):
        k = 2 ** n
        x = list(range(400000))
        try:
            found.append(x[k])
        except TypeError:
            found.append(k)
    return found
#: [[2, 3, 1]]
def f(x):
    flag = [1]
    def quiet():
        flag.clear()
        return lambda v: v
    x.sort(reverse=flag, key=quiet())
    return [x, sorted(x, reverse=flag), sorted(x, reverse=[0]), sorted(x, reverse="")]
#: [-4611686018427387903] | [-4611686018427387897] | [4611686018427387903] | [-8]
def f(x): return [x // 3, x // 10, x % 7, x // 1000003, divmod(x, 7), x // 4611686018427387]
#: []
K = lambda v: -v
def g():
    global K
    K = lambda v: v
    return 1
def f(): return [max(g(), 5, key=K), min((g() for v in [1, 2]), key=K)]
#: [[3, 1, 2]] | [[1]]
def f(x):
    x.sort(key=lambda v, n=len(x): -v if n else v)
    return x
#: [[3, 1, 2]]
def f(x):
    try:
        x.sort(key=[lambda v: -v][{}[7]])
    except KeyError:
        return x
#: [[3, 1, 2]]
def f(x):
    x.sort(key=lambda v: x.append(v) or x.pop())
    return x
#: [[3, 1, 2]]
def f(x):
    def key(v):
        nonlocal x
        x.append(v)
        x *= 0
        return v
    x.sort(key=key)
    return x
#: [[3, 1, 2]]
def f(x):
    x.sort(key=lambda v: [len(x), x.clear(), x.reverse(), x.extend([]), v])
    return x
#: [true] | [false]
def f(jump):
    for k in [1, 2]:
        try:
            {}[k]
        except KeyError as e:
            if jump: continue
            break
    return e.args[0]
#: []
def f():
    try:
        try:
            {}[1]
        except KeyError as e:
            {}[2]
    except KeyError:
        return e.args
#: []
def f():
    try:
        {}[1]
    except KeyError as e:
        for k in [1, 2]:
            try:
                {}[2]
            except KeyError as e:
                pass
        return e.args
#: []
def f():
    for k in [1, 2, 3]:
        try:
            {}[k]
        except KeyError as e:
            for j in [4, 5]:
                if j == 5: break
            if e.args[0] == 2: break
            continue
    return k
#: [5]
def f(x):
    def g():
        nonlocal x
        x = 100
        return [1, 2]
    return sum(g(), x)
#: []
def f():
    log = []
    def t(v):
        log.append(v)
        return v
    return [sum([t(1), t(2)], t(3)), sum((t(v) for v in [4, 5]), t(6)), log]
#: [[3, 1, 2]]
def f(x): return [sorted(x, reverse=x.append(9) is None), sorted(x, reverse=x.pop() > 1), sorted((v for v in x), key=[lambda v: -v, x.append(4)][0])]
#: [[1, 3, 2]] | [[[1, 2]]] | [[]] | [[7]]
def f(x): return max(*x)
#: [[1, 3, 2]] | [[]] | [[7]]
def f(x): return max(*x, default=0)
#: [[1, 3, 2]]
def f(x): return [max(*x, key=lambda v: [v, x.clear()][0]), x]
#: [[1, 3, 2]]
def f(x):
    log = []
    def t(v):
        log.append(v)
        return v
    return [max(*(t(v) for v in x), key=lambda v: t(-v)), log]
#: []
def f():
    pair = [0, 0]
    def g(v):
        pair[0] = v
        pair[1] = v * v
        return pair
    return [dict(g(v) for v in range(3)), dict(map(g, range(3)))]
#: []
def map(x): return {(1, 2): x}
def f(): return [dict(map(3)), len(set(map(4)))]
#: [0]
def f(n):
    x = [1]
    def deepen():
        nonlocal n
        for _ in range(100000): x[0] = [x[0]]
        n = 1
    print(x, deepen())
    return n
#: [-7, 2] | [7, -2] | [-7, -2] | [0, 5] | [7, 7] | [-1, 100]
def f(a, b): return [a // b, a % b, divmod(a, b), a // -b, -a % b]
#: [-7.5, 2] | [7.5, -2] | [-0.0, 3] | [1e300, 1e-5] | [0.7, 0.1]
def f(a, b): return [a // b, a % b, divmod(a, b)]
#: [{"float":"inf"}, 2.0] | [1.0, {"float":"inf"}] | [-1.0, {"float":"inf"}] | [{"float":"nan"}, 1.0]
def f(a, b): return [a // b, a % b]
#: [1, 0] | [1.0, 0] | [0, 0]
def f(a, b): return a // b
#: [1, 0] | [1, 0.0]
def f(a, b): return a / b
#: [1, 0] | [1.5, 0]
def f(a, b): return a % b
#: [2147483647] | [-2147483648] | [2147483648] | [4294967296]
def f(n): return [n + 1, n - 1, n * 2, n * n, -n, n << 1, n >> 1, ~n, n.bit_length(), abs(n), n & -n, n | 1, n ^ n]
#: [9007199254740992] | [9007199254740993] | [-9007199254740993]
def f(n): return [n == float(n), n < float(n), n > float(n), float(n), n / 1, n / 3, n * 1.0, n + 0.0, hash(n) == n]
#: [9007199254740993, 9007199254740992.0] | [9007199254740992, 9007199254740992.0] | [9007199254740991, 9007199254740992.0]
def f(a, b): return [a == b, a < b, a <= b, a > b, a >= b, a != b, a in [b], b in [a], [a] == [b], (a,) < (b,), max(a, b), min(a, b)]
#: [2305843009213693951] | [2305843009213693952] | [-2305843009213693952] | [-2305843009213693953]
def f(n): return [n, -n]
#: [2305843009213693951, 1] | [-2305843009213693952, 1] | [-2305843009213693952, -1]
def f(n, d): return n - d
#: [2305843009213693951, 1] | [4611686018427387903, 1] | [-4611686018427387904, -1]
def f(n, d): return n + d
#: [4611686018427387903] | [4611686018427387904] | [-4611686018427387904] | [-4611686018427387905]
def f(n): return [n, n // 2, n % 1000, n >> 3, n == n, n < 0]
#: [9223372036854775807] | [-9223372036854775808] | [{"int":"9223372036854775808"}] | [{"int":"-9223372036854775809"}]
def f(n): return [n, n % 7, n // 7, -n]
#: [1073741824, 1073741824] | [-1073741824, 2147483648] | [3037000499, 3037000499] | [1518500249, 1518500250]
def f(a, b): return a * b
#: [-4611686018427387904] | [-2305843009213693952]
def f(n): return [n // -1, abs(n), -n]
#: [1, 60] | [1, 61] | [1, 62] | [1, 63] | [1, 64] | [-1, 61] | [-1, 62] | [3, 61] | [0, 1000]
def f(a, b): return a << b
#: [5, 63] | [5, 64] | [5, 1000] | [-5, 63] | [-5, 64] | [-5, 2147483648] | [-1, 1] | [5, 4294967296]
def f(a, b): return a >> b
#: [1, -1] | [0, -1]
def f(a, b): return a << b
#: [1, -1]
def f(a, b): return a >> b
#: [2, 10] | [2, 61] | [2, 62] | [2, 63] | [-2, 61] | [-2, 62] | [0, 0] | [-1, 1001] | [3, 38] | [3, 39] | [10, 18] | [7, 22]
def f(a, b): return a ** b
#: [2, -1] | [-2, -3] | [0.5, 3] | [2.0, 0.5] | [10, -2] | [-8.0, 3] | [0.0, 0]
def f(a, b): return a ** b
#: [0, -1] | [0.0, -1]
def f(a, b): return a ** b
#: [-8, 0.5]
def f(a, b): return a ** b
#: [-3]
def f(a): return [-a ** 2, (-a) ** 2, 2 ** -1, -3 ** 2, 2 ** 3 ** 2, -2 ** -2]
#: [5] | [-5] | [0] | [4611686018427387903]
def f(n): return [~n, n & 3, n | 8, n ^ -1, -n & 255, n & -n, n >> 1, n << 1 if n < 9 else 0]
#: [true, false] | [true, true]
def f(a, b): return [a + b, a - b, a * 3, a & b, a | b, a ^ b, ~a, -a, +a, a / 2, a // 1, a ** 2, a << 2, a & 1, a | 2]
#: [true] | [1] | [1.0]
def f(k): return [{1: "a"}[k], {True: "b"}.get(k), {1.0: "c"}.get(k), k in {1}, k in (1.0,), [0, 1, 2].index(k)]
#: []
def f():
    d = {1: "a", 1.0: "b", True: "c"}
    d[1.0] = "d"
    return [d, len({1, 1.0, True, 0, False, 0.0, -0.0})]
#: []
def f(): return [True == 1, True is True, 1 == 1.0, 0.0 == -0.0, "1" == 1, None == 0, [] == (), () == (), [1] == [True], 2 > True]
#: []
def f(): return [True < 2, False == 0.0, not 0.0, not -0.0, bool(0.0), bool("0"), bool([0]), bool(()), bool({}), bool(None)]
#: [0, 5] | [3, 0] | [0, 0]
def f(a, b): return [a or b, a and b, not a, a or [] or b, a and b and 7, (a or None) is None, a and "x" or "y"]
#: [{"float":"nan"}]
def f(x): return [x == x, x != x, x < 1, x > 1, 1 <= x, x in [x], [x] == [x], max(1.0, x) == 1.0, bool(x)]
#: [{"float":"nan"}]
def f(x): return [max(x, 1), max(1, x), min(x, 1), min(1, x), sorted([2, 1]), x]
#: [{"float":"inf"}] | [{"float":"-inf"}]
def f(x): return [x == x + 1, x - 1, -x, x * 2, x > 10 ** 18, x < -10 ** 18, x == 10 ** 18, abs(x), x / 2, 1 / x]
#: [{"float":"inf"}]
def f(x): return int(x)
#: [{"float":"nan"}]
def f(x): return round(x)
#: []
def f(): return [-0.0, 0.0 * -1, -0.0 + 0, 0 * -1.0, abs(-0.0), -0.0 == 0, [-0.0], max(0.0, -0.0), max(-0.0, 0.0), min(-0.0, 0.0), -0.0 // 1, -0.0 % 3, round(-0.4)]
#: []
def f(): return [0.1 + 0.2, 1 / 3, 2 / 3, 1e16 + 1, 1e22, 1e21, 123456789012345680.0, 1e15, 1e16, 0.0001, 0.00001, 5e-324, 1.7976931348623157e308, 100.0, 1e5]
#: []
def f(): return [sum([0.1] * 10), sum([0.1, 1, 0.2, 3, 1e16, 1, -1e16]), sum([1e308, 1e308, -1e308]), sum([True, 2.5, False, 1]), sum([1, 2], 0.5), sum([]), sum([], 5), sum([0.1] * 3, 0.0), sum([-0.0]), sum([-0.0], -0.0)]
#: []
def f(): return [sum(x / 10 for x in range(10)), sum([2 ** 53, 1.0, 1]), sum([2 ** 53 + 1, 0.5]), sum([1e16, 1, 1]), sum([0.1, 0.2, 0.3])]
#: [2.5] | [3.5] | [-2.5] | [0.5] | [1.5] | [-0.5] | [2.675] | [1e15] | [4503599627370497.5]
def f(x): return [round(x), int(x), x // 1, x % 1]
#: [2.675, 2] | [1.005, 2] | [0.125, 2] | [12345.678, -2] | [5.5, 0] | [-1.15, 1]
def f(x, n): return round(x, n)
#: [12345, -2] | [150, -2] | [250, -2] | [-150, -2] | [5, 2] | [25, -1] | [35, -1]
def f(x, n): return round(x, n)
#: [1e300, 10]
def f(x, n): return x ** n
#: [1e300]
def f(x): return [x * x, -x * x, x * x - x * x]
#: [7] | [0] | [-7]
def f(n): return [n / 2, n / 7, n / 3.0, n * 0.5, n + 0.5, 1.5 - n, n // 0.5, n % 0.75]
#: [9007199254740993, 3] | [1152921504606846975, 7] | [1000000000000000000, 1000000000000000000] | [4611686018427387903, 2]
def f(a, b): return a / b
#: ["12"] | [" -7 "] | ["1_0"] | ["+5"] | ["007"]
def f(s): return int(s)
#: [""] | ["x"] | ["1.5"] | ["0x10"] | ["--1"]
def f(s): return int(s)
#: ["1.5"] | ["1e3"] | [" inf "] | ["-.5"] | ["1_0.5"] | ["nan"]
def f(s): return float(s)
#: [2.9] | [-2.9] | [1e18] | [1e19] | [-1e19] | [4.611686018427388e18]
def f(x): return int(x)
#: [5] | [1000000] | [-42] | [0]
def f(n): return [str(n), repr(n), f"{n}", f"{n:5}|{n:<5}|{n:>5}|{n:^5}|{n:05}|{n:,}|{n:+}|{n:x}|{n:b}", "%d|%5d|%s" % (n, n, n), "{}-{0}".format(n) if n < -99 else "{}".format(n)]
#: [1.5] | [1e16] | [1e-5] | [0.1] | [123456.789] | [-0.0] | [{"float":"nan"}] | [{"float":"inf"}]
def f(x): return [str(x), f"{x}", f"{x:.2f}", f"{x:8.3f}", "%.1f" % x, f"{x:e}", f"{x:g}"]
#: [[1, "a", null, true, 1.5, [2], {"()":[3]}, {"b": 4}]]
def f(xs): return [str(xs), repr(xs), f"{xs}", str(tuple(xs)), str(()), str((1,)), str({}), str("a'b"), repr("a'b"), repr("a\n\"")]
#: []
def f():
    x = 3
    return [f"{x!r}", f"{x + 1=}", f"{{}}", f"{'a':>3}", f"{x:{x}}", f"{'a' 'b'}", f"{(lambda: 5)()}", f"a{'b'}c" "d"]

#: [[1, 2, 3, 4, 5]]
def f(a): return [a[::-1], a[1:], a[:-1], a[::2], a[::-2], a[4:1:-1], a[-3:], a[10:], a[-100:2], a[3:1], a[1:3], a[:], a[5:0:-1], a[-1:-6:-1], a[-1::-1], a[:-6:-1], a[2:2], a[100:-100:-3], a[None:None:None]]
#: [[1, 2, 3], 4611686018427387903] | [[1, 2, 3], -4611686018427387904]
def f(a, n): return [a[n:], a[:n], a[::n] if n > 0 else a[::n], a[n::-1], a[:n:-1]]
#: [[1, 2, 3]]
def f(a): return a[::0]
#: [[1, 2, 3], 3] | [[1, 2, 3], -4] | [[], 0]
def f(a, i): return a[i]
#: [[1, 2, 3], true] | [[1, 2, 3], false]
def f(a, i): return [a[i], a[-i], a[i:], a[not i]]
#: [[1, 2, 3], 1.0]
def f(a, i): return a[i]
#: ["hello"] | [""] | ["x"]
def f(s): return [s[::-1], s[1:3], s[-3:], s[:1], s[5:], s * 2, s * 0, s * -1, s + s, s in "say hello", "" in s, "l" in s, s.upper(), s.count("l"), s.count(""), s.find("l"), s.find("z"), s.find(""), s.find("", 9), s.rfind("l"), s.find("l", 3), s.find("l", -1)]
#: ["a,b,,c"] | [""] | [","] | [" a  b "]
def f(s): return [s.split(","), s.split(), s.split(",", 1), s.strip(), s.replace(",", ";"), s.replace("", "-"), s.partition(","), s.startswith("a"), s.startswith(("x", "a")), s.endswith(""), s.join(["1", "2"]), s.title(), s.isdigit(), s.splitlines(), s.rsplit(",", 1)]
#: ["banana"]
def f(s): return [s.index("n"), s.rindex("n"), s.count("an"), s.count("ana"), s.replace("an", "x", 1), s.lstrip("b"), s.rstrip("na"), s.strip("ab"), s.center(9, "*"), s.zfill(8), s.ljust(8) + "|", s.rjust(8), sorted(s), list(s), set(s) == {"a", "b", "n"}, max(s), min(s), s.capitalize(), s.swapcase()]
#: ["naïve é 日本"] | ["ß"] | ["\u0000a"]
def f(s): return [len(s), s[::-1], s.upper(), s[1:3], s.find("é"), s < "z", ord(s[0]), s == s + "", s in s, sorted(s), s.isalpha()]
#: ["abc", "abd"] | ["Z", "a"] | ["a", "aa"] | ["", "a"] | ["é", "z"] | ["10", "9"]
def f(a, b): return [a < b, a <= b, a > b, a == b, max(a, b), min(a, b), sorted([b, a]), (a, 1) < (b, 0), [a] < [b]]
#: ["x", 1]
def f(a, b): return a < b
#: ["x", 1]
def f(a, b): return a + b
#: [[3, 1, 2]]
def f(a):
    b = a
    b.append(4)
    c = a + [5]
    a += [6]
    d = a[:]
    a *= 2
    return [a, b, c, d, a is b, c is a]
#: [[1, 2]] | [[1, 2]]
def f(a, seen=[]):
    seen += a
    seen *= 1
    seen.append(len(seen))
    seen = seen[1:]
    return seen
#: [] | [] | []
def f(q=[1]):
    q.append(5)
    q *= 2
    q = q[:3]
    return q
#: []
def f():
    a = [[0] * 3] * 3
    a[0][1] = 5
    b = [[0] * 3 for _ in range(3)]
    b[0][1] = 5
    return [a, b, a[0] is a[1], b[0] is b[1]]
#: []
def f():
    t = ([1], 2)
    u = t + (3,)
    u[0].append(9)
    a, b = t, (1, 2)
    b += (3,)
    return [t, u, b]
#: []
def f():
    t = ([1], 2)
    t[0] += [5]
    return t
#: []
def f():
    a = [1, 2, 3, 4]
    for x in a:
        if x < 3 and len(a) < 9:
            a.append(x * 10)
    for x in a:
        if x % 2:
            a.remove(x)
    return a
#: []
def f():
    a = [1, 2, 3, 4, 5, 6]
    out = []
    for x in a:
        out.append(x)
        a.pop()
    for i in range(len(a)):
        a.append(i)
    return [a, out]
#: []
def f():
    d = {1: 2, 3: 4}
    for k in d:
        d[k] = d[k] + 1
    return d
#: []
def f():
    d = {1: 2, 3: 4}
    for k in d:
        d[k + 10] = 0
    return d
#: []
def f():
    d = {1: 2, 3: 4}
    for k in list(d):
        del d[k]
        d[k + 1] = k
    return d
#: []
def f():
    d = {1: 2, 3: 4}
    for k in d:
        d.pop(k)
        d[9] = 9
    return d
#: []
def f():
    d = {}
    d["b"] = 1
    d["a"] = 2
    d["c"] = 3
    del d["b"]
    d["b"] = 4
    d["a"] = 5
    d.update({"z": 1, "c": 0})
    d.setdefault("q", 7)
    d.setdefault("a", 7)
    return [d, list(d), list(d.values()), list(d.items()), d.pop("c"), d.pop("zz", None), len(d), "a" in d, d.get("nope"), sorted(d), max(d), list(reversed(d))]
#: ["a"] | ["z"]
def f(k): return {"a": 1}[k]
#: [[1]]
def f(k): return {}.get(k, 0) if k else 1
#: [[1]]
def f(k): return k in {}
#: [[1]]
def f(k): return {k: 1}
#: []
def f():
    d = {(1, 2): "a", (1, (2, 3)): "b", "k": [1]}
    d[1, 2] += "x"
    d["k"] += [2]
    d["k"][0] -= 5
    return [d, d[(1, (2, 3))], (1.0, 2) in d, (True, 2) in d]
#: []
def f(): return [{1: 2} == {1.0: 2.0}, {1: 2, 3: 4} == {3: 4, 1: 2}, {1: [2]} == {1: [2]}, {} == {}, {1: 2} != {1: 3}, {1: 2} == {1: 2, 2: 3}]
#: []
def f(): return [dict([(1, 2), (3, 4)]), dict(a=1, b=2), dict({1: 2}, c=3), dict(zip("ab", [1, 2])), {**{1: 2}, **{1: 3}}, {1: 2} | {3: 4}, dict.fromkeys("aab", 0), dict(), dict([[1, 2]])]
#: []
def f():
    a = {1, 2, 3}
    b = {3, 4}
    a.add(3)
    a.discard(9)
    return [len(a), sorted(a | b), sorted(a & b), sorted(a - b), sorted(a ^ b), a <= {1, 2, 3, 4}, a < a, a == {3, 2, 1}, 3 in a, "x" in a, sorted(a.union([7])), a.isdisjoint([9]), sum(a), max(a), len(set("hello"))]
#: [[3, 1, 2, 11, 5, 8, 40]] | [["b", "a", "c"]]
def f(xs):
    s = set(xs)
    return [list(s), [x for x in s], s]
#: [[5, 3, 8]]
def f(xs):
    s = set(xs)
    return s.pop()

#: [[[2, "b"], [1, "z"], [2, "a"], [1, "a"]]]
def f(xs): return [sorted(xs), sorted(xs, key=lambda t: t[0]), sorted(xs, key=lambda t: t[0], reverse=True), sorted(xs, reverse=True), sorted(xs, key=lambda t: (-t[0], t[1])), min(xs), max(xs), min(xs, key=lambda t: t[0]), max(xs, key=lambda t: t[0])]
#: [[3, 1.0, 2, true, 1, 0.5, false, 0]]
def f(xs):
    ys = list(xs)
    ys.sort()
    zs = xs[:]
    zs.sort(reverse=True)
    ws = xs[:]
    ws.sort(key=lambda x: -x)
    return [ys, zs, ws, sorted(xs, key=bool), max(xs), min(xs), max(1, True, 1.0), min(1.0, 1, True)]
#: [[1, "a"]]
def f(xs): return sorted(xs)
#: [[1, null]]
def f(xs): return max(xs)
#: [[]]
def f(xs): return max(xs)
#: [[]]
def f(xs): return [max(xs, default=7), min(xs, default=None), sum(xs), any(xs), all(xs), sorted(xs), list(reversed(xs)), len(xs), max(xs, default=0, key=abs)]
#: [[4, -9, 9, -4]]
def f(xs): return [max(xs, key=abs), min(xs, key=abs), max(xs, key=lambda x: 0), min(xs, key=lambda x: x % 3), sorted(xs, key=abs), sorted(xs, key=abs, reverse=True), max("hello"), min(3, 1, 2), max([1, 2], [1, 3]), max((1, 2), (1,)), max(xs, default=1), max(1, 2, key=lambda x: -x)]
#: []
def f():
    log = []
    def note(x):
        log.append(x)
        return x
    a = [note(1), note(2)][note(0)] + note(3) * note(4)
    b = {note(5): note(6), note(7): note(8)}
    c = note(9) < note(10) < note(0) < note(11)
    d = (note(12) if note(0) else note(13)) or note(14)
    e = max([note(15)], default=note(16))
    x = y = note(17)
    q = [0, 0]
    q[note(0)] = note(18)
    q[note(1)] += note(19)
    b.get(note(5), note(20))
    b.setdefault(note(5), note(21))
    return [a, b, c, d, e, x, y, q, log]
#: []
def f():
    log = []
    def note(x):
        log.append(x)
        return x
    def g(a, b=note(1), *c, d=note(2), **e): return [a, b, c, d, sorted(e)]
    r = g(note(3), *[note(4), note(5)], d=note(6), k=note(7))
    s = [note(8) for _ in [note(9), note(10)] if note(11)]
    t = {note(12): note(13) for _ in range(2)}
    return [r, s, t, log]
#: []
def f():
    log = []
    def note(x):
        log.append(x)
        return log
    note(1)[0] = note(2)[1] = note(3)[2]
    (note(4)[0], note(5)[1]) = (note(6)[0], note(7)[1])
    return log
#: []
def f():
    a = [0, 1, 2]
    i = 0
    i, a[i] = 2, 9
    a[0], a[a[1]] = a[1], a[0]
    x, (y, z), *w = 1, [2, 3], 4, 5
    *p, q = "abc"
    (r, s), t = [6, 7], 8
    return [i, a, x, y, z, w, p, q, r, s, t]
#: [[1, 2, 3]] | [[1]]
def f(xs):
    a, b = xs
    return a
#: []
def f():
    fs = [lambda: i for i in range(4)]
    gs = [lambda i=i: i for i in range(4)]
    hs = []
    for j in range(3):
        def h(): return j
        hs.append(h)
    j = 9
    ks = [(lambda k: lambda: k)(k) for k in range(3)]
    return [[g() for g in fs], [g() for g in gs], [g() for g in hs], [g() for g in ks]]
#: []
def f():
    def outer():
        n = 0
        def inc(by=3):
            nonlocal n
            n += by
            return n
        def get(): return n
        inc()
        inc(5)
        return [inc, get]
    a, b = outer(), outer()
    return [a[0](), a[1](), b[1](), b[0](1), a[1]()]
#: []
def f():
    n = 1
    def g():
        return n
    n = 2
    x = g()
    def h():
        nonlocal n
        n = 7
    h()
    return [x, g(), n]
#: []
def f():
    if False:
        x = 1
    return x
#: []
def f():
    def g(): return y
    y = 5
    a = g()
    del y
    return [a, g()]
#: []
def f():
    x = [x for x in range(3)]
    y = [y for x in [[1], [2]] for y in x]
    i = 7
    z = [i for i in range(3)]
    return [x, y, z, i]
#: []
def f():
    total = 0
    out = [total := total + x for x in [1, 2, 3]]
    if (n := len(out)) > 2 and (m := n * 2):
        return [total, out, n, m]
#: []
def f():
    x = 1
    def g(x=x, y=[x]):
        x += 1
        y.append(x)
        return y
    x = 5
    return [g(), g(10), g(), x]
#: [] | [] | []
COUNT = 0
LOG = []
def g(x, memo={}):
    global COUNT
    COUNT += 1
    memo[x] = COUNT
    LOG.append(x)
    return memo
def f(): return [g(COUNT % 2), COUNT, LOG]
#: [3] | [3] | [1]
def f(n, kept={}, hist=[]):
    kept[n] = kept.get(n, 0) + 1
    hist.append((n, kept[n]))
    f.calls = 0
    return [kept, hist]
#: [3] | [4]
STATE = {"n": 0, "rows": []}
def f(n):
    STATE["n"] += n
    STATE["rows"].append([n] * 2)
    STATE["rows"][0][0] += 1
    return STATE
#: [5] | [12] | [0]
def f(n): return 1 if n < 2 else n * f(n - 1)
#: [40]
def f(n, memo={}):
    if n in memo:
        return memo[n]
    memo[n] = n if n < 2 else f(n - 1) + f(n - 2)
    return memo[n]
#: [100] | [700] | [950]
def f(n): return 0 if n == 0 else 1 + f(n - 1)
#: [1000] | [100000]
def f(n): return 0 if n == 0 else 1 + f(n - 1)
#: [3]
def f(n):
    def even(n): return True if n == 0 else odd(n - 1)
    def odd(n): return False if n == 0 else even(n - 1)
    return [even(n), odd(n)]

#: []
def f():
    z = zip([1, 2, 3], "ab")
    a = list(z)
    return [a, list(z), list(zip()), list(zip([1])), list(zip(*[[1, 2], [3, 4]])), list(zip(*[])), [list(r) for r in zip(*[(1, 2), (3,)])]]
#: []
def f():
    m = map(lambda v: v + 1, [1, 2])
    e = enumerate("ab", 5)
    r = reversed([1, 2])
    g = (x for x in [1, 2])
    return [list(m), list(m), list(e), list(r), list(r), sum(g), sum(g), next(iter([4, 5])), list(map(max, [1, 5], [3, 2])), list(filter(None, [0, 1, "", "a"]))]
#: []
def f():
    log = []
    def note(x):
        log.append(x)
        return x > 1
    a = any(note(x) for x in [1, 2, 3])
    b = all(note(x) for x in [1, 2, 3])
    c = next((x for x in [1, 2, 3] if note(x)), None)
    d = any([note(x) for x in [1, 2, 3]])
    return [a, b, c, d, log, any([]), all([])]
#: []
def f():
    xs = [1, 2, 3]
    g = (x * k for x in xs)
    k = 10
    xs.append(4)
    return list(g)
#: []
def f():
    def gen(n):
        for i in range(n):
            yield i
            if i == 2:
                return
        yield 99
    return [list(gen(2)), sum(gen(9)), [x for x in gen(5)]]
#: [0, 5, 1] | [5, 0, -2] | [0, 0, 1] | [3, -3, -1] | [0, 10, 3]
def f(a, b, c): return [list(range(a, b, c)), len(range(a, b, c)), a in range(a, b, c), sum(range(a, b, c)), [x for x in range(a, b, c)][::-1], list(reversed(range(a, b, c))), range(3)[1]]
#: [0, 5, 0]
def f(a, b, c): return list(range(a, b, c))
#: []
def f():
    out = []
    for i in range(3):
        i += 10
        out.append(i)
    else:
        out.append("end")
    for j in range(0):
        pass
    else:
        out.append("none")
    for k in range(5):
        if k == 2:
            continue
        if k == 4:
            break
        out.append(k)
    else:
        out.append("never")
    n = 3
    while n:
        n -= 1
        if n == 1:
            continue
    else:
        out.append("out")
    while True:
        n += 1
        if n > 3:
            break
    else:
        out.append("never")
    return [out, i, k, n]
#: []
def f():
    for j in []:
        pass
    return j
#: [5] | [1] | [10]
def f(x): return [1 < x < 10, 1 < x > 3 != 4, x == 5 == 5, 3 > x < 9, not x == 5, x in [1, 5] == True, 1 < x and x < 10, x is not None is not False]

#: [1] | ["k"] | [0]
def f(k):
    out = []
    try:
        out.append({1: 10}[k])
    except KeyError:
        out.append("no key")
    else:
        out.append("fine")
    finally:
        out.append("done")
    try:
        out.append([5, 6][k])
    except (IndexError, TypeError):
        out.append("no item")
    try:
        out.append(1 // k)
    except ZeroDivisionError:
        out.append("zero")
    except Exception:
        out.append("other")
    return out
#: ["5"] | ["x"] | [""]
def f(s):
    try:
        return int(s)
    except ValueError as error:
        return ["bad", str(error)]
#: []
def f():
    def g():
        try:
            return 1
        finally:
            log.append("f")
    def h():
        for i in range(3):
            try:
                if i == 1:
                    continue
                if i == 2:
                    break
            finally:
                log.append(i)
        return 5
    log = []
    return [g(), h(), log]
#: []
def f():
    out = []
    try:
        try:
            raise KeyError("a")
        except ValueError:
            out.append(1)
        finally:
            out.append(2)
    except LookupError as e:
        out.append(3)
    try:
        assert False, "x"
    except AssertionError:
        out.append(4)
    return out
#: []
def f():
    d = {}
    d["x"] = d["y"] = 1
    d[d["x"]] = d.pop("y")
    try:
        d["q"] += 1
    except KeyError:
        d["q"] = 0
    return d
#: []
def f():
    a = [1, 2]
    try:
        a[0], a[5] = 9, 9
    except IndexError:
        pass
    return a

#: [[3, 1, 2]]
def f(a):
    a.sort()
    a.insert(1, 9)
    a.insert(-1, 8)
    a.insert(99, 7)
    a.insert(-99, 6)
    a.reverse()
    a.remove(9)
    a.extend((7, 8))
    a.extend(range(2))
    a.extend("xy")
    r = [a.pop(0), a.pop(), a.pop(-1), a.index(7), a.count(7), a.copy(), len(a)]
    a[1:3] = [50, 60, 70]
    a[::2] = [0] * len(a[::2])
    del a[0], a[-1]
    del a[::2]
    b = a[:]
    b.clear()
    return [r, a, b]
#: [[1, 2]]
def f(a): return a.index(5)
#: [[1, 2]]
def f(a): return a.remove(5)
#: [[]]
def f(a): return a.pop()
#: [[1, 2, 3]]
def f(a): return [a.index(2), a.index(3, 1), a.index(True), a.count(1.0), 2.0 in a, "1" in a, None in a]
#: [[1, 2, 3]]
def f(a):
    a[1:2] = []
    a[0:0] = [7, 7]
    a[len(a):] = [4]
    a[-1:] = "xy"
    return a
#: [[1, 2, 3]]
def f(a):
    a[::2] = [1]
    return a
#: []
def f():
    a = [1, 2]
    a.extend(a)
    a += a
    a[1:1] = a[:1]
    b = [a, a]
    b[0].append(5)
    return [a, b[1] is a]
#: []
def f():
    t = (1, 2, 2)
    return [t.count(2), t.index(2), t * 2, t + (3,), t[::-1], t < (1, 3), 2 in t, len(t), max(t), sum(t), sorted(t, reverse=True), hash(t) == hash((1, 2, 2)), t == (1.0, 2, 2), (1,) < (1, 0), () < (0,)]
#: [[[2, 0, 0, 2], [4, 4, 8, 0], [0, 0, 0, 2], [2, 2, 2, 2]]]
def f(board):
    def slide(row):
        xs = [x for x in row if x]
        out = []
        while xs:
            x = xs.pop(0)
            if xs and xs[0] == x:
                x += xs.pop(0)
            out.append(x)
        return out + [0] * (4 - len(out))
    left = [slide(r) for r in board]
    right = [slide(r[::-1])[::-1] for r in board]
    up = [list(c) for c in zip(*[slide(c) for c in zip(*board)])]
    down = [list(c) for c in zip(*[slide(c[::-1])[::-1] for c in zip(*board)])]
    board[0][0] = 64
    return [left, right, up, down, left != board, sum(map(sum, board)), sum(x == 0 for r in board for x in r), max(map(max, board)), [board[-1][-1], board[0][-4]]]
#: [[[2, 0], [0, 2]]] | [[[2, 0], [0, 2]]]
def f(board, last=[None]):
    same = last[0] == board
    last[0] = board
    board[0][0] += 2
    return [same, last[0] is board, last]
#: [[[2, 0], [0, 2]]] | [[[2, 0], [0, 2]]]
def f(board, memo={}):
    key = tuple(map(tuple, board))
    memo[key] = memo.get(key, 0) + 1
    memo[str(len(memo))] = board[0]
    return memo
#: []
import random
def f(): return [random.random(), random.randint(0, 10), random.choice([1, 2, 3]), random.choice("WASD"), random.randrange(5), random.randrange(2, 9, 3), random.uniform(1, 2), random.getrandbits(40)]
#: [] | []
import random
def f():
    a = list(range(8))
    random.shuffle(a)
    return [a, random.choice([5]), random.random(), random.randint(3, 3), random.random(), random.randrange(1), random.random()]
#: []
import random
def f():
    random.seed(5)
    return [random.random(), random.sample(range(10), 3), random.choices([1, 2], k=3), random.gauss(0, 1), random.triangular()]
#: []
from random import choice, random as draw
def f(): return [choice((1, 2, 3)), draw(), choice("ab")]
#: []
import random
FIRST = random.random()
def f(): return [FIRST, random.random(), random.shuffle([]), random.random(), random.shuffle([1]), random.random()]
#: [1, 1000000] | [0, 1073741823] | [-5, 4611686018427387904] | [0, 4611686018427387903]
import random
def f(a, b): return [random.randint(a, b), random.random()]
#: []
import math
def f(): return [math.sqrt(12345.678), math.floor(-2.5), math.ceil(2.1), math.log2(1000), math.log(7), math.log(8, 2), math.log10(1000), math.pi, math.inf, math.gcd(12, 18), math.isqrt(17), math.exp(1), math.sin(1), math.hypot(3, 4), math.fabs(-2), math.prod([2, 3]), math.floor(5), math.trunc(-2.5), math.isnan(math.nan), math.pow(2, 0.5), math.factorial(5), math.comb(5, 2), math.dist([0, 0], [3, 4]), math.copysign(1, -0.0)]
#: [-1] | [0]
import math
def f(n): return math.log(n)
#: [2048, 3.5] | [7, 3.3] | [2, 0.25] | [1.5, 2] | [0.1, 2] | [10, -3]
def f(a, b): return a ** b
#: [[3, 1, 2]]
def f(a): return [isinstance(a, list), isinstance(1, int), isinstance(True, int), isinstance(1.0, (int, str)), type(a) is list, type(1) == int, callable(f), a.__class__ is list, len.__name__ if False else 0]
#: [3, 4]
def f(a, /, b, *, c=1): return [a, b, c]
#: [1, 2]
def f(*args, **kwargs): return [args, kwargs, len(args)]
#: [1]
def f(a, b): return a
#: [1, 2, 3]
def f(a, b): return a
#: []
def f():
    def g(a, b=2, *c, d=4, **e): return [a, b, c, d, e]
    xs, kw = [1, 2, 3], {"d": 9, "z": 0}
    return [g(1), g(1, 2, 3), g(*xs), g(*xs, **kw), g(b=1, a=2), g(0, *(), **{}), g(*"ab")]
#: []
def f(): return print("x", 1, sep="-") or [None is None, print() is None]
#: []
def f():
    x = [3]
    x[0] -= 5
    x[-1] **= 2
    d = {"a": 1}
    d["a"] <<= 3
    d["a"] |= 1
    y = 7
    y //= -2
    y %= 3
    z = 1.5
    z *= 2
    z /= 4
    s = "a"
    s += "b"
    s *= 2
    t = (1,)
    t += (2,)
    b = True
    b &= False
    b |= True
    b += 1
    return [x, d, y, z, s, t, b]
#: []
class Point:
    SIDE = 4
    def __init__(self, x, y=0):
        self.x, self.y = x, y
    def add(self, other): return Point(self.x + other.x, self.y + other.y)
    def __eq__(self, other): return self.x == other.x
    def __lt__(self, other): return self.x < other.x
def f():
    p = Point(1, 2).add(Point(3))
    p.x *= 2
    return [p.x, p.y, p == Point(8), sorted([Point(2), Point(1)])[0].x, Point.SIDE]
#: [3]
def f(n):
    match n:
        case 1 | 2:
            return "low"
        case 3 if n > 2:
            return "three"
        case _:
            return "other"
#: []
from collections import defaultdict, deque, Counter
from itertools import product, permutations
from functools import lru_cache, reduce
from copy import deepcopy
@lru_cache(maxsize=None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def f():
    d = defaultdict(list)
    d[1].append(2)
    q = deque([1, 2, 3])
    q.appendleft(0)
    x = [[1], 2]
    y = deepcopy(x)
    y[0].append(3)
    return [d, q.pop(), q.popleft(), Counter("aab"), list(product([1, 2], repeat=2)), len(list(permutations("abc"))), reduce(lambda a, b: a * b, [1, 2, 3, 4]), fib(30), x, y]

#: []
def f():
    log = []
    def note(x): log.append(x)
    max("W", default=note(0))
    sum([1], note(2) or 3)
    sorted([1], reverse=note(4))
    range(note(5) or 3)
    {1: 2}.get(1, note(6))
    [1].pop(note(7) or 0)
    {1: 2}.pop(1, note(8))
    min([1], key=note(9) or abs)
    return log
#: [[1]]
def f(p):
    for x in p:
        if len(p) > 20: break
        p.extend([x])
    return p
#: [[1, 2]]
def f(p):
    p.extend(x for x in p if len(p) < 20)
    return p
#: [[1, 2]]
def f(p):
    p[:] = [x + len(p) for x in p]
    p.sort(key=lambda x: -len(p) - x)
    return p
#: []
def f():
    f = lambda: 5
    sum = [1].append
    len = 3
    list = [len]
    return [f(), sum(4), len, list]
#: []
max = min
def f(): return [max(1, 2), sum([3])]
#: []
def sum(xs): return 42
def f(): return sum([1])
#: []
def f():
    global later
    later = 5
    return later + g()
def g(): return later
#: []
def f(): return undefined
#: [] | []
def g(): return 1
def f():
    global g
    r = g()
    g = lambda: 2
    return r
#: [[1, 2, 3]]
def f(xs):
    def g(xs):
        xs = xs + [1]
        xs.append(2)
        return xs
    def h(xs):
        xs += [3]
        return xs
    return [g(xs), xs, h(xs), xs]
#: [2]
def f(n):
    def g():
        def h():
            nonlocal n
            n *= 3
            return n
        return h() + n
    return [g(), n, g()]
#: [[5, 3]]
def f(a):
    (b := a).append(1)
    x = (a[0], a[1]) = a[:2]
    [c, d], e = x, 1
    for a[0] in range(3): pass
    for i, a[1] in enumerate("xy"): pass
    return [a, b, x, c, d, e, i]
#: []
def f():
    a = b = []
    a.append(1)
    c, d = [[]] * 2
    c.append(2)
    e = f = g = 3
    e += 1
    return [a, b, c, d, e, f, g]
#: []
def f(): return
#: []
def f(): "Text only."
#: []
def f(): return [1, 2,] + [*range(2), *"ab", *(3,), *{4: 5}] + list((*[1], 2))
#: []
def f(): return ["a" "b", 'it''s', "tab\t", "nl\n", "\x41\u00e9", r"\n", """two
lines""", "\\", "\0" == chr(0), "a\
b"]
#: []
def f(): return [0x1F, 0b11, 0o17, 1_000, 1e3, .5, 5., 1_0.0_1, 00, 10**3]
#: []
def f(): return [1 if [] else 2 if {} else 3 if "" else 4, (1, 2)[0], -1 .bit_length() if False else (-1).bit_length(), not 1 == 2, -2 ** 2, 2 * 3 % 4, 7 - 3 - 2, 2 + 3 << 1, 5 & 3 == 1, 1 | 2 ^ 3 & 4, not not 3, ~-1, - -1]
#: []
def f(): return [len("日本"), "é" < "z", "é".upper(), "日" in "日本", "éa"[::-1], ord("é"), chr(233), "ß".upper(), "É".lower()]
#: [{"()":[1,2]}] | [{"set":[1]}] | [{"bytes":"00"}] | [{"{}":[[1,2]]}] | [null] | [{"complex":[1.0,2.0]}]
def f(x): return [x, x == x]
#: []
def f(): return 1j * 2
#: []
def f(): return b"ab" + bytes([1])
#: []
def f(): return [..., 1][1]
#: []
def f(): return {1: {2: {3: (4, [5, {6}])}}}
#: []
def f():
    x = []
    x.append(x)
    return len(x) + (x[0] is x)
#: []
def f():
    x = []
    x.append(x)
    return x
#: []
def f():
    x = [1]
    y = [x, x]
    z = [y, y]
    z[0][0][0] = 2
    return z
#: ["board"] | [5]
def f(x): return {"board": 1, 5: 2}[x] if x in {"board": 1, 5: 2} else None
#: []
def f():
    a = list("hello")
    a[1:4] = reversed(a[1:4])
    b = "".join(a)
    c = [int(d) for d in "1234"]
    d = {k: [v for v, w in enumerate(b) if w == k] for k in b}
    return [a, b, c, d, [*map(str, c)], " ".join(map(str, c)), sum(map(int, "55")), dict(enumerate("ab")), sorted(d, key=d.get)]
#: [7]
def f(n):
    out = []
    while n != 1:
        out.append(n)
        n = n // 2 if n % 2 == 0 else 3 * n + 1
    return out
#: [8]
def f(n):
    cols, found = [], []
    def place(row):
        if row == n:
            found.append(tuple(cols))
            return
        for c in range(n):
            if all(c != d and abs(c - d) != row - r for r, d in enumerate(cols)):
                cols.append(c)
                place(row + 1)
                cols.pop()
    place(0)
    return [len(found), found[0], found[-1]]
#: [60]
def f(n):
    sieve = [True] * (n + 1)
    for i in range(2, n + 1):
        if sieve[i]:
            sieve[i * i::i] = [False] * len(sieve[i * i::i])
    return [i for i in range(2, n + 1) if sieve[i]]
#: [[[1, 2], [3, 4]]]
def f(m): return [[sum(a * b for a, b in zip(r, c)) for c in zip(*m)] for r in m]
#: [1000003]
def f(n):
    x = 1
    for i in range(200):
        x = x * 1103515245 + 12345 & 0x7FFFFFFF
        x ^= x >> 7
        x = (x * 31 + i) % n
    return x
#: [3]
def f(n):
    x = 0x9E3779B97F4A7C15
    for i in range(n):
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
    return x
#: [0.5]
def f(x):
    xs = []
    for i in range(40):
        x *= 2.5
        xs += [x, -x / 3, x / 1e20, x * 1e-8]
    return xs
#: [3] | [38] | [39] | [40] | [41]
def f(n):
    x = None
    for _ in range(n): x = [x]
    return x
#: [19] | [38] | [39] | [40]
def f(n):
    x = 1
    for _ in range(n): x = {"a": x}
    return x
#: [19] | [38] | [39] | [40]
def f(n):
    x = ()
    for _ in range(n): x = (x, 1)
    return {x: x}
#: [[3, 1]]
def f(xs): return xs.sort(keys=abs)
#: [[3, 1]]
def f(xs): return sorted(xs, revers=True)
#: [[3, 1]]
def f(xs): return max(xs, defaults=1)
#: []
def f(a, a): return 1  # not Python
#: []
def f():
    def g(a, b=1): return [a, b]
    return g(1, c=2)
#: []
def f():
    def g(a, b=1): return [a, b]
    return g(1, a=2)
#: [500000] | [100000]
def f(n): return "\0" * n
#: [600000]
def f(n): return "x" * n + '"' * n
#: [1048574] | [1048575]
def f(n): return "x" * n
#: []
LOG = []
def note(x):
    LOG.append(x)
    return x
FIRST = (lambda p, q=note(1): p)(note(2))
def g(p, q=note(3), r=note(4)): return p
SECOND = g(note(5), note(6))
def f():
    a = (lambda p, q=note(7): p)(note(8), note(9))
    def h(p, q=note(10)): return p
    b = [lambda p, q=note(11): p for _ in range(2)]
    d = sorted([2, 1], key=lambda x, y=note(14): note(x))
    return [FIRST, SECOND, a, h(1), d, LOG]
#: [25] | [25]
import random
def f(n):
    out = []
    for i in range(1, n):
        a = list(range(i % 7))
        random.shuffle(a)
        out.append([random.choice(list(range(i))), random.randint(0, i * 1000003), a, random.random(), "WASD"[random.randint(0, 3)], random.choice("WASD")])
    return out
#: [[3, 1, 2]]
def f(xs):
    log = []
    def note(x):
        log.append(x)
        return x
    xs.insert(note(0), note(9))
    xs[note(1)], xs[note(0)] = note(5), note(6)
    a = xs[note(0):note(2):note(1)]
    b = [note(x) for x in xs if note(x) > 2]
    c = {note(x): note(-x) for x in xs}
    d = note(1) if note(0) else note(2)
    e = "".join(["x", "y"]) + "z" * note(2)
    f = min(note(3), note(1), note(2)) + max([note(1), note(5)], key=lambda x: -x)
    g = note(1) in [note(1), note(2)] and note(0) not in (note(3),)
    h = not note(0) or note(7)
    i = divmod(note(7), note(2))
    c[note(3)] = c.pop(note(9), note(8))
    del xs[note(0)]
    return [xs, a, b, c, d, e, f, g, h, i, log]
#: []
def f():
    def g(): nonlocal x
    return 1
# not Python
#: []
def f():
    x = 1
    global x
    return x
# not Python
#: []
def f():
    print(x)
    global x
    return 1
# not Python
#: []
def f(): return dict(a=1, a=2)
# not Python
#: []
def f():
    try: pass
    except: pass
    except KeyError: pass
    return 1
# not Python
#: []
return 1
def f(): return 1
# not Python
#: []
def f():
    break
    return 1
# not Python
#: []
def f():
    for x in []:
        def g(): continue
    return 1
# not Python
#: []
def f(): return [x for x in (y := [1])]
# not Python
#: []
def f(): return [x := 1 for x in [2]]
# not Python
#: []
def f(): return [[(j := 0) for i in range(5)] for j in range(5)]
# not Python
#: []
def f():
    *a, *b = [1]
    return 1
# not Python
#: []
def f():
    *a = [1]
    return 1
# not Python
#: []
def f():
    del g()
    return 1
# not Python
#: []
def f():
    1 = x
    return 1
# not Python
#: []
def f():
    (a, b) += 1
    return 1
# not Python
#: []
def f(a=1, b): return 1
# not Python
#: []
def f(*): return 1
# not Python
#: []
def f(a, *, **k): return 1
# not Python
#: []
def f(): return g(a=1, 2)
# not Python
#: []
def f(): return g(**{}, *[])
# not Python
#: []
nonlocal x
def f(): return 1
# not Python
#: []
def f(): return 012
# not Python
#: []
def f(): return "\N{no such name}"
# not Python
#: []
def f(): return "\x1"
# not Python
#: []
def f(): return 1__0
# not Python
#: []
def f(): return 0xg
# not Python
#: []
def f(): return 1if 2else
# not Python
#: []
def f():
    None = 1
    return 1
# not Python
#: []
def f(): return lambda True: 1
# not Python
#: []
def f(None): return 1
# not Python
#: []
def f():
    x: int = 1
    nonlocal x
    return 1
# not Python
#: []
def f():
    def g():
        nonlocal a
        a = 1
    global a
    return 1
# not Python
#: []
def f():
	if 1:
        return 1
    return 2
# not Python
#: []
def f():
    return 1
  return 2
# not Python
#: []
def f(): return (1
# not Python
#: []
def f(): return f"{1"
# not Python
#: []
def f(): return f"{}"
# not Python
#: []
def f(): return f"{1!z}"
# not Python
#: []
def f(): return 5 not 3
# not Python
#: []
def f(): yield = 1
# not Python
#: []
async def f(): return [await x for x in 1, 2]
# not Python
#: []
def f(): await g()
# not Python
#: []
class A:
    def f(self): nonlocal __class__x
def f(): return 1
# not Python
#: []
def f(): return {**{} for x in []}
# not Python
#: []
def f(): return [*x for x in []]
# not Python
#: []
def f(): return (*[1])
# not Python
#: []
def f():
    for f() in []: pass
    return 1
# not Python
#: []
def f():
    with open("x") as 1: pass
    return 1
# not Python
#: []
from __future__ import nothing_such
def f(): return 1
# not Python
#: []
def f():
    from math import *
    return 1
# not Python
#: []
def f(): return a.1
# not Python
#: []
def f(): return "a" b"c"
# not Python
#: []
def f(): return b"é"
# not Python
#: []
def f(): return x = 1
# not Python
#: []
def f():
    if x = 1: pass
    return 1
# not Python
#: []
def f():
    else: pass
    return 1
# not Python
#: []
def f(): return __debug__ = 1
# not Python
#: []
def f(__debug__): return 1
# not Python
#: []
def f():
    import a.b as c.d
    return 1
# not Python
#: []
def f(x): return x.__debug__ == 1 if 0 else (x := 1) = 2
# not Python
#: []
def f(): return "a
b"
# not Python
#: []
def f():
    match 1:
        case x: return 1
        case 2: return 2
# not Python
#: []
def f():
    match 1:
        case [a, a]: return 1
# not Python
#: []
def f(): return 99999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999
# not Python
#: []
def f(): return (((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1)))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))
# not Python
#: []
def f(): return [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]
# not Python
#: []
def f():
 if 1:
  if 1:
   if 1:
    if 1:
     if 1:
      if 1:
       if 1:
        if 1:
         if 1:
          if 1:
           if 1:
            if 1:
             if 1:
              if 1:
               if 1:
                if 1:
                 if 1:
                  if 1:
                   if 1:
                    if 1:
                     if 1:
                      if 1:
                       if 1:
                        if 1:
                         if 1:
                          if 1:
                           if 1:
                            if 1:
                             if 1:
                              if 1:
                               if 1:
                                if 1:
                                 if 1:
                                  if 1:
                                   if 1:
                                    if 1:
                                     if 1:
                                      if 1:
                                       if 1:
                                        if 1:
                                         if 1:
                                          if 1:
                                           if 1:
                                            if 1:
                                             if 1:
                                              if 1:
                                               if 1:
                                                if 1:
                                                 if 1:
                                                  if 1:
                                                   if 1:
                                                    if 1:
                                                     if 1:
                                                      if 1:
                                                       if 1:
                                                        if 1:
                                                         if 1:
                                                          if 1:
                                                           if 1:
                                                            if 1:
                                                             if 1:
                                                              if 1:
                                                               if 1:
                                                                if 1:
                                                                 if 1:
                                                                  if 1:
                                                                   if 1:
                                                                    if 1:
                                                                     if 1:
                                                                      if 1:
                                                                       if 1:
                                                                        if 1:
                                                                         if 1:
                                                                          if 1:
                                                                           if 1:
                                                                            if 1:
                                                                             if 1:
                                                                              if 1:
                                                                               if 1:
                                                                                if 1:
                                                                                 if 1:
                                                                                  if 1:
                                                                                   if 1:
                                                                                    if 1:
                                                                                     if 1:
                                                                                      if 1:
                                                                                       if 1:
                                                                                        if 1:
                                                                                         if 1:
                                                                                          if 1:
                                                                                           if 1:
                                                                                            if 1:
                                                                                             if 1:
                                                                                              if 1:
                                                                                               if 1:
                                                                                                if 1:
                                                                                                 if 1:
                                                                                                  if 1:
                                                                                                   if 1:
                                                                                                    if 1:
                                                                                                      return 1
# not Python
#: [] | []
# What was found different once, from here on.
def f(q=[1]):
    q.append(5)
    q *= 2
    q = q[:12]
    return q
#: [1] | [1]
log = []
def g(p):
    log.append(0)
def f(b):
    a = max("W", default=g(0))
    return log
#: [0] | [0]
x = False and (n := 5)
def f(b):
    y = b and (m := 5)
    return m
#: [0] | [0]
import random
def f(b): return 1 if random else 0
#: [[2, 1]] | [[2, 1]]
def f(x):
    x.sort(xs=x)
    return x
#: [0.5] | [0.5]
def f(x):
    for _ in range(12):
        x *= 2.5
    return x
#: [[1, 2]] | [[1, 2]]
def f(x):
    x.extend(0 for y in x if len(x) < 9)
    return x
#: [0.7] | [0.7]
def f(b): return sum([0.1] * 3, b)
#: [3000000000] | [3000000000]
def f(b): return len(range(b))
#: [3000000000] | [3000000000]
def f(b): return [] * b
#: [4611686018427387903] | [4611686018427387903]
def f(n): return [i for i in range(n - 3, n, 1000)]
#: [0] | [0]
def f(b):
    global unset
    if b:
        unset = 3
    return len([unset])
#: [0] | [0]
def f(b):
    def inner():
        return len([late])
    if b:
        late = 1
    return inner()
#: [{}] | [{}]
def f(d):
    try:
        return d[1]
    except KeyError as e:
        g = lambda: len(e.args)
    return g()
#: [0] | [0]
def f(b):
    if b:
        x = 1
    return max(x, 2)
#: [[1]] | [[1]]
def f(b):
    e = len(b) - 3
    x = 2 ** e
    return [x, x + 1, 2 ** -1]
#: ["ab"] | ["ab"]
def f(b):
    x = 3 * b
    return [x, x + x]
#: [[1]] | [[1]]
def f(b):
    e = len(b) + 59
    return [2 ** e]
#: [[1]] | [[1]]
def f(b):
    e = len(b) + 59
    return [2 ** (e + 1)]
#: [[1]] | [[1]]
def f(b):
    n = len(b) + 65534
    return [n ** 4]
#: [[1]] | [[1]]
def f(b):
    n = len(b) + 32767
    return [n ** 4, (n - 1) ** 4, (0 - n) ** 4]
#: [1] | [1]
def f(b): return 4611686018427387904
#: [1] | [1]
def f(b): return -9223372036854775807
#: [true] | [true]
def f(b):
    x = [7, 8]
    return x[b]
#: [1.0] | [1.0]
def f(b):
    x = [7, 8]
    return x[b]
#: [1] | [1]
def get(c, k): return c[k]
def f(b): return [get([7, 8], 1), get({"a": 5}, "a"), get((1, 2), True), get("xy", 0)]
#: [1000] | [1000]
def f(b):
    x = b + 1
    y = x - 1
    return y is b
#: [1000] | [1000]
def f(b): return [b >> 51, b >> 62, b >> 63, b >> 64]
#: [-1000] | [-1000]
def f(b): return [b >> 51, b >> 62, b >> 63, b >> 64]
#: [[1]] | [[1]]
def add(n): return n + n
def f(b):
    g = add if b else None
    return [g(b), add(1)]
#: [[1]] | [[1]]
def add(n): return n + n
def sub(n): return n
def f(b):
    gs = [add, sub]
    return [gs[0](b), add(1)]
#: [[1]] | [[1]]
def add(n): return n + n
def sub(n): return n
def f(b):
    g = add
    if len(b) > 1:
        g = sub
    return [g(b), add(1)]
#: [[1, 2]] | [[1, 2]]
def f(n): return n + n
def other(): return f(1)
#: [2.5] | [2.5]
def f(n): return n * 2
def other(): return f(1)
#: [0] | [0]
def f(b):
    if b:
        x = 1
    return x + b
#: [0] | [0]
def f(b):
    if b:
        x = 1
    return [b].index(x)
#: [1] | [1]
def f(n):
    x = [n]
    x.append(x)
    print(x)
    return x[1] is None
#: [[[1], [0]]] | [[[1], [0]]]
# What one run of a comprehension has bound is unbound in the next, here and below.
def f(b): return [[y for x in xs if x or y for y in [7]] for xs in b]
#: [[[1], [0]]] | [[[1], [0]]]
def f(b):
    r = []
    for xs in b:
        r.append(sum(y for x in (w for w in xs) for y in ([7] if x else [y])))
    return r
#: [] | []
fs = []
for n in (3, 5):
    fs.extend([lambda: i for i in range(n)])
def f(): return [g() for g in fs]
#: [] | []
fs = [[lambda: [i, j] for j in range(i)] for i in range(4)]
def f(): return [g() for row in fs for g in row]
