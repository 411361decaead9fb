def strategy(board):
    def squash(r):
        t = [x for x in r if x]
        for i in range(len(t) - 1):
            if t[i] == t[i + 1]:
                t[i] *= 2
                t[i + 1] = 0
        t = [x for x in t if x]
        return t + [0] * (4 - len(t))
    def shift(b, m):
        if m in "WS":
            b = [list(c) for c in zip(*b)]
        if m in "DS":
            b = [r[::-1] for r in b]
        b = [squash(r) for r in b]
        if m in "DS":
            b = [r[::-1] for r in b]
        if m in "WS":
            b = [list(c) for c in zip(*b)]
        return b
    def value(b):
        v = 1000 * (b[0][0] == max(map(max, b)))
        for r in b + list(zip(*b)):
            up = down = 0
            for x, y in zip(r, r[1:]):
                d = x.bit_length() ** 2 - y.bit_length() ** 2
                if d > 0:
                    down += d
                else:
                    up -= d
            v -= 10 * min(up, down)
        return v
    top = -1e9
    ans = "A"
    for m in "ASWD":
        n = shift(board, m)
        if n != board:
            s = value(n)
            if s > top:
                top = s
                ans = m
    return ans
