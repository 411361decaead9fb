"""Twenty tasks, each solved by several programs of different speed: what `scripts/fuel-and-time.py` ranks.

A task is its arguments and the programs, each a function `f` of them, all with the same answer. Within a task they differ
in algorithm, in data structure, or only in how they are written, so that ranks near each other are among them."""

TASKS = {
    "sum of squares": (
        "(30000,)",
        [
            "def f(n):\n    return n * (n + 1) * (2 * n + 1) // 6",
            "def f(n):\n    return sum(i * i for i in range(n + 1))",
            "def f(n):\n    return sum([i * i for i in range(n + 1)])",
            "def f(n):\n    t = 0\n    for i in range(n + 1):\n        t += i * i\n    return t",
            "def f(n):\n    t = 0\n    i = 0\n    while i <= n:\n        t = t + i ** 2\n        i = i + 1\n    return t",
            "from functools import reduce\ndef f(n):\n    return reduce(lambda a, i: a + i * i, range(n + 1), 0)",
        ],
    ),
    "primes": (
        "(4000,)",
        [
            "def f(n):\n    s = bytearray([1]) * n\n    for i in range(2, int(n ** 0.5) + 1):\n        if s[i]:\n            s[i * i::i] = bytes(len(range(i * i, n, i)))\n    return sum(s) - 2",
            "def f(n):\n    s = [True] * n\n    for i in range(2, n):\n        if s[i]:\n            for j in range(i * i, n, i):\n                s[j] = False\n    return sum(s) - 2",
            "def f(n):\n    c = 0\n    for i in range(2, n):\n        d = 2\n        while d * d <= i:\n            if i % d == 0:\n                break\n            d += 1\n        else:\n            c += 1\n    return c",
            "def f(n):\n    p = []\n    for i in range(2, n):\n        for d in p:\n            if i % d == 0:\n                break\n        else:\n            p.append(i)\n    return len(p)",
            "def f(n):\n    p = []\n    for i in range(2, n):\n        for d in p:\n            if d * d > i:\n                p.append(i)\n                break\n            if i % d == 0:\n                break\n        else:\n            p.append(i)\n    return len(p)",
            "def f(n):\n    return sum(all(i % d for d in range(2, int(i ** 0.5) + 1)) for i in range(2, n))",
        ],
    ),
    "fibonacci": (
        "(18,)",
        [
            "def f(n):\n    a, b = 0, 1\n    for _ in range(n):\n        a, b = b, a + b\n    return a",
            "def f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)",
            "from functools import lru_cache\ndef f(n):\n    @lru_cache(None)\n    def g(k):\n        return k if k < 2 else g(k - 1) + g(k - 2)\n    return g(n)",
            "def f(n, m=None):\n    m = {} if m is None else m\n    if n < 2:\n        return n\n    if n not in m:\n        m[n] = f(n - 1, m) + f(n - 2, m)\n    return m[n]",
            "def f(n):\n    def g(k):\n        if k == 0:\n            return 0\n        if k == 1:\n            return 1\n        x = g(k - 1)\n        y = g(k - 2)\n        return x + y\n    return g(n)",
        ],
    ),
    "duplicates": (
        "([(i * 7919) % 700 for i in range(1200)],)",
        [
            "def f(a):\n    return len(a) != len(set(a)) and len(a) - len(set(a))",
            "def f(a):\n    s = set()\n    c = 0\n    for x in a:\n        if x in s:\n            c += 1\n        s.add(x)\n    return c",
            "def f(a):\n    s = []\n    c = 0\n    for x in a:\n        if x in s:\n            c += 1\n        else:\n            s.append(x)\n    return c",
            "def f(a):\n    a = sorted(a)\n    return sum(x == y for x, y in zip(a, a[1:]))",
            "def f(a):\n    c = 0\n    for i in range(len(a)):\n        if a[i] in a[:i]:\n            c += 1\n    return c",
            "from collections import Counter\ndef f(a):\n    return sum(n - 1 for n in Counter(a).values())",
        ],
    ),
    "two sum": (
        "([(i * 37) % 1009 for i in range(400)], 3000)",
        [
            "def f(a, t):\n    s = set()\n    for x in a:\n        if t - x in s:\n            return True\n        s.add(x)\n    return False",
            "def f(a, t):\n    for i in range(len(a)):\n        for j in range(i + 1, len(a)):\n            if a[i] + a[j] == t:\n                return True\n    return False",
            "def f(a, t):\n    return any(t - x in a[:i] for i, x in enumerate(a))",
            "def f(a, t):\n    a = sorted(a)\n    i, j = 0, len(a) - 1\n    while i < j:\n        if a[i] + a[j] == t:\n            return True\n        if a[i] + a[j] < t:\n            i += 1\n        else:\n            j -= 1\n    return False",
            "from itertools import combinations\ndef f(a, t):\n    return any(x + y == t for x, y in combinations(a, 2))",
        ],
    ),
    "sort": (
        "([(i * 7919) % 1000 for i in range(250)],)",
        [
            "def f(a):\n    return sorted(a)",
            "def f(a):\n    a = a[:]\n    for i in range(len(a)):\n        for j in range(len(a) - 1 - i):\n            if a[j] > a[j + 1]:\n                a[j], a[j + 1] = a[j + 1], a[j]\n    return a",
            "def f(a):\n    if len(a) < 2:\n        return a\n    p = a[len(a) // 2]\n    return f([x for x in a if x < p]) + [x for x in a if x == p] + f([x for x in a if x > p])",
            "def f(a):\n    a = a[:]\n    for i in range(1, len(a)):\n        x = a[i]\n        j = i\n        while j and a[j - 1] > x:\n            a[j] = a[j - 1]\n            j -= 1\n        a[j] = x\n    return a",
            "import heapq\ndef f(a):\n    h = a[:]\n    heapq.heapify(h)\n    return [heapq.heappop(h) for _ in range(len(h))]",
            "def f(a):\n    a = a[:]\n    out = []\n    while a:\n        m = min(a)\n        a.remove(m)\n        out.append(m)\n    return out",
            "def f(a):\n    if len(a) < 2:\n        return a\n    m = len(a) // 2\n    x, y = f(a[:m]), f(a[m:])\n    out = []\n    i = j = 0\n    while i < len(x) and j < len(y):\n        if x[i] <= y[j]:\n            out.append(x[i])\n            i += 1\n        else:\n            out.append(y[j])\n            j += 1\n    return out + x[i:] + y[j:]",
        ],
    ),
    "word count": (
        "('the quick brown fox jumps over the lazy dog and runs away ' * 60,)",
        [
            "from collections import Counter\ndef f(s):\n    return dict(Counter(s.split()))",
            "def f(s):\n    d = {}\n    for w in s.split():\n        d[w] = d.get(w, 0) + 1\n    return d",
            "def f(s):\n    w = s.split()\n    return {x: w.count(x) for x in w}",
            "def f(s):\n    w = s.split()\n    return {x: w.count(x) for x in set(w)}",
            "from collections import defaultdict\ndef f(s):\n    d = defaultdict(int)\n    for w in s.split():\n        d[w] += 1\n    return dict(d)",
            "def f(s):\n    d = {}\n    word = ''\n    for c in s + ' ':\n        if c == ' ':\n            if word:\n                d[word] = d.get(word, 0) + 1\n            word = ''\n        else:\n            word += c\n    return d",
        ],
    ),
    "reverse words": (
        "('alpha beta gamma delta epsilon zeta ' * 80,)",
        [
            "def f(s):\n    return ' '.join(s.split()[::-1])",
            "def f(s):\n    return ' '.join(reversed(s.split()))",
            "def f(s):\n    out = ''\n    for w in s.split():\n        out = w + ' ' + out\n    return out.strip()",
            "def f(s):\n    w = s.split()\n    out = []\n    for i in range(len(w) - 1, -1, -1):\n        out.append(w[i])\n    return ' '.join(out)",
            "def f(s):\n    out = []\n    word = ''\n    for c in s:\n        if c == ' ':\n            if word:\n                out.insert(0, word)\n            word = ''\n        else:\n            word += c\n    if word:\n        out.insert(0, word)\n    return ' '.join(out)",
        ],
    ),
    "palindrome": (
        "('abcdefghij' * 300 + 'jihgfedcba' * 300,)",
        [
            "def f(s):\n    return s == s[::-1]",
            "def f(s):\n    return all(s[i] == s[-1 - i] for i in range(len(s) // 2))",
            "def f(s):\n    i, j = 0, len(s) - 1\n    while i < j:\n        if s[i] != s[j]:\n            return False\n        i += 1\n        j -= 1\n    return True",
            "def f(s):\n    return list(s) == list(reversed(s))",
            "def f(s):\n    r = ''\n    for c in s:\n        r = c + r\n    return r == s",
        ],
    ),
    "matrix product": (
        "([[(i * j) % 10 for j in range(20)] for i in range(20)],)",
        [
            "def f(a):\n    c = list(zip(*a))\n    return [[sum(map(int.__mul__, r, k)) for k in c] for r in a]",
            "def f(a):\n    c = list(zip(*a))\n    return [[sum(x * y for x, y in zip(r, k)) for k in c] for r in a]",
            "def f(a):\n    n = len(a)\n    return [[sum(a[i][k] * a[k][j] for k in range(n)) for j in range(n)] for i in range(n)]",
            "def f(a):\n    n = len(a)\n    out = [[0] * n for _ in range(n)]\n    for i in range(n):\n        for j in range(n):\n            for k in range(n):\n                out[i][j] += a[i][k] * a[k][j]\n    return out",
            "def f(a):\n    n = len(a)\n    out = []\n    for r in a:\n        row = [0] * n\n        for x, b in zip(r, a):\n            for j in range(n):\n                row[j] += x * b[j]\n        out.append(row)\n    return out",
        ],
    ),
    "longest run": (
        "([(i // 7) % 5 for i in range(3000)],)",
        [
            "from itertools import groupby\ndef f(a):\n    return max(len(list(g)) for _, g in groupby(a))",
            "def f(a):\n    best = n = 1\n    for x, y in zip(a, a[1:]):\n        n = n + 1 if x == y else 1\n        if n > best:\n            best = n\n    return best",
            "def f(a):\n    best = 1\n    n = 1\n    for i in range(1, len(a)):\n        if a[i] == a[i - 1]:\n            n += 1\n        else:\n            n = 1\n        best = max(best, n)\n    return best",
            "def f(a):\n    best = 0\n    for i in range(len(a)):\n        j = i\n        while j < len(a) and a[j] == a[i]:\n            j += 1\n        best = max(best, j - i)\n    return best",
        ],
    ),
    "edit distance": (
        "('kittensitting' * 3, 'sittingkitten' * 3)",
        [
            "def f(a, b):\n    p = list(range(len(b) + 1))\n    for i, x in enumerate(a, 1):\n        q = [i]\n        for j, y in enumerate(b, 1):\n            q.append(p[j - 1] if x == y else 1 + min(p[j], q[-1], p[j - 1]))\n        p = q\n    return p[-1]",
            "def f(a, b):\n    d = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]\n    for i in range(len(a) + 1):\n        for j in range(len(b) + 1):\n            if i == 0 or j == 0:\n                d[i][j] = i + j\n            else:\n                d[i][j] = min(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1]))\n    return d[-1][-1]",
            "from functools import lru_cache\ndef f(a, b):\n    @lru_cache(None)\n    def g(i, j):\n        if i == 0 or j == 0:\n            return i + j\n        return min(g(i - 1, j) + 1, g(i, j - 1) + 1, g(i - 1, j - 1) + (a[i - 1] != b[j - 1]))\n    return g(len(a), len(b))",
            "def f(a, b):\n    m = {}\n    def g(i, j):\n        if i == 0 or j == 0:\n            return i + j\n        if (i, j) not in m:\n            m[i, j] = min(g(i - 1, j) + 1, g(i, j - 1) + 1, g(i - 1, j - 1) + (a[i - 1] != b[j - 1]))\n        return m[i, j]\n    return g(len(a), len(b))",
        ],
    ),
    "flatten": (
        "([[i, i + 1, i + 2] for i in range(1500)],)",
        [
            "from itertools import chain\ndef f(a):\n    return list(chain.from_iterable(a))",
            "def f(a):\n    return [x for r in a for x in r]",
            "def f(a):\n    out = []\n    for r in a:\n        out.extend(r)\n    return out",
            "def f(a):\n    out = []\n    for r in a:\n        for x in r:\n            out.append(x)\n    return out",
            "def f(a):\n    return sum(a, [])",
        ],
    ),
    "anagrams": (
        "([''.join(sorted(w))[::-1] + w for w in ('stone', 'notes', 'onset', 'least', 'slate', 'tales', 'steal', 'rates', 'tears') for _ in range(12)],)",
        [
            "def f(a):\n    return len({''.join(sorted(w)) for w in a})",
            "def f(a):\n    d = {}\n    for w in a:\n        d.setdefault(tuple(sorted(w)), []).append(w)\n    return len(d)",
            "from collections import Counter\ndef f(a):\n    return len({tuple(sorted(Counter(w).items())) for w in a})",
            "def f(a):\n    groups = []\n    for w in a:\n        s = sorted(w)\n        if s not in groups:\n            groups.append(s)\n    return len(groups)",
            "def f(a):\n    n = 0\n    for i, w in enumerate(a):\n        if not any(sorted(w) == sorted(v) for v in a[:i]):\n            n += 1\n    return n",
        ],
    ),
    "digit sums": (
        "(6000,)",
        [
            "def f(n):\n    return sum(sum(map(int, str(i))) for i in range(n))",
            "def f(n):\n    t = 0\n    for i in range(n):\n        while i:\n            t += i % 10\n            i //= 10\n    return t",
            "def f(n):\n    d = [0] * n\n    for i in range(1, n):\n        d[i] = d[i // 10] + i % 10\n    return sum(d)",
            "def f(n):\n    return sum(int(c) for i in range(n) for c in str(i))",
            "def f(n):\n    t = 0\n    for i in range(n):\n        i, r = divmod(i, 10)\n        t += r\n        while i:\n            i, r = divmod(i, 10)\n            t += r\n    return t",
        ],
    ),
    "coins": (
        "(600,)",
        [
            "def f(n):\n    w = [1] + [0] * n\n    for c in (1, 2, 5, 10, 20, 50):\n        for i in range(c, n + 1):\n            w[i] += w[i - c]\n    return w[n]",
            "from functools import lru_cache\ndef f(n):\n    @lru_cache(None)\n    def g(m, k):\n        if m == 0:\n            return 1\n        if m < 0 or k == 6:\n            return 0\n        return g(m - (1, 2, 5, 10, 20, 50)[k], k) + g(m, k + 1)\n    import sys\n    sys.setrecursionlimit(5000)\n    return g(n, 0)",
            "def f(n):\n    coins = (1, 2, 5, 10, 20, 50)\n    w = [[1] + [0] * n for _ in range(7)]\n    for k in range(1, 7):\n        for i in range(1, n + 1):\n            w[k][i] = w[k - 1][i] + (w[k][i - coins[k - 1]] if i >= coins[k - 1] else 0)\n    return w[6][n]",
            "def f(n):\n    w = {0: 1}\n    for c in (1, 2, 5, 10, 20, 50):\n        for i in range(n + 1):\n            w[i] = w.get(i, 0) + w.get(i - c, 0)\n    return w[n]",
        ],
    ),
    "binary": (
        "(5000,)",
        [
            "def f(n):\n    return sum(i.bit_count() for i in range(n))",
            "def f(n):\n    return sum(bin(i).count('1') for i in range(n))",
            "def f(n):\n    t = 0\n    for i in range(n):\n        while i:\n            i &= i - 1\n            t += 1\n    return t",
            "def f(n):\n    t = 0\n    for i in range(n):\n        while i:\n            t += i % 2\n            i //= 2\n    return t",
            "def f(n):\n    c = [0] * n\n    for i in range(1, n):\n        c[i] = c[i >> 1] + (i & 1)\n    return sum(c)",
        ],
    ),
    "grid paths": (
        "([[1 if (i * 5 + j * 3) % 11 == 0 and i and j else 0 for j in range(40)] for i in range(40)],)",
        [
            "def f(g):\n    row = [1] + [0] * (len(g[0]) - 1)\n    for r in g:\n        row[0] *= not r[0]\n        for j in range(1, len(r)):\n            row[j] = 0 if r[j] else row[j] + row[j - 1]\n    return row[-1]",
            "def f(g):\n    n, m = len(g), len(g[0])\n    w = [[0] * m for _ in range(n)]\n    for i in range(n):\n        for j in range(m):\n            if g[i][j]:\n                continue\n            if i == 0 and j == 0:\n                w[i][j] = 1\n            else:\n                w[i][j] = (w[i - 1][j] if i else 0) + (w[i][j - 1] if j else 0)\n    return w[-1][-1]",
            "from functools import lru_cache\ndef f(g):\n    @lru_cache(None)\n    def p(i, j):\n        if i < 0 or j < 0 or g[i][j]:\n            return 0\n        return 1 if i == j == 0 else p(i - 1, j) + p(i, j - 1)\n    return p(len(g) - 1, len(g[0]) - 1)",
            "def f(g):\n    w = {}\n    for i, r in enumerate(g):\n        for j, x in enumerate(r):\n            w[i, j] = 0 if x else 1 if i == j == 0 else w.get((i - 1, j), 0) + w.get((i, j - 1), 0)\n    return w[len(g) - 1, len(g[0]) - 1]",
        ],
    ),
    "cipher": (
        "('The Quick Brown Fox Jumps Over The Lazy Dog. ' * 40, 3)",
        [
            "def f(s, k):\n    lower = 'abcdefghijklmnopqrstuvwxyz'\n    upper = lower.upper()\n    return s.translate(str.maketrans(lower + upper, lower[k:] + lower[:k] + upper[k:] + upper[:k]))",
            "def f(s, k):\n    out = ''\n    for c in s:\n        if c.islower():\n            out += chr((ord(c) - 97 + k) % 26 + 97)\n        elif c.isupper():\n            out += chr((ord(c) - 65 + k) % 26 + 65)\n        else:\n            out += c\n    return out",
            "def f(s, k):\n    d = {}\n    for i in range(26):\n        d[chr(97 + i)] = chr(97 + (i + k) % 26)\n        d[chr(65 + i)] = chr(65 + (i + k) % 26)\n    return ''.join(d.get(c, c) for c in s)",
            "def f(s, k):\n    letters = 'abcdefghijklmnopqrstuvwxyz'\n    out = []\n    for c in s:\n        i = letters.find(c.lower())\n        if i < 0:\n            out.append(c)\n        else:\n            x = letters[(i + k) % 26]\n            out.append(x if c.islower() else x.upper())\n    return ''.join(out)",
        ],
    ),
    "queens": (
        "(6,)",
        [
            "def f(n):\n    full = (1 << n) - 1\n    def place(c, l, r):\n        if c == full:\n            return 1\n        t = 0\n        free = full & ~(c | l | r)\n        while free:\n            b = free & -free\n            free ^= b\n            t += place(c | b, (l | b) << 1, (r | b) >> 1)\n        return t\n    return place(0, 0, 0)",
            "def f(n):\n    def place(i, c, d, e):\n        if i == n:\n            return 1\n        return sum(place(i + 1, c | {j}, d | {i + j}, e | {i - j}) for j in range(n) if j not in c and i + j not in d and i - j not in e)\n    return place(0, frozenset(), frozenset(), frozenset())",
            "def f(n):\n    def ok(q, j):\n        return all(j != c and abs(j - c) != len(q) - i for i, c in enumerate(q))\n    def place(q):\n        return 1 if len(q) == n else sum(place(q + [j]) for j in range(n) if ok(q, j))\n    return place([])",
            "from itertools import permutations\ndef f(n):\n    return sum(len({p[i] + i for i in range(n)}) == n == len({p[i] - i for i in range(n)}) for p in permutations(range(n)))",
        ],
    ),
}
