def strategy(board, memo={}, vals={}):
    def squash(r):
        if r not in memo:
            t = [x for x in r if x]
            for i in range(len(t) - 1):
                if t[i] == t[i + 1]:
                    t[i] *= 2
                    t[i + 1] = 0
            t = [x for x in t if x]
            memo[r] = tuple(t + [0] * (4 - len(t)))
        return memo[r]
    def after(b, m):
        k = "ASDW".index(m)
        for i in range(k):
            b = list(zip(*b[::-1]))
        b = [squash(r) for r in b]
        for i in range(k, 4):
            b = list(zip(*b[::-1]))
        return b
    def worth(r):
        if r not in vals:
            v = sum(x * w for x, w in zip(r, (8, 4, 2, 1)))
            v += 1 * sum(x == y > 0 for x, y in zip(r, r[1:]))
            vals[r] = v
        return vals[r]
    def score(b):
        return sum(worth(r) for r in b) + sum(worth(r) for r in zip(*b))
    def look(b):
        return score(b) + max(score(after(b, m)) for m in "WASD")
    def chance(b):
        free = [(i, j) for i in range(4) for j in range(4) if b[i][j] == 0]
        t = 0
        for i, j in free:
            r = b[i]
            b[i] = r[:j] + (2,) + r[j + 1:]
            t += look(b)
            b[i] = r
        return t / len(free)
    b = [tuple(r) for r in board]
    best = -10 ** 9
    ans = "D"
    for m in "DSWA":
        n = after(b, m)
        if n == b:
            continue
        s = chance(n)
        if s > best:
            best = s
            ans = m
    return ans
